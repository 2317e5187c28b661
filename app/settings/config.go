package settings

import (
	"slices"

	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/controllers"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/internal/version"
	"github.com/signpostd/signpost/kube"
)

// Config is the configuration of a process, from a config file or from flags.
type Config struct {
	Process     Process
	Destination Destination
	Controllers Controllers
	DNS         DNS
	XDS         XDS
	// RunsDestination, RunsControllers, RunsDNS and RunsXDS say which roles run. The settings of the
	// others don't matter.
	RunsDestination, RunsControllers, RunsDNS, RunsXDS bool
	// origins says how the settings were given, by path: see [Config.Origin].
	origins map[string]string
	// server overrides the API server's address of the kubeconfig.
	server string
	// Remarks are about settings that are not used as given. They must be logged.
	Remarks []Remark
}

// Default returns a config with all defaults, in which no role runs.
func Default() Config {
	return Config{Process: defaultProcess(), Destination: defaultDestination(), Controllers: defaultControllers(), DNS: defaultDNS(), XDS: defaultXDS()}
}

// Sections returns the sections in use: the process, and the roles that run.
func (c *Config) Sections() []Section {
	parts := []Section{&c.Process}
	if c.RunsDestination {
		parts = append(parts, &c.Destination)
	}
	if c.RunsControllers {
		parts = append(parts, &c.Controllers)
	}
	if c.RunsDNS {
		parts = append(parts, &c.DNS)
	}
	if c.RunsXDS {
		parts = append(parts, &c.XDS)
	}
	return parts
}

// Settings returns the settings of all sections in use.
func (c *Config) Settings() []Setting {
	var all []Setting
	for _, part := range c.Sections() {
		all = append(all, part.Settings()...)
	}
	return all
}

// Server returns the URL that overrides the API server of the kubeconfig; empty for none.
func (c *Config) Server() string { return c.server }

// RESTConfig returns the connection to the API server, with the role in the User-Agent.
func (c *Config) RESTConfig(role string) (*rest.Config, error) {
	cfg, err := kube.LoadConfig(c.Process.Kubeconfig, version.UserAgent(role))
	if err == nil && c.server != "" {
		cfg.Host = c.server
	}
	return cfg, err
}

// Roles returns the names of the roles that run.
func (c *Config) Roles() []string {
	var names []string
	if c.RunsDestination {
		names = append(names, DestinationSection)
	}
	if c.RunsControllers {
		names = append(names, ControllersSection)
	}
	if c.RunsDNS {
		names = append(names, DNSSection)
	}
	if c.RunsXDS {
		names = append(names, XDSSection)
	}
	return names
}

// DestinationWrites reports whether the destination role writes EndpointSlices for
// ExternalWorkloads. If the controllers role runs and does it, it doesn't.
func (c *Config) DestinationWrites() bool {
	return c.RunsDestination && c.Destination.writes() && !(c.RunsControllers && c.Controllers.runs(controllers.ExternalWorkloads))
}

// NeedsCluster reports whether a running role reads from a cluster or writes to it.
func (c *Config) NeedsCluster() bool {
	if c.RunsDestination || c.RunsControllers || c.RunsXDS || (c.RunsDNS && c.DNS.Leader.Elect) {
		return true
	}
	return c.RunsDNS && slices.ContainsFunc(c.DNS.Publishers, (*configure.Options).NeedsCluster)
}

package settings

import (
	"slices"

	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/controllers"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/internal/version"
	"github.com/signpostd/signpost/kube"
)

// Config is what a process runs with, whether a config file or flags said so.
type Config struct {
	Process     Process
	Destination Destination
	Controllers Controllers
	DNS         DNS
	XDS         XDS
	// RunsDestination, RunsControllers, RunsDNS and RunsXDS say which roles run. The settings of the
	// others don't matter.
	RunsDestination, RunsControllers, RunsDNS, RunsXDS bool
	// MetricsFlag is the flag for the address of the admin server, if that isn't
	// metrics-addr.
	MetricsFlag string
	// server overrides the address of the API server that the kubeconfig has.
	server string
	// Remarks are about settings that are not used as given. They are to be logged.
	Remarks []Remark
}

// Default returns a config with all defaults, in which no role runs.
func Default() Config {
	return Config{Process: defaultProcess(), Destination: defaultDestination(), Controllers: defaultControllers(), DNS: defaultDNS(), XDS: defaultXDS()}
}

// Sections returns those that matter: the process, and the roles that run.
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

// Settings returns those of all sections that matter.
func (c *Config) Settings() []Setting {
	var all []Setting
	for _, part := range c.Sections() {
		all = append(all, part.Settings()...)
	}
	return all
}

// Server is the URL of the API server that counts instead of that of the kubeconfig; empty for none.
func (c *Config) Server() string { return c.server }

// RESTConfig says where the API server is and how to log in to it, for clients of a role, which
// the API server is told.
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
// ExternalWorkloads. It leaves that to the controllers role if that role runs and does it.
func (c *Config) DestinationWrites() bool {
	return c.RunsDestination && c.Destination.writes() && !(c.RunsControllers && c.Controllers.runs(controllers.ExternalWorkloads))
}

// NeedsCluster reports whether anything that runs reads from a cluster or writes to it.
func (c *Config) NeedsCluster() bool {
	if c.RunsDestination || c.RunsControllers || c.RunsXDS || (c.RunsDNS && c.DNS.Leader.Elect) {
		return true
	}
	return c.RunsDNS && slices.ContainsFunc(c.DNS.Publishers, (*configure.Options).NeedsCluster)
}

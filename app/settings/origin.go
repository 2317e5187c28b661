package settings

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/configure"
)

// Paths of the settings that are addresses to listen on, for [Config.Origin].
const (
	AdminAddress       = "admin.address"
	InspectionAddress  = "inspection.address"
	DestinationAddress = "destination.addr"
	XDSAddress         = "xds.addr"
)

// aliases are second names of flags, by the flag of the setting.
var aliases = map[string]string{"metrics-addr": "metrics-address"}

// Origin returns how the user gave a setting, for messages about a value that turns out to be unusable,
// such as an address in use: --metrics-addr, EXTERNAL_DNS_METRICS_ADDRESS or "admin.address
// (signpost.yaml:7)". path is the path of the setting in a config file.
func (c *Config) Origin(path string) string {
	if origin, ok := c.origins[path]; ok {
		return origin
	}
	for _, s := range c.Settings() {
		if s.Path == path {
			return flagName(s.Flag)
		}
	}
	return path
}

// SetOrigins records which names of flags a command line has for the settings of a config. variables has
// the flags that environment variables have set.
func (c *Config) SetOrigins(flags *pflag.FlagSet, variables map[string]bool) {
	c.origins = map[string]string{}
	for _, s := range c.Settings() {
		if f := flagOf(s, flags); f != nil {
			c.origins[s.Path] = originOfFlag(f.Name, variables)
		}
	}
}

// flagOf returns the flag of a setting, under the given name or that of --help; nil for none.
func flagOf(s Setting, flags *pflag.FlagSet) *pflag.Flag {
	first, second := flags.Lookup(s.Flag), flags.Lookup(aliases[s.Flag])
	if first == nil || second != nil && (second.Changed || first.Hidden && !first.Changed) {
		return second
	}
	return first
}

// originOfFlag returns the name of a flag, or of the environment variable that has set it.
func originOfFlag(name string, variables map[string]bool) string {
	if variables[name] {
		return configure.VariableOf(name)
	}
	return flagName(name)
}

// origins returns where the file has each setting.
func (d *configDecoder) origins() map[string]string {
	origins := map[string]string{}
	for path := range d.settings {
		if key := d.found[path]; key != nil {
			origins[path] = fmt.Sprintf("%s (%s:%d)", path, d.name, key.Line)
		} else {
			origins[path] = fmt.Sprintf("%s (by default, not in %s)", path, d.name)
		}
	}
	return origins
}

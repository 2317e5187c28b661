package inmemory

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// Plugin returns the provider of --provider=inmemory.
func Plugin() provider.Plugin {
	return provider.Plugin{
		Names:      []string{"inmemory"},
		Summary:    "keeps zones in memory, for trying things out",
		Properties: declared(),
		New:        func() provider.Config { return &Config{} },
	}
}

// Config is the settings of the provider.
type Config struct {
	// Zones are the names of the zones.
	Zones []string
}

// Flags implements [provider.Config].
func (c *Config) Flags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&c.Zones, "inmemory-zone", c.Zones, "a zone of the in-memory provider; may be given several times")
}

// Open implements [provider.Config].
func (c *Config) Open(_ context.Context, in provider.Input) (provider.Provider, error) {
	p := New()
	p.dryRun = in.DryRun
	for _, name := range c.Zones {
		if !dns.ZoneNameEndsWith(name, in.ZoneIDs) || !dns.ZoneNameEndsWith(name, in.ZoneNames) {
			continue
		}
		if err := p.CreateZone(name); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// declared declares the properties of records: any with the prefix.
func declared() dns.Declaration { return dns.Declaration{Prefix: "inmemory/"} }

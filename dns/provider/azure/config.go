package azure

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
	"github.com/signpostd/signpost/dns/provider/properties"
	"github.com/signpostd/signpost/internal/sharedflags"
)

// Config has the settings of one of the two providers.
type Config struct {
	*Access
	// private is true for the zones of Azure Private DNS.
	private bool
}

// Access has the settings that both providers share.
type Access struct {
	// File is the path of the configuration file. Subscription, Group and Identity override its values unless
	// they are empty. Identity is the client ID of a managed identity.
	File, Subscription, Group, Identity string
	// ZonesCache is how long a list of zones is used.
	ZonesCache time.Duration
	// Retries limits the retries of the SDK. A negative number means none.
	Retries int32
}

// Plugin returns the provider of --provider=azure, for public zones.
func Plugin() provider.Plugin {
	return provider.Plugin{
		Names:      []string{"azure", "azure-dns"},
		Summary:    "Azure DNS, public zones",
		Properties: properties.Azure(),
		New:        func() provider.Config { return newConfig(false) },
	}
}

// PrivatePlugin returns the provider of --provider=azure-private-dns.
func PrivatePlugin() provider.Plugin {
	return provider.Plugin{
		Names:      []string{"azure-private-dns"},
		Summary:    "Azure Private DNS, the zones of virtual networks",
		Properties: properties.Azure(),
		New:        func() provider.Config { return newConfig(true) },
	}
}

func newConfig(private bool) *Config {
	return &Config{Access: &Access{File: "/etc/kubernetes/azure.json", Retries: 3}, private: private}
}

// Take implements [sharedflags.Taker].
func (c *Config) Take(from *sharedflags.Set) { c.Access = sharedflags.Of(from, c.Access) }

// Flags implements [provider.Config]. All flags are shared.
func (c *Config) Flags(*pflag.FlagSet) {}

// Flags implements [sharedflags.Settings].
func (a *Access) Flags(flags *pflag.FlagSet) {
	flags.StringVar(&a.File, "azure-config-file", a.File, "`file` with the settings of Azure, in JSON (required with --provider=azure and azure-private-dns)")
	flags.StringVar(&a.Group, "azure-resource-group", a.Group, "resource `group` of the zones, instead of the one in --azure-config-file")
	flags.StringVar(&a.Subscription, "azure-subscription-id", a.Subscription, "`ID` of the subscription of the zones, instead of the one in --azure-config-file")
	flags.StringVar(&a.Identity, "azure-user-assigned-identity-client-id", a.Identity, "client `ID` of a managed identity, instead of the one in --azure-config-file")
	flags.DurationVar(&a.ZonesCache, "azure-zones-cache-duration", a.ZonesCache, "how long the list of zones is used before it is read again; at least --interval")
	flags.Int32Var(&a.Retries, "azure-maxretries-count", a.Retries, "how often a request is sent again; 0 is as often as usual, 3 times, and a negative number is never")
}

// Open implements [provider.Config].
func (c *Config) Open(ctx context.Context, in provider.Input) (provider.Provider, error) {
	if c.ZonesCache < 0 {
		return nil, fmt.Errorf("--azure-zones-cache-duration %v: must not be negative", c.ZonesCache)
	}
	s, err := c.load()
	if err != nil {
		return nil, err
	}
	a, err := c.account(ctx, in, s)
	if err != nil {
		return nil, err
	}
	p := &azureProvider{
		KnownZones: batch.KnownZones[azureZone]{Service: "the resource group " + s.Group, Budget: in.Budget, MaxAge: c.ZonesCache, Same: sameZone},
		account:    a, private: c.private, workers: publicWorkers,
		filter: filter{domains: in.Domains, ids: in.ZoneIDs, names: in.ZoneNames, byName: dns.NewZoneNameFilter(in.ZoneNames)},
	}
	if c.private {
		p.workers = privateWorkers
	}
	p.List = p.list
	return p, nil
}

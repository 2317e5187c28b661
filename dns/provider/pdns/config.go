package pdns

import (
	"context"
	"errors"
	"net/url"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
	"github.com/signpostd/signpost/dns/provider/httpapi"
)

const defaultServer = "http://localhost:8081"

// Config is the settings for PowerDNS.
type Config struct {
	// Server is the URL of the API, without /api/v1. It may have a path.
	Server string
	// ServerID is the name of the server in the API.
	ServerID string
	APIKey   string
	// SkipTLSVerify accepts any certificate of the server.
	SkipTLSVerify bool
}

// Plugin returns the provider of --provider=pdns.
func Plugin() provider.Plugin {
	return provider.Plugin{
		Names:   []string{"pdns"},
		Summary: "PowerDNS Authoritative Server, through its HTTP API",
		New:     func() provider.Config { return &Config{Server: defaultServer, ServerID: "localhost"} },
	}
}

// Flags implements provider.Config.
func (c *Config) Flags(flags *pflag.FlagSet) {
	flags.StringVar(&c.Server, "pdns-server", c.Server, "URL of the PowerDNS API, without /api/v1")
	flags.StringVar(&c.ServerID, "pdns-server-id", c.ServerID, "name of the server in the PowerDNS API")
	flags.StringVar(&c.APIKey, "pdns-api-key", c.APIKey, "key for the PowerDNS API (required with --provider=pdns)")
	provider.Secret(flags, "pdns-api-key")
	flags.BoolVar(&c.SkipTLSVerify, "pdns-skip-tls-verify", c.SkipTLSVerify, "don't verify the certificate of the PowerDNS API")
}

// Open implements provider.Config.
func (c *Config) Open(ctx context.Context, in provider.Input) (provider.Provider, error) {
	if c.APIKey == "" {
		return nil, errors.New("--pdns-api-key: empty: give the api-key of pdns.conf")
	}
	server, err := httpapi.ParseURL("--pdns-server", c.Server, defaultServer)
	if err != nil {
		return nil, err
	}
	if c.ServerID == "" {
		return nil, errors.New("--pdns-server-id: empty: give the server's name in the API, which is localhost unless there is a proxy")
	}
	// The user may skip the verification, for a server with a self-signed certificate. The listings
	// limit their responses themselves.
	client, err := httpapi.NewClient(ctx, in, httpapi.Options{SkipTLSVerify: c.SkipTLSVerify, MaxResponse: -1, MaxDecoded: -1})
	if err != nil {
		return nil, err
	}
	p := &powerDNS{
		KnownZones: batch.KnownZones[dns.Zone]{Budget: in.Budget, Same: batch.SamePlain},
		api: &api{
			base:   server.JoinPath("api", "v1", "servers", url.PathEscape(c.ServerID)),
			key:    c.APIKey,
			client: client,
			budget: in.Budget,
		},
		log: in.Log, filter: in.ZoneFilter(""),
	}
	p.List = p.list
	return p, nil
}

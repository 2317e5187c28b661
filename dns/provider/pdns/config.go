package pdns

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// Config is what the user says about PowerDNS.
type Config struct {
	// Server is the URL of the API, without /api/v1; a path in it is kept.
	Server string
	// ServerID is the name of the server in the API.
	ServerID string
	APIKey   string
	// SkipTLSVerify is true when the server's certificate is not looked at.
	SkipTLSVerify bool
}

// Plugin returns the provider of --provider=pdns.
func Plugin() provider.Plugin {
	return provider.Plugin{
		Names:   []string{"pdns"},
		Summary: "PowerDNS Authoritative Server, through its HTTP API",
		New:     func() provider.Config { return &Config{Server: "http://localhost:8081", ServerID: "localhost"} },
	}
}

// Flags implements provider.Config.
func (c *Config) Flags(flags *pflag.FlagSet) {
	flags.StringVar(&c.Server, "pdns-server", c.Server, "URL of the PowerDNS API, without /api/v1")
	flags.StringVar(&c.ServerID, "pdns-server-id", c.ServerID, "Name of the server in the PowerDNS API")
	flags.StringVar(&c.APIKey, "pdns-api-key", c.APIKey, "Key for the PowerDNS API (required with --provider=pdns)")
	provider.Secret(flags, "pdns-api-key")
	flags.BoolVar(&c.SkipTLSVerify, "pdns-skip-tls-verify", c.SkipTLSVerify, "Don't verify the certificate of the PowerDNS API")
}

// Open implements provider.Config.
func (c *Config) Open(ctx context.Context, in provider.Input) (provider.Provider, error) {
	if c.APIKey == "" {
		return nil, errors.New("--pdns-api-key: is missing: give the api-key of pdns.conf")
	}
	server, err := url.Parse(c.Server)
	if err != nil {
		// What url.Parse says repeats the text, which may have a password in it.
		return nil, errors.New("--pdns-server: not a URL: give one such as http://localhost:8081")
	}
	if server.Scheme != "http" && server.Scheme != "https" || server.Host == "" {
		return nil, fmt.Errorf("--pdns-server %s: give a URL that begins with http:// or https:// and names a host", server.Redacted())
	}
	if c.ServerID == "" {
		return nil, errors.New("--pdns-server-id: is empty: give the server's name in the API, which is localhost unless there is a proxy")
	}
	tlsConfig, err := c.tls(in.TLS)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = tlsConfig
	context.AfterFunc(ctx, transport.CloseIdleConnections)
	sender := in.Wrap(transport)
	if in.DryRun {
		sender = dryRun{next: sender}
	}
	return &powerDNS{
		api: &api{
			base:   server.JoinPath("api", "v1", "servers", url.PathEscape(c.ServerID)),
			key:    c.APIKey,
			client: &http.Client{Transport: sender, CheckRedirect: stay},
		},
		domains: in.Domains, zoneIDs: in.ZoneIDs, zoneNames: dns.NewZoneNameFilter(in.ZoneNames),
	}, nil
}

// tls reads the files that are given.
func (c *Config) tls(files provider.TLSFiles) (*tls.Config, error) {
	// The user may ask for it, for a server with a certificate of its own making.
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.SkipTLSVerify}
	if files.CA != "" {
		text, err := os.ReadFile(files.CA)
		if err != nil {
			return nil, fmt.Errorf("--tls-ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("--tls-ca %s: has no certificate in PEM form", files.CA)
		}
	}
	switch {
	case files.Cert != "" && files.Key != "":
		pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
		if err != nil {
			return nil, fmt.Errorf("--tls-client-cert and --tls-client-cert-key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	case files.Cert != files.Key:
		return nil, errors.New("--tls-client-cert and --tls-client-cert-key: one is missing: give both or neither")
	}
	return config, nil
}

package cloudflare

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
	"github.com/signpostd/signpost/dns/provider/httpapi"
	"github.com/signpostd/signpost/dns/provider/properties"
)

const (
	// defaultURL is the URL of the API, and urlVariable the SDK's variable for another one.
	defaultURL  = "https://api.cloudflare.com/client/v4/"
	urlVariable = "CLOUDFLARE_BASE_URL"
	// maxPageSize limits the records of a page.
	maxPageSize = 5000
	// defaultAuthority lets Cloudflare choose the certificate authority of custom hostnames.
	defaultAuthority = "none"
)

// Values of --cloudflare-custom-hostnames-min-tls-version and
// --cloudflare-custom-hostnames-certificate-authority.
var (
	tlsVersions = []string{"1.0", "1.1", "1.2", "1.3"}
	authorities = []string{"google", "ssl_com", "lets_encrypt", defaultAuthority}
)

// Config has the settings for Cloudflare.
type Config struct {
	// Proxied is the default for records without the property.
	Proxied bool
	// Comment is the default comment of records.
	Comment string
	// PerPage is the page size of records.
	PerPage int
	// CustomHostnames says whether custom hostnames are managed. Their certificates have at least MinTLS and
	// are issued by Authority.
	CustomHostnames   bool
	MinTLS, Authority string
	// Regional says whether regions are managed. RegionKey is the default region, and also turns Regional on.
	Regional  bool
	RegionKey string
}

// Plugin returns the provider of --provider=cloudflare.
func Plugin() provider.Plugin {
	return provider.Plugin{
		Names:      []string{"cloudflare"},
		Summary:    "Cloudflare DNS, with its proxy, custom hostnames and regional services",
		Properties: properties.Cloudflare(),
		New:        func() provider.Config { return newConfig() },
	}
}

func newConfig() *Config {
	return &Config{PerPage: maxPageSize, MinTLS: tlsVersions[0], Authority: defaultAuthority}
}

// Flags implements provider.Config.
func (c *Config) Flags(flags *pflag.FlagSet) {
	flags.BoolVar(&c.Proxied, "cloudflare-proxied", c.Proxied, "have Cloudflare proxy A, AAAA and CNAME records, unless the annotation cloudflare-proxied says otherwise")
	flags.StringVar(&c.Comment, "cloudflare-record-comment", c.Comment, "the comment of records without the annotation cloudflare-record-comment; free zones have 100 bytes for it, others 500")
	flags.IntVar(&c.PerPage, "cloudflare-dns-records-per-page", c.PerPage, "how many records a request lists; 5000 at most")
	flags.BoolVar(&c.CustomHostnames, "cloudflare-custom-hostnames", c.CustomHostnames, "manage the custom hostnames of the annotation cloudflare-custom-hostname")
	flags.StringVar(&c.MinTLS, "cloudflare-custom-hostnames-min-tls-version", c.MinTLS, "the oldest version of TLS for custom hostnames: "+strings.Join(tlsVersions, ", "))
	flags.StringVar(&c.Authority, "cloudflare-custom-hostnames-certificate-authority", c.Authority, "who issues the certificates of custom hostnames: "+strings.Join(authorities, ", ")+"; none lets Cloudflare choose")
	flags.BoolVar(&c.Regional, "cloudflare-regional-services", c.Regional, "manage the regions of the annotation cloudflare-region-key")
	flags.StringVar(&c.RegionKey, "cloudflare-region-key", c.RegionKey, "the region of names without the annotation cloudflare-region-key, such as eu; turns on --cloudflare-regional-services")
}

// Open implements provider.Config.
func (c *Config) Open(ctx context.Context, in provider.Input) (provider.Provider, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	access, err := credentialsOf(os.Getenv)
	if err != nil {
		return nil, err
	}
	base, err := baseURL()
	if err != nil {
		return nil, err
	}
	account, err := access.account()
	if err != nil {
		return nil, err
	}
	shared := provider.NewShared(in.Accounts, "cloudflare", newPace).Of(account)
	client, err := httpapi.NewClient(ctx, in, httpapi.Options{})
	if err != nil {
		return nil, err
	}
	p := &cloudflareProvider{
		api:        newAPI(client, base, access, shared, c.PerPage, in.Budget),
		KnownZones: batch.KnownZones[managedZone]{Service: "Cloudflare", Budget: in.Budget, Same: sameZone},
		filter:     in.ZoneFilter(""),
		log:        in.Log, warned: map[string]struct{}{},
		recordOptions: recordOptions{
			proxied: c.Proxied, comment: c.Comment, hostnames: c.CustomHostnames, minTLS: c.MinTLS, authority: c.Authority,
			regional: c.Regional || c.RegionKey != "", region: c.RegionKey,
		},
	}
	if len(in.ZoneIDs) > 0 {
		// --domain-filter doesn't apply to a zone selected by ID (spec/clouds.md §6.2).
		p.filter.Domains = dns.MatchAll()
	}
	p.List = p.list
	return p, nil
}

func baseURL() (*url.URL, error) {
	address := os.Getenv(urlVariable)
	if address == "" {
		address = defaultURL
	}
	return httpapi.ParseURL(urlVariable, address, defaultURL)
}

// check rejects invalid settings.
func (c *Config) check() error {
	if c.PerPage < 1 || c.PerPage > maxPageSize {
		return fmt.Errorf("--cloudflare-dns-records-per-page %d: must be 1 to %d", c.PerPage, maxPageSize)
	}
	for _, choice := range []struct {
		flag, value string
		values      []string
	}{
		{"--cloudflare-custom-hostnames-min-tls-version", c.MinTLS, tlsVersions},
		{"--cloudflare-custom-hostnames-certificate-authority", c.Authority, authorities},
	} {
		if !slices.Contains(choice.values, choice.value) {
			return fmt.Errorf("%s %s: give one of %s", choice.flag, choice.value, strings.Join(choice.values, ", "))
		}
	}
	return nil
}

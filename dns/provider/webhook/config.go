package webhook

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sync/semaphore"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
	"github.com/signpostd/signpost/dns/provider/properties"
	"github.com/signpostd/signpost/internal/sharedflags"
)

// MediaType is the media type of every message of the protocol.
const MediaType = "application/external.dns.webhook+json;version=1"

// Defaults of [Config].
const (
	DefaultURL               = "http://localhost:8888"
	DefaultReadTimeout       = 5 * time.Second
	DefaultWriteTimeout      = 10 * time.Second
	DefaultReadHeaderTimeout = 5 * time.Second
	DefaultIdleTimeout       = 30 * time.Second
	DefaultMaxBodySize       = 32 << 20
)

// Config is the settings of the webhook provider.
type Config struct {
	// URL is the base URL of the provider.
	URL string
	*Limits
}

// Limits are settings that the provider shares with the webhook server, although the flags are
// named --webhook-provider-*.
type Limits struct {
	// ReadTimeout and WriteTimeout together limit a call of the provider. For the server, all four
	// have their usual meaning.
	ReadTimeout, WriteTimeout, ReadHeaderTimeout, IdleTimeout time.Duration
	// MaxBodySize limits a message in bytes; zero means no limit.
	MaxBodySize int64
}

// Plugin returns the provider of --provider=webhook.
func Plugin() provider.Plugin {
	return provider.Plugin{
		Names:             []string{"webhook"},
		Summary:           "Another program that serves the webhook protocol of ExternalDNS over HTTP",
		Properties:        properties.Webhook(),
		AdjustCallsServer: true,
		New:               func() provider.Config { return &Config{URL: DefaultURL, Limits: DefaultLimits()} },
	}
}

// DefaultLimits returns the limits of the protocol.
func DefaultLimits() *Limits {
	return &Limits{
		ReadTimeout: DefaultReadTimeout, WriteTimeout: DefaultWriteTimeout,
		ReadHeaderTimeout: DefaultReadHeaderTimeout, IdleTimeout: DefaultIdleTimeout,
		MaxBodySize: DefaultMaxBodySize,
	}
}

// Take implements [sharedflags.Taker].
func (c *Config) Take(from *sharedflags.Set) { c.Limits = sharedflags.Of(from, c.Limits) }

// Flags implements provider.Config.
func (c *Config) Flags(flags *pflag.FlagSet) {
	flags.StringVar(&c.URL, "webhook-provider-url", c.URL, "URL of the webhook provider")
}

// Flags implements [sharedflags.Settings].
func (l *Limits) Flags(flags *pflag.FlagSet) {
	flags.DurationVar(&l.ReadTimeout, "webhook-provider-read-timeout", l.ReadTimeout, "time to read a message; this and the write timeout together limit a call to the webhook provider")
	flags.DurationVar(&l.WriteTimeout, "webhook-provider-write-timeout", l.WriteTimeout, "time to write a message; this and the read timeout together limit a call to the webhook provider")
	flags.DurationVar(&l.ReadHeaderTimeout, "webhook-provider-read-header-timeout", l.ReadHeaderTimeout, "time in which --webhook-server must have read the header of a request")
	flags.DurationVar(&l.IdleTimeout, "webhook-provider-idle-timeout", l.IdleTimeout, "time after which --webhook-server closes an unused connection")
	flags.Int64Var(&l.MaxBodySize, "webhook-provider-max-body-size", l.MaxBodySize, "most bytes in a message of a webhook provider or to --webhook-server, 0 for any number")
}

// Open implements provider.Config.
func (c *Config) Open(ctx context.Context, in provider.Input) (provider.Provider, error) {
	base, err := c.check()
	if err != nil {
		return nil, err
	}
	m, err := newMetrics(in.Registerer)
	if err != nil {
		return nil, err
	}
	client, err := httpapi.NewClient(ctx, in, httpapi.Options{Reads: reads, Redirect: followReads, MaxResponse: cmp.Or(c.MaxBodySize, -1), MaxDecoded: -1})
	if err != nil {
		return nil, err
	}
	return &remote{
		base:        base,
		client:      client,
		timeout:     c.ReadTimeout + c.WriteTimeout,
		metrics:     m,
		negotiation: &negotiation{running: semaphore.NewWeighted(1)},
		log:         in.Log,
		budget:      in.Budget,
		warned:      map[string]bool{},
	}, nil
}

func (c *Config) check() (*url.URL, error) {
	base, err := httpapi.ParseURL("--webhook-provider-url", c.URL, DefaultURL)
	if err != nil {
		return nil, err
	}
	if c.ReadTimeout < 0 || c.WriteTimeout < 0 || c.ReadTimeout+c.WriteTimeout == 0 {
		return nil, fmt.Errorf("--webhook-provider-read-timeout %v and --webhook-provider-write-timeout %v must be positive", c.ReadTimeout, c.WriteTimeout)
	}
	if c.MaxBodySize < 0 {
		return nil, fmt.Errorf("--webhook-provider-max-body-size %d: must not be negative", c.MaxBodySize)
	}
	return base, nil
}

package google

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// Config has the settings for Cloud DNS.
type Config struct {
	// Project is the ID of the project. If it is empty, the metadata server is asked for it.
	Project string
	// Visibility is public, private, or "" for both.
	Visibility string
	// BatchChanges limits the record sets of a request; zero means the limit of Cloud DNS. BatchInterval is
	// the pause between two requests.
	BatchChanges  int
	BatchInterval time.Duration
}

// Plugin returns the provider of --provider=google.
func Plugin() provider.Plugin {
	return provider.Plugin{
		Names:   []string{"google"},
		Summary: "Google Cloud DNS, public and private managed zones",
		New:     func() provider.Config { return newConfig() },
	}
}

func newConfig() *Config {
	return &Config{BatchChanges: maxBatchChanges, BatchInterval: time.Second}
}

// Flags implements provider.Config.
func (c *Config) Flags(flags *pflag.FlagSet) {
	flags.StringVar(&c.Project, "google-project", c.Project, "ID of the `project` that has the zones; the metadata server is asked if it isn't given")
	flags.StringVar(&c.Visibility, "google-zone-visibility", c.Visibility, "only use zones of this visibility: public or private; both if it isn't given")
	flags.IntVar(&c.BatchChanges, "google-batch-change-size", c.BatchChanges, "the most record sets to change with one request; 0 is for as many as Cloud DNS allows, which is 1000")
	flags.DurationVar(&c.BatchInterval, "google-batch-change-interval", c.BatchInterval, "time between two requests when the changes of a zone need several")
}

// Open implements provider.Config. It doesn't contact Google.
func (c *Config) Open(ctx context.Context, in provider.Input) (provider.Provider, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	api, err := openClient(ctx, in, c.Project)
	if err != nil {
		return nil, err
	}
	limit := size{changes: maxBatchChanges, additions: maxBatchChanges, deletions: maxBatchChanges, bytes: maxBatchBytes}
	if c.BatchChanges > 0 {
		limit.changes = min(c.BatchChanges, maxBatchChanges)
	}
	p := &cloudDNS{
		KnownZones: batch.KnownZones[managedZone]{Service: "Cloud DNS", Budget: in.Budget, Same: sameZone},
		filter:     in.ZoneFilter(c.Visibility), api: api, limit: limit, interval: c.BatchInterval,
	}
	p.List = p.list
	return p, nil
}

// check rejects invalid settings.
func (c *Config) check() error {
	switch {
	case c.Visibility != "" && c.Visibility != provider.Public && c.Visibility != provider.Private:
		return fmt.Errorf("--google-zone-visibility %s: give %s or %s", c.Visibility, provider.Public, provider.Private)
	case c.BatchChanges < 0:
		return fmt.Errorf("--google-batch-change-size %d: must not be negative", c.BatchChanges)
	case c.BatchInterval < 0:
		return fmt.Errorf("--google-batch-change-interval %v: must not be negative", c.BatchInterval)
	}
	return nil
}

package aws

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/awsaccess"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
	"github.com/signpostd/signpost/dns/provider/properties"
	"github.com/signpostd/signpost/internal/sharedflags"
)

// Config has the settings for Route 53.
type Config struct {
	Access *awsaccess.Settings
	// ZoneTags are keys, or keys and values joined by =.
	ZoneTags    []string
	MatchParent bool
	// ZonesCache is how long a list of zones is used.
	ZonesCache time.Duration
	// Limits of a batch, and the pause between two.
	BatchChanges, BatchBytes, BatchValues int
	BatchInterval                         time.Duration
	EvaluateTargetHealth, PreferCNAME     bool
	// rate limits the requests per second and account.
	rate float64
}

// Plugin returns the provider of --provider=aws.
func Plugin() provider.Plugin {
	return provider.Plugin{
		Names:      []string{"aws"},
		Summary:    "Amazon Route 53, public and private hosted zones",
		Properties: properties.AWS(),
		New:        func() provider.Config { return newConfig() },
	}
}

func newConfig() *Config {
	return &Config{
		Access: awsaccess.NewSettings(), BatchChanges: 1000, BatchBytes: maxBatchBytes, BatchValues: maxBatchValues, BatchInterval: time.Second,
		EvaluateTargetHealth: true, rate: defaultRate,
	}
}

// Take implements [sharedflags.Taker].
func (c *Config) Take(from *sharedflags.Set) { c.Access = sharedflags.Of(from, c.Access) }

// Flags implements provider.Config.
func (c *Config) Flags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&c.ZoneTags, "aws-zone-tags", c.ZoneTags, "only use zones with this tag, key or key=value; may be given several times, then all are needed")
	flags.BoolVar(&c.MatchParent, "aws-zone-match-parent", c.MatchParent, "also use zones above the domains of --domain-filter")
	flags.DurationVar(&c.ZonesCache, "aws-zones-cache-duration", c.ZonesCache, "how long the list of zones is used before it is read again; at least --interval")
	flags.IntVar(&c.BatchChanges, "aws-batch-change-size", c.BatchChanges, "the most record sets to change with one request")
	flags.IntVar(&c.BatchBytes, "aws-batch-change-size-bytes", c.BatchBytes, "the most bytes in the values of one request that changes records; Route 53 allows 32000")
	flags.IntVar(&c.BatchValues, "aws-batch-change-size-values", c.BatchValues, "the most values in one request that changes records; Route 53 allows 1000")
	flags.DurationVar(&c.BatchInterval, "aws-batch-change-interval", c.BatchInterval, "time between two requests when the changes of a zone need several")
	flags.BoolVar(&c.EvaluateTargetHealth, "aws-evaluate-target-health", c.EvaluateTargetHealth, "have aliases follow the health of their target, unless the annotation aws-evaluate-target-health says otherwise")
	flags.BoolVar(&c.PreferCNAME, "aws-prefer-cname", c.PreferCNAME, "publish names of AWS as CNAME records, not as aliases")
}

// Open implements provider.Config.
func (c *Config) Open(ctx context.Context, in provider.Input) (provider.Provider, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	p := &route53Provider{
		KnownZones: batch.KnownZones[hostedZone]{Service: "Route 53", Budget: in.Budget, MaxAge: c.ZonesCache, Same: sameZone},
		filter:     filter{ZoneFilter: in.ZoneFilter(c.Access.ZoneType), matchParent: c.MatchParent, tags: c.ZoneTags},
		log:        in.Log, preferCNAME: c.PreferCNAME, evaluate: c.EvaluateTargetHealth, interval: c.BatchInterval,
		limit: size{changes: c.BatchChanges, values: min(c.BatchValues, maxBatchValues), bytes: min(c.BatchBytes, maxBatchBytes)},
	}
	p.List = p.list
	for _, access := range c.Access.Each() {
		a, err := openAccount(ctx, access, in, c.rate)
		if err != nil {
			return nil, err
		}
		p.accounts = append(p.accounts, a)
	}
	return p, nil
}

// check rejects invalid settings.
func (c *Config) check() error {
	if err := c.Access.Check(); err != nil {
		return err
	}
	for _, limit := range []struct {
		flag  string
		value int
	}{
		{"--aws-batch-change-size", c.BatchChanges},
		{"--aws-batch-change-size-bytes", c.BatchBytes},
		{"--aws-batch-change-size-values", c.BatchValues},
	} {
		if limit.value < 1 {
			return fmt.Errorf("%s %d: must be at least 1", limit.flag, limit.value)
		}
	}
	if c.BatchInterval < 0 || c.ZonesCache < 0 {
		return fmt.Errorf("--aws-batch-change-interval %v and --aws-zones-cache-duration %v: must not be negative", c.BatchInterval, c.ZonesCache)
	}
	return nil
}

package awssd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"
	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/awsaccess"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
	"github.com/signpostd/signpost/internal/sharedflags"
)

// Config has the settings for Cloud Map.
type Config struct {
	Access *awsaccess.Settings
	// Cleanup deletes our services without instances.
	Cleanup bool
	// CreateTags are the tags of new services, as key=value.
	CreateTags []string
	// rate and dataRate limit the requests per second. poll is the first pause before the status of an
	// operation is read.
	rate, dataRate float64
	poll           time.Duration
}

// Plugin returns the provider of --provider=aws-sd.
func Plugin() provider.Plugin {
	return provider.Plugin{
		Names:   []string{"aws-sd"},
		Summary: "AWS Cloud Map, public and private DNS namespaces",
		New:     func() provider.Config { return newConfig() },
	}
}

func newConfig() *Config {
	return &Config{Access: awsaccess.NewSettings(), rate: defaultRate, dataRate: defaultDataRate, poll: firstPoll}
}

// Take implements [sharedflags.Taker].
func (c *Config) Take(from *sharedflags.Set) { c.Access = sharedflags.Of(from, c.Access) }

// Flags implements provider.Config.
func (c *Config) Flags(flags *pflag.FlagSet) {
	flags.BoolVar(&c.Cleanup, "aws-sd-service-cleanup", c.Cleanup, "delete services of Cloud Map that are ours and have no instances")
	flags.StringArrayVar(&c.CreateTags, "aws-sd-create-tag", c.CreateTags, "a tag, key=value, for services that are created at Cloud Map; may be given several times")
}

// Open implements provider.Config.
func (c *Config) Open(ctx context.Context, in provider.Input) (provider.Provider, error) {
	if err := c.Access.Check(); err != nil {
		return nil, err
	}
	tags, err := parseTags(c.CreateTags)
	if err != nil {
		return nil, err
	}
	// As in ExternalDNS, only one account is used.
	a, err := openAccount(ctx, c.Access.Each()[0], in, c)
	if err != nil {
		return nil, err
	}
	p := &cloudMap{
		KnownZones: batch.KnownZones[namespace]{Service: "Cloud Map", Budget: in.Budget, Same: sameNamespace},
		account:    a, log: in.Log, filter: in.ZoneFilter(c.Access.ZoneType),
		tags: tags, ownerID: in.OwnerID, cleanup: c.Cleanup && !in.DryRun && !in.CreateOnly, drop: c.Cleanup,
	}
	p.List = p.list
	return p, nil
}

// parseTags parses tags, with the limits of the API Reference (API_Tag).
func parseTags(entries []string) ([]types.Tag, error) {
	const flag, mostKey, mostValue, most = "--aws-sd-create-tag", 128, 256, 200
	var tags []types.Tag
	seen := map[string]bool{}
	for _, entry := range entries {
		key, value, both := strings.Cut(entry, "=")
		switch {
		case !both || key == "":
			return nil, fmt.Errorf("%s %q: give a key and a value with = between them", flag, entry)
		case seen[key]:
			return nil, fmt.Errorf("%s %q: the key is given twice", flag, entry)
		case len([]rune(key)) > mostKey || len([]rune(value)) > mostValue:
			return nil, fmt.Errorf("%s %q: a key has at most %d characters, and a value %d", flag, entry, mostKey, mostValue)
		}
		seen[key] = true
		tags = append(tags, types.Tag{Key: aws.String(key), Value: aws.String(value)})
	}
	if len(tags) > most {
		return nil, errors.New(flag + ": a service has at most 200 tags")
	}
	return tags, nil
}

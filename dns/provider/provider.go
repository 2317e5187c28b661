package provider

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns"
)

// Provider reads and writes the zones of a DNS server or of a DNS API. The publisher
// calls it from one goroutine for each zone.
type Provider interface {
	// Zones returns the zones there are, those only that the filters of [Input]
	// admit. A provider without zones returns the zone with an empty name. After an error
	// the publisher goes on with the zones that it knows.
	Zones(ctx context.Context) ([]dns.Zone, error)
	// Records returns all record sets of a zone, of every type that the provider can handle,
	// ownership records included. It never returns a part of them without an error.
	Records(ctx context.Context, zone dns.Zone) ([]*dns.RecordSet, error)
	// Apply makes changes in a zone. They are in an order in which they can be made one
	// after the other; a provider may make them together, or several at once. All changes
	// of a name are in one call, and Old is what Records last returned.
	//
	// The error is nil when all were made; an [ApplyError] when it is known for each whether
	// it was made; one that wraps [ErrRejected] when none was made because of what they
	// are; one that wraps [ErrCredentials] when none was made because of who asks.
	// After any other error nobody knows what was made.
	Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error
}

// Adjuster is a [Provider] that can't store each record set as it is asked for.
type Adjuster interface {
	// Adjust returns what Records will return once the wanted record sets have been made.
	// It returns new values for those that it changes.
	Adjust(ctx context.Context, wanted []*dns.RecordSet) ([]*dns.RecordSet, error)
}

// Batcher is a [Provider] that wants changes in limited numbers.
type Batcher interface {
	// Batch returns the most changes to give to one call of Apply, zero for any number, and
	// the time to let pass between two calls.
	Batch() (size int, interval time.Duration)
}

// DomainFilterer is a [Provider] that knows which names it can have beyond its Zones.
type DomainFilterer interface {
	// DomainFilter returns a filter that the names of record sets have to pass.
	DomainFilter(ctx context.Context) dns.Filter
}

// Config is what the user says about a provider: the settings of one kind of
// provider, with their defaults. Each kind has a package in dns/provider and a line in
// dns/plugins.
type Config interface {
	// Flags adds the settings of this kind of provider, under the names that ExternalDNS has
	// for them, with targets in this value. [Secret] marks those that are secrets.
	Flags(flags *pflag.FlagSet)
	// Open returns a provider. It reports what is wrong with the settings; it doesn't have to
	// reach the server. The provider lives until ctx ends.
	Open(ctx context.Context, in Input) (Provider, error)
}

// Plugin is one kind of provider.
type Plugin struct {
	// Names are what --provider calls it; the first one is the usual one.
	Names []string
	// Summary says in one sentence what it is for, without a full stop.
	Summary string
	// New returns a config with the defaults.
	New func() Config
}

// Input is what providers of every kind are made from.
type Input struct {
	// DryRun is true when nothing may be changed. The publisher doesn't call Apply then;
	// a provider also has to make sure below, where it sends, that it can't.
	DryRun bool
	// OwnerID is what --txt-owner-id says, whatever the registry.
	OwnerID string
	// Domains are the names that the user wants managed, never nil; ZoneIDs and ZoneNames
	// are endings of the zones', empty when any will do.
	Domains            dns.Filter
	ZoneIDs, ZoneNames []string
	// CreateOnly is true when the policy is to create record sets only.
	CreateOnly bool
	// ZonesCacheDuration is how long a listing of zones may be used; zero is not at all.
	ZonesCacheDuration time.Duration
	// BatchSize and BatchInterval are the flags --batch-change-size and -interval.
	BatchSize     int
	BatchInterval time.Duration
	// TLS are the flags --tls-ca, --tls-client-cert and --tls-client-cert-key.
	TLS TLSFiles
	// Wrap returns what a provider that speaks HTTP has to send through: it counts and
	// times the requests. It is never nil.
	Wrap func(http.RoundTripper) http.RoundTripper
	Log  *slog.Logger
	// Registerer takes metrics; it may be nil.
	Registerer prometheus.Registerer
}

// Secret marks a flag whose value must not be shown to anybody.
func Secret(flags *pflag.FlagSet, name string) {
	// The flag was just added; an unknown one is a mistake of the programmer.
	if err := flags.SetAnnotation(name, secretAnnotation, []string{"true"}); err != nil {
		panic(err)
	}
}

// IsSecret reports whether a flag is marked by [Secret].
func IsSecret(f *pflag.Flag) bool { return len(f.Annotations[secretAnnotation]) > 0 }

const secretAnnotation = "signpost.dev/secret"

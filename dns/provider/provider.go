package provider

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/internal/certfiles"
)

// Provider reads and writes the zones of a DNS server or DNS API. The publisher calls it in
// parallel for different zones.
type Provider interface {
	// Capabilities returns the features and limits of the provider. They never change.
	Capabilities() Capabilities
	// Zones returns the zones of the provider that the filters of [Input] select. A provider without
	// zones returns a single zone with an empty name. After an error the publisher keeps the zones
	// that it knows.
	Zones(ctx context.Context) ([]dns.Zone, error)
	// Records returns all record sets of a zone, including ownership records, of every type
	// that the provider can handle. If it can't return all of them, it returns an error.
	Records(ctx context.Context, zone dns.Zone) ([]*dns.RecordSet, error)
	// Apply makes changes in a zone. Their order is one in which they can be made one after the
	// other; a provider may also make them together, or several in parallel. All changes of a name
	// are in one call.
	//
	// Old is what Records returned, or what Adjust announced for a record set that was made since.
	// Apply makes a change only if that is the current state: nothing under the key of a record set
	// to create, and the targets of Old under that of one to replace or delete. Otherwise the change
	// fails with [ErrStale], and so do those of its ownership records ([dns.Change.Subject]). A
	// provider whose server can't write conditionally reads the record sets right before it writes,
	// and compares them with [ApplyUnchanged].
	//
	// Errors:
	//
	//   - nil: all changes were made.
	//   - [ApplyError]: the outcome of each change is known.
	//   - [ErrRejected]: none was made, because of the changes.
	//   - [ErrCredentials]: none was made, because of the credentials.
	//   - [ErrThrottled]: none was made, because of the request rate.
	//   - [ErrUnread]: none was made, because the zone can't be read.
	//   - [ErrStale]: none was made, because something unknown has changed.
	//   - any other: the outcome is unknown.
	Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error
}

// Capabilities are the features and limits of a provider. The zero value means plain record sets of
// all types, and no limits.
type Capabilities struct {
	// SetIdentifiers is true if there can be several record sets of one name and type, with different
	// set identifiers. If it is false, the provider gets no set identifiers.
	SetIdentifiers bool
	// Conditional is true if the server compares Old as it writes. If it is false, the provider
	// compares right before, so that it may overwrite a simultaneous external change.
	Conditional bool
	// Stepwise is true if the changes of a name are made one after the other, so that only some of
	// them may be made.
	Stepwise bool
	// ByTarget is true if the targets of a record set are written one after the other, so that a failed
	// creation may leave a record set with only some of them.
	ByTarget bool
	// Blind is true if Records never returns anything, because the server can't list. Records are then
	// written again at each listing.
	Blind bool
	// Types are the supported record types; nil means all.
	Types []string
	// NameCharacters are the [dns.EscapedCharacters] that are allowed in names.
	NameCharacters string
	// Properties are the prefixes of the properties that the provider reads, such as coredns/. Those
	// of other providers are dropped. Names without a slash, such as alias, are passed to all.
	Properties []string
	// OneName are the comma-separated list properties whose values only one name can have.
	OneName []string
	// BatchSize limits the changes of one call of Apply, and BatchInterval is the pause between two
	// calls. Zero means no limit.
	BatchSize     int
	BatchInterval time.Duration
	// BatchTime limits one call of Apply; zero means two minutes.
	BatchTime time.Duration
	// ListingTime is how long a listing of a zone is used, unless the list of zones has another
	// version of it; zero means the interval of the publisher. It is for APIs that count calls.
	ListingTime time.Duration
	// Calls limits the parallel calls, and CallsPerSecond their rate; zero means no limit. A provider
	// that sends several requests per call has to limit these itself.
	Calls          int
	CallsPerSecond float64
}

// MeteredListingTime is the ListingTime of APIs whose calls are counted or cost money. It saves
// more than nine tenths of the calls of a listing each minute.
const MeteredListingTime = 15 * time.Minute

// Adjuster is a [Provider] that can't store every record set unchanged.
type Adjuster interface {
	// Adjust returns for each wanted record set of a zone what Records will return once it
	// exists, in the same order: targets, TTL and properties as they will be listed. Ownership
	// records are adjusted too. Adjust doesn't change its arguments, but returns new values
	// instead.
	//
	// A record set that the provider refuses has its own error, and the others have their
	// results. An error of the call is for a common reason, and says nothing about the record
	// sets; [ErrThrottled] says when to try again.
	Adjust(ctx context.Context, zone dns.Zone, wanted []*dns.RecordSet) ([]Adjusted, error)
}

// Confirmer is a [Provider] whose servers return a change some time after Apply has returned.
type Confirmer interface {
	// Confirm returns when all servers return what Apply has made in a zone before the call. An error
	// means that this is unknown. The publisher calls it separately for each zone, and reports a
	// record as published only then.
	Confirm(ctx context.Context, zone dns.Zone) error
}

// Atomic is a [Provider] that makes the changes of a name, and of its ownership records in the same
// zone, in one step or not at all, and never overwrites a record set when it creates one. So an
// ownership record and its record set were always created together.
type Atomic interface {
	// Atomic is an ownership record method.
	Atomic()
}

// Prober is a [Provider] that may return records without having contacted its server.
type Prober interface {
	// Probe checks, without changing anything, whether the server can be reached, has the zone and
	// accepts the credentials. lists is false if Records can't list the zone. The error is as that of
	// Apply.
	Probe(ctx context.Context, zone dns.Zone) (lists bool, err error)
}

// NameServerLister is a [Provider] that knows which name servers have its records. For other providers,
// they are those of a zone's NS records.
type NameServerLister interface {
	// NameServers returns the addresses and ports of the servers, for queries over UDP and
	// TCP. They never change, and may be empty.
	NameServers() []string
}

// Adjusted is the result of [Adjuster] for one wanted record set.
type Adjusted struct {
	// Sets are what will be listed: mostly one record set, and none if the provider doesn't store it.
	Sets []*dns.RecordSet
	// Recheck is true if the server may give another response later without a reason that a listing
	// shows, such as one with the wanted name and targets. Adjust is then called again after the next
	// listing. A result without Sets and Err is always rechecked.
	Recheck bool
	// Err says why the provider refuses the record set, or is nil.
	Err error
}

// Stricter returns the lower limit of two, such as those of [Capabilities]; zero means none.
func Stricter[N int | float64](a, b N) N {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// AdjustEach is an Adjust for providers that store, or refuse, one record set for each. one returns
// its argument if nothing changes.
func AdjustEach(wanted []*dns.RecordSet, one func(*dns.RecordSet) (*dns.RecordSet, error)) []Adjusted {
	list := make([]Adjusted, len(wanted))
	for i, r := range wanted {
		if set, err := one(r); err != nil {
			list[i].Err = err
		} else {
			list[i].Sets = []*dns.RecordSet{set}
		}
	}
	return list
}

// PartialLister is a [Provider] that keeps the zones that it knows if it can't list all of them.
type PartialLister interface {
	// Unlisted returns why the last result of Zones may be incomplete, or nil.
	Unlisted() error
}

// DomainFilterer is a [Provider] that can't have all names in its Zones.
type DomainFilterer interface {
	// DomainFilter returns a filter that must select the names of record sets.
	DomainFilter(ctx context.Context) dns.Filter
}

// Config is the settings of one kind of provider, with defaults. Each kind has a package in
// dns/provider and a line in dns/plugins.
type Config interface {
	// Flags adds the flags, with the names of ExternalDNS, and marks secrets with [Secret]. For
	// settings of several kinds of provider, a config is a Taker of package sharedflags.
	Flags(flags *pflag.FlagSet)
	// Open returns a provider. The error says which setting is wrong. Open needn't contact the server.
	// The provider lives until ctx ends.
	Open(ctx context.Context, in Input) (Provider, error)
}

// Plugin describes one kind of provider.
type Plugin struct {
	// Names are its values of --provider, the usual one first. Open gets the one that was given.
	Names []string
	// Summary describes the provider in one sentence without a full stop.
	Summary string
	// Properties declares the properties that the provider reads. Without a prefix it reads none of
	// its own.
	Properties dns.Declaration
	// AdjustCallsServer is true if Adjust calls the server.
	AdjustCallsServer bool
	// New returns a config with the defaults.
	New func() Config
}

// Input is the argument of Open for all providers.
type Input struct {
	// Name is the given name of those in [Plugin].
	Name string
	// DryRun forbids changes. The publisher doesn't call Apply, and the provider itself must also
	// prevent changes where it sends requests.
	DryRun bool
	// OwnerID is the value of --txt-owner-id, with any registry.
	OwnerID string
	// Domains selects the managed names. It is never nil. ZoneIDs and ZoneNames are suffixes of the
	// IDs and names of the zones to use; empty means all zones.
	Domains            dns.Filter
	ZoneIDs, ZoneNames []string
	// CreateOnly is true if the policy only allows creations.
	CreateOnly bool
	// Budget limits how much is read from the provider. Nil means the default limits for each zone.
	Budget *listlimit.Budget
	// Accounts has the rate limits that the publishers of the process share. Nil means that none are
	// shared.
	Accounts *Accounts
	// TLS are the flags --tls-ca, --tls-client-cert and --tls-client-cert-key.
	TLS certfiles.ClientFiles
	// Wrap wraps the transport of an HTTP provider, to count and time its requests. It is never nil.
	Wrap func(http.RoundTripper) http.RoundTripper
	Log  *slog.Logger
	// Registerer registers metrics. It may be nil.
	Registerer prometheus.Registerer
}

// Secret marks a flag whose value must not be shown.
func Secret(flags *pflag.FlagSet, name string) {
	// The flag must exist.
	if err := flags.SetAnnotation(name, secretAnnotation, []string{"true"}); err != nil {
		panic(err)
	}
}

// IsSecret reports whether a flag is marked by [Secret].
func IsSecret(f *pflag.Flag) bool { return len(f.Annotations[secretAnnotation]) > 0 }

const secretAnnotation = "signpost.dev/secret"

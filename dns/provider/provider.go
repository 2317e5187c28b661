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
)

// Provider reads and writes the zones of a DNS server or of a DNS API. The publisher makes
// calls about different zones at the same time.
type Provider interface {
	// Capabilities says what the provider can do, and what it needs. It is always the same.
	Capabilities() Capabilities
	// Zones returns the zones of the provider that the filters of [Input] admit. A provider
	// without zones returns a single zone with an empty name. After an error the publisher
	// goes on with the zones that it knows.
	Zones(ctx context.Context) ([]dns.Zone, error)
	// Records returns all record sets of a zone, including ownership records, of every type
	// that the provider can handle. If it can't return all of them, it returns an error.
	Records(ctx context.Context, zone dns.Zone) ([]*dns.RecordSet, error)
	// Apply makes changes in a zone. Their order is one in which they can be made one after
	// the other; a provider may also make them together, or several at once. All changes of a
	// name are in one call.
	//
	// Old is what Records returned, or what Adjust announced of a record set that was made
	// since. Apply makes a change only if that is what the zone has now: nothing under the key
	// of a record set to create, and the targets of Old under that of one to replace or to
	// delete. Otherwise the change fails with [ErrStale], and so do those of its ownership
	// records ([dns.Change.Subject]). A provider whose server can't write on such a condition
	// reads the record sets right before it writes, and has [ApplyUnchanged] compare.
	//
	// The error is nil when all changes were made. It is an [ApplyError] when it is known for
	// each change whether it was made. It wraps [ErrRejected] when none was made because of
	// what they are, [ErrCredentials] when none was made because of who asks, [ErrThrottled]
	// when none was made because of how often it is asked, and [ErrStale] when none was made
	// because something has changed, but nobody knows what. After any other error the outcome
	// is unknown.
	Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error
}

// Capabilities are what a provider can do, and what it needs. In the zero value it has plain
// record sets of all types, and no limits.
type Capabilities struct {
	// SetIdentifiers is true when there can be several record sets of one name and type, with
	// different set identifiers. If it is false, no record set that the provider gets has one.
	SetIdentifiers bool
	// Conditional is true when the server compares Old itself as it writes. If it is false,
	// the provider compares right before, so that it may write over what somebody else writes
	// in the same moment.
	Conditional bool
	// Stepwise is true when the changes of a name are made one after the other, so that some of
	// them may be made and others not.
	Stepwise bool
	// Blind is true when Records never returns anything, because the server can't be asked for it. What was
	// written is then written again each time that it would be listed.
	Blind bool
	// Types are the types of record sets that the provider can have; nil stands for all.
	Types []string
	// NameCharacters are those of [dns.EscapedCharacters] that names can have.
	NameCharacters string
	// Properties are what the names of the properties begin with that the provider reads, such
	// as coredns/. It doesn't get those of other providers. Names without a slash, such as
	// alias, are no provider's own, and go to all.
	Properties []string
	// OneName are the properties that are lists, separated by commas, of what only one name can have.
	OneName []string
	// BatchSize is the most changes for one call of Apply, and BatchInterval the time between
	// two calls. Zero is for as the publisher likes.
	BatchSize     int
	BatchInterval time.Duration
	// BatchTime is how long one call of Apply may take; zero is for two minutes.
	BatchTime time.Duration
	// ListingTime is how long what was listed of a zone is good, unless the list of zones has
	// another version of it; zero is for the interval of the publisher. It is for APIs that
	// count calls.
	ListingTime time.Duration
	// Calls is how many calls there may be at a time, and CallsPerSecond how many in a second; zero
	// is for as the publisher likes. A provider that sends several requests for a call has to
	// limit these itself.
	Calls          int
	CallsPerSecond float64
}

// MeteredListingTime is the ListingTime of APIs whose calls are counted or cost money. Reading
// zones then takes less than a tenth of the calls that one reading each minute takes.
const MeteredListingTime = 15 * time.Minute

// Adjuster is a [Provider] that can't store every record set as it is wanted.
type Adjuster interface {
	// Adjust returns for each of some wanted record sets of a zone what Records will return
	// once it exists, in the same order: targets, TTL and properties as they will be listed.
	// Ownership records are adjusted, too. Adjust doesn't change its arguments, but returns
	// new values instead.
	//
	// A record set that the provider refuses has an error of its own, and the others have
	// their answers. An error of the whole call says that nothing is known of any of them, for
	// a reason that isn't theirs; [ErrThrottled] says when to ask again.
	Adjust(ctx context.Context, zone dns.Zone, wanted []*dns.RecordSet) ([]Adjusted, error)
}

// Confirmer is a [Provider] whose servers answer with a change a while after Apply has returned.
type Confirmer interface {
	// Confirm returns when all servers answer with what Apply has made in a zone before it was
	// called. An error says that it can't be found out. The publisher calls it for each zone by
	// itself, and says only then that a record is published.
	Confirm(ctx context.Context, zone dns.Zone) error
}

// Atomic is a [Provider] that makes the changes of a name, and those of its markers in the same zone, in one step or not at all,
// and creates no record set that is there. So a marker and its record set came together, whoever has made them.
type Atomic interface {
	// Atomic does nothing.
	Atomic()
}

// Prober is a [Provider] that may return records without having asked its server.
type Prober interface {
	// Probe asks about a zone what tells whether the server can be reached, has the zone and takes
	// the credentials, and changes nothing. Lists is false if Records can't say what is in the zone.
	// The error is as that of Apply.
	Probe(ctx context.Context, zone dns.Zone) (lists bool, err error)
}

// Answering is a [Provider] that knows which servers answer with its records. Of others, these are
// those of the NS records of a zone.
type Answering interface {
	// AnsweringServers returns the addresses of the servers, with their ports, for questions over
	// UDP and TCP. It is always the same, and may be empty.
	AnsweringServers() []string
}

// Adjusted is the answer of [Adjuster] about one wanted record set.
type Adjusted struct {
	// Sets are what will be listed for it: mostly one record set, and none if the provider
	// doesn't store it.
	Sets []*dns.RecordSet
	// Err says why the provider refuses the record set; otherwise it is nil.
	Err error
}

// AdjustEach is an Adjust for providers that store one record set for each, or refuse it. The
// function returns its argument if there is nothing to change.
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

// PartialLister is a [Provider] that goes on with the zones that it knows when it can't list all of them.
type PartialLister interface {
	// Unlisted returns why the last answer of Zones may lack zones, or nil if it has all of them.
	Unlisted() error
}

// DomainFilterer is a [Provider] that can't have all names in its Zones.
type DomainFilterer interface {
	// DomainFilter returns a filter that the names of record sets have to pass.
	DomainFilter(ctx context.Context) dns.Filter
}

// Config is the settings of one kind of provider, with their defaults. Each kind has a package
// in dns/provider and a line in dns/plugins.
type Config interface {
	// Flags adds flags for the settings, under the names that ExternalDNS has for them. It
	// marks secrets with [Secret]. Settings that several kinds of provider have are no part of
	// them: a config with such settings is a Taker of package sharedflags.
	Flags(flags *pflag.FlagSet)
	// Open returns a provider. The error says which setting is wrong. Open doesn't have to
	// contact the server. The provider lives until ctx ends.
	Open(ctx context.Context, in Input) (Provider, error)
}

// Plugin is one kind of provider.
type Plugin struct {
	// Names are the values of --provider for this kind. The first one is the usual one. Open is
	// told which one was given.
	Names []string
	// Summary says in one sentence what the provider is for, without a full stop.
	Summary string
	// Properties declares the properties that the provider reads. Without a prefix it reads none
	// of its own.
	Properties dns.Declaration
	// AdjustAsks is true when Adjust asks the server, so that nothing can be adjusted without it.
	AdjustAsks bool
	// New returns a config with the defaults.
	New func() Config
}

// Input is what providers of every kind are opened with.
type Input struct {
	// Name is the one of the names in [Plugin] by which the user has chosen the provider.
	Name string
	// DryRun is true when nothing may be changed. Then the publisher doesn't call Apply. The
	// provider also has to prevent changes itself, at the place where it sends requests.
	DryRun bool
	// OwnerID is the value of --txt-owner-id, with any registry.
	OwnerID string
	// Domains are the names that the user wants managed. It is never nil. ZoneIDs and
	// ZoneNames are suffixes of the IDs and names of the zones to use; an empty list is for
	// all zones.
	Domains            dns.Filter
	ZoneIDs, ZoneNames []string
	// CreateOnly is true when the policy only allows creations.
	CreateOnly bool
	// Budget limits what is read of the provider. Nil has the default limits for each zone.
	Budget *listlimit.Budget
	// TLS are the flags --tls-ca, --tls-client-cert and --tls-client-cert-key.
	TLS TLSFiles
	// Wrap wraps the transport of a provider that speaks HTTP, to count and to time its
	// requests. It is never nil.
	Wrap func(http.RoundTripper) http.RoundTripper
	Log  *slog.Logger
	// Registerer registers metrics. It may be nil.
	Registerer prometheus.Registerer
}

// Secret marks a flag whose value must not be shown.
func Secret(flags *pflag.FlagSet, name string) {
	// Only a flag that doesn't exist gives an error, which would be a bug.
	if err := flags.SetAnnotation(name, secretAnnotation, []string{"true"}); err != nil {
		panic(err)
	}
}

// IsSecret reports whether a flag is marked by [Secret].
func IsSecret(f *pflag.Flag) bool { return len(f.Annotations[secretAnnotation]) > 0 }

const secretAnnotation = "signpost.dev/secret"

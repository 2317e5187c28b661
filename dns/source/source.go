package source

import (
	"context"
	"log/slog"
	"slices"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/kube"
)

// Key identifies an object that a source makes records of. Namespace is empty for kinds without
// one.
type Key struct {
	// Kind is the kind of the object as Kind.group, such as "Gateway.networking.istio.io". A key
	// that only refers to an object, such as a Service by its name, may lack it.
	Kind            string
	Namespace, Name string
}

// Source makes record sets from objects. It has either Tables and Evaluate, or Poll.
type Source struct {
	// Tables are the tables that are filled from the cluster. Until all of them are filled,
	// the source counts as unread, so that no record is deleted.
	Tables []kube.AnyTable
	// Awaited are those of Tables that only some objects need. Evaluate waits for them with
	// [Waiting]. Because of that the source counts as read without them: if one can't be read, only
	// the objects that need it are held up.
	Awaited []kube.AnyTable
	// Evaluate returns what an object asks for now. The result is empty if the object doesn't
	// exist. It must not block.
	Evaluate func(Key) Result
	// Keys returns the keys of all objects of the source's own kinds, in any order, with those
	// that the settings exclude. [Keys] makes it of their tables. It is nil for a source with
	// Poll.
	Keys func() []Key
	// Poll returns all records of the source each time that records are verified. After an
	// error, the previous records stay. Records may lack the label resource.
	Poll func(context.Context) ([]*dns.RecordSet, error)
	// Run does what the source needs in the background, such as lookups of names, until its
	// context ends. It may be nil.
	Run func(context.Context) error
}

// Needed returns the tables without which the source counts as unread.
func (s *Source) Needed() []kube.AnyTable {
	return slices.DeleteFunc(slices.Clone(s.Tables), func(t kube.AnyTable) bool { return slices.Contains(s.Awaited, t) })
}

// Result is what one object asks for.
type Result struct {
	// Records have the label [dns.LabelResource] where spec/dns.md §6.2 says so, and the
	// object in Objects. Names and targets are only freed of dots and spaces at their ends
	// (spec/dns.md §1.3); they are not checked. A record set that can't be made of the object
	// has Invalid set, and a problem; then the name keeps what it has.
	Records []*dns.RecordSet
	// Problems are parts of the object that can't be used. The rest of it is published.
	Problems []dns.Problem
	// Skipped says why the object gives no record, or why a part of it doesn't. An object that
	// exists and has neither records nor problems nor an error has at least one.
	Skipped []Skip
	// Wanted are some of the names that an object asks for which the settings exclude.
	Wanted []string
	// Err says why the object can't be evaluated at all. Then its previous records stay.
	Err error
}

// Config is the settings of one kind of source: the flags that no other kind has, with their
// defaults. A kind without flags embeds [NoFlags], and one that reads no objects [NoObjects].
// Settings that several kinds have are no part of it: a config with such settings is a Taker of
// package sharedflags.
type Config interface {
	// Flags adds the flags, under the names that ExternalDNS has for them.
	Flags(flags *pflag.FlagSet)
	// Resources are the kinds of objects that the source reads with these settings.
	Resources() []Resource
	// Open returns the source, with a table for each of the Resources. The error says which
	// setting is wrong. Open doesn't contact any server.
	Open(in Input) (Source, error)
}

// NoFlags is for the Config of a kind of source without flags.
type NoFlags struct{}

// Flags adds none.
func (NoFlags) Flags(*pflag.FlagSet) {}

// NoObjects is for the Config of a kind of source that reads no objects.
type NoObjects struct{}

// Resources returns none.
func (NoObjects) Resources() []Resource { return nil }

// Plugin is one kind of source.
type Plugin struct {
	// Name is the value of --source for this kind.
	Name string
	// Summary says in one sentence what the source is for, without a full stop.
	Summary string
	// Category groups the kinds in the documentation, such as "kubernetes core".
	Category string
	// Filters has "annotation" and "label" if the source supports these filters.
	Filters []string
	// Namespaces is "all", "single" or "multiple", or several of them with commas.
	Namespaces string
	// Annotations are the names of the annotations that the source reads, without those for
	// providers: [CommonAnnotations], and which more. An object with another one gets a remark. A
	// source of objects that reads none has [NoAnnotations].
	Annotations []string
	// Templates is true when the source reads --fqdn-template, TargetTemplates when it reads
	// --target-template, and PairTemplates when it reads --fqdn-target-template. Properties is true
	// when it reads the annotations for providers and the set identifier.
	Templates, TargetTemplates, PairTemplates, Properties bool
	// OneTTL is true when objects that share a name also share a TTL, that of the first one by
	// the label resource. Otherwise those with different TTLs have record sets of their own.
	OneTTL bool
	// Reads says in words which kinds of objects the source reads, when that depends on its flags
	// alone: without them Open fails. It is empty for all others.
	Reads string
	// New returns a config with the defaults.
	New func() Config
}

// Input is what a source is opened with.
type Input struct {
	// Settings are the settings that several kinds read.
	Settings Settings
	// Changed has to be called for each object whose records may have changed: when the object
	// changes, and when an object that it depends on does. It doesn't block, and may be called
	// from any goroutine, several times for one object.
	Changed func(Key)
	Log     *slog.Logger
}

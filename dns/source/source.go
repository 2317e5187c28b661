package source

import (
	"context"
	"log/slog"
	"slices"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/kube"
)

// Key identifies an object of a source. Namespace is empty for cluster-scoped kinds.
type Key struct {
	// Kind has the form Kind.group, such as "Gateway.networking.istio.io". It may be empty in a key
	// that only refers to an object, such as a Service by its name.
	Kind            string
	Namespace, Name string
}

// Source makes record sets from objects. It has either Tables and Evaluate, or Poll.
type Source struct {
	// Tables are filled from the cluster. Until all of them are filled, the source counts as unread,
	// and no record is deleted.
	Tables []kube.AnyTable
	// Awaited are those of Tables that only some objects need. Evaluate waits for them with [Waiting],
	// so the source counts as read without them: if one can't be read, only the objects that need it
	// have to wait.
	Awaited []kube.AnyTable
	// Evaluate returns what an object asks for now. The result is empty if the object doesn't exist.
	// It must not block.
	Evaluate func(Key) Result
	// Keys returns the keys of all objects of the source's own kinds, in any order and including
	// excluded ones. [Keys] creates it from their tables. It is nil for a source with Poll.
	Keys func() []Key
	// Poll returns all records of the source at each verification of records. After an error, the
	// previous records stay. Records may lack the label resource.
	Poll func(context.Context) ([]*dns.RecordSet, error)
	// Run runs background work, such as lookups of names, until ctx ends. It may be nil.
	Run func(context.Context) error
}

// Needed returns the tables without which the source counts as unread.
func (s *Source) Needed() []kube.AnyTable {
	return slices.DeleteFunc(slices.Clone(s.Tables), func(t kube.AnyTable) bool { return slices.Contains(s.Awaited, t) })
}

// Result is what one object asks for.
type Result struct {
	// Records have the label [dns.LabelResource] where spec/dns.md §6.2 requires it, and the object in
	// Objects. Names and targets have no final dots and spaces (spec/dns.md §1.3), but are not
	// checked. If a record set can't be made from the object, it has Invalid set and there is a
	// problem; the name then keeps its records.
	Records []*dns.RecordSet
	// Problems are parts of the object that can't be used. The rest is published.
	Problems []dns.Problem
	// Skipped says why the object, or a part of it, has no record. An existing object without records,
	// problems and error has at least one.
	Skipped []Skip
	// Wanted are some of the names that an object gets no record for, if Skipped says why.
	Wanted []string
	// Err says why the object can't be evaluated. Its previous records then stay.
	Err error
}

// Config is the settings of one kind of source: its own flags, with defaults. [Fixed] makes that of a
// kind without flags. One that reads no objects embeds [NoObjects]. For settings of several kinds, a
// config is a Taker of package sharedflags.
type Config interface {
	// Flags adds the flags, with the names of ExternalDNS.
	Flags(flags *pflag.FlagSet)
	// Resources returns the kinds of objects that the source reads with these settings.
	Resources() []Resource
	// Open returns the source, with a table for each of the Resources. The error says which setting is
	// wrong. Open contacts no server.
	Open(in Input) (Source, error)
}

// Fixed returns the New of a [Plugin] without flags, which always reads the same kinds.
func Fixed(open func(Input) Source, resources ...Resource) func() Config {
	return func() Config { return fixed{open: open, resources: resources} }
}

// fixed is a config without flags.
type fixed struct {
	NoFlags
	open      func(Input) Source
	resources []Resource
}

// Resources implements [Config].
func (f fixed) Resources() []Resource { return slices.Clone(f.resources) }

// Open implements [Config].
func (f fixed) Open(in Input) (Source, error) { return f.open(in), nil }

// NoFlags is embedded in the Config of a source without flags.
type NoFlags struct{}

// Flags adds none.
func (NoFlags) Flags(*pflag.FlagSet) {}

// NoObjects is embedded in the Config of a source that reads no objects.
type NoObjects struct{}

// Resources returns none.
func (NoObjects) Resources() []Resource { return nil }

// Plugin describes one kind of source.
type Plugin struct {
	// Name is its value of --source.
	Name string
	// Summary describes the source in one sentence without a full stop.
	Summary string
	// Category groups the kinds in the documentation, such as "kubernetes core".
	Category string
	// Filters has "annotation" and "label" if the source supports these filters.
	Filters []string
	// Namespaces is "all", "single" or "multiple", or several of them with commas.
	Namespaces string
	// Annotations are the annotations that the source reads, without those for providers:
	// [CommonAnnotations] and more. Other annotations get a remark. A source that reads none has
	// [NoAnnotations].
	Annotations []string
	// Templates, TargetTemplates and PairTemplates are true if the source reads --fqdn-template,
	// --target-template and --fqdn-target-template. Properties is true if it reads the annotations for
	// providers and the set identifier.
	Templates, TargetTemplates, PairTemplates, Properties bool
	// OneTTL is true if objects that share a name also share the TTL of the first one by label
	// resource. Otherwise objects with different TTLs have separate record sets.
	OneTTL bool
	// Reads describes the kinds of objects that the source reads, if that depends on its flags:
	// without them Open fails. Otherwise it is empty.
	Reads string
	// New returns a config with the defaults.
	New func() Config
}

// Input is the argument of Open.
type Input struct {
	// Plugin is the kind of source that is opened. [Plugin.Open] sets it.
	Plugin Plugin
	// Settings are the common settings.
	Settings Settings
	// Changed must be called for each object whose records may have changed, because the object or a
	// dependency of it has changed. It doesn't block, and may be called from any goroutine, also
	// repeatedly.
	Changed func(Key)
	Log     *slog.Logger
}

package source

import (
	"context"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/kube"
)

// Key names an object of a source's own kind. Namespace is empty for kinds without one.
type Key struct {
	Namespace, Name string
}

// Source makes record sets of objects: it has either Tables and Evaluate, or Poll.
type Source struct {
	// Tables are what the cluster has to fill. Before all of them have been, the source is
	// not asked, and nothing is deleted or taken away for lack of what it would say.
	Tables []kube.AnyTable
	// Evaluate returns what an object asks for now; nothing if there is no such object or
	// if it is none that the settings select. It must not block.
	Evaluate func(Key) Result
	// Poll returns everything, each time that records are verified. After an error what it
	// returned before stays. Records without a label resource are allowed.
	Poll func(context.Context) ([]*dns.RecordSet, error)
	// Run does what the source needs done beside, such as to look up names, until its
	// context ends; nil is nothing.
	Run func(context.Context) error
}

// Result is what one object asks for.
type Result struct {
	// Records have the label [dns.LabelResource] where spec/dns.md §6.2 has one, and the
	// object in Objects. Names and targets are as found but for dots and spaces
	// (spec/dns.md §1.3); whoever takes them checks them.
	Records []*dns.RecordSet
	// Problems are parts of the object that can't be used, which cost only themselves.
	Problems []dns.Problem
	// Err is why the object can't be evaluated at all: nobody knows what it asks for. What
	// came of it before stays.
	Err error
}

// Config is what the user says about one kind of source: the flags that no other kind
// has, with their defaults. Kinds without any embed [NoFlags].
type Config interface {
	// Flags adds the flags, under the names that ExternalDNS has for them.
	Flags(flags *pflag.FlagSet)
	// Open makes the source. It reports what is wrong with the settings, and doesn't talk to
	// any server.
	Open(in Input) (Source, error)
}

// NoFlags is for the Config of a kind of source that has no flags of its own.
type NoFlags struct{}

// Flags adds none.
func (NoFlags) Flags(*pflag.FlagSet) {}

// Plugin is one kind of source.
type Plugin struct {
	// Name is what --source calls it.
	Name string
	// Summary says in one sentence what it is for, without a full stop.
	Summary string
	// Category groups the kinds in the documentation, such as "kubernetes core".
	Category string
	// Resources are the kinds of object it reads, as Kind.group; Filters are "annotation" and
	// "label", those of the two that it knows.
	Resources, Filters []string
	// Namespaces is "all", "single" or "multiple", with commas.
	Namespaces string
	// Templates is true when it knows --fqdn-template; Properties when it reads the
	// annotations for providers and the set identifier.
	Templates, Properties bool
	// New returns a config with the defaults.
	New func() Config
}

// Input is what a source is made from.
type Input struct {
	// Settings are those that several kinds read.
	Settings Settings
	// Changed has to be called with each object whose records may be others now: when
	// the object changed, and when one that it depends on did. It doesn't block, and may be
	// called from any goroutine, repeatedly for one object.
	Changed func(Key)
	Log     *slog.Logger
}

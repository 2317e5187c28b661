package publisher

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/source"
)

// The times of a [Publisher] when a [Config] doesn't say, or leaves no choice.
const (
	DefaultInterval = time.Minute
	// quiet is the time between two passes: a lone change waits for nothing, and those of a
	// burst are taken together.
	quiet = 100 * time.Millisecond
	// firstBackoff doubles with each failure in a row, up to the interval.
	firstBackoff = time.Second
	// settling is how often a source that has not been read is looked at again.
	settling = 250 * time.Millisecond
	// listTimeout and applyTimeout end calls of a provider that doesn't answer.
	listTimeout  = 5 * time.Minute
	applyTimeout = 2 * time.Minute
	// defaultBatch is for providers that take any number of changes.
	defaultBatch = 1000
)

// Config says what a [Publisher] publishes where.
type Config struct {
	// Name tells the publishers of a process apart, in logs and plans. It may be empty.
	Name string
	// Sources are where records are asked for, in the order of --source. Their Changed is
	// made by [Publisher.Changed].
	Sources []NamedSource
	// Namespaces are the only ones whose objects the sources use; none is all. Others that
	// the process reads are of no concern.
	Namespaces []string
	// Desired takes what they ask for; the publisher owns it from now on.
	Desired  *desired.Set
	Owner    owner.Owner
	Provider provider.Provider
	Rules    plan.Rules
	// Domains are the names that the user wants managed.
	Domains dns.Filter
	// Interval is the longest time between two looks at a zone; zero is [DefaultInterval].
	Interval time.Duration
	Budget   Budget
	// DryRun: nothing is applied; what would be is logged.
	DryRun bool
	// MayWrite returns an error when no write may begin, such as that the lease is lost; nil
	// is that they always may.
	MayWrite func() error
	// Notify takes what happens to records, for Events. It must not block. Nil drops it.
	Notify  func(Notice)
	Metrics *Metrics
	Log     *slog.Logger
}

// NamedSource is a source with the name that --source calls it.
type NamedSource struct {
	Name string
	source.Source
}

// Budget limits how much may be deleted without being approved, in each zone.
type Budget struct {
	// Records and Percent: a zone may lose this many of its owned record sets, or this share
	// of them if that is more, within Window.
	Records int
	Percent int
	Window  time.Duration
	// Approved is the hash of a held plan that may be applied; empty is none.
	Approved string
}

// DefaultBudget is what a zone may lose when nobody says otherwise.
func DefaultBudget() Budget { return Budget{Records: 10, Percent: 20, Window: 10 * time.Minute} }

// Notice is something that happened to a record set that objects asked for.
type Notice struct {
	// Objects are what the notice is about; none if it is about the publisher.
	Objects []dns.Object
	// Record may be nil.
	Record *dns.RecordSet
	// Action is Created, Updated, Deleted or Failed; Reason one of the reasons below.
	Action, Reason string
	// Message says what is wrong and what to do; empty when all is well.
	Message string
}

// The reasons and actions of notices (spec/dns.md §11 has the first three).
const (
	ReasonReady    = "RecordReady"
	ReasonDeleted  = "RecordDeleted"
	ReasonError    = "RecordError"
	ReasonInvalid  = "RecordInvalid"
	ReasonConflict = "RecordConflict"
	ReasonHeld     = "DeletionsHeld"
	ReasonSource   = "SourceNotRead"
	ReasonProvider = "ProviderFailed"

	ActionCreated = "Created"
	ActionUpdated = "Updated"
	ActionDeleted = "Deleted"
	ActionFailed  = "FailedSync"
)

func (c *Config) check() error {
	switch {
	case len(c.Sources) == 0:
		return errors.New("no source: name one")
	case c.Desired == nil || c.Owner == nil || c.Provider == nil:
		return errors.New("the desired set, the owner and the provider must be given")
	case c.Interval < 0:
		return fmt.Errorf("interval %v: must not be negative", c.Interval)
	case c.Budget.Records < 0 || c.Budget.Percent < 0 || c.Budget.Percent > 100 || c.Budget.Window < 0:
		return fmt.Errorf("deletion budget of %d records, %d %%, in %v: neither may be negative, nor the share more than 100 %%",
			c.Budget.Records, c.Budget.Percent, c.Budget.Window)
	}
	c.Interval = cmp.Or(c.Interval, DefaultInterval)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Name != "" {
		c.Log = c.Log.With("publisher", c.Name)
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics(nil)
	}
	if c.MayWrite == nil {
		c.MayWrite = func() error { return nil }
	}
	if c.Notify == nil {
		c.Notify = func(Notice) {}
	}
	if c.Domains == nil {
		c.Domains = everyName{}
	}
	return nil
}

// everyName is the filter that lets every name pass.
type everyName struct{}

// Match implements dns.Filter.
func (everyName) Match(string) bool { return true }

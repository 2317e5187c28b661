package publisher

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/tenancy"
	"github.com/signpostd/signpost/internal/history"
	"github.com/signpostd/signpost/internal/tracing"
)

// Fixed times of a [Publisher], and the default of [Config].Interval.
const (
	DefaultInterval = time.Minute
	// quiet is the minimum time between two passes. A single change doesn't wait; a series of changes
	// is handled together.
	quiet = 100 * time.Millisecond
	// firstBackoff is the delay after the first failure. It doubles with each further failure in a
	// row, up to the interval.
	firstBackoff = time.Second
	// settling is how often to check whether a source has been read.
	settling = 250 * time.Millisecond
	// listTimeout, adjustTimeout and applyTimeout limit calls of the provider. A provider may ask for
	// a longer apply timeout.
	listTimeout   = 5 * time.Minute
	adjustTimeout = 2 * time.Minute
	applyTimeout  = 2 * time.Minute
	// defaultBatch is the batch size for providers without a limit.
	defaultBatch = 1000
	// defaultCalls limits concurrent calls of a provider that gives no limit.
	defaultCalls = 8
)

// Config configures a [Publisher].
type Config struct {
	// Name distinguishes the publishers of a process in logs and plans. It may be empty.
	Name string
	// Sources are the sources of records, in the order of --source. Each source must call the function
	// that [Changed] returns for it.
	Sources []NamedSource
	// Namespaces restricts the sources to the objects of these namespaces; empty means all. The
	// process may read more namespaces, for other publishers.
	Namespaces []string
	// NamespacesOf overrides Namespaces for some kinds, for example by --gateway-namespace. An empty
	// list means all.
	NamespacesOf map[schema.GroupResource][]string
	// Desired stores the wanted record sets. The publisher owns it from now on.
	Desired  *desired.Set
	Owner    owner.Owner
	Provider provider.Provider
	Rules    plan.Rules
	// Domains selects the names to manage; nil means all.
	Domains dns.Filter
	// NamePolicy says which namespace gets a name that several ask for; empty means [tenancy.Shared].
	// [tenancy.Namespaced] needs a registry that keeps the label resource, and Desired with the option
	// Labelled.
	NamePolicy tenancy.Policy
	// MaxNames limits the names of a namespace in a zone; zero means no limit. It has the requirements
	// of NamePolicy.
	MaxNames int
	// Interval is the longest time between two listings of a zone; zero means [DefaultInterval].
	Interval time.Duration
	// DeletionDelay is how long a record set must be unwanted before it is deleted. Replacements
	// aren't delayed.
	DeletionDelay time.Duration
	// Budget limits deletions without approval. Approved is the hash of an approved plan, or empty.
	// Settings identifies the settings that decide about records ([budget.NewBook]).
	Budget             budget.Limits
	Approved, Settings string
	// Store keeps the budgets outside of the process. Approvals is the approval queue. Both may be
	// nil.
	Store     budget.Store
	Approvals *budget.ApprovalQueue
	Limits    Limits
	// DryRun logs changes instead of applying them.
	DryRun bool
	// MayWrite returns an error if no write may begin, for example because the lease is lost. Nil
	// means that writes are always allowed.
	MayWrite func() error
	// Notify is called with each [Notice] while Lead is called, because only the leader sends Events.
	// It must not block. It may be nil.
	Notify func(Notice)
	// Tracer begins a span for each batch, with the name of the provider. Nil disables tracing.
	Tracer       *tracing.Tracer
	ProviderName string
	// History keeps the changes of records; nil keeps nothing.
	History *history.Log
	Metrics *Metrics
	Log     *slog.Logger
}

// NamedSource is a source with its name in --source.
type NamedSource struct {
	Name string
	source.Source
}

// Limits are the rate and size limits of calls of the provider. The limits of the provider itself
// ([provider.Capabilities]) apply too: the stricter one counts. Zero means no limit.
type Limits struct {
	// BatchSize limits the changes of one call. BatchInterval is the minimum time between two calls
	// with changes in one zone.
	BatchSize     int
	BatchInterval time.Duration
	// CallsPerSecond limits the calls of the provider. Writes come before listings.
	CallsPerSecond float64
	// ZonesCache is how long the list of zones is used. Zones are listed at most every
	// [Config].Interval.
	ZonesCache time.Duration
	// ListingTime is how long a listing of a zone is used unless something points to a change. Zero
	// means as long as the provider says. A zone is read at most every [Config].Interval.
	ListingTime time.Duration
}

// Notice is an event about a wanted record set, or about the publisher itself.
type Notice struct {
	// Objects are the objects that the notice is about; empty if it is about the publisher.
	Objects []dns.Object
	// Record is the record set that the notice is about. It may be nil.
	Record *dns.RecordSet
	// Action and Reason are constants of this package.
	Action, Reason string
	// Message says what is wrong and what to do. It is empty after a success.
	Message string
}

// Reasons and actions of notices. The first three are those of ExternalDNS (spec/dns.md §11).
const (
	ReasonReady    = "RecordReady"
	ReasonDeleted  = "RecordDeleted"
	ReasonError    = "RecordError"
	ReasonInvalid  = "RecordInvalid"
	ReasonConflict = "RecordConflict"
	ReasonHeld     = "DeletionsHeld"
	ReasonApproved = "PlanApproved"
	ReasonDelayed  = "DeletionDelayed"
	ReasonSource   = "SourceNotRead"
	ReasonProvider = "ProviderFailed"
	// These are [tenancy.Taken], [tenancy.NotAllowed] and [tenancy.TooMany].
	ReasonTaken      = string(tenancy.Taken)
	ReasonNotAllowed = string(tenancy.NotAllowed)
	ReasonTooMany    = string(tenancy.TooMany)
	// ReasonUnled is for publishers of a standby that the leader doesn't run.
	ReasonUnled = "PublishersUnled"
	ReasonStore = "BudgetNotStored"

	ReasonOtherOwner = "OtherOwner"

	ActionCreated = "Created"
	ActionUpdated = "Updated"
	ActionDeleted = "Deleted"
	ActionFailed  = "FailedSync"

	ActionApproved = "Approved"
)

func (c *Config) check() error {
	switch {
	case len(c.Sources) == 0:
		return errors.New("there is no source: give one with --source")
	case c.Desired == nil || c.Owner == nil || c.Provider == nil:
		return errors.New("the desired set, the owner and the provider must be given")
	case c.MaxNames < 0:
		return fmt.Errorf("at most %d names: must not be negative", c.MaxNames)
	case c.NamePolicy == tenancy.Namespaced && c.Rules.Owner == "":
		return errors.New("the name policy namespace needs ownership, which says who has a name: use another registry than noop")
	case c.Interval < 0 || c.DeletionDelay < 0:
		return fmt.Errorf("interval %v, deletion delay %v: must not be negative", c.Interval, c.DeletionDelay)
	}
	if err := c.Budget.Check(); err != nil {
		return fmt.Errorf("budget: %w", err)
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
	if c.Approvals == nil {
		c.Approvals = budget.NewApprovalQueue()
	}
	if c.Domains == nil {
		c.Domains = dns.MatchAll()
	}
	return nil
}

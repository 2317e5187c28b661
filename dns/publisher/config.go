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
	"github.com/signpostd/signpost/internal/tracing"
)

// The times of a [Publisher] that [Config] can't set, and the default of the one that it can.
const (
	DefaultInterval = time.Minute
	// quiet is the time between two passes. A single change doesn't wait, and several changes
	// in a row are handled together.
	quiet = 100 * time.Millisecond
	// firstBackoff is the wait after a first failure. It doubles with each further failure in
	// a row, up to the interval.
	firstBackoff = time.Second
	// settling is how often to check whether a source has been read.
	settling = 250 * time.Millisecond
	// listTimeout, adjustTimeout and applyTimeout end calls of the provider, the last one unless
	// the provider needs longer.
	listTimeout   = 5 * time.Minute
	adjustTimeout = 2 * time.Minute
	applyTimeout  = 2 * time.Minute
	// defaultBatch is the batch size for providers without a limit.
	defaultBatch = 1000
	// defaultCalls is how many calls of a provider there are at a time if it doesn't say.
	defaultCalls = 8
)

// Config says what a [Publisher] publishes, and where.
type Config struct {
	// Name distinguishes the publishers of a process in logs and plans. It may be empty.
	Name string
	// Sources are the sources of records, in the order of --source. The Changed of each comes
	// from the function [Changed].
	Sources []NamedSource
	// Namespaces are the only ones whose objects the sources use; none is all. Others that
	// the process reads are of no concern.
	Namespaces []string
	// NamespacesOf are those in which the objects of a kind are read, where they differ, such as those of
	// --gateway-namespace. An empty list is all.
	NamespacesOf map[schema.GroupResource][]string
	// Desired takes what they ask for; the publisher owns it from now on.
	Desired  *desired.Set
	Owner    owner.Owner
	Provider provider.Provider
	Rules    plan.Rules
	// Domains are the names that the user wants managed. Nil stands for all.
	Domains dns.Filter
	// NamePolicy says who gets a name that several namespaces ask for; empty is [tenancy.Shared]. [tenancy.Namespaced] needs
	// an owner that keeps the label resource, and Desired with the option Labelled.
	NamePolicy tenancy.Policy
	// MaxNames is how many names a namespace may have in a zone; zero is no limit. It needs an owner as NamePolicy does.
	MaxNames int
	// Interval is the longest time between two listings of a zone; zero is [DefaultInterval].
	Interval time.Duration
	// DeletionDelay is how long nobody may have asked for a record set before it is deleted. What
	// takes its place isn't delayed.
	DeletionDelay time.Duration
	// Budget is what a zone may lose without approval; Approved is the hash of a plan that may be
	// made, empty for none. Settings identify those that decide about records ([budget.NewBook]).
	Budget             budget.Limits
	Approved, Settings string
	// Store keeps the budgets outside of the process; it may be nil. Desk is where people approve
	// plans; nil for nowhere.
	Store     budget.Store
	Approvals *budget.ApprovalQueue
	Limits    Limits
	// DryRun is true when changes are only logged, not applied.
	DryRun bool
	// MayWrite returns an error when no write may begin, for example because the lease is
	// lost. Nil stands for a function that always allows it.
	MayWrite func() error
	// Notify is called with each [Notice], for Events, while Lead is called: of several processes, one tells.
	// It must not block. It may be nil.
	Notify func(Notice)
	// Tracer begins a span for each batch, which has the name of the provider; nil begins none.
	Tracer       *tracing.Tracer
	ProviderName string
	Metrics      *Metrics
	Log          *slog.Logger
}

// NamedSource is a source with the name that --source calls it.
type NamedSource struct {
	Name string
	source.Source
}

// Limits are how often and for how much the provider is called. What the provider itself says
// ([provider.Capabilities]) counts, too: the stricter of the two. Zero is for no limit.
type Limits struct {
	// BatchSize is the most changes in one call, and BatchInterval the time between two calls
	// with changes in one zone.
	BatchSize     int
	BatchInterval time.Duration
	// CallsPerSecond is the most calls of the provider in a second. Writes come before listings.
	CallsPerSecond float64
	// ZonesCache is how long the list of zones is used. It is listed at most every
	// [Config].Interval.
	ZonesCache time.Duration
	// ListingTime is how long what was listed of a zone is good, if nothing points to a change;
	// zero is for as long as the provider says. A zone is read at most every [Config].Interval.
	ListingTime time.Duration
}

// Notice is an event about a record set that objects ask for, or about the publisher itself.
type Notice struct {
	// Objects are the objects that the notice is about; none if it is about the publisher.
	Objects []dns.Object
	// Record is the record set that the notice is about. It may be nil.
	Record *dns.RecordSet
	// Action is one of the actions below, and Reason one of the reasons.
	Action, Reason string
	// Message says what is wrong and what to do. It is empty after a success.
	Message string
}

// The reasons and actions of notices. The first three are those of ExternalDNS (spec/dns.md
// §11).
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
	// ReasonUnled is for publishers of a standby that the leader doesn't have.
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

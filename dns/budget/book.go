package budget

import (
	"cmp"
	"fmt"
	"maps"
	"time"

	"github.com/signpostd/signpost/dns"
)

// Book has the ledgers of a publisher. [NewBook] creates it.
type Book struct {
	limits    Limits
	publisher Publisher
	// settings identifies the settings of the publisher. It is used only with a store, because without
	// one each start would look like a change of the settings.
	settings string
	hasStore bool
	// loading is true in a term until the store was read. Counted changes wait until then.
	loading bool
	// termStart is the start of the term. distrusted is true if changes before it may be missing from the
	// store.
	termStart  time.Time
	distrusted bool
	// storeNeverWritten is true if the store never had any content, as at the first start of an installation,
	// which may take over zones from ExternalDNS.
	storeNeverWritten bool
	zones             map[dns.ZoneKey]*Ledger
	// approved is the hash that is approved from the start, once and until a time, as soon as exactly that plan
	// is held.
	approved      string
	approvedUntil time.Time
	// number is the version of the current state. last is the last snapshot.
	number uint64
	last   Snapshot
}

// Publisher identifies the publisher of a book, so that a plan of one publisher is never taken for
// that of another.
type Publisher struct {
	// Name may be empty. Owner is the owner ID of the publisher.
	Name, Owner string
}

// NewBook returns the empty book of a publisher. settings identifies the settings that decide about
// records: another text means other settings. Unless approved is empty, the plan with that hash may
// be made within [ApprovalTime].
func NewBook(now time.Time, limits Limits, publisher Publisher, settings, approved string) *Book {
	return &Book{limits: limits, publisher: publisher, settings: settings, loading: true, zones: map[dns.ZoneKey]*Ledger{}, approved: approved, approvedUntil: now.Add(ApprovalTime)}
}

// Ledger returns the ledger of a zone, and creates it if necessary.
func (b *Book) Ledger(z dns.Zone) *Ledger {
	l := b.zones[z.Key()]
	if l == nil {
		l = newLedger(z, b)
		b.zones[z.Key()] = l
		l.setSettings(b.knownSettings())
	}
	return l
}

func (b *Book) bump() { b.number++ }

// knownSettings returns the settings, or "" if it is unknown whether they are new.
func (b *Book) knownSettings() string {
	if !b.hasStore {
		return ""
	}
	return cmp.Or(b.settings, "none")
}

// Start starts a term without planned changes. Counted changes wait for Restore.
func (b *Book) Start(now time.Time) {
	b.loading, b.termStart, b.distrusted = true, now, false
	for _, l := range b.zones {
		l.Forget()
		l.decidedBefore, l.historyChecked = false, false
	}
}

// Restore is called with the result of [Keeper.Load]; nil if there is no store, or if the store
// refuses requests. In the second case Restore is called again in the same term when the store can
// be read. If the text isn't the state of a book, Restore returns an error and continues with an
// empty state.
func (b *Book) Restore(now time.Time, loaded *Loaded) error {
	var err error
	b.storeNeverWritten = loaded != nil && loaded.text == nil
	if b.hasStore = loaded != nil; b.hasStore {
		var s state
		if s, err = decode(loaded.text, now, b.limits.Window); err == nil {
			b.restore(s)
		}
	}
	b.loading = false
	for _, l := range b.zones {
		l.setSettings(b.knownSettings())
		l.recount()
	}
	return err
}

// Distrust tells the book that changes before the term may be missing from the store, or that
// changes can't be stored now. The budget of each zone then counts as spent at the start of the
// term: for a window, counted changes need an approval. Otherwise a process in a crash loop would
// get a new budget with each start.
func (b *Book) Distrust() {
	if b.distrusted {
		return
	}
	b.distrusted = true
	for _, l := range b.zones {
		if l.historyChecked {
			l.distrust()
		}
	}
}

// Retain ends the plans and approvals of zones that no longer exist. Don't call it if the list of
// zones may be incomplete. A removed zone may come back, so what limits its deletions stays: spent
// budget, unknown earlier deletions, and excepted names. Without any of these, the zone is forgotten.
func (b *Book) Retain(now time.Time, exist []dns.Zone) {
	there := map[dns.ZoneKey]bool{}
	for _, z := range exist {
		there[z.Key()] = true
	}
	maps.DeleteFunc(b.zones, func(k dns.ZoneKey, l *Ledger) bool {
		if there[k] {
			return false
		}
		l.endPlans()
		return l.idle(now)
	})
}

// Approve approves the plan with a hash in its zone; see [Ledger.Approve]. If several zones have
// the hash, which is possible in an edited store, nothing is approved.
func (b *Book) Approve(now time.Time, hash string, except []string) (Approval, error) {
	var known []*Ledger
	for _, l := range b.zones {
		if l.announcement(hash).number > 0 {
			known = append(known, l)
		}
	}
	switch {
	case b.loading:
		return Approval{}, ErrNotPlanned
	case len(known) == 0:
		return Approval{}, ErrUnknownPlan
	case len(known) == 1:
		return known[0].Approve(now, hash, except)
	default:
		return Approval{}, fmt.Errorf("%w: %d zones of this publisher know it", ErrAmbiguousPlan, len(known))
	}
}

// Held returns the announced plans with held changes, in no order.
func (b *Book) Held() []Plan {
	var held []Plan
	for _, l := range b.zones {
		if p, ok := l.Current(); ok {
			held = append(held, p)
		}
	}
	return held
}

// Snapshot is the state of a book at one time, for a [Keeper].
type Snapshot struct {
	number uint64
	at     time.Time
	text   []byte
}

// Snapshot returns the current state. If nothing has changed since the last call, it is free.
func (b *Book) Snapshot(now time.Time) Snapshot {
	if b.last.number != b.number {
		b.last = Snapshot{b.number, now, encode(b.state(now))}
	}
	return b.last
}

// Number is the version of the current state. Snapshots with the same number are equal.
func (b *Book) Number() uint64 { return b.number }

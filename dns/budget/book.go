package budget

import (
	"cmp"
	"fmt"
	"maps"
	"time"

	"github.com/signpostd/signpost/dns"
)

// zoneKey identifies a zone. With some providers only the ID is unique, with others only the
// name.
type zoneKey struct{ id, name string }

func keyOf(z dns.Zone) zoneKey { return zoneKey{z.ID, z.Name} }

// Book has the ledgers of a publisher. Make one with [NewBook].
type Book struct {
	limits    Limits
	publisher Publisher
	// settings identify the settings of the publisher. They count only if the book remembers,
	// because otherwise each start would look like a change of them.
	settings  string
	remembers bool
	// loading is true in a term until the store was read. Until then all counted changes wait.
	loading bool
	// began is when the term began. distrusted is true if changes may have been made before that are
	// stored nowhere.
	began      time.Time
	distrusted bool
	// first is true if there is a store that has never had anything, as at the first start of an installation,
	// which may take over zones from ExternalDNS.
	first bool
	zones map[zoneKey]*Ledger
	// approved is a hash that is approved from the start, until a time.
	approved      string
	approvedUntil time.Time
	// number is that of the present state, last the last snapshot.
	number uint64
	last   Snapshot
}

// Publisher identifies whose records a book is about: a plan of one publisher is never taken for
// that of another.
type Publisher struct {
	// Name may be empty. Owner is the ID under which the publisher owns its records.
	Name, Owner string
}

// NewBook returns the book of a publisher, without a memory. The settings identify those of the publisher that
// decide about records: another text stands for other settings. The plan with the hash approved,
// unless it is empty, may be made within [ApprovalTime].
func NewBook(now time.Time, limits Limits, publisher Publisher, settings, approved string) *Book {
	return &Book{limits: limits, publisher: publisher, settings: settings, loading: true, zones: map[zoneKey]*Ledger{}, approved: approved, approvedUntil: now.Add(ApprovalTime)}
}

// Ledger returns the ledger of a zone. A new one has no changes planned.
func (b *Book) Ledger(z dns.Zone) *Ledger {
	l := b.zones[keyOf(z)]
	if l == nil {
		l = newLedger(z, b)
		b.zones[keyOf(z)] = l
		l.arrive(b.known())
		if b.approved != "" {
			l.expect(b.approved, b.approvedUntil)
		}
	}
	return l
}

func (b *Book) alter() { b.number++ }

// known returns the settings, or "" if it can't be known whether they are new.
func (b *Book) known() string {
	if !b.remembers {
		return ""
	}
	return cmp.Or(b.settings, "none")
}

// Start starts a term, in which nothing has been planned yet. Counted changes wait for Restore.
func (b *Book) Start(now time.Time) {
	b.loading, b.began, b.distrusted = true, now, false
	for _, l := range b.zones {
		l.Forget()
		l.met, l.judged = false, false
	}
}

// Restore is called with what a [Keeper] has loaded; nil if there is no store, or if it refuses
// requests. In the second case Restore is called again in the same term when the store can be read. If
// the text isn't the state of a book, Restore returns an error, and continues as if it were empty.
func (b *Book) Restore(now time.Time, loaded *Loaded) error {
	var err error
	b.first = loaded != nil && loaded.text == nil
	if b.remembers = loaded != nil; b.remembers {
		var s state
		if s, err = decode(loaded.text, now, b.limits.Window); err == nil {
			b.restore(s)
		}
	}
	b.loading = false
	for _, l := range b.zones {
		l.arrive(b.known())
		l.renew()
	}
	return err
}

// Distrust tells the book that changes may have been made before the term that are stored nowhere, or
// that such changes can't be stored now. Then the term counts as if the budget of each zone had been
// spent when it began: within the window after that, counted changes need an approval. Otherwise a
// process that restarts again and again would have a new budget each time.
func (b *Book) Distrust() {
	if b.distrusted {
		return
	}
	b.distrusted = true
	for _, l := range b.zones {
		if l.judged {
			l.distrust()
		}
	}
}

// Retain forgets the zones that are not among those that exist, unless something was spent in
// them or is planned.
func (b *Book) Retain(now time.Time, exist []dns.Zone) {
	there := map[zoneKey]bool{}
	for _, z := range exist {
		there[keyOf(z)] = true
	}
	maps.DeleteFunc(b.zones, func(k zoneKey, l *Ledger) bool { return !there[k] && l.idle(now) })
}

// Approve approves the plan of a zone that has a hash; see [Ledger.Approve]. A hash that several
// zones know, which a store that somebody has edited can have, approves nothing.
func (b *Book) Approve(now time.Time, hash string, except []string) (Approval, error) {
	var known []*Ledger
	for _, l := range b.zones {
		if l.number(hash) > 0 {
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

// Held returns the plans that were announced and are held, in no order.
func (b *Book) Held() []Plan {
	var held []Plan
	for _, l := range b.zones {
		if p, ok := l.Current(); ok {
			held = append(held, p)
		}
	}
	return held
}

// Snapshot is the state of a book at one time, to be kept by a [Keeper].
type Snapshot struct {
	number uint64
	at     time.Time
	text   []byte
}

// Snapshot returns the present state. It costs nothing if that is the same as the last time.
func (b *Book) Snapshot(now time.Time) Snapshot {
	if b.last.number != b.number {
		b.last = Snapshot{b.number, now, encode(b.state(now))}
	}
	return b.last
}

// Number identifies the present state: a snapshot of the same number is as good as a new one.
func (b *Book) Number() uint64 { return b.number }

package publisher

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/plan"
)

// RowState is the publishing state of a record set.
type RowState string

// States of a record set.
const (
	// RowPublished: the zone has the wanted record set.
	RowPublished RowState = "published"
	// RowPending: the record set is being planned or written.
	RowPending RowState = "pending"
	// RowHeld: the change waits for approval or for unread sources, or the policy forbids it.
	RowHeld RowState = "held"
	// RowConflict: the name has records of another or unknown owner.
	RowConflict RowState = "conflict"
	// RowNoZone: no zone of the provider holds the name.
	RowNoZone RowState = "no-zone"
	// RowFailing: the provider refuses the record set or is unreachable.
	RowFailing RowState = "failing"
	// RowNotOwned: the zone has the record set, it isn't ours, and no object asks for it.
	RowNotOwned RowState = "foreign"
	// RowUnwanted: the record set is ours, no object asks for it, and the policy keeps it.
	RowUnwanted RowState = "unwanted"
)

// RowKey identifies a record set among those of a publisher.
type RowKey struct {
	// Zone and ZoneID are empty for an unzoned name.
	Zone, ZoneID string
	dns.Key
}

// Row is a record set: what objects ask for, what the zone has, and why the two differ.
type Row struct {
	RowKey
	State RowState
	// Wanted are the targets that objects ask for, Targets those of the zone. TTL, in seconds, is that
	// of the zone, else the wanted one; 0 means none.
	Wanted, Targets []string
	TTL             int64
	// Owner is the owner of the record set in the zone; empty if unknown.
	Owner string
	// Steered is true if the provider may respond with other targets, because the record set has a set
	// identifier or properties.
	Steered bool
	// Objects ask for the record set and get it. Losers ask for it and don't.
	Objects []dns.Object
	Losers  []RowLoser
	// resource is the object that the ownership record names.
	resource string
	// Message says why the zone doesn't have the wanted targets, and what to do; empty if it has them.
	Message string
	// Next is the time of the next attempt; zero if unknown.
	Next time.Time
}

func rowKey(at nameInZone, k dns.Key) RowKey {
	if at.zone == nil {
		return RowKey{Key: k}
	}
	return RowKey{Zone: at.zone.Name, ZoneID: at.zone.ID, Key: k}
}

func compareRowKeys(a, b RowKey) int {
	return cmp.Or(
		strings.Compare(a.Zone, b.Zone), strings.Compare(a.ZoneID, b.ZoneID), strings.Compare(a.Name, b.Name),
		strings.Compare(a.Type, b.Type), strings.Compare(a.SetIdentifier, b.SetIdentifier),
	)
}

// pair has the wanted record set of a key, and the zone's current one. Either may be nil.
type pair struct{ wanted, current *dns.RecordSet }

// makeRows computes the result of rowsAt.
func (p *Publisher) makeRows(at nameInZone) []Row {
	pairs, refused, lost := p.pairs(at)
	rows := make([]Row, 0, len(pairs)+len(refused))
	for k, both := range pairs {
		row := newRow(rowKey(at, k), both)
		p.judge(at, both, &row)
		rows = append(rows, row)
	}
	if at.zone != nil {
		for _, k := range at.zone.names.unconfirmed(at.name) {
			if _, known := pairs[k]; !known {
				rows = append(rows, Row{RowKey: rowKey(at, k), State: RowFailing, Message: deletedInVain, Next: at.zone.verifyAt})
			}
		}
	}
	for _, r := range refused[:min(len(refused), maxLost)] {
		rows = addLoser(at, rows, r.set, r.reason)
	}
	for _, l := range lost[:min(len(lost), maxLost)] {
		rows = addLoser(at, rows, l.Set, p.lossMessage(l))
	}
	slices.SortFunc(rows, func(a, b Row) int { return compareRowKeys(a.RowKey, b.RowKey) })
	return rows
}

const deletedInVain = "the record set was deleted again, after three deletions without effect: the next listing shows whether it is gone; " +
	"if it stays, check what the provider lists under the name"

// conflictRow returns the row of a record set that loses to another.
func conflictRow(at nameInZone, r *dns.RecordSet, message string) Row {
	row := newRow(rowKey(at, r.Key()), pair{wanted: r})
	row.State, row.Message = RowConflict, message
	return row
}

// addLoser adds a record set that isn't published to the row of its key, or adds a row.
func addLoser(at nameInZone, rows []Row, r *dns.RecordSet, message string) []Row {
	key := rowKey(at, r.Key())
	i := slices.IndexFunc(rows, func(r Row) bool { return r.RowKey == key })
	if i < 0 {
		return append(rows, conflictRow(at, r, message))
	}
	rows[i].Losers = append(rows[i].Losers, RowLoser{Objects: r.Objects, Targets: r.Targets, Message: message})
	return rows
}

// pairs returns, by key, the wanted record sets of a name and those of its zone. It also returns
// those that the provider can't store, and those that lose to others.
func (p *Publisher) pairs(at nameInZone) (map[dns.Key]pair, []unsupportedSet, []plan.Loss) {
	pairs := map[dns.Key]pair{}
	var wanted []plan.Candidate
	var refused []unsupportedSet
	switch {
	case !p.Domains.Match(at.name):
	case at.zone == nil:
		wanted = p.Desired.Candidates(at.name, nil)
	case p.admits(at.zone, at.name):
		w := p.want(at.zone, at.name)
		wanted, refused = w.wanted, p.impossibles(at.name, w)
	}
	if at.zone != nil {
		for _, c := range p.current(at.zone, at.name) {
			pairs[c.Set.Key()] = pair{current: c.Set}
		}
	}
	chosen, lost := p.choose(at, wanted)
	for _, w := range chosen {
		both := pairs[w.Set.Key()]
		both.wanted = w.Set
		pairs[w.Set.Key()] = both
	}
	return pairs, refused, lost
}

func newRow(key RowKey, both pair) Row {
	row := Row{RowKey: key}
	if w := both.wanted; w != nil {
		row.Wanted, row.TTL, row.Objects = w.Targets, max(0, w.TTL), w.Objects
	}
	if c := both.current; c != nil {
		row.Targets, row.TTL, row.Owner = c.Targets, max(0, c.TTL), c.Labels[dns.LabelOwner]
		row.resource = c.Labels[dns.LabelResource]
		row.Steered = c.SetIdentifier != "" || len(c.Properties) > 0
	}
	return row
}

// judge sets the state and the message of a record set.
func (p *Publisher) judge(at nameInZone, both pair, row *Row) {
	switch {
	case at.zone == nil:
		p.judgeUnzoned(at.name, row)
	case both.wanted == nil && !p.ours(both.current):
		if row.State = RowNotOwned; p.otherInstance(both.current) != "" {
			row.Message = "another process with our owner ID has written it: " + ownerOf(both.current.Labels) + ", and this one is the instance " + quote(p.Rules.Instance)
		}
	case p.satisfied(at.zone, both):
		if row.State, row.Message = RowPublished, p.notOurs(both.current); row.Message != "" {
			row.State = RowConflict
		}
	default:
		p.judgeDifference(at.zone, both, row)
	}
}

// ours reports whether a record set is known to be ours.
func (p *Publisher) ours(r *dns.RecordSet) bool { return p.Rules.Owner != "" && p.Rules.Owns(r) }

// satisfied reports whether a zone has a record set as wanted. A change that had no effect three times
// counts only when a listing shows its result.
func (p *Publisher) satisfied(z *zone, both pair) bool {
	if both.wanted == nil || both.current == nil || z.names.withoutEffect(both.current.Key()) {
		return false
	}
	if plan.Satisfies(both.current, both.wanted) {
		return true
	}
	// If the provider stores another form than the wanted one, a settled name is as wanted, except
	// with the policy create-only.
	n := z.names.all[both.current.Key().Name]
	return (n == nil || n.phase == settled && n.reason == "" && n.proposed.size() == 0) && z.upToDate &&
		p.Rules.Owns(both.current) && p.Rules.Policy != plan.CreateOnly
}

func (p *Publisher) judgeUnzoned(name string, row *Row) {
	if message, known := p.unzoned[name]; known && p.zones != nil {
		row.State, row.Message = RowNoZone, message
		return
	}
	row.State, row.Message = RowPending, "the zones of the provider have not been listed yet"
	if l := p.zoneList; l.err != nil {
		row.State, row.Message, row.Next = RowFailing, "the zones of the provider can't be listed: "+l.err.Error(), l.retryAt
	}
}

// judgeDifference is judge for a record set that differs from the wanted one.
func (p *Publisher) judgeDifference(z *zone, both pair, row *Row) {
	n := z.names.all[row.Name]
	if n == nil {
		n = &nameState{name: row.Name}
	}
	s := z.state(n)
	row.Message, row.Next = s.Message, s.Next
	switch {
	case s.Reason == ReasonConflict && both.wanted != nil:
		row.State = RowConflict
	case s.Reason == ReasonError || s.Reason == ReasonProvider:
		row.State = RowFailing
	case s.Reason == ReasonHeld:
		row.State, row.Message = RowHeld, p.heldMessage(z, row.Name, s.Message)
	case n.phase == held:
		row.State = RowHeld
	case n.proposed.size() > 0:
		row.State, row.Message = RowPending, "this is a dry run, which changes nothing: run without --dry-run"
	case n.phase != settled:
		row.State = RowPending
		p.noteThrottle(row)
	case !z.upToDate || !p.sourcesEvaluated:
		p.judgeUnread(z, row)
	default:
		p.judgeKept(both, row)
	}
}

// heldMessage returns why a name is held, and which plan has its changes.
func (p *Publisher) heldMessage(z *zone, name, message string) string {
	plan, ok := z.ledger.PlanOf(name)
	if !ok {
		return message + ": the next plan has them, in 30 seconds at most: signpost approve shows it"
	}
	if s := plan.Spent; s.Changes > 0 {
		message += " (" + strings.TrimPrefix(p.spentText(s), "and ") + ")"
	}
	return message + ": signpost approve " + plan.Hash + " makes them; if they are a mistake, restore the objects"
}

// judgeUnread is judge for a record set whose sources or zone aren't read yet.
func (p *Publisher) judgeUnread(z *zone, row *Row) {
	row.State, row.Message = RowPending, "the zone has not been read yet"
	switch {
	case z.reading.err != nil:
		row.State, row.Message, row.Next = RowFailing, z.reading.err.Error(), z.reading.retryAt
	case z.upToDate:
		row.Message = "not all objects have been read yet"
	default:
		p.noteThrottle(row)
	}
}

// noteThrottle says in a pending row that the provider throttles requests, and when the next one is sent.
func (p *Publisher) noteThrottle(row *Row) {
	if time.Now().Before(p.throttledUntil) {
		row.Message, row.Next = "the provider throttles requests", p.throttledUntil
	}
}

// judgeKept is judge for a difference that isn't corrected.
func (p *Publisher) judgeKept(both pair, row *Row) {
	policy := string(p.Rules.Policy)
	switch {
	case both.wanted == nil && !p.Domains.Match(row.Name):
		row.State, row.Message = RowUnwanted, "the domain filter leaves the name out, so its records stay unchanged: delete them yourself, or widen --domain-filter"
	case both.wanted == nil && !p.Rules.Manages(both.current.Type):
		row.State, row.Message = RowUnwanted, "records of the type "+both.current.Type+" are not managed: add --managed-record-types="+both.current.Type
	case both.wanted == nil:
		row.State, row.Message = RowUnwanted, "no object asks for it, and --policy="+policy+" deletes nothing: delete it yourself, or give --policy=sync"
	case both.current == nil:
		row.State, row.Message = RowFailing, "the provider stores no record set like this one: ask for another one"
	default:
		row.State, row.Message = RowHeld, "the zone has something else, and --policy="+policy+" changes nothing that exists: change it yourself, or give --policy=upsert-only"
	}
}

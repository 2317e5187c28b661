package budget

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dns"
)

const (
	// announceEvery is the minimum time between two plans of a zone.
	announceEvery = 30 * time.Second
	// maxPlans limits the plans of a zone that are remembered.
	maxPlans = 64
)

var (
	// ErrUnknownPlan is the error of Approve for a hash that no announced plan has.
	ErrUnknownPlan = errors.New("no plan with this hash was announced")
	// ErrAmbiguousPlan is the error of Approve for a hash that several plans have.
	ErrAmbiguousPlan = errors.New("several plans have this hash, so nothing was approved")
	// ErrPlanChanged is the error of Approve if a held change differs from the one that the plan has
	// shown.
	ErrPlanChanged = errors.New("the plan has changed since it was shown, so nothing was approved")
	// ErrNothingLeft is the error of Approve if no change of the plan is held any more.
	ErrNothingLeft = errors.New("no change of this plan is held any more")
	// ErrNotInPlan is the error of Approve for an exception that isn't in the plan.
	ErrNotInPlan = errors.New("the plan has nothing under this name that is still held")
)

// Plan is the held changes of a zone, as announced.
type Plan struct {
	Zone dns.Zone
	// Hash identifies the plan. Every process computes the same hash for the same changes.
	Hash string
	// At is when the plan was announced.
	At time.Time
	// Owned is the number of our record sets in the zone at that time.
	Owned int
	// Changes are deletions and updates, by name, type and set identifier.
	Changes []dns.Change
	// UnknownUntil is that of [Ledger.UnknownUntil].
	UnknownUntil time.Time
	// Spent is the used part of the limit of deletions when the plan was announced.
	Spent Spent
	// Earlier are the plans that were announced before. Their changes that are still held are in this
	// plan.
	Earlier []Announcement
	// Excepted is the number of Changes whose names an approval left out. No limit ends their hold.
	Excepted int
	// shown has, for each of Changes, the number of the first plan that has shown it.
	shown []int
}

// Announcement is a plan that users may have seen.
type Announcement struct {
	Hash   string
	number int
	at     time.Time
	// changes is the number of changes of the plan.
	changes int
}

// Spent is the used part of a limit.
type Spent struct {
	// Changes is the number of changes made within the window, Limit the number allowed. A negative
	// Limit means none.
	Changes, Limit int
	// AvailableAt is when the held changes are within the limit, if nothing else is made before; zero
	// for never.
	AvailableAt time.Time
}

// Remaining returns the rest of an earlier plan: the changes that it has shown and that are still
// held. It returns false if the hash is neither that of the plan nor of an earlier one.
func (p *Plan) Remaining(hash string) (Plan, bool) {
	if p.Hash == hash {
		return *p, true
	}
	i := slices.IndexFunc(p.Earlier, func(e Announcement) bool { return e.Hash == hash })
	if i < 0 {
		return Plan{}, false
	}
	part := *p
	part.Hash, part.Changes, part.shown, part.Earlier = hash, nil, nil, nil
	for n, c := range p.Changes {
		if p.shown[n] <= p.Earlier[i].number {
			part.Changes = append(part.Changes, c)
		}
	}
	return part, true
}

// Count returns the number of deletions and of updates.
func (p Plan) Count() (deletions, updates int) {
	for _, c := range p.Changes {
		if c.New == nil {
			deletions++
		} else {
			updates++
		}
	}
	return deletions, updates
}

// Approval is the result of an approval.
type Approval struct {
	Plan string
	Zone dns.Zone
	// Deletions and Updates are the approved changes. Excepted are the changes of the plan that were
	// left out. Gone are changes of the plan that are no longer held.
	Deletions, Updates, Excepted, Gone int
	Until                              time.Time
}

// announcements are the plans of a zone that users may have seen.
type announcements struct {
	// plans are the latest ones, oldest first. A plan consists of the changes that it or an earlier
	// plan was the first to show and that are still planned, so it needs no memory for its changes.
	plans []Announcement
	last  int
	// current is the last announced plan, or nil if nothing is held. sum is the sum of its digests.
	current *Plan
	sum     uint64
	// next is when another plan may be announced.
	next time.Time
	// usedApproved is true if the hash that was approved from the start has approved changes. Until everything
	// is planned, more may follow.
	usedApproved bool
}

// Announce returns the plan to announce now, if there is a new one. Except after an approval, plans are
// announceEvery apart: an object whose names come and go must not evict the plan that a user is
// reading.
func (l *Ledger) Announce() (Plan, bool) {
	a := &l.announced
	switch {
	case l.book.loading:
		return Plan{}, false
	case l.held == 0:
		a.current = nil
		return Plan{}, false
	case a.current != nil && a.sum == l.heldSum && l.allShown():
		return Plan{}, false
	case l.now.Before(a.next):
		l.scheduleDecide(a.next)
		return Plan{}, false
	}
	a.last++
	for i := range l.all() {
		switch {
		case !l.isHeld(i):
			i.shown = 0 // not in this plan, so it must not count as shown by an earlier one
		case i.shown == 0:
			i.shown = a.last
		}
	}
	p := l.Plan()
	earlier := slices.DeleteFunc(a.plans, func(old Announcement) bool { return old.Hash == p.Hash })
	p.Earlier = slices.Clone(earlier[max(0, len(earlier)-maxPlans+1):])
	a.plans = append(slices.Clone(p.Earlier), Announcement{p.Hash, a.last, l.now, len(p.Changes)})
	known := a.current != nil && a.current.Hash == p.Hash
	a.current, a.sum, a.next = &p, l.heldSum, l.now.Add(announceEvery)
	l.book.bump()
	return p, !known
}

// allShown reports whether plans have shown all held changes. A change that was planned again, after
// other changes of its name were made, has not been shown.
func (l *Ledger) allShown() bool {
	for i := range l.heldItems() {
		if i.shown == 0 {
			return false
		}
	}
	return true
}

// PlanOf returns the last announced plan if it has all held changes of a name. It returns false for
// a held name that no plan has shown yet.
func (l *Ledger) PlanOf(name string) (Plan, bool) {
	e := l.names[name]
	if e == nil || l.announced.current == nil {
		return Plan{}, false
	}
	for i := range e.items {
		if l.isHeld(&e.items[i]) && e.items[i].shown == 0 {
			return Plan{}, false
		}
	}
	return *l.announced.current, true
}

// deletionsSpent returns the used part of the limit of deletions.
func (l *Ledger) deletionsSpent() Spent {
	limit := l.book.limits.of(Deletion)
	if !limit.limits() {
		return Spent{Limit: -1}
	}
	window := l.book.limits.Window
	left, recent := l.spent[Deletion].within(l.now, window)
	s := Spent{Changes: recent, Limit: limit.max(l.owned + recent)}
	held := 0
	for i := range l.heldItems() {
		if i.kind == Deletion && !i.excepted {
			held++
		}
	}
	if held == 0 {
		return s // time alone makes no room for what is held
	}
	for _, one := range left {
		if recent -= one.count; limit.allows(held+recent, l.owned+recent) {
			s.AvailableAt = one.at.Add(window)
			break
		}
	}
	return s
}

// Current returns the plan that was announced last, if anything is held.
func (l *Ledger) Current() (Plan, bool) {
	if l.announced.current == nil {
		return Plan{}, false
	}
	return *l.announced.current, true
}

// Plan returns the currently held changes, announced or not.
func (l *Ledger) Plan() Plan {
	p := Plan{Zone: l.zone, At: l.now, Owned: l.owned, UnknownUntil: l.UnknownUntil(), Spent: l.deletionsSpent()}
	held := slices.Collect(l.heldItems())
	slices.SortFunc(held, func(a, b *item) int { return compareChanges(a.Change, b.Change) })
	for _, i := range held {
		p.Changes, p.shown = append(p.Changes, i.Change), append(p.shown, i.shown)
		if i.excepted {
			p.Excepted++
		}
	}
	h := sha256.New()
	fmt.Fprintf(h, "publisher %q owner %q zone %q %q\n", l.book.publisher.Name, l.book.publisher.Owner, l.zone.ID, l.zone.Name)
	for _, c := range p.Changes {
		h.Write([]byte(line(c)))
	}
	p.Hash = hex.EncodeToString(h.Sum(nil)[:8])
	return p
}

// ValidHash reports whether a text can be the hash of a plan.
func ValidHash(hash string) bool {
	for _, r := range hash {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') {
			return false
		}
	}
	return len(hash) == 16
}

// compareChanges orders changes by name, type and set identifier.
func compareChanges(a, b dns.Change) int {
	x, y := a.RecordSet().Key(), b.RecordSet().Key()
	return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.Type, y.Type), strings.Compare(x.SetIdentifier, y.SetIdentifier))
}

// approveExpected approves the held changes of the hash that was approved from the start. It reports whether
// it did. The hash stays approved for now: while zones are read, a name may be planned again, which ends its
// approval.
func (l *Ledger) approveExpected() (approved bool) {
	hash, until := l.book.approved, l.book.approvedUntil
	if l.held == 0 || hash == "" || !l.now.Before(until) {
		return false
	}
	if l.Plan().Hash == hash {
		approved = l.approve(until, func(*item) bool { return true })
	} else if n := l.announcement(hash).number; n > 0 && len(l.changedSince(n, nil)) == 0 {
		approved = l.approve(until, func(i *item) bool { return 0 < i.shown && i.shown <= n })
	}
	l.announced.usedApproved = l.announced.usedApproved || approved
	return approved
}

// endExpected forgets the hash that was approved from the start if it has approved changes: everything was
// planned, so what is held under it later is held for another reason.
func (l *Ledger) endExpected() {
	if l.announced.usedApproved {
		l.announced.usedApproved, l.book.approved = false, ""
	}
}

// approve approves the held changes that meet a condition. It reports whether there was any.
func (l *Ledger) approve(until time.Time, meets func(*item) bool) bool {
	found := false
	for i := range l.heldItems() {
		if meets(i) {
			i.userState.approved = until
			found = true
		}
	}
	for name, e := range l.names {
		if !slices.ContainsFunc(e.items, func(i item) bool { return !l.approved(&i) }) {
			l.setExcepted(name, false)
		}
	}
	if found {
		// The rest is a new plan, and the user who approved should see it at once.
		l.announced.current, l.announced.next = nil, time.Time{}
		l.changed = true
		l.book.bump()
	}
	return found
}

// announcement returns the announced plan with a hash; its number is 0 if there is none.
func (l *Ledger) announcement(hash string) Announcement {
	for _, known := range l.announced.plans {
		if known.Hash == hash {
			return known
		}
	}
	return Announcement{}
}

// changedSince returns the held changes of record sets that a plan has shown with other changes,
// except under some names.
func (l *Ledger) changedSince(number int, excepted map[string]bool) []dns.Change {
	var changed []dns.Change
	for i := range l.heldItems() {
		shown := 0 < i.shown && i.shown <= number
		if !shown && 0 < i.replaces && i.replaces <= number && !excepted[dns.Canonical(i.RecordSet().Name)] {
			changed = append(changed, i.Change)
		}
	}
	slices.SortFunc(changed, compareChanges)
	return changed
}

// planChanged returns an [ErrPlanChanged] that says what has changed and what to do.
func planChanged(changed []dns.Change) error {
	const maxShown = 3
	var now []string
	for _, c := range changed[:min(len(changed), maxShown)] {
		now = append(now, describe(c))
	}
	text := strings.Join(now, ", ")
	if more := len(changed) - maxShown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("%w: held is now: %s: show the plans that are held and approve one of them, or leave these names out (--except)", ErrPlanChanged, text)
}

// describe returns a short text of a change. Names and targets are untrusted text.
func describe(c dns.Change) string {
	r := c.RecordSet()
	text := fmt.Sprintf("delete %.253s %.20s %.60q", r.Name, r.Type, first(canonicalTargets(c.Old)))
	if c.New != nil {
		text = fmt.Sprintf("update %.253s %.20s from %.60q to %.60q", r.Name, r.Type, first(canonicalTargets(c.Old)), first(canonicalTargets(c.New)))
	}
	return text
}

func first(targets []string) []string { return targets[:min(len(targets), 3)] }

// Approve approves the changes that a plan has shown and that are still held, except those under
// some names: these are held until they are approved, or need no counted change any more. If a record
// set of the plan is now held with another change, nothing is approved, unless its name is excepted. The
// next Decide applies the approval.
func (l *Ledger) Approve(now time.Time, hash string, except []string) (Approval, error) {
	l.now = now
	announced := l.announcement(hash)
	number := announced.number
	if number == 0 {
		return Approval{}, ErrUnknownPlan
	}
	shown := func(i *item) bool { return l.isHeld(i) && 0 < i.shown && i.shown <= number }
	excepted := map[string]bool{}
	for _, name := range except {
		name = dns.Canonical(name)
		inPlan := func(i item) bool { return shown(&i) || l.isHeld(&i) && 0 < i.replaces && i.replaces <= number }
		if e := l.names[name]; e == nil || !slices.ContainsFunc(e.items, inPlan) {
			return Approval{}, fmt.Errorf("%w: %.100q", ErrNotInPlan, name)
		}
		excepted[name] = true
	}
	if changed := l.changedSince(number, excepted); len(changed) > 0 {
		return Approval{}, planChanged(changed)
	}
	leftOut := func(i *item) bool { return excepted[dns.Canonical(i.RecordSet().Name)] }
	a := Approval{Plan: hash, Zone: l.zone, Until: now.Add(ApprovalTime)}
	for i := range l.all() {
		switch {
		case !shown(i):
		case leftOut(i):
			a.Excepted++
		case i.New == nil:
			a.Deletions++
		default:
			a.Updates++
		}
	}
	a.Gone = max(0, announced.changes-a.Deletions-a.Updates-a.Excepted)
	switch {
	case !l.complete && a.Gone > 0:
		return Approval{}, ErrNotPlanned
	case a.Deletions+a.Updates == 0:
		return Approval{}, ErrNothingLeft
	}
	for name := range excepted {
		l.setExcepted(name, true)
	}
	l.approve(a.Until, func(i *item) bool { return shown(i) && !leftOut(i) })
	return a, nil
}

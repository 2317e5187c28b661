package budget

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
)

// Ledger has the counted changes of a zone: the planned ones, and how many were made in the last
// window. Deletions without a replacement and updates that remove targets are counted.
type Ledger struct {
	zone dns.Zone
	book *Book
	// settings are those of this process. accepted are the last settings under which the zone was
	// planned without held changes, newest first.
	settings string
	accepted []string
	// newSettings is true until the zone has been planned for the first time under new settings.
	newSettings bool

	names map[string]*entry
	spent [kinds]spendings
	// exceeded says which limits the planned changes exceed. held counts the changes that are held
	// because of that, and heldSum is the sum of their digests.
	exceeded [kinds]bool
	held     int
	heldSum  uint64
	// owned and now are the arguments of the last Decide.
	owned int
	now   time.Time
	// changed is true if Decide has work to do. At nextDecide it has work in any case.
	changed    bool
	nextDecide time.Time
	// complete is true once everything has been planned in this term.
	complete bool

	// known is true if the changes before the term are known, from the store or from this process.
	// decidedBefore is true after the first Decide of a term. startedEmpty is true if the zone had no
	// record set of ours at that time, so that no deletion can be counted twice. historyChecked is
	// true after the first Decide with the state of the store.
	known, decidedBefore, startedEmpty, historyChecked bool
	// unknownUntil is until when counted changes need an approval, because earlier changes are
	// unknown.
	unknownUntil time.Time

	announced announcements
	// excepted are the names that an approval left out, as hashes. Their counted changes are held until
	// they are approved, whatever the limits are. An exception is about a name and not about a change,
	// because the change may be planned again in another form, or not be planned for a moment.
	excepted map[uint64]struct{}
	// recalled has the state of changes that an earlier process knew and this one hasn't planned yet.
	recalled map[digest]userState
	// recalledKeys has, by the key of the digest, the number of the first plan that showed a recalled
	// change of a record set.
	recalledKeys map[uint64]int
}

// entry is a name with counted changes. It has no items if its changes were counted only until the
// store was read.
type entry struct {
	changes []dns.Change
	items   []item
}

type item struct {
	dns.Change
	kind Kind
	digest
	userState
	// charged is when the budget was last charged for the change.
	charged time.Time
	// excepted is true if the name is excepted.
	excepted bool
}

// userState is what users have seen and approved of a change.
type userState struct {
	// shown is the number of the first plan that had the change; 0 if none had.
	shown int
	// replaces is the number of the first plan with another change of this record set that this one
	// has replaced; 0 if none had.
	replaces int
	// approved is until when the change may be made regardless of the limits.
	approved time.Time
}

func newLedger(z dns.Zone, b *Book) *Ledger {
	return &Ledger{zone: z, book: b, names: map[string]*entry{}, excepted: map[uint64]struct{}{}, recalled: map[digest]userState{}, recalledKeys: map[uint64]int{}}
}

// Note replaces the planned changes of a name. For changes that are no longer planned, everything
// is forgotten, including approvals.
func (l *Ledger) Note(name string, changes []dns.Change) {
	before := l.names[name]
	items := l.itemsOf(name, changes, before)
	switch {
	case before == nil && len(items) == 0:
		return
	case len(items) == 0:
		delete(l.names, name)
	default:
		l.names[name] = &entry{changes: changes, items: items}
	}
	l.changed = true
	if before != nil && slices.ContainsFunc(before.items, func(i item) bool { return i.userState != (userState{}) && !containsDigest(items, i.digest) }) {
		l.book.bump() // the state of a change has ended
	}
}

// Needs tells the ledger all changes that a name needs, whether they are due or not. If none of them is
// counted, the name isn't excepted any more.
func (l *Ledger) Needs(name string, changes []dns.Change) {
	if l.Excepted(name) && len(l.itemsOf(name, changes, l.names[name])) == 0 {
		l.setExcepted(name, false)
	}
}

// Excepted reports whether the counted changes of a name are held because an approval left the name out.
func (l *Ledger) Excepted(name string) bool {
	if len(l.excepted) == 0 {
		return false
	}
	_, excepted := l.excepted[hashOf(name)]
	return excepted
}

// setExcepted begins or ends the exception of a name.
func (l *Ledger) setExcepted(name string, excepted bool) {
	if l.Excepted(name) == excepted {
		return
	}
	if excepted {
		l.excepted[hashOf(name)] = struct{}{}
	} else {
		delete(l.excepted, hashOf(name))
	}
	if e := l.names[name]; e != nil {
		for i := range e.items {
			e.items[i].excepted = excepted
		}
	}
	l.changed = true
	l.book.bump()
}

func containsDigest(items []item, d digest) bool {
	return slices.ContainsFunc(items, func(i item) bool { return i.digest == d })
}

// itemsOf returns the counted changes among those of a name.
func (l *Ledger) itemsOf(name string, changes []dns.Change, before *entry) []item {
	kind := ObjectUpdate
	if l.newSettings || before != nil && slices.ContainsFunc(before.items, func(i item) bool { return i.kind == SettingsUpdate }) {
		// Once the settings have caused an update of a name, its next update may be wrong for the same
		// reason.
		kind = SettingsUpdate
	}
	// Changes without a limit aren't counted, so that nothing is stored for them. Before the store was
	// read, it is unknown which limit applies to an update.
	var items []item
	if l.counts(Deletion) {
		for _, c := range Losses(changes) {
			items = append(items, l.newItem(c, Deletion, before))
		}
	}
	if l.counts(kind) {
		for _, c := range changes {
			if removesTargets(c) {
				items = append(items, l.newItem(c, kind, before))
			}
		}
	}
	for i, excepted := 0, l.Excepted(name); i < len(items); i++ {
		items[i].excepted = excepted
	}
	return items
}

// counts reports whether changes of a kind are counted.
func (l *Ledger) counts(k Kind) bool { return l.book.loading || l.book.limits.of(k).limits() }

func (l *Ledger) newItem(c dns.Change, kind Kind, before *entry) item {
	new := item{Change: c, kind: kind, digest: digestOf(c)}
	replaces := l.recalledKeys[new.key]
	if before != nil {
		for _, old := range before.items {
			if old.digest == new.digest {
				new.userState, new.charged = old.userState, old.charged
				return new
			}
			if old.key == new.key {
				replaces = earlier(old.shown, earlier(old.replaces, replaces))
			}
		}
	}
	new.userState = l.recalled[new.digest]
	if new.shown == 0 || replaces < new.shown {
		new.replaces = replaces
	}
	return new
}

// earlier returns the smaller number of a plan; 0 means none.
func earlier(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// recall adds the state of a change from an earlier process or term.
func (l *Ledger) recall(d digest, m userState) {
	l.recalled[d] = m
	if n := earlier(m.shown, m.replaces); n > 0 {
		l.recalledKeys[d.key] = earlier(l.recalledKeys[d.key], n)
	}
}

func (l *Ledger) forgetRecalled() {
	l.recalled, l.recalledKeys = map[digest]userState{}, map[uint64]int{}
}

// all returns the counted changes of all names, in no order.
func (l *Ledger) all() iter.Seq[*item] {
	return func(yield func(*item) bool) {
		for _, e := range l.names {
			for i := range e.items {
				if !yield(&e.items[i]) {
					return
				}
			}
		}
	}
}

// heldItems returns the held changes of all names, in no order.
func (l *Ledger) heldItems() iter.Seq[*item] {
	return func(yield func(*item) bool) {
		for i := range l.all() {
			if l.isHeld(i) && !yield(i) {
				return
			}
		}
	}
}

// Counted returns the names with counted changes, in no order, and those whose changes were counted
// only until the store was read.
func (l *Ledger) Counted() iter.Seq[string] { return maps.Keys(l.names) }

// alreadyCharged reports whether a change was charged within the window. It counts as made.
func (l *Ledger) alreadyCharged(i *item) bool {
	return !l.unknown() && !i.charged.IsZero() && l.now.Sub(i.charged) < l.book.limits.Window
}

// unknown reports whether counted changes need an approval because earlier changes are unknown.
func (l *Ledger) unknown() bool { return l.now.Before(l.unknownUntil) }

// distrust requires approvals for a window from the start of the term on.
func (l *Ledger) distrust() {
	if until := l.book.termStart.Add(l.book.limits.Window); until.After(l.unknownUntil) {
		l.unknownUntil, l.changed = until, true
		l.book.bump()
	}
}

// firstDecide is called by Decide with the number of our record sets in the zone, and acts once in
// a term. If there are some but nothing is known of the zone, the store was emptied or never
// written.
func (l *Ledger) firstDecide(owned int) {
	if !l.decidedBefore {
		l.decidedBefore, l.startedEmpty = true, owned == 0
	}
	if l.startedEmpty || l.book.loading || l.historyChecked {
		return
	}
	if l.historyChecked = true; l.book.distrusted || l.book.hasStore && !l.book.storeNeverWritten && !l.known {
		l.distrust()
	}
}

// UnknownUntil returns until when counted changes of the zone need an approval because earlier
// changes are unknown; zero if they are known.
func (l *Ledger) UnknownUntil() time.Time {
	if !l.unknown() {
		return time.Time{}
	}
	return l.unknownUntil
}

func (l *Ledger) approved(i *item) bool { return l.now.Before(i.userState.approved) }

func (l *Ledger) isHeld(i *item) bool {
	return l.book.loading || (l.exceeded[i.kind] && !l.alreadyCharged(i) || i.excepted) && !l.approved(i)
}

// Decide decides which changes are held. owned is the number of our record sets in the zone. It
// reports whether Permitted may have changed for the names in Counted.
func (l *Ledger) Decide(now time.Time, owned int) (different bool) {
	l.firstDecide(owned)
	if !l.changed && owned == l.owned && (l.nextDecide.IsZero() || now.Before(l.nextDecide)) {
		l.now = now
		return false
	}
	l.now, l.owned, l.changed = now, owned, false
	l.checkLimits()
	if l.approveExpected() {
		l.checkLimits()
	}
	return true
}

// checkLimits compares the planned changes with the limits.
func (l *Ledger) checkLimits() {
	var planned [kinds]int
	l.nextDecide = time.Time{}
	for i := range l.all() {
		switch {
		case l.approved(i):
			l.scheduleDecide(i.userState.approved)
		case i.excepted: // it isn't made, so it takes no room from others
		case l.alreadyCharged(i):
			l.scheduleDecide(i.charged.Add(l.book.limits.Window))
		default:
			planned[i.kind]++
		}
	}
	for k := range planned {
		var recent int
		l.spent[k], recent = l.spent[k].within(l.now, l.book.limits.Window)
		base := l.owned
		if Kind(k) == Deletion {
			base += recent
		}
		limit := l.book.limits.of(Kind(k))
		l.exceeded[k] = planned[k] > 0 && (l.unknown() && limit.limits() || !limit.allows(planned[k]+recent, base))
		if l.exceeded[k] && l.unknown() {
			l.scheduleDecide(l.unknownUntil)
		}
		if l.exceeded[k] && recent > 0 {
			l.scheduleDecide(l.spent[k][0].at.Add(l.book.limits.Window))
		}
	}
	l.held, l.heldSum = 0, 0
	for i := range l.heldItems() {
		l.held++
		l.heldSum += i.change
	}
}

// scheduleDecide sets due to the given time, unless it is earlier.
func (l *Ledger) scheduleDecide(at time.Time) {
	if l.nextDecide.IsZero() || at.Before(l.nextDecide) {
		l.nextDecide = at
	}
}

// Due returns when Decide has to be called again if no event comes before; zero means never.
func (l *Ledger) Due() time.Time { return l.nextDecide }

// Held returns the number of held changes, as of the last Decide.
func (l *Ledger) Held() int { return l.held }

// Permitted returns the changes of a name that may be made now; all of them if none is counted.
func (l *Ledger) Permitted(name string, changes []dns.Change) []dns.Change {
	e := l.names[name]
	if e == nil {
		return changes
	}
	var held []dns.Change
	for i := range e.items {
		if l.isHeld(&e.items[i]) {
			held = append(held, e.items[i].Change)
		}
	}
	return Without(e.changes, held)
}

// Spend charges the budget for the counted changes of a name that are about to be made. Approved
// changes are free, and so are changes that were charged within the window and not made since.
// Spend reports whether any change is counted. A snapshot must then be stored before the changes
// are made.
func (l *Ledger) Spend(now time.Time, name string, made []dns.Change) (counted bool) {
	e := l.names[name]
	if e == nil {
		return false
	}
	l.now = now
	for n := range e.items {
		i := &e.items[n]
		if !slices.Contains(made, i.Change) {
			continue
		}
		counted = true
		if l.alreadyCharged(i) || l.approved(i) {
			continue
		}
		i.charged = now
		l.spent[i.kind] = l.spent[i.kind].add(now, 1)
		l.changed = true
		l.book.bump()
	}
	return counted
}

// Complete tells the ledger that all sources were read and all names of the zone planned. The
// recalled state of other changes ends. The settings are accepted once none of their updates is
// held.
func (l *Ledger) Complete() {
	if l.book.loading {
		return
	}
	l.newSettings, l.known, l.complete = false, true, true
	l.endExpected()
	if len(l.recalled) > 0 {
		l.forgetRecalled()
		l.book.bump()
	}
	if l.settings == "" || len(l.accepted) > 0 && l.accepted[0] == l.settings {
		return
	}
	for i := range l.all() {
		if i.kind == SettingsUpdate {
			return
		}
	}
	known := slices.DeleteFunc(slices.Clone(l.accepted), func(s string) bool { return s == l.settings })
	l.accepted = append([]string{l.settings}, known[:min(len(known), maxSettings-1)]...)
	l.book.bump()
}

// maxSettings limits the accepted settings of a zone. Going back to accepted settings is no change.
const maxSettings = 4

// Forget forgets the planned changes, but not what users have seen and approved of them.
func (l *Ledger) Forget() {
	l.remember()
	clear(l.names)
	l.announced.current, l.announced.next = nil, time.Time{}
	l.exceeded, l.held, l.changed, l.complete = [kinds]bool{}, 0, true, false
}

// remember keeps what users have seen and approved of the planned changes.
func (l *Ledger) remember() {
	for i := range l.all() {
		if i.userState != (userState{}) {
			l.recall(i.digest, i.userState)
		}
	}
}

// setSettings tells the ledger the settings of this process; "" if it is unknown whether they are
// new.
func (l *Ledger) setSettings(settings string) {
	l.settings = settings
	l.newSettings = settings != "" && !slices.Contains(l.accepted, settings)
}

// recount counts the planned changes again, after the store was read.
func (l *Ledger) recount() {
	l.changed = true
	for name, e := range l.names {
		charged := e.items
		e.items = l.itemsOf(name, e.changes, nil)
		for i := range e.items {
			for _, old := range charged {
				if old.digest == e.items[i].digest {
					e.items[i].charged = old.charged
				}
			}
		}
	}
}

// endPlans ends the planned changes, and everything that users have seen and approved.
func (l *Ledger) endPlans() {
	l.Forget()
	if len(l.recalled)+len(l.announced.plans) > 0 {
		l.book.bump()
	}
	l.forgetRecalled()
	l.announced.plans = nil
	l.endExpected()
}

// idle reports whether the ledger, which has no plans, holds nothing but accepted settings.
func (l *Ledger) idle(now time.Time) bool {
	for k := range l.spent {
		if _, sum := l.spent[k].within(now, l.book.limits.Window); sum > 0 {
			return false
		}
	}
	return len(l.excepted) == 0 && !now.Before(l.unknownUntil)
}

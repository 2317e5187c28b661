package publisher

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
)

// ledger records the deletions of owned record sets in a zone: those that were made and those
// that are planned. "Loss" stands for such a deletion.
type ledger struct {
	// wanted has the groups with planned losses by name.
	wanted map[string]group
	// spent are the losses of the last window, the oldest first.
	spent []loss
	// held is the hash of the plan that is held. It is empty when none is.
	held string
	// approved are the names whose losses are approved and not all applied yet.
	approved map[string]struct{}
}

type loss struct {
	at    time.Time
	count int
}

func newLedger() ledger {
	return ledger{wanted: map[string]group{}, approved: map[string]struct{}{}}
}

// note replaces the planned losses of a name.
func (l *ledger) note(g group) {
	if g.lost() > 0 {
		l.wanted[g.name] = g
	} else {
		delete(l.wanted, g.name)
		delete(l.approved, g.name)
	}
}

// spend records that the losses of a group were applied. Approved losses don't count.
func (l *ledger) spend(now time.Time, g group) {
	if count := g.lost(); count > 0 && !l.permits(g.name) {
		l.spent = append(l.spent, loss{now, count})
	}
	l.note(group{name: g.name})
}

// permits reports whether the losses of a name are approved.
func (l *ledger) permits(name string) bool {
	_, approved := l.approved[name]
	return approved
}

// open returns the groups with losses that are not approved.
func (l *ledger) open() map[string]group {
	open := maps.Clone(l.wanted)
	maps.DeleteFunc(open, func(name string, _ group) bool { return l.permits(name) })
	return open
}

// recent returns the number of losses in the window that ends now.
func (l *ledger) recent(now time.Time, window time.Duration) int {
	l.spent = slices.DeleteFunc(l.spent, func(s loss) bool { return now.Sub(s.at) >= window })
	sum := 0
	for _, s := range l.spent {
		sum += s.count
	}
	return sum
}

// planned returns the number of planned losses that are not approved.
func (l *ledger) planned() int {
	sum := 0
	for name, g := range l.wanted {
		if !l.permits(name) {
			sum += g.lost()
		}
	}
	return sum
}

// allows returns how many of its owned record sets a zone may lose.
func (b Budget) allows(owned int) int { return max(b.Records, owned*b.Percent/100) }

// overdrawn reports whether the planned losses, with those of the last window, are more than
// the budget allows.
func (p *Publisher) overdrawn(z *zone, now time.Time) bool {
	planned := z.budget.planned()
	if planned == 0 {
		z.budget.held = ""
		return false
	}
	recent := z.budget.recent(now, p.Budget.Window)
	if planned+recent <= p.Budget.allows(z.mirror.owned+recent) {
		z.budget.held = ""
		return false
	}
	open := z.budget.open()
	hash := planHash(z.Zone, open)
	if hash == p.Budget.Approved {
		p.Log.Warn("Deleting as approved", "zone", z.Name, "records", planned, "plan", hash)
		for name := range open {
			z.budget.approved[name] = struct{}{}
		}
		z.budget.held = ""
		return false
	}
	if z.budget.held != hash {
		z.budget.held = hash
		p.announceHold(z, planned)
	}
	return true
}

func (p *Publisher) announceHold(z *zone, planned int) {
	message := fmt.Sprintf("zone %s would lose %d of its %d records, which is more than the deletion budget allows, so nothing is deleted: "+
		"to delete them, start with --approve-plan=%s; otherwise find out why no object asks for them any more", z.Name, planned, z.mirror.owned, z.budget.held)
	p.Log.Error("Deletions are held", "zone", z.Name, "records", planned, "owned", z.mirror.owned, "plan", z.budget.held, "err", message)
	p.Notify(Notice{Action: ActionFailed, Reason: ReasonHeld, Message: message})
}

// planHash returns a hash that identifies the planned deletions of a zone. Every process
// computes the same hash for the same deletions.
func planHash(z dns.Zone, groups map[string]group) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q\n", z.ID, z.Name)
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		var lines []string
		for _, c := range groups[name].changes {
			if c.New == nil {
				lines = append(lines, fmt.Sprintf("%q %q %q\n", name, c.Old.Type, c.Old.SetIdentifier))
			}
		}
		slices.Sort(lines)
		for _, line := range lines {
			h.Write([]byte(line))
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

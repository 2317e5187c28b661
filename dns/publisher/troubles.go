package publisher

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Trouble is a problem of the publisher or of a zone, not of an object.
type Trouble struct {
	// Field is the subject: "budget", "provider", "zones", "zone example.org" or "domain-filter".
	Field string
	// Reason says what is wrong and what to do.
	Reason string
	Since  time.Time
}

// maxTroubles limits the troubles that are shown.
const maxTroubles = 100

// Troubles returns the current troubles; nothing in a process that doesn't lead. It may be called
// from any goroutine.
func (p *Publisher) Troubles() []Trouble {
	if all := p.troubles.Load(); all != nil {
		return slices.Clone(*all)
	}
	return nil
}

// noteTroubles replaces the troubles. It is called in the loop, after all work that is due.
func (p *Publisher) noteTroubles() {
	var found []Trouble
	if p.term != nil {
		found = p.findTroubles()
	}
	known := p.Troubles()
	if len(found) == 0 && len(known) == 0 {
		return
	}
	now := time.Now()
	for i := range found {
		found[i].Since = now
		for _, k := range known {
			if k.Field == found[i].Field {
				found[i].Since = k.Since
			}
		}
	}
	p.troubles.Store(&found)
}

// findTroubles returns the current troubles, without times.
func (p *Publisher) findTroubles() (found []Trouble) {
	add := func(field, reason string) {
		if len(found) < maxTroubles {
			found = append(found, Trouble{Field: field, Reason: reason})
		}
	}
	if err := p.budgets.err; err != nil {
		add("budget", p.storeProblem(err))
	} else if reason := p.unknownBudgets(); reason != "" {
		add("budget", reason)
	}
	if p.filtered {
		add("domain-filter", fmt.Sprintf("the domain filter leaves out all %d names that objects ask for: correct --domain-filter and --exclude-domains", p.Desired.Len()))
	}
	if p.throttle != nil && time.Now().Before(p.throttledUntil) {
		add("provider", fmt.Sprintf("the provider throttles requests, so nothing is sent until %s: %v", p.throttledUntil.UTC().Format(time.RFC3339), p.throttle))
	}
	switch {
	case p.zoneList.err != nil:
		add("zones", "the zones of the provider can't be listed, and this is tried again: "+p.zoneList.err.Error())
	case p.zones != nil && len(p.zones.all()) == 0 && p.Desired.Len() > 0:
		add("zones", fmt.Sprintf("the provider has no zone that the filters admit, and objects ask for %d names: create the zone, or correct the zone filters", p.Desired.Len()))
	}
	var zones []*zone
	for _, z := range p.zones.all() {
		if z.problem() != "" || z.mirror.otherInstances > 0 || len(z.otherOwners.unowned) > 0 {
			zones = append(zones, z)
		}
	}
	slices.SortFunc(zones, func(a, b *zone) int { return strings.Compare(a.Name+" "+a.ID, b.Name+" "+b.ID) })
	for _, z := range zones {
		for _, problem := range [][2]string{{"", z.problem()}, {", other instance", p.instancesProblem(z)}, {", other owner", p.unownedProblem(z)}} {
			if problem[1] != "" {
				add(z.field()+problem[0], problem[1])
			}
		}
	}
	return found
}

// field returns the zone as the field of a trouble.
func (z *zone) field() string {
	if z.ID == "" || z.ID == z.Name {
		return "zone " + z.Name
	}
	return fmt.Sprintf("zone %s (%s)", z.Name, z.ID)
}

// failure returns the failed operation that keeps a zone from being read or written; without an
// error if there is none.
func (z *zone) failure() retryState {
	for _, t := range []retryState{z.reading, z.writing, z.adjusting} {
		if t.err != nil {
			return t
		}
	}
	return retryState{}
}

// problem says why a zone can't be read or written; empty if it can.
func (z *zone) problem() string { return errorText(z.failure().err) }

// unknownBudgets says in which zones earlier deletions are unknown.
func (p *Publisher) unknownBudgets() string {
	var first *zone
	n := 0
	for _, z := range p.zones.all() {
		// The ledger of a zone that can't be read may not know yet that the time is over.
		if !time.Now().Before(z.ledger.UnknownUntil()) {
			continue
		}
		if n++; first == nil || z.Name < first.Name {
			first = z
		}
	}
	if n == 0 {
		return ""
	}
	where := "zone " + first.Name
	if n > 1 {
		where = fmt.Sprintf("%d zones, such as %s", n, first.Name)
	}
	return fmt.Sprintf("earlier deletions in %s are unknown after this start, so deletions need an approval until %s: %s",
		where, first.ledger.UnknownUntil().UTC().Format(time.RFC3339), p.unknownCause())
}

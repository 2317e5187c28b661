package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/signpostd/signpost/dev/lab/history"
)

// unownedRecords returns V6.
func unownedRecords() Validator {
	return Validator{
		Name: "V6",
		Rule: "Signpost changes no record that isn't its own, and has none without its ownership record: at each serial.",
		Check: func(h history.History) []Finding {
			var out []Finding
			for _, zone := range h.Setup.Zones {
				out = append(out, newRecordCheck(h, zone).run(h)...)
			}
			return out
		},
	}
}

// recordCheck checks the serials of a zone, from the first to the last.
type recordCheck struct {
	zone    string
	owner   string
	state   zoneState
	authors *authors
	// ours has the records that Signpost has made, without sets whose ownership others have taken.
	ours        map[zoneRecord]bool
	initialized bool // the zone was read once
	otherOwners map[string]map[string]bool
	findings    []Finding
}

func newRecordCheck(h history.History, zone string) *recordCheck {
	return &recordCheck{zone: strings.ToLower(dns.Fqdn(zone)), owner: h.Setup.Owner, state: zoneState{}, authors: newAuthors(h, zone), ours: map[zoneRecord]bool{}}
}

func (c *recordCheck) run(h history.History) []Finding {
	calm, isCalm := calmEnd(h)
	judged := false
	for _, e := range h.Entries {
		if isCalm && !judged && e.At > calm {
			c.afterCalm(calm)
			judged = true
		}
		if e.Zone != nil && strings.EqualFold(dns.Fqdn(e.Zone.Name), c.zone) {
			c.serial(e.At, *e.Zone)
		}
	}
	if isCalm && !judged {
		c.afterCalm(calm)
	}
	return c.findings
}

func (c *recordCheck) report(at time.Duration, subject, format string, args ...any) {
	c.findings = append(c.findings, Finding{"V6", at, "record " + subject, fmt.Sprintf(format, args...)})
}

// serial checks the changes of one serial and applies them.
func (c *recordCheck) serial(at time.Duration, z history.Zone) {
	d, err := deltaOf(z)
	if err != nil {
		c.report(at, z.Name, "serial %d can't be read: %v.", z.Serial, err)
		return
	}
	if z.Whole {
		c.readWhole(at, z.Serial, d)
		return
	}
	if d.empty() {
		return
	}
	author := c.authors.authorOf(c.state, d, at)
	switch author {
	case unknownAuthor:
		c.report(at, some(slices.Sorted(maps.Keys(d.names()))), "serial %d changes it, and no update was seen that asks for this change.", z.Serial)
		c.state.apply(d)
	case history.Person:
		c.byPerson(d)
	default:
		c.byReplica(at, fmt.Sprintf("%s has with serial %d", author, z.Serial), d)
	}
}

// deltaOf parses the records of a serial, without the SOA record, which changes with each serial.
func deltaOf(z history.Zone) (zoneDelta, error) {
	var d zoneDelta
	for _, part := range []struct {
		texts []string
		into  *[]zoneRecord
	}{{z.Removed, &d.removed}, {z.Added, &d.added}} {
		for _, text := range part.texts {
			r, err := parseRecord(text)
			if err != nil {
				return zoneDelta{}, err
			}
			if r.set.kind != dns.TypeSOA {
				*part.into = append(*part.into, r)
			}
		}
	}
	return d, nil
}

// readWhole reads a whole zone. The serials since the last state are unknown then, so a removed record of
// another owner is reported only if no update of the person concerns its name.
func (c *recordCheck) readWhole(at time.Duration, serial uint32, d zoneDelta) {
	next := zoneState{}
	next.apply(d)
	if !c.initialized {
		c.begin(next)
		return
	}
	unseen := c.state.difference(next)
	for _, r := range unseen.removed {
		if !c.isOwnership(r) && !c.state.owned(r.set, c.owner) && !c.authors.touched(r.set.name, at) {
			c.report(at, r.set.String(), "%s is gone at serial %d. It isn't Signpost's, and the person hasn't touched it.", quotedRecords(r), serial)
		}
	}
	for _, r := range unseen.removed {
		delete(c.ours, r)
	}
	c.state = next
	for _, r := range unseen.added {
		if next.owned(r.set, c.owner) && !c.isOwnership(r) {
			c.ours[r] = true
		}
	}
}

// touched reports whether an update of the person about a name may have been carried out by now.
func (a *authors) touched(name string, at time.Duration) bool {
	return slices.ContainsFunc(a.byName[name], func(u *zoneUpdate) bool { return u.author == history.Person && u.arrived <= at })
}

func (c *recordCheck) begin(z zoneState) {
	c.initialized, c.state = true, z
	c.otherOwners = map[string]map[string]bool{}
	for s, records := range z {
		for _, r := range records {
			if owner, ok := r.owner(); ok && owner != c.owner {
				name := s.name
				if described, ok := describedSet(s.name); ok {
					name = described.name
				}
				if c.otherOwners[name] == nil {
					c.otherOwners[name] = map[string]bool{}
				}
				c.otherOwners[name][owner] = true
			}
			if !c.isOwnership(r) && z.owned(s, c.owner) {
				c.ours[r] = true
			}
		}
	}
}

// isOwnership reports whether r is an ownership record of Signpost.
func (c *recordCheck) isOwnership(r zoneRecord) bool {
	owner, ok := r.owner()
	return ok && owner == c.owner
}

// byPerson applies a change of the person. If the person removes an ownership record of Signpost, Signpost
// loses the records that it described.
func (c *recordCheck) byPerson(d zoneDelta) {
	taken := map[recordSet]bool{}
	for _, r := range d.removed {
		delete(c.ours, r)
		if c.isOwnership(r) {
			for _, s := range c.state.describes(r.set.name) {
				taken[s] = true
			}
		}
	}
	c.state.apply(d)
	for s := range taken {
		if !c.state.owned(s, c.owner) {
			for _, r := range c.state[s] {
				delete(c.ours, r)
			}
		}
	}
}

// byReplica checks a change of a replica. who has the replica and the serial, for messages.
func (c *recordCheck) byReplica(at time.Duration, who string, d zoneDelta) {
	var unowned []recordSet
	for _, set := range c.others(slices.Concat(d.removed, d.added)) {
		if before := c.notOwned(set); before != nil {
			unowned = append(unowned, set)
			c.report(at, set.String(), "%s changed it. Before it was %s, and it isn't Signpost's: it has no ownership record of owner %q.", who, quotedRecords(before...), c.owner)
		}
	}
	for _, r := range d.added {
		if c.isOwnership(r) {
			c.claims(at, who, r)
		}
	}
	before := c.describedBy(d.removed)
	c.state.apply(d)
	for _, r := range d.removed {
		delete(c.ours, r)
	}
	for _, r := range d.added {
		if !c.isOwnership(r) {
			c.ours[r] = true
		}
	}
	for _, set := range slices.Concat(before, c.others(d.added)) {
		if !slices.Contains(unowned, set) {
			c.requireOwnership(at, who, set)
		}
	}
}

// others returns the sets of those records that aren't ownership records of Signpost, each once.
func (c *recordCheck) others(records []zoneRecord) []recordSet {
	var out []recordSet
	for _, r := range records {
		if !c.isOwnership(r) && !slices.Contains(out, r.set) {
			out = append(out, r.set)
		}
	}
	return out
}

// describedBy returns the sets that the ownership records among these records describe.
func (c *recordCheck) describedBy(records []zoneRecord) []recordSet {
	var out []recordSet
	for _, r := range records {
		if c.isOwnership(r) {
			out = append(out, c.state.describes(r.set.name)...)
		}
	}
	return out
}

// notOwned returns the records of a set that Signpost must not change. The result is empty if Signpost has
// made the records, or owned the set before somebody edited it.
func (c *recordCheck) notOwned(s recordSet) []zoneRecord {
	if c.state.owned(s, c.owner) {
		return nil
	}
	var out []zoneRecord
	for _, r := range c.state[s] {
		if !c.isOwnership(r) && !c.ours[r] {
			out = append(out, r)
		}
	}
	return out
}

// requireOwnership reports a set that has records of Signpost but no ownership record.
func (c *recordCheck) requireOwnership(at time.Duration, who string, s recordSet) {
	if c.state.owned(s, c.owner) {
		return
	}
	for _, r := range c.state[s] {
		if c.ours[r] {
			c.report(at, s.String(), "%s left %s without an ownership record of owner %q. It has to be at %s until the record is gone.", who, quotedRecords(r), c.owner, strings.Join(ownershipNames(s), " or "))
			return
		}
	}
}

// claims checks an ownership record before it is added.
func (c *recordCheck) claims(at time.Duration, who string, ownership zoneRecord) {
	name := ownership.set.name
	if s, ok := describedSet(name); ok {
		name = s.name
		if records := c.notOwned(s); records != nil {
			c.report(at, s.String(), "%s marked it as its own. It was there before: %s.", who, quotedRecords(records...))
		}
	}
	for _, r := range c.state[ownership.set] {
		if owner, ok := r.owner(); ok && owner != c.owner {
			c.report(at, ownership.set.String(), "%s added its ownership record beside the one of owner %q.", who, owner)
			return
		}
	}
	for owner := range c.otherOwners[name] {
		if c.stillOwned(name, owner) {
			c.report(at, name, "%s added an ownership record for this name, which owner %q has had from the beginning.", who, owner)
		}
	}
}

// stillOwned reports whether a name has an ownership record of this owner.
func (c *recordCheck) stillOwned(name, owner string) bool {
	return slices.ContainsFunc(ownershipTypes, func(kind uint16) bool { return c.state.owned(recordSet{name, kind}, owner) })
}

// afterCalm reports ownership records without records at the end of the calm.
func (c *recordCheck) afterCalm(at time.Duration) {
	for _, s := range c.withoutRecords() {
		c.report(at, s.String(), "this ownership record of owner %q has no record any more, although everything is calm.", c.owner)
	}
}

// withoutRecords returns the sets of ownership records whose records are missing.
func (c *recordCheck) withoutRecords() (sets []recordSet) {
	for s, records := range c.state {
		if slices.ContainsFunc(slices.Collect(maps.Values(records)), c.isOwnership) && len(c.state.describes(s.name)) == 0 {
			sets = append(sets, s)
		}
	}
	return sets
}

// noOrphanedOwnership reports whether each ownership record in the zones has its record.
func noOrphanedOwnership(h history.History) bool {
	for _, zone := range h.Setup.Zones {
		c := newRecordCheck(h, zone)
		c.run(h)
		if len(c.withoutRecords()) > 0 {
			return false
		}
	}
	return true
}

// quotedRecords quotes records for a message.
func quotedRecords(records ...zoneRecord) string {
	texts := make([]string, len(records))
	for i, r := range records {
		texts[i] = fmt.Sprintf("%q", fmt.Sprintf("%s %d %s", r.set, r.ttl, r.data))
	}
	slices.Sort(texts)
	return some(texts)
}

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

// foreignRecords is V6.
func foreignRecords() Validator {
	return Validator{
		Name: "V6",
		Rule: "Signpost changes no record that isn't its own, and has none without its marker: at each serial.",
		Check: func(h history.History) []Finding {
			var out []Finding
			for _, zone := range h.Setup.Zones {
				out = append(out, newRecordCheck(h, zone).run(h)...)
			}
			return out
		},
	}
}

// recordCheck reads the serials of a zone from the first to the last.
type recordCheck struct {
	zone    string
	owner   string
	state   zoneState
	authors *authors
	// ours has the records that Signpost has made, in sets that nobody has taken from it.
	ours     map[zoneRecord]bool
	whole    bool // the zone was read once
	first    map[string]map[string]bool
	findings []Finding
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

func (c *recordCheck) object(at time.Duration, subject, format string, args ...any) {
	c.findings = append(c.findings, Finding{"V6", at, "record " + subject, fmt.Sprintf(format, args...)})
}

// serial judges what one serial changes, and makes it the state.
func (c *recordCheck) serial(at time.Duration, z history.Zone) {
	d, err := deltaOf(z)
	if err != nil {
		c.object(at, z.Name, "serial %d can't be read: %v.", z.Serial, err)
		return
	}
	if z.Whole {
		c.readWhole(at, z.Serial, d)
		return
	}
	if d.empty() {
		return
	}
	author := c.authors.of(c.state, d, at)
	switch author {
	case nobody:
		c.object(at, strings.Join(firstFew(slices.Sorted(maps.Keys(d.names()))), ", "), "serial %d changes it, and no update was seen that asks for this change.", z.Serial)
		c.state.apply(d)
	case history.Person:
		c.byPerson(d)
	default:
		c.byReplica(at, fmt.Sprintf("%s has with serial %d", author, z.Serial), d)
	}
}

// deltaOf reads the records of a serial. The SOA record changes with each serial and says nothing.
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

// readWhole begins with all of a zone. When that happens again, nobody has seen the serials between, so only
// what is certain is judged: records of others are gone, and no update of the person is about their names.
func (c *recordCheck) readWhole(at time.Duration, serial uint32, d zoneDelta) {
	next := zoneState{}
	next.apply(d)
	if !c.whole {
		c.begin(next)
		return
	}
	unseen := c.state.difference(next)
	for _, r := range unseen.removed {
		if !c.marks(r) && !c.state.marked(r.set, c.owner) && !c.authors.touched(r.set.name, at) {
			c.object(at, r.set.String(), "%s is gone at serial %d. It isn't Signpost's, and the person hasn't touched it.", quotedRecords(r), serial)
		}
	}
	for _, r := range unseen.removed {
		delete(c.ours, r)
	}
	c.state = next
	for _, r := range unseen.added {
		if next.marked(r.set, c.owner) && !c.marks(r) {
			c.ours[r] = true
		}
	}
}

// touched reports whether an update of the person is about a name and may have been carried out by now.
func (a *authors) touched(name string, at time.Duration) bool {
	return slices.ContainsFunc(a.byName[name], func(u *zoneUpdate) bool { return u.author == history.Person && u.arrived <= at })
}

func (c *recordCheck) begin(z zoneState) {
	c.whole, c.state = true, z
	c.first = map[string]map[string]bool{}
	for s, records := range z {
		for _, r := range records {
			if owner, ok := r.owner(); ok && owner != c.owner {
				name := s.name
				if marked, ok := markedBy(s.name); ok {
					name = marked.name
				}
				if c.first[name] == nil {
					c.first[name] = map[string]bool{}
				}
				c.first[name][owner] = true
			}
			if !c.marks(r) && z.marked(s, c.owner) {
				c.ours[r] = true
			}
		}
	}
}

// marks reports whether r is an ownership record of Signpost.
func (c *recordCheck) marks(r zoneRecord) bool {
	owner, ok := r.owner()
	return ok && owner == c.owner
}

// byPerson notes what the person did. Who removes an ownership record of Signpost has taken its records.
func (c *recordCheck) byPerson(d zoneDelta) {
	taken := map[recordSet]bool{}
	for _, r := range d.removed {
		delete(c.ours, r)
		if c.marks(r) {
			for _, s := range c.state.describes(r.set.name) {
				taken[s] = true
			}
		}
	}
	c.state.apply(d)
	for s := range taken {
		if !c.state.marked(s, c.owner) {
			for _, r := range c.state[s] {
				delete(c.ours, r)
			}
		}
	}
}

// byReplica judges what a replica did; who says which one, and with which serial.
func (c *recordCheck) byReplica(at time.Duration, who string, d zoneDelta) {
	var foreign []recordSet
	for _, set := range c.others(slices.Concat(d.removed, d.added)) {
		if before := c.foreign(set); before != nil {
			foreign = append(foreign, set)
			c.object(at, set.String(), "%s changed it. Before it was %s, and it isn't Signpost's: it has no marker of owner %q.", who, quotedRecords(before...), c.owner)
		}
	}
	for _, r := range d.added {
		if c.marks(r) {
			c.claims(at, who, r)
		}
	}
	before := c.describedBy(d.removed)
	c.state.apply(d)
	for _, r := range d.removed {
		delete(c.ours, r)
	}
	for _, r := range d.added {
		if !c.marks(r) {
			c.ours[r] = true
		}
	}
	for _, set := range slices.Concat(before, c.others(d.added)) {
		if !slices.Contains(foreign, set) {
			c.needsMarker(at, who, set)
		}
	}
}

// others returns the sets of those records that aren't ownership records of Signpost, each once.
func (c *recordCheck) others(records []zoneRecord) []recordSet {
	var out []recordSet
	for _, r := range records {
		if !c.marks(r) && !slices.Contains(out, r.set) {
			out = append(out, r.set)
		}
	}
	return out
}

// describedBy returns the sets that those of the records describe that are ownership records.
func (c *recordCheck) describedBy(records []zoneRecord) []recordSet {
	var out []recordSet
	for _, r := range records {
		if c.marks(r) {
			out = append(out, c.state.describes(r.set.name)...)
		}
	}
	return out
}

// foreign returns the records of a set that Signpost must not touch; nil if it may, because it has made them,
// or because it has marked them before somebody edited them.
func (c *recordCheck) foreign(s recordSet) []zoneRecord {
	if c.state.marked(s, c.owner) {
		return nil
	}
	var out []zoneRecord
	for _, r := range c.state[s] {
		if !c.marks(r) && !c.ours[r] {
			out = append(out, r)
		}
	}
	return out
}

// needsMarker objects if a set has records of Signpost and no ownership record.
func (c *recordCheck) needsMarker(at time.Duration, who string, s recordSet) {
	if c.state.marked(s, c.owner) {
		return
	}
	for _, r := range c.state[s] {
		if c.ours[r] {
			c.object(at, s.String(), "%s left %s without a marker of owner %q. It has to be at %s until the record is gone.", who, quotedRecords(r), c.owner, strings.Join(markerNames(s), " or "))
			return
		}
	}
}

// claims judges an ownership record that a replica adds, before it is added.
func (c *recordCheck) claims(at time.Duration, who string, marker zoneRecord) {
	name := marker.set.name
	if s, ok := markedBy(name); ok {
		name = s.name
		if records := c.foreign(s); records != nil {
			c.object(at, s.String(), "%s marked it as its own. It was there before: %s.", who, quotedRecords(records...))
		}
	}
	for _, r := range c.state[marker.set] {
		if owner, ok := r.owner(); ok && owner != c.owner {
			c.object(at, marker.set.String(), "%s added its marker beside the one of owner %q.", who, owner)
			return
		}
	}
	for owner := range c.first[name] {
		if c.stillOwned(name, owner) {
			c.object(at, name, "%s added a marker for this name, which owner %q has had from the beginning.", who, owner)
		}
	}
}

// stillOwned reports whether a name has an ownership record of this owner.
func (c *recordCheck) stillOwned(name, owner string) bool {
	return slices.ContainsFunc(markerTypes, func(kind uint16) bool { return c.state.marked(recordSet{name, kind}, owner) })
}

// afterCalm objects to ownership records without records.
func (c *recordCheck) afterCalm(at time.Duration) {
	for _, s := range c.withoutRecords() {
		c.object(at, s.String(), "this marker of owner %q has no record any more, although everything is calm.", c.owner)
	}
}

// withoutRecords returns the ownership records whose records are gone.
func (c *recordCheck) withoutRecords() (sets []recordSet) {
	for s, records := range c.state {
		if slices.ContainsFunc(slices.Collect(maps.Values(records)), c.marks) && len(c.state.describes(s.name)) == 0 {
			sets = append(sets, s)
		}
	}
	return sets
}

// eachMarkerHasRecord reports whether each ownership record in the zones has its record.
func eachMarkerHasRecord(h history.History) bool {
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
	return strings.Join(firstFew(texts), ", ")
}

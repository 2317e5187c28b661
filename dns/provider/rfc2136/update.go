package rfc2136

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// edit is a change in its wire form.
type edit struct {
	index int
	// name is the name in lower case with a final dot.
	name     string
	rrtype   uint16
	old, new []mdns.RR
	// gone are the records to delete, fresh those to add.
	gone, fresh []mdns.RR
	// listed is true if the zone was listed, so that a change without Old means that the record set
	// doesn't exist.
	listed bool
}

// group is a set of edits that are made together: those of a name and of the ownership records that
// describe it.
type group struct {
	edits []*edit
	// err says why the group can't be sent.
	err error
}

// newEdit checks a change, and determines the records to delete and to add.
func (p *Provider) newEdit(z *zone, index int, c dns.Change) (*edit, error) {
	r := c.RecordSet()
	e := &edit{index: index, rrtype: rrTypes[r.Type], listed: p.axfr}
	var err error
	if e.name, err = ownerName(r.Name); err != nil {
		return nil, err
	}
	if p.closest(withoutDot(e.name)) != z {
		return nil, fmt.Errorf("%s is not in the zone %s", e.name, z.full)
	}
	if c.Old != nil {
		// Records to delete have no TTL (RFC 2136 2.4.2 and 2.5.4).
		if e.old, err = newRRs(c.Old, mdns.RR_Header{}); err != nil {
			return nil, err
		}
	}
	if c.New == nil && e.apex(z) {
		return nil, errors.New("servers ignore the deletion of the name servers of a zone (RFC 2136 3.4.2.3)")
	}
	ttl := p.minTTL
	if c.New != nil {
		if ttl = max(ttl, c.New.TTL); ttl > maxTTL {
			return nil, fmt.Errorf("the TTL %d is greater than %d", ttl, maxTTL)
		}
		if e.new, err = newRRs(c.New, mdns.RR_Header{Class: mdns.ClassINET, Ttl: uint32(ttl)}); err != nil {
			return nil, err
		}
	}
	e.gone, e.fresh = minus(e.old, e.new), minus(e.new, e.old)
	if c.Old != nil && c.New != nil && c.Old.TTL != ttl {
		// Adding an existing record should update its TTL (RFC 2136 3.4.2.2). Knot DNS keeps the old
		// TTL, so all records are deleted first, except the name servers of the zone, which must stay.
		e.fresh = e.new
		if !e.apex(z) {
			e.gone = e.old
		}
	}
	return e, nil
}

// apex reports whether the edit changes the name servers of a zone.
func (e *edit) apex(z *zone) bool { return e.rrtype == mdns.TypeNS && e.name == z.full }

// minus returns the records of a that aren't in b.
func minus(a, b []mdns.RR) []mdns.RR {
	known := make(map[string]bool, len(b))
	for _, rr := range b {
		if id, err := identity(rr); err == nil {
			known[id] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(a), func(rr mdns.RR) bool {
		id, err := identity(rr)
		return err == nil && known[id]
	})
}

// groups returns the changes as groups, in order. If one change of a group is impossible, the group
// has an error, because an ownership record must not exist without its record.
func (p *Provider) groups(z *zone, changes []dns.Change) []*group {
	var all []*group
	for _, places := range provider.Together(changes) {
		g := &group{}
		for _, i := range places {
			e, err := p.newEdit(z, i, changes[i])
			if err != nil {
				r := changes[i].RecordSet()
				g.err = errors.Join(g.err, fmt.Errorf("%w: %s %s: %w", provider.ErrRejected, dns.Canonical(r.Name), r.Type, err))
				e = &edit{index: i}
			}
			g.edits = append(g.edits, e)
		}
		g.err = cmp.Or(g.err, g.cnameConflict())
		all = append(all, g)
	}
	return all
}

// cnameConflict returns an error if a CNAME would coexist with another record set.
func (g *group) cnameConflict() error {
	made := map[string]uint16{}
	for _, e := range g.edits {
		if e.new == nil {
			continue
		}
		other, taken := made[e.name]
		if taken && (e.rrtype == mdns.TypeCNAME || other == mdns.TypeCNAME) {
			return fmt.Errorf("%w: %s is to have a CNAME, which must be alone, and something else", provider.ErrRejected, e.name)
		}
		made[e.name] = e.rrtype
	}
	return nil
}

// refused returns the error for a server that refuses the group although it accepts the
// credentials.
func (g *group) refused() error {
	var names []string
	for _, e := range g.edits {
		if name := withoutDot(e.name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	err := fmt.Errorf("%w: the server refuses to let this key write %s (REFUSED): check its update policy, and whether it takes such names (check-names)",
		provider.ErrRejected, strings.Join(names, " and "))
	if len(names) > 1 {
		err = fmt.Errorf("%w; the key has to be allowed to write all of these names: one that may write only below a name can't write the ownership record of that name, "+
			"which stands beside it, unless --txt-prefix=%%{record_type}-. puts it below", err)
	}
	return err
}

// unmet adds the failed prerequisites of the group to a server's error. It returns other errors
// unchanged.
func (g *group) unmet(err error) error {
	var required []string
	for _, e := range g.edits {
		recordType := mdns.TypeToString[e.rrtype]
		switch {
		case errors.Is(err, errGone) && e.old != nil:
			required = append(required, fmt.Sprintf("%s %s as it was listed", e.name, recordType))
		case !errors.Is(err, errExists) || len(e.fresh) == 0:
		case e.rrtype == mdns.TypeCNAME:
			required = append(required, fmt.Sprintf("no other record at %s, also none of a type that Signpost doesn't list, because a CNAME stands alone", e.name))
		case e.old == nil:
			required = append(required, fmt.Sprintf("neither %s nor CNAME at %s", recordType, e.name))
		default:
			required = append(required, "no CNAME at "+e.name)
		}
	}
	if len(required) == 0 {
		return err
	}
	return fmt.Errorf("%w; the update requires %s", err, strings.Join(required, ", and "))
}

// changesNothing reports whether the zone already has what the group would make.
func (g *group) changesNothing() bool {
	return !slices.ContainsFunc(g.edits, func(e *edit) bool { return len(e.gone)+len(e.fresh) > 0 })
}

// emptyRR is the size of a record without its name and RDATA.
const emptyRR = 11

// size is the approximate size of the group in a message, in octets.
func (g *group) size() int {
	size := 0
	for _, e := range g.edits {
		absent := 2
		if e.rrtype == mdns.TypeCNAME {
			absent += len(alone)
		}
		size += absent * (len(e.name) + emptyRR)
		for _, rr := range slices.Concat(e.old, e.gone, e.fresh) {
			size += mdns.Len(rr)
		}
	}
	return size
}

// aliases returns the CNAMEs that the group adds.
func (g *group) aliases() []*edit {
	return slices.DeleteFunc(slices.Clone(g.edits), func(e *edit) bool {
		return e.rrtype != mdns.TypeCNAME || len(e.fresh) == 0
	})
}

// newMessage returns the update for some groups.
func newMessage(z *zone, groups []*group) *mdns.Msg {
	m := new(mdns.Msg)
	m.SetUpdate(z.full)
	for _, g := range groups {
		g.require(m)
		var sets, gone, fresh []mdns.RR
		for _, e := range g.edits {
			if e.apex(z) {
				// A server ignores the deletion of the last name server, so new ones are inserted
				// first.
				m.Insert(e.fresh)
				m.Remove(e.gone)
				continue
			}
			fresh = append(fresh, e.fresh...)
			if len(e.gone) > 0 && len(e.gone) == len(e.old) {
				// PowerDNS 4.7 finds some NAPTR records for a query, but not for a deletion.
				sets = append(sets, e.gone[0])
				continue
			}
			gone = append(gone, e.gone...)
		}
		m.RemoveRRset(sets)
		m.Remove(gone)
		m.Insert(fresh)
	}
	return m
}

// alone are types that can't coexist with a CNAME. There are others, so new CNAMEs are queried
// afterwards.
var alone = []uint16{
	mdns.TypeA, mdns.TypeAAAA, mdns.TypeTXT, mdns.TypeMX, mdns.TypeSRV, mdns.TypeNS, mdns.TypePTR, mdns.TypeNAPTR, mdns.TypeDNAME,
	mdns.TypeCAA, mdns.TypeHTTPS, mdns.TypeSVCB, mdns.TypeTLSA, mdns.TypeSSHFP, mdns.TypeDS, mdns.TypeURI, mdns.TypeLOC, mdns.TypeHINFO, mdns.TypeRP, mdns.TypeSPF,
}

// require adds the prerequisites of the group: that the zone is as listed, and that the server
// doesn't have to ignore anything (RFC 2136 3.4.2.2).
func (g *group) require(m *mdns.Msg) {
	absent := map[string][]uint16{}
	for _, e := range g.edits {
		switch {
		case e.old != nil:
			m.Used(copies(e.old))
		case e.listed:
			absent[e.name] = append(absent[e.name], e.rrtype)
		}
		switch {
		case len(e.fresh) == 0:
		case e.rrtype == mdns.TypeCNAME:
			absent[e.name] = append(absent[e.name], alone...)
		default:
			absent[e.name] = append(absent[e.name], mdns.TypeCNAME)
		}
	}
	for _, e := range g.edits {
		// The group itself changes this record set, so there is a prerequisite for it above.
		absent[e.name] = slices.DeleteFunc(absent[e.name], func(t uint16) bool { return t == e.rrtype && (e.old != nil || !e.listed) })
	}
	for _, name := range slices.Sorted(maps.Keys(absent)) {
		slices.Sort(absent[name])
		for _, t := range slices.Compact(absent[name]) {
			m.RRsetNotUsed([]mdns.RR{&mdns.ANY{Hdr: mdns.RR_Header{Name: name, Rrtype: t}}})
		}
	}
}

// copies returns copies of records, because a message changes their classes.
func copies(list []mdns.RR) []mdns.RR {
	copied := make([]mdns.RR, len(list))
	for i, rr := range list {
		copied[i] = mdns.Copy(rr)
	}
	return copied
}

package desired

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/signpostd/signpost/dns"
)

// record is a record set that an object asks for, in a compact form.
type record struct {
	// Labels is nil if there is no label except resource.
	dns.RecordSet
	resource string
	// derived is true for a PTR record set that was made for an address. Its only label is that of
	// [Options].Labelled.
	derived bool
}

func newRecord(r *dns.RecordSet) record {
	kept := record{RecordSet: *r, resource: r.Labels[dns.LabelResource]}
	if len(r.Labels) == 0 || (len(r.Labels) == 1 && kept.resource != "") {
		kept.Labels = nil
	}
	return kept
}

// set returns the record set. The caller may change its fields, but not the memory that they refer
// to.
func (r *record) set() *dns.RecordSet {
	set := r.RecordSet
	if set.Labels == nil {
		set.Labels = map[string]string{}
		if r.resource != "" {
			set.Labels[dns.LabelResource] = r.resource
		}
	}
	return &set
}

func sameRecord(a, b record) bool {
	return a.Name == b.Name && a.Type == b.Type && a.SetIdentifier == b.SetIdentifier && a.TTL == b.TTL &&
		a.resource == b.resource && a.derived == b.derived &&
		slices.Equal(a.Targets, b.Targets) && maps.Equal(a.Labels, b.Labels) &&
		slices.Equal(a.Properties, b.Properties) && slices.Equal(a.Objects, b.Objects)
}

// records are the records of one object, sorted by name.
type records []record

func (rs records) of(name string) records {
	i, _ := slices.BinarySearchFunc(rs, name, func(r record, name string) int { return cmp.Compare(r.Name, name) })
	return rs[i : i+rs[i:].run(name)]
}

// points reports whether there is a PTR record with a reverse name and a target.
func (rs records) points(reverse, target string) bool {
	return slices.ContainsFunc(rs.of(reverse), func(r record) bool { return r.derived && r.Targets[0] == target })
}

// run returns the length of the leading run of records with a name.
func (rs records) run(name string) int {
	n := 0
	for n < len(rs) && rs[n].Name == name {
		n++
	}
	return n
}

// difference is the records of two lists under a name where they differ.
type difference struct {
	name     string
	old, now records
}

// differences returns the names at which two lists differ, sorted.
func differences(old, now records) iter.Seq[difference] {
	return func(yield func(difference) bool) {
		for len(old)+len(now) > 0 {
			name := firstName(old, now)
			i, j := old.run(name), now.run(name)
			d := difference{name: name, old: old[:i], now: now[:j]}
			old, now = old[i:], now[j:]
			if !slices.EqualFunc(d.old, d.now, sameRecord) && !yield(d) {
				return
			}
		}
	}
}

func firstName(a, b records) string {
	switch {
	case len(a) == 0:
		return b[0].Name
	case len(b) == 0:
		return a[0].Name
	default:
		return min(a[0].Name, b[0].Name)
	}
}

// sameKey is equal for record sets of which only one is kept (spec/dns.md §6.13, dedup).
type sameKey struct {
	dns.Key
	// targets has zero bytes between the targets, which contain none.
	targets string
}

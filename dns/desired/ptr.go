package desired

import (
	"net/netip"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// pointers returns the PTR records for the addresses of a record set, each with the name of the
// record set as its only target; none if they aren't wanted.
func (t *transform) pointers(r *dns.RecordSet) []record {
	value, ok := r.Property(dns.PropertyRecordType)
	address := r.Type == dns.TypeA || r.Type == dns.TypeAAAA
	if ok && !address {
		t.problems = append(t.problems, dns.Problem{
			Object: t.object(r), Subject: "property " + dns.PropertyRecordType + " of the " + r.Type + " record set " + r.Name,
			Value: value, Reason: "only record sets of the types A and AAAA can have it; it is ignored",
		})
	}
	if !t.wantsPointers(r) {
		return nil
	}
	var made []record
	for _, target := range r.Targets {
		addr, err := netip.ParseAddr(target)
		if err != nil {
			// With --create-ptr for all record sets, an alias without a PTR record is no problem.
			if ok {
				t.noAddress(r, target)
			}
			continue
		}
		pointer := record{derived: true, RecordSet: dns.RecordSet{
			Name: dns.ReverseName(addr), Type: dns.TypePTR, TTL: r.TTL, Targets: []string{r.Name}, Objects: r.Objects,
		}}
		if t.outside(&pointer.RecordSet, t.Domains.RefusesPointer(t.origin.Namespace, pointer.Name)) {
			continue
		}
		if t.Labelled {
			pointer.resource = r.Labels[dns.LabelResource]
		}
		made = append(made, pointer)
	}
	return made
}

// wantsPointers reports whether the addresses of a record set get PTR records.
func (t *transform) wantsPointers(r *dns.RecordSet) bool {
	wanted := t.CreatePTR
	if value, ok := r.Property(dns.PropertyRecordType); ok {
		wanted = strings.EqualFold(value, dns.TypePTR)
	}
	address := r.Type == dns.TypeA || r.Type == dns.TypeAAAA
	return t.ptr && wanted && address && r.Name != "*" && !strings.HasPrefix(r.Name, "*.")
}

// noAddress reports an alias that asks for a PTR record.
func (t *transform) noAddress(r *dns.RecordSet, target string) {
	t.problems = append(t.problems, dns.Problem{
		Object: t.object(r), Subject: "target of the " + r.Type + " record set " + r.Name,
		Value: target, Reason: "not an IP address, so it can't have a PTR record: remove the property, or give an address",
	})
}

// mergePointers returns the PTR record set of an address for which several names ask. Its targets
// are all these names. It has the lowest TTL; no TTL counts as the lowest.
func mergePointers(made records) *dns.RecordSet {
	merged := made[0].set()
	targets := make([]string, len(made))
	objects := make([][]dns.Object, len(made))
	for i, r := range made {
		targets[i], objects[i] = r.Targets[0], r.Objects
		merged.TTL = min(merged.TTL, r.TTL)
	}
	merged.Targets = dns.UniqueSorted(targets)
	merged.Objects = dns.JoinObjects(objects...)
	return merged
}

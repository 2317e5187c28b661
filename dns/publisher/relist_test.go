package publisher

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/signpostd/signpost/dns"
)

// listing returns the record sets of a zone of other owners. Every second one has an ownership
// record.
func listing(names int) []*dns.RecordSet {
	var list []*dns.RecordSet
	for i := range names {
		list = append(list, &dns.RecordSet{Name: fmt.Sprintf("foreign-%d.shop.test", i), Type: "A", TTL: 300, Targets: []string{fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)}})
		if i%2 == 0 {
			list = append(list, &dns.RecordSet{
				Name: fmt.Sprintf("own-a-foreign-%d.shop.test", i), Type: "TXT", TTL: 300,
				Targets: []string{`"heritage=external-dns,external-dns/owner=other,external-dns/resource=service/default/x"`},
			})
		}
	}
	return list
}

// listed returns a publisher that has read a zone.
func listed(t testing.TB, list []*dns.RecordSet) (*Publisher, *zone) {
	w := newFixture(t)
	p := w.make()
	p.setZones([]dns.Zone{{ID: zoneName, Name: zoneName}}, nil)
	z := p.zones.byKey[dns.ZoneKey{ID: zoneName, Name: zoneName}]
	z.mirror.begin()
	p.listedRecords(z, z.mirror.compare(list), z.unknownOutcomes, nil)
	for z.names.count(dirty) > 0 {
		p.planDirty(z)
	}
	if n := len(z.names.all); n > 0 {
		t.Fatalf("%d names of others have a state", n)
	}
	return p, z
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A listing that equals the one before is compared in a job and costs the loop no time (D25). For
// names of other owners, only references to their records are kept.
func TestRelist(t *testing.T) {
	const sets, maxBytes = 30_000, 300
	list := listing(sets * 2 / 3)
	before := heapInUse()
	p, z := listed(t, list)
	if perSet := (heapInUse() - before) / sets; perSet > maxBytes {
		t.Errorf("%d bytes for each record set beside the listing, want at most %d", perSet, maxBytes)
	}
	if z.mirror.records["A"] != sets*2/3 {
		t.Errorf("%d record sets are counted", z.mirror.records["A"])
	}
	second := listing(sets * 2 / 3)
	equal := z.mirror.compare(second)
	if len(equal.names) > 0 {
		t.Errorf("%d names differ in an equal listing", len(equal.names))
	}
	z.mirror.begin()
	inLoop := testing.AllocsPerRun(1, func() { p.listedRecords(z, equal, z.unknownOutcomes, nil) })
	if inLoop > 200 {
		t.Errorf("%v allocations in the loop for an equal listing", inLoop)
	}
	second[5].Targets = []string{"192.0.2.1"}
	if d := z.mirror.compare(second[1:]); len(d.names) != 2 {
		t.Errorf("%d names differ, want the one that is changed and the one that is gone", len(d.names))
	}
	runtime.KeepAlive(list)
}

// A listing doesn't revert changes that were written while it ran, because it may be older.
func TestRelistAfterAWrite(t *testing.T) {
	_, z := listed(t, listing(2))
	z.mirror.begin()
	r := &dns.RecordSet{Name: "new.shop.test", Type: "A", Targets: []string{"192.0.2.1"}}
	z.mirror.write(dns.Change{New: r})
	z.mirror.relist(z.mirror.compare(listing(2)))
	if len(z.mirror.lookup("new.shop.test")) != 1 {
		t.Error("what was written is lost")
	}
	z.mirror.begin()
	z.mirror.relist(z.mirror.compare(listing(2)))
	if len(z.mirror.lookup("new.shop.test")) != 0 {
		t.Error("the next listing doesn't count")
	}
}

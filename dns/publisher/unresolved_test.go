package publisher

import (
	"errors"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/owner"
)

var errTemplate = errors.New("template: no field Spc")

// After a restart, records of objects that can't be evaluated stay, also if their label names
// another object (D5).
func TestUnresolvedAfterARestart(t *testing.T) {
	unlabelled := func(r *dns.RecordSet) *dns.RecordSet {
		r.Labels = nil
		return r
	}
	for _, test := range []struct {
		name string
		// before are the records of the objects a and b. Then a restart comes, after which b
		// can't be evaluated.
		a, b *dns.RecordSet
		ptr  bool
		want []string
		// after is what is there once b is deleted.
		after []string
	}{
		{
			name: "a shared record keeps the targets of both",
			a:    record(t, "a", "x.shop.test", "A", "192.0.2.1"), b: record(t, "b", "x.shop.test", "A", "192.0.2.2"),
			want:  []string{"x.shop.test A 192.0.2.1,192.0.2.2"},
			after: []string{"x.shop.test A 192.0.2.1"},
		},
		{
			name: "a record without a label stays",
			a:    record(t, "a", "a.shop.test", "A", "192.0.2.1"), b: unlabelled(record(t, "b", "x.shop.test", "A", "192.0.2.2")),
			want:  []string{"a.shop.test A 192.0.2.1", "x.shop.test A 192.0.2.2"},
			after: []string{"a.shop.test A 192.0.2.1"},
		},
		{
			name: "a derived record has no label",
			a:    record(t, "a", "a.shop.test", "A", "192.0.2.1"), b: record(t, "b", "x.shop.test", "A", "192.0.2.2"), ptr: true,
			want:  []string{"1.2.0.192.in-addr.arpa PTR a.shop.test", "2.2.0.192.in-addr.arpa PTR x.shop.test", "a.shop.test A 192.0.2.1", "x.shop.test A 192.0.2.2"},
			after: []string{"1.2.0.192.in-addr.arpa PTR a.shop.test", "a.shop.test A 192.0.2.1"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				if test.ptr {
					withPTR(t, w)
				}
				w.objects.set("a", test.a)
				w.objects.set("b", test.b)
				w.start()
				waitIdle()
				w.expectZone(test.want...)
				w.stop()
				w.objects.fail("b", errTemplate)
				w.start()
				waitIdle()
				w.expectZone(test.want...)
				w.objects.set("b")
				waitIdle()
				w.expectZone(test.after...)
			})
		})
	}
}

// withPTR has the publisher derive PTR records, in a zone of their own.
func withPTR(t *testing.T, w *fixture) {
	w.createZone("2.0.192.in-addr.arpa")
	w.change = func(c *Config) {
		c.Desired = desiredOf(t, desired.Options{Sources: []string{"service"}, ManagedTypes: []string{"A", "PTR"}, CreatePTR: true})
		c.Rules.Managed = []string{"A", "PTR"}
		ownedBy(t, owner.TXTOptions{OwnerID: "me", Prefix: "own-", Managed: c.Rules.Manages})(c)
	}
}

// An object that can't be evaluated doesn't delay the others: record sets that evaluated objects
// asked for in this process, or that it wrote, change with their objects.
func TestUnresolvedDelaysNobodyElse(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1", "192.0.2.2"))
		w.objects.set("gone", record(t, "gone", "gone.shop.test", "A", "192.0.2.9"))
		w.start()
		waitIdle()
		w.stop()
		w.objects.fail("b", errTemplate)
		w.objects.set("gone")
		w.start()
		waitIdle()
		w.expectZone("a.shop.test A 192.0.2.1,192.0.2.2") // the label of the other names what is gone
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.3"))
		w.objects.set("new", record(t, "new", "new.shop.test", "A", "192.0.2.4"))
		waitIdle()
		w.expectZone("a.shop.test A 192.0.2.3", "new.shop.test A 192.0.2.4")
		w.objects.set("new", record(t, "new", "new.shop.test", "A", "192.0.2.5"))
		waitIdle()
		w.expectZone("a.shop.test A 192.0.2.3", "new.shop.test A 192.0.2.5")
	})
}

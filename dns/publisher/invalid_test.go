package publisher

import (
	"testing"

	"github.com/signpostd/signpost/dns"
)

// invalid returns a record set that can't be published.
func invalid(t testing.TB, object, name, target string) *dns.RecordSet {
	t.Helper()
	r := record(t, object, name, "A", "192.0.2.1")
	r.Targets = []string{target}
	return r
}

// After an edit with a bad target, the record stays until the object is valid again or deleted,
// also after a restart. Other names are not delayed (D12).
func TestInvalidEditKeepsTheRecord(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"), record(t, "a", "b.shop.test", "A", "192.0.2.2"))
		w.start()
		waitIdle()
		w.objects.set("a", invalid(t, "a", "a.shop.test", "192.0.2.300"), record(t, "a", "c.shop.test", "A", "192.0.2.3"))
		waitIdle()
		w.expectZone("a.shop.test A 192.0.2.1", "c.shop.test A 192.0.2.3")
		w.stop()

		w.start()
		waitIdle()
		w.expectZone("a.shop.test A 192.0.2.1", "c.shop.test A 192.0.2.3")
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.4"))
		waitIdle()
		w.expectZone("a.shop.test A 192.0.2.4")
		w.objects.set("a", invalid(t, "a", "a.shop.test", "x"))
		waitIdle()
		w.expectZone("a.shop.test A 192.0.2.4")
		w.objects.set("a")
		waitIdle()
		w.expectZone()
	})
}

// A record whose name has a character that Signpost can't write stays as long as an object asks for
// it (clouds F3).
func TestNameThatCannotBeWrittenKeepsTheRecord(t *testing.T) {
	for _, c := range dns.EscapedCharacters + " \x01" {
		withFixture(t, func(t *testing.T, w *fixture) {
			name := "x" + string(c) + "y.shop.test"
			text := `"heritage=external-dns,external-dns/owner=me,external-dns/resource=service/default/a"`
			w.byHand(
				dns.Change{New: &dns.RecordSet{Name: name, Type: "A", Targets: []string{"192.0.2.1"}}},
				dns.Change{New: &dns.RecordSet{Name: "own-a-" + name, Type: "TXT", Targets: []string{text}}},
			)
			asked := record(t, "a", "x.shop.test", "A", "192.0.2.1")
			asked.Name = name
			w.objects.set("a", asked, record(t, "a", "b.shop.test", "A", "192.0.2.2"))
			w.start()
			waitIdle()
			w.expectZone(name+" A 192.0.2.1", "b.shop.test A 192.0.2.2")
			w.objects.set("a")
			waitIdle()
			w.expectZone()
		})
	}
}

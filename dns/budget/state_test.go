package budget

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
)

// hostile are states that a malicious writer may store.
var hostile = map[string]string{
	"no JSON":             `{"version`,
	"a list":              `[]`,
	"another version":     `{"version":2,"zones":[{"name":"shop.test","deletions":[[1,1]]}]}`,
	"in the far future":   `{"version":1,"zones":[{"id":"Z1","name":"shop.test","deletions":[[9223372036854775807,5]]}]}`,
	"in the far past":     `{"version":1,"zones":[{"id":"Z1","name":"shop.test","deletions":[[-9223372036854775808,5]]}]}`,
	"too many":            `{"version":1,"zones":[{"id":"Z1","name":"shop.test","deletions":[[1767323045000,9223372036854775807],[1767323045001,9223372036854775807]]}]}`,
	"less than nothing":   `{"version":1,"zones":[{"id":"Z1","name":"shop.test","deletions":[[1767323045000,-9223372036854775808]]}]}`,
	"many spendings":      `{"version":1,"zones":[{"id":"Z1","name":"shop.test","deletions":[` + strings.Repeat("[1767323045000,1],", 5000) + `[1767323045000,1]]}]}`,
	"many zones":          `{"version":1,"zones":[` + strings.Repeat(`{"name":"x","settings":["a"]},`, 20000) + `{"name":"y"}]}`,
	"many settings":       `{"version":1,"zones":[{"id":"Z1","name":"shop.test","settings":[` + strings.Repeat(`"a",`, 5000) + `"b"]}]}`,
	"a long name":         `{"version":1,"zones":[{"id":"Z1","name":"` + strings.Repeat("a", 100000) + `","settings":["` + strings.Repeat("a", 100000) + `"]}]}`,
	"no base64":           `{"version":1,"zones":[{"id":"Z1","name":"shop.test","shownPlans":[{"hash":"a","shown":"*"}]}]}`,
	"a part of a digest":  `{"version":1,"zones":[{"id":"Z1","name":"shop.test","shownPlans":[{"hash":"a","at":-1,"changes":-9223372036854775808,"shown":"AAAA"}],"approvedChanges":[{"until":9223372036854775807,"changes":"AAAAAAAAAAAA"}]}]}`,
	"an endless approval": `{"version":1,"zones":[{"id":"Z1","name":"shop.test","approvedChanges":[{"until":9223372036854775807,"changes":"AAAAAAAAAAEAAAAAAAAAAQ=="}]}]}`,
	"nested":              strings.Repeat(`{"zones":[`, 9000),
}

// A stored state can't crash the process, exhaust its memory, or hold deletions for longer than the
// window.
func TestHostileStates(t *testing.T) {
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) {
			w := newFilledFixture(t, 100)
			w.store.text = []byte(text)
			w.start("settings")
			if got := len(encode(w.book.state(w.now))); got > MaxBytes {
				t.Errorf("the state has %d bytes", got)
			}
			w.now = w.now.Add(ApprovalTime + time.Millisecond)
			w.drop("n0")
			w.wantMade(1)
			if l := w.book.Ledger(shop); len(l.recalled) > 0 {
				t.Errorf("%d changes are remembered", len(l.recalled))
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range hostile {
		if len(text) < 1000 {
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := decode(text, begun, time.Minute)
		if err != nil {
			return
		}
		b := NewBook(begun, DefaultLimits(), Publisher{}, "s", "")
		if err := b.Restore(begun, &Loaded{text}); err != nil {
			t.Fatal(err)
		}
		if got := encode(merge(s, b.state(begun))); len(got) > MaxBytes {
			t.Errorf("%d bytes became %d", len(text), len(got))
		} else if _, err := decode(got, begun, time.Minute); err != nil {
			t.Errorf("what is written can't be read: %v", err)
		}
		for _, l := range b.zones {
			for k := range l.spent {
				for _, s := range l.spent[k] {
					if s.count < 0 || s.at.After(begun) {
						t.Errorf("spent %+v", s)
					}
				}
			}
		}
	})
}

// The plan of a large zone needs no memory for its names, and the stored state is limited.
func TestLargePlan(t *testing.T) {
	const names = 100_000
	b := NewBook(begun, DefaultLimits(), Publisher{}, "s", "")
	if err := b.Restore(begun, nil); err != nil {
		t.Fatal(err)
	}
	l := b.Ledger(shop)
	for i := range names {
		name := fmt.Sprintf("n%d.shop.test", i)
		l.Note(name, []dns.Change{{Old: &dns.RecordSet{Name: name, Type: "A", Targets: []string{"192.0.2.1"}}}})
	}
	l.Decide(begun, names)
	p, ok := l.Announce()
	if !ok || len(p.Changes) != names {
		t.Fatalf("%d changes, %v", len(p.Changes), ok)
	}
	if text := b.Snapshot(begun).text; len(text) > MaxBytes {
		t.Errorf("%d bytes are stored", len(text))
	}
	// Another 2,000 plans.
	for i := range 2000 {
		l.Note("joins.shop.test", []dns.Change{{Old: &dns.RecordSet{Name: "joins.shop.test", Type: "A", SetIdentifier: fmt.Sprint(i)}}})
		l.heldSum++ // Decide and Announce would need a second for all
		l.announced.plans = append(l.announced.plans, Announcement{fmt.Sprint(i), i + 2, begun, 1})
		l.announced.plans = l.announced.plans[max(0, len(l.announced.plans)-maxPlans):]
		b.bump()
	}
	if text := b.Snapshot(begun).text; len(text) > MaxBytes {
		t.Errorf("%d bytes are stored", len(text))
	}
}

// The stored state has many zones, those with the most to lose first.
func TestManyZones(t *testing.T) {
	b := NewBook(begun, DefaultLimits(), Publisher{}, "settings", "")
	if err := b.Restore(begun, &Loaded{}); err != nil {
		t.Fatal(err)
	}
	var zones []dns.Zone
	for i := range 2 * maxZones {
		z := dns.Zone{ID: fmt.Sprint("/hosted/", i), Name: fmt.Sprintf("z%d.test", i)}
		zones = append(zones, z)
		b.Ledger(z).Complete()
	}
	l := b.Ledger(zones[len(zones)-1])
	c := []dns.Change{{Old: &dns.RecordSet{Name: "a.test", Type: "A"}}}
	l.Note("a.test", c)
	l.Decide(begun, 10)
	l.Spend(begun, "a.test", c)
	text := b.Snapshot(begun).text
	var s state
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	if len(text) > MaxBytes || len(s.Zones) < 1000 || s.Zones[0].ID != zones[len(zones)-1].ID {
		t.Errorf("%d bytes, %d zones, the first is %v", len(text), len(s.Zones), s.Zones[0])
	}
	// Deleted zones are forgotten, but not what was spent in them.
	b.Retain(begun, zones[:10])
	if n := len(b.zones); n != 11 {
		t.Errorf("%d zones are known", n)
	}
	b.Retain(begun.Add(time.Hour), zones[:10])
	if n := len(b.zones); n != 10 {
		t.Errorf("%d zones are known an hour later", n)
	}
}

// The format of the stored state is stable, because other versions of the program have to read it.
func TestStoredForm(t *testing.T) {
	w := newFilledFixture(t, 30)
	w.drop("n0", "n1")
	w.sync()
	for i := range 10 {
		w.drop(fmt.Sprint("n", i+2))
	}
	w.sync()
	w.approve(w.announced(10).Hash, "n2.shop.test")
	digests := func(names ...string) string {
		var d digests
		for _, name := range names {
			d = append(d, digestOf(dns.Change{Old: parse(t, name+" A 192.0.2.1")}))
		}
		text, _ := json.Marshal(d)
		return string(text)
	}
	got := string(w.book.Snapshot(w.now).text)
	want := `{"version":1,"zones":[{"id":"Z1","name":"shop.test","settings":["settings"],"deletions":[[1767323645000,2]],` +
		`"shownPlans":[{"hash":"` + w.plans[0].Hash + `","at":1767323645000,"changes":10,"shown":` + digests("n2") + `}],"approvedChanges":[{"until":1767345245000,"changes":"`
	if !strings.HasPrefix(got, want) {
		t.Errorf("stored\n%s\nwant\n%s…", got, want)
	}
	var s state
	if err := json.Unmarshal([]byte(got), &s); err != nil || len(s.Zones[0].Approved[0].Changes) != 9 {
		t.Errorf("%v, %v", s, err)
	}
	if raw, _ := base64.StdEncoding.DecodeString(strings.Trim(digests("n2"), `"`)); len(raw) != digestBytes {
		t.Errorf("a change takes %d bytes", len(raw))
	}
}

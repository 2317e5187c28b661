package publisher

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/tenancy"
)

// namespaced makes a fixture give each name to one namespace.
func namespaced(w *fixture) {
	w.change = func(c *Config) {
		c.NamePolicy, c.DeletionDelay = tenancy.Namespaced, 5*time.Second
		c.Desired = desiredOf(w.t, desired.Options{Sources: []string{"service"}, Labelled: true})
	}
}

// asks has an object of a namespace ask for a name; without targets the object is deleted.
func (w *fixture) asks(namespace, object, name, recordType string, targets ...string) {
	w.t.Helper()
	key := source.Key{Kind: "Service", Namespace: namespace, Name: object}
	if len(targets) == 0 {
		w.objects.setKey(key)
		return
	}
	r := record(w.t, object, name, recordType, targets...)
	r.Labels = map[string]string{dns.LabelResource: "service/" + namespace + "/" + object}
	r.Objects[0].Namespace = namespace
	w.objects.setKey(key, r)
}

// takeNoticesOf returns the notices with a reason: the namespace and name of each object.
func (w *fixture) takeNoticesOf(reason string) (objects []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.notices {
		if n.Reason == reason {
			objects = append(objects, n.Objects[0].Namespace+"/"+n.Objects[0].Name)
		}
	}
	w.notices = nil
	return objects
}

// A holder whose object is replaced keeps the name. One whose object is deleted loses the name
// after the deletion delay. The next namespace then keeps it, also if the targets are the same and
// the former holder asks again.
func TestANameGoesToAnotherNamespace(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		namespaced(w)
		w.start()
		w.asks("bank", "v", "v.shop.test", "A", "192.0.2.10")
		waitIdle()
		w.asks("aaa", "next", "v.shop.test", "A", "192.0.2.10")
		waitIdle()
		w.asks("bank", "v", "", "")
		time.Sleep(2 * time.Second)
		w.asks("bank", "v", "v.shop.test", "A", "192.0.2.11")
		time.Sleep(DefaultInterval)
		w.expectZone("v.shop.test A 192.0.2.11")

		w.asks("bank", "v", "", "")
		time.Sleep(2 * time.Second)
		w.expectZone("v.shop.test A 192.0.2.11")
		time.Sleep(4 * time.Second)
		w.expectZone("v.shop.test A 192.0.2.10")
		w.asks("bank", "v", "v.shop.test", "A", "192.0.2.12")
		time.Sleep(2 * DefaultInterval)
		w.stop()
		w.start()
		time.Sleep(2 * DefaultInterval)
		w.expectZone("v.shop.test A 192.0.2.10")
	})
}

// The name of the ACME challenge of a name, and the name of its ownership record, belong to the namespace
// that has the name.
func TestNamesThatDependOnAnother(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		namespaced(w)
		w.start()
		w.asks("bank", "v", "v.shop.test", "A", "192.0.2.10")
		waitIdle()
		w.asks("bank", "wildcard", "*.w.shop.test", "A", "192.0.2.10")
		waitIdle()
		w.asks("zzz", "challenge", "_acme-challenge.v.shop.test", "CNAME", "evil.example.net")
		w.asks("zzz", "wildcard", "_acme-challenge.w.shop.test", "CNAME", "evil.example.net")
		w.asks("zzz", "owner", "own-aaaa-v.shop.test", "CNAME", "evil.example.net")
		w.asks("zzz", "token", "_3a1f.v.shop.test", "CNAME", "evil.example.net")
		w.asks("bank", "mine", "_7c2d.v.shop.test", "CNAME", "mine.example.net")
		w.asks("zzz", "free", "_acme-challenge.free.shop.test", "CNAME", "mine.example.net")
		waitIdle()
		w.expectZone(
			"*.w.shop.test A 192.0.2.10", "_7c2d.v.shop.test CNAME mine.example.net", "_acme-challenge.free.shop.test CNAME mine.example.net",
			"v.shop.test A 192.0.2.10",
		)
		if got := slices.Sorted(slices.Values(w.takeNoticesOf(ReasonTaken))); !slices.Equal(got, []string{"zzz/challenge", "zzz/owner", "zzz/token", "zzz/wildcard"}) {
			t.Errorf("refused: %q", got)
		}
		// Nobody has the name any more.
		w.asks("bank", "v", "", "")
		w.asks("bank", "wildcard", "", "")
		time.Sleep(10 * time.Second)
		w.expectZone(
			"_3a1f.v.shop.test CNAME evil.example.net", "_7c2d.v.shop.test CNAME mine.example.net",
			"_acme-challenge.free.shop.test CNAME mine.example.net", "_acme-challenge.v.shop.test CNAME evil.example.net",
			"_acme-challenge.w.shop.test CNAME evil.example.net", "own-aaaa-v.shop.test CNAME evil.example.net",
		)
	})
}

// With a replacement for wildcards, two names share an ownership record, so that one namespace has
// both.
func TestNamesWithOneOwnershipRecord(t *testing.T) {
	const wildcard, replacement = "*.foo.shop.test", "any.foo.shop.test"
	for name, test := range map[string]struct{ first, other, has string }{
		"the wildcard first":    {wildcard, replacement, wildcard},
		"the replacement first": {replacement, wildcard, replacement},
		"both together":         {"", wildcard, wildcard},
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				namespaced(w)
				base := w.change
				w.change = func(c *Config) {
					base(c)
					ownedBy(t, owner.TXTOptions{OwnerID: "me", WildcardReplacement: "any"})(c)
				}
				w.start()
				if test.first != "" {
					w.asks("bank", "v", test.first, "A", "192.0.2.10")
					waitIdle()
					w.asks("aaa", "x", test.other, "A", "6.6.6.6")
				} else {
					w.asks("bank", "v", wildcard, "A", "192.0.2.10")
					w.asks("aaa", "x", replacement, "A", "6.6.6.6")
				}
				time.Sleep(5 * time.Minute)
				w.expectZone(test.has + " A 192.0.2.10")
				if got := w.takeNoticesOf(ReasonTaken); !slices.Equal(got, []string{"aaa/x"}) {
					t.Errorf("refused: %q", got)
				}
				w.stop()
				w.start()
				time.Sleep(5 * time.Minute)
				w.expectZone(test.has + " A 192.0.2.10")
				w.asks("bank", "v", "", "")
				time.Sleep(5 * time.Minute)
				if zone := w.zone(); len(zone) != 1 || !strings.HasSuffix(zone[0], " A 6.6.6.6") {
					t.Errorf("zone: %q", zone)
				}
			})
		})
	}
}

// An object of another namespace can't delay changes of a name, neither with an invalid record set
// nor because it can't be evaluated. An object of the holder can.
func TestAnotherNamespaceDelaysNothing(t *testing.T) {
	const name = "v.shop.test"
	withFixture(t, func(t *testing.T, w *fixture) {
		namespaced(w)
		w.start()
		w.asks("bank", "v", name, "A", "192.0.2.10")
		waitIdle()
		wrong := invalid(t, "evil", name, "192.0.2.300")
		wrong.Labels, wrong.Objects[0].Namespace = map[string]string{dns.LabelResource: "service/evil/evil"}, "evil"
		w.objects.setKey(source.Key{Kind: "Service", Namespace: "evil", Name: "evil"}, wrong)
		w.objects.mu.Lock()
		w.objects.errs[source.Key{Kind: "Service", Namespace: "evil", Name: "unclear"}] = errTemplate
		w.objects.mu.Unlock()
		w.stop()
		w.start()
		time.Sleep(2 * DefaultInterval)
		w.asks("bank", "v", name, "A", "192.0.2.11")
		time.Sleep(2 * DefaultInterval)
		w.expectZone(name + " A 192.0.2.11")

		// The namespace that has the name asks for it in a way that can't be published.
		wrong = invalid(t, "v", name, "192.0.2.300")
		wrong.Labels, wrong.Objects[0].Namespace = map[string]string{dns.LabelResource: "service/bank/v"}, "bank"
		w.objects.setKey(source.Key{Kind: "Service", Namespace: "bank", Name: "v"}, wrong)
		time.Sleep(2 * DefaultInterval)
		w.expectZone(name + " A 192.0.2.11")
		w.asks("bank", "v", name, "")
		time.Sleep(2 * DefaultInterval)
		w.expectZone()
	})
}

// With --migrate-from-txt-owner, the namespace that has a name under the old owner keeps it.
func TestANamespaceKeepsItsNameUnderANewOwner(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		namespaced(w)
		base := w.change
		w.asks("bank", "v", "v.shop.test", "A", "192.0.2.10")
		w.change = func(c *Config) {
			base(c)
			ownedBy(t, owner.TXTOptions{OwnerID: "old", Prefix: "own-"})(c)
		}
		w.start()
		waitIdle()
		w.stop()
		w.asks("aaa", "evil", "v.shop.test", "A", "6.6.6.6")
		w.change = func(c *Config) {
			base(c)
			ownedBy(t, owner.TXTOptions{OwnerID: "me", OldOwnerID: "old", Prefix: "own-"})(c)
		}
		w.start()
		time.Sleep(2 * DefaultInterval)
		w.expectZone("v.shop.test A 192.0.2.10")
		if got := w.takeNoticesOf(ReasonTaken); !slices.Equal(got, []string{"aaa/evil"}) {
			t.Errorf("refused: %q", got)
		}
	})
}

// Rows show a refused object that asks for another type as a conflict, also when the name is settled.
func TestRowsShowRefusals(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		namespaced(w)
		w.start()
		w.asks("bank", "v", "v.shop.test", "A", "192.0.2.10")
		waitIdle()
		w.asks("zzz", "evil", "v.shop.test", "AAAA", "2001:db8::6")
		time.Sleep(2 * DefaultInterval)
		expectLines(
			t, w.rowLines(RowFilter{}), "v.shop.test A published",
			"v.shop.test AAAA conflict the namespace bank has the name (--name-policy=namespace): use another name, or have it removed there",
		)
	})
}

// While the holder's objects are not all known, no other namespace gets the name.
func TestANameIsKeptWhileItsHolderIsUnknown(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		namespaced(w)
		w.start()
		w.asks("default", "v", "v.shop.test", "A", "192.0.2.10")
		waitIdle()
		w.asks("aaa", "next", "v.shop.test", "A", "6.6.6.6")
		waitIdle()
		w.stop()
		w.asks("default", "v", "", "")
		w.objects.mu.Lock()
		w.objects.errs[source.Key{Kind: "Service", Namespace: "default", Name: "v"}] = fmt.Errorf("not readable")
		w.objects.mu.Unlock()
		w.start()
		time.Sleep(2 * DefaultInterval)
		w.expectZone("v.shop.test A 192.0.2.10")
	})
}

// In random clusters, a name has the records of one namespace, and goes to another one only after
// the first one no longer asks for it. A restart changes nothing.
func TestNamesBelongToNamespaces(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		withFixture(t, func(t *testing.T, w *fixture) {
			namespaced(w)
			w.start()
			waitIdle()
			m := &namesakes{w: w, asked: map[string]map[string]string{}, holder: map[string]string{}}
			for range rapid.IntRange(1, 12).Draw(rt, "steps") {
				switch rapid.IntRange(0, 9).Draw(rt, "step") {
				case 0:
					w.stop()
					w.start()
				default:
					m.change(rt)
				}
				time.Sleep(30 * time.Second)
				if problem := m.problem(); problem != "" {
					rt.Fatal(problem)
				}
			}
		})
	})
}

// namesakes is what objects ask for in [TestNamesBelongToNamespaces]: by name and object, a target.
type namesakes struct {
	w      *fixture
	asked  map[string]map[string]string
	holder map[string]string
}

func (m *namesakes) change(rt *rapid.T) {
	namespace := rapid.SampledFrom([]string{"aaa", "bank", "zzz"}).Draw(rt, "namespace")
	name := rapid.SampledFrom([]string{"a.shop.test", "b.shop.test"}).Draw(rt, "name")
	object := rapid.SampledFrom([]string{"one", "two"}).Draw(rt, "object") + "-" + name[:1]
	recordType, target := "A", fmt.Sprintf("192.0.2.%d", rapid.IntRange(1, 4).Draw(rt, "target"))
	switch rapid.IntRange(0, 3).Draw(rt, "what") {
	case 0:
		delete(m.asked[name], namespace+"/"+object)
		m.w.asks(namespace, object, name, "")
		return
	case 1:
		recordType, target = "CNAME", "cname.example.net"
	}
	if m.asked[name] == nil {
		m.asked[name] = map[string]string{}
	}
	m.asked[name][namespace+"/"+object] = recordType + " " + target
	m.w.asks(namespace, object, name, recordType, target)
}

// problem returns what is wrong in the zone.
func (m *namesakes) problem() string {
	published := map[string][]string{}
	for _, r := range m.w.zone() {
		name, rest, _ := strings.Cut(r, " ")
		recordType, targets, _ := strings.Cut(rest, " ")
		for target := range strings.SplitSeq(targets, ",") {
			published[name] = append(published[name], recordType+" "+target)
		}
	}
	for _, name := range []string{"a.shop.test", "b.shop.test"} {
		by := map[string][]string{}
		for object, asked := range m.asked[name] {
			namespace, _, _ := strings.Cut(object, "/")
			by[namespace] = append(by[namespace], asked)
		}
		if holder := m.holder[name]; by[holder] == nil {
			m.holder[name] = ""
		}
		if (len(by) == 0) != (len(published[name]) == 0) {
			return fmt.Sprintf("%s is %q, asked for by %v", name, published[name], by)
		}
		possible := slices.DeleteFunc([]string{"aaa", "bank", "zzz"}, func(namespace string) bool {
			return slices.ContainsFunc(published[name], func(r string) bool { return !slices.Contains(by[namespace], r) })
		})
		if holder := m.holder[name]; holder != "" {
			if !slices.Contains(possible, holder) {
				return fmt.Sprintf("%s is %q, although %s has it, which asks for %q", name, published[name], holder, by[holder])
			}
			continue
		}
		if len(by) > 0 && len(possible) == 0 {
			return fmt.Sprintf("%s is %q, which no namespace alone asks for: %v", name, published[name], by)
		}
		if len(possible) == 1 && len(by) > 0 {
			m.holder[name] = possible[0]
		}
	}
	return ""
}

// limitedTo makes a fixture where a namespace may have a number of names.
func limitedTo(w *fixture, most int) {
	w.change = func(c *Config) {
		c.MaxNames = most
		c.Log = slog.New(slog.DiscardHandler)
	}
}

// A namespace gets names up to its limit. Published names stay, also after a restart, and one Event
// reports the limit. Other namespaces aren't affected, and a deleted name makes room for another
// one (tenants S3).
func TestTooManyNames(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		limitedTo(w, 10)
		w.start()
		waitIdle()
		for i := range 30 {
			w.asks("loud", fmt.Sprintf("o%02d", 30-i), fmt.Sprintf("n%02d.shop.test", 30-i), "A", "192.0.2.1")
			if i == 9 {
				waitIdle()
			}
		}
		w.asks("calm", "o", "calm.shop.test", "A", "192.0.2.2")
		waitIdle()
		w.expectSets(11)
		before := w.zone()
		if got := w.takeNoticesOf(ReasonTooMany); len(got) != 1 {
			t.Errorf("notices: %q", got)
		}
		if !slices.Contains(before, "n30.shop.test A 192.0.2.1") || !slices.Contains(before, "n21.shop.test A 192.0.2.1") {
			t.Errorf("the first names are gone: %q", before)
		}
		w.stop()
		w.start()
		time.Sleep(2 * DefaultInterval)
		w.expectZone(before...)

		w.asks("loud", "o30", "", "")
		w.asks("loud", "o29", "", "")
		time.Sleep(DefaultInterval)
		w.expectSets(11)
		w.asks("loud", "o28", "n28.shop.test", "A", "192.0.2.9")
		waitIdle()
		if !slices.Contains(w.zone(), "n28.shop.test A 192.0.2.9") {
			t.Error("a published name isn't updated")
		}
	})
}

// Once fails if a namespace doesn't get all of its names, so that a job learns of it, and publishes
// the others. A plan shows the names as problems instead.
func TestTooManyNamesOnce(t *testing.T) {
	for _, dryRun := range []bool{true, false} {
		t.Run(fmt.Sprintf("dry run %t", dryRun), func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				w.change = func(c *Config) { c.MaxNames, c.DryRun = 2, dryRun }
				for i := range 5 {
					w.asks("loud", fmt.Sprintf("o%d", i), fmt.Sprintf("n%d.shop.test", i), "A", "192.0.2.1")
				}
				w.asks("calm", "o", "calm.shop.test", "A", "192.0.2.2")
				plans, err := w.make().Once(t.Context(), closedChannel(), Within(onceLimit))
				if len(plans) != 1 || !plans[0].Done {
					t.Errorf("plans: %+v", plans)
				}
				if dryRun {
					if err != nil {
						t.Error(err)
					}
					return
				}
				w.expectSets(3)
				want := "zone shop.test: 3 names are not published, because the namespace loud has 2 names, the limit (--max-names-per-namespace): " +
					"remove names, or raise the limit"
				if err == nil || err.Error() != want {
					t.Errorf("the error is\n%v, want\n%s", err, want)
				}
			})
		})
	}
}

// A namespace with a backlog of objects doesn't delay others: namespaces take turns.
func TestBacklogTakesTurns(t *testing.T) {
	b := newBacklog()
	add := func(namespace string, n int) {
		for i := range n {
			b.add(changedObject{0, source.Key{Namespace: namespace, Name: fmt.Sprint(i)}})
		}
	}
	add("loud", 100)
	add("loud", 50) // known already
	for range 10 {
		b.next()
	}
	add("calm", 2)
	add("mild", 1)
	var got []string
	for range 5 {
		o, _ := b.next()
		got = append(got, o.key.Namespace)
	}
	if want := []string{"loud", "calm", "mild", "loud", "calm"}; !slices.Equal(got, want) {
		t.Errorf("the turns are %q, want %q", got, want)
	}
	if b.len() != 88 {
		t.Errorf("%d objects are left", b.len())
	}
	for range 88 {
		b.next()
	}
	if _, ok := b.next(); ok || b.len() != 0 || len(b.queues) > 0 {
		t.Errorf("the backlog isn't empty: %+v", b)
	}
}

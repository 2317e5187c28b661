package plan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/dns"
)

// zone is a zone of a strict provider, which keeps labels and ownership too.
type zone map[dns.Key]Current

func (z zone) list() []Current {
	return slices.SortedFunc(maps.Values(z), func(a, b Current) int {
		return strings.Compare(show(a.Set)+a.Set.Name, show(b.Set)+b.Set.Name)
	})
}

func (z zone) at(name string) []Current {
	return slices.DeleteFunc(z.list(), func(c Current) bool { return dns.Canonical(c.Set.Name) != name })
}

// apply makes changes one after the other.
func (z zone) apply(changes []dns.Change) error {
	for _, c := range changes {
		key := c.RecordSet().Key()
		there, exists := z[key]
		switch {
		case c.Old == nil && exists:
			return fmt.Errorf("create %s: it is there", show(c.New))
		case c.Old != nil && (!exists || there.Set != c.Old):
			return fmt.Errorf("change of %s, which is not what is there", show(c.Old))
		case c.Old != nil && c.New != nil && (c.Old.Key() != key || c.Old.Name != c.New.Name):
			return fmt.Errorf("update of %s changes its key or its name", show(c.Old))
		case c.New == nil:
			delete(z, key)
			continue
		}
		if c.Old == nil {
			for other := range z {
				if other.Name == key.Name && other.Type != dns.TypeTXT && (other.Type == dns.TypeCNAME) != (key.Type == dns.TypeCNAME) {
					return fmt.Errorf("create %s beside %s", show(c.New), show(z[other].Set))
				}
			}
		}
		z[key] = Current{Set: c.New}
	}
	return nil
}

func (z zone) text() string {
	var b strings.Builder
	for _, c := range z.list() {
		fmt.Fprintf(&b, "%s rewrite=%t\n", show(c.Set), c.RewriteOwnership)
	}
	return b.String()
}

var (
	drawName  = rapid.SampledFrom([]string{"a.example.com", "A.example.com", "b.example.com", "b.Example.com.", "c.example.com"})
	drawType  = rapid.SampledFrom([]string{dns.TypeA, dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeMX, dns.TypeTXT})
	drawID    = rapid.SampledFrom([]string{"", "", "s1", "s2"})
	drawValue = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"1.1.1.1", "2.2.2.2", "::1", "0::2", "name"}), 1, 2, rapid.ID)
	drawTTL   = rapid.SampledFrom([]int64{0, 0, 60, 300})
	drawOwner = rapid.SampledFrom([]string{"", "me", "me", "me", "old", "them"})
	drawWhere = rapid.SampledFrom([]string{"", "x", "y"})
)

func drawSet(t *rapid.T) *dns.RecordSet {
	r := &dns.RecordSet{
		Name: drawName.Draw(t, "name"), Type: drawType.Draw(t, "type"), SetIdentifier: drawID.Draw(t, "id"),
		Targets: drawValue.Draw(t, "targets"), TTL: drawTTL.Draw(t, "ttl"), Labels: map[string]string{},
	}
	if resource := drawWhere.Draw(t, "resource"); resource != "" {
		r.Labels[dns.LabelResource] = resource
	}
	if team := drawWhere.Draw(t, "team"); team != "" {
		r.Labels["team"] = team
	}
	if object := drawWhere.Draw(t, "object"); object != "" {
		r.Objects = []dns.Object{{Name: object}}
	}
	if rapid.Bool().Draw(t, "property") {
		r.Properties = []dns.Property{{Name: "p", Value: drawWhere.Draw(t, "value")}}
	}
	return r
}

func drawWanted(t *rapid.T) []*dns.RecordSet {
	return rapid.SliceOfN(rapid.Custom(drawSet), 0, 8).Draw(t, "wanted")
}

func (z zone) draw(t *rapid.T) {
	for range rapid.IntRange(0, 6).Draw(t, "there") {
		c := Current{Set: drawSet(t), RewriteOwnership: rapid.Bool().Draw(t, "rewrite")}
		if owner := drawOwner.Draw(t, "owner"); owner != "" {
			c.Set.Labels[dns.LabelOwner] = owner
		}
		z[c.Set.Key()] = c
	}
}

func drawRules(t *rapid.T) *Rules {
	return &Rules{
		Policy:   rapid.SampledFrom([]Policy{Sync, Sync, UpsertOnly, CreateOnly}).Draw(t, "policy"),
		Owner:    rapid.SampledFrom([]string{"me", "me", ""}).Draw(t, "me"),
		OldOwner: rapid.SampledFrom([]string{"", "old"}).Draw(t, "old"),
		Managed:  []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeMX, dns.TypeTXT},
		Excluded: []string{dns.TypeTXT},
	}
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules, wanted, z := drawRules(t), drawWanted(t), zone{}
		z.draw(t)
		before := maps.Clone(z)
		out := decideAll(z.list(), wanted, rules)
		checkOwners(t, out.Changes, wanted, rules)
		if err := z.apply(out.Changes); err != nil {
			t.Fatalf("%v, of:\n%s", err, transcript(out))
		}
		if again := decideAll(z.list(), wanted, rules); len(again.Changes) > 0 {
			t.Fatalf("after\n%sthere is more to do:\n%s", transcript(out), transcript(again))
		}
		checkGoal(t, z, wanted, out, rules)
		checkOrder(t, before, wanted, rules, out)
	})
}

// checkOwners checks that record sets of other owners don't change.
func checkOwners(t *rapid.T, changes []dns.Change, wanted []*dns.RecordSet, rules *Rules) {
	for _, c := range changes {
		if c.New != nil && rules.Owner != "" && c.New.Labels[dns.LabelOwner] != rules.Owner {
			t.Fatalf("%s will not be ours", show(c.New))
		}
		if c.Old == nil || rules.Owner == "" || c.Old.Labels[dns.LabelOwner] == rules.Owner {
			continue
		}
		asked := slices.ContainsFunc(wanted, func(w *dns.RecordSet) bool { return w.Key() == c.Old.Key() })
		if c.New == nil || !asked || rules.OldOwner == "" || c.Old.Labels[dns.LabelOwner] != rules.OldOwner {
			t.Fatalf("%s is not ours", show(c.Old))
		}
	}
}

// checkGoal checks that the zone has all wanted record sets that nothing prevents.
func checkGoal(t *rapid.T, z zone, wanted []*dns.RecordSet, out Outcome, rules *Rules) {
	if rules.Owner != "" || rules.Policy != Sync {
		return
	}
	if len(out.Conflicts) > 0 {
		t.Fatalf("nothing can be in the way, but is:\n%s", transcript(out))
	}
	met := map[dns.Key]bool{}
	for _, w := range wanted {
		c, ok := z[w.Key()]
		excluded := slices.ContainsFunc(out.Lost, func(l Loss) bool { return l.Set == w && excludes(w, l.Winner) })
		switch managed := rules.Manages(w.Type) && !excluded; {
		case managed && !ok:
			t.Fatalf("%s is missing", show(w))
		case managed:
			met[w.Key()] = met[w.Key()] || Satisfies(c.Set, w)
		}
	}
	for key, c := range z {
		if rules.Manages(key.Type) && !met[key] {
			t.Fatalf("%s is not as anybody asked for", show(c.Set))
		}
	}
}

// checkOrder checks that the order of the arguments doesn't matter, even if keys occur twice.
func checkOrder(t *rapid.T, z zone, wanted []*dns.RecordSet, rules *Rules, out Outcome) {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	shuffle := func(have []Current) Outcome {
		have, wanted := slices.Clone(have), slices.Clone(wanted)
		random.Shuffle(len(have), func(i, j int) { have[i], have[j] = have[j], have[i] })
		random.Shuffle(len(wanted), func(i, j int) { wanted[i], wanted[j] = wanted[j], wanted[i] })
		return decideAll(have, wanted, rules)
	}
	if diff := gocmp.Diff(everything(out), everything(shuffle(z.list()))); diff != "" {
		t.Fatalf("depends on the order (-one +other):\n%s", diff)
	}
	twin := zone{}
	twin.draw(t)
	both := append(z.list(), twin.list()...)
	if diff := gocmp.Diff(everything(shuffle(both)), everything(shuffle(both))); diff != "" {
		t.Fatalf("depends on the order, with keys twice (-one +other):\n%s", diff)
	}
}

// Planning only changed names gives the same result as planning all names.
func TestIncremental(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules, wanted, mirror := drawRules(t), drawWanted(t), zone{}
		mirror.draw(t)
		if err := mirror.apply(decideAll(mirror.list(), wanted, rules).Changes); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 4).Draw(t, "steps") {
			next := drawWanted(t)
			kept := rapid.IntRange(0, len(wanted)).Draw(t, "kept")
			next = append(next, wanted[:kept]...)
			came := zone{}
			came.draw(t)
			dirty := dirtyNames(mirror, came, wanted, next)
			maps.Copy(mirror, came)
			wanted = next

			whole := maps.Clone(mirror)
			if err := whole.apply(decideAll(whole.list(), wanted, rules).Changes); err != nil {
				t.Fatal(err)
			}
			for _, name := range dirty {
				asked := slices.DeleteFunc(slices.Clone(wanted), func(w *dns.RecordSet) bool { return dns.Canonical(w.Name) != name })
				if err := mirror.apply(Name(mirror.at(name), candidates(asked...), rules).Changes); err != nil {
					t.Fatal(err)
				}
			}
			if diff := gocmp.Diff(whole.text(), mirror.text()); diff != "" {
				t.Fatalf("(-whole +incremental):\n%s", diff)
			}
		}
	})
}

// dirtyNames returns the names with any difference.
func dirtyNames(have, came zone, before, after []*dns.RecordSet) []string {
	dirty := map[string]bool{}
	for key := range came {
		dirty[key.Name] = true
	}
	count := map[*dns.RecordSet]int{}
	for _, w := range before {
		count[w]++
	}
	for _, w := range after {
		count[w]--
	}
	for w, n := range count {
		if n != 0 {
			dirty[dns.Canonical(w.Name)] = true
		}
	}
	return slices.Sorted(maps.Keys(dirty))
}

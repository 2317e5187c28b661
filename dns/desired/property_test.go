package desired_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/testkit/heaptest"
)

// line draws a record set, which may be invalid.
func line(t *rapid.T) string {
	recordType := rapid.SampledFrom([]string{"A", "A", "AAAA", "CNAME", "TXT"}).Draw(t, "type")
	of := map[string][]string{
		"A":     {"192.0.2.1", "192.0.2.2", "192.0.2.3", "not-an-address"},
		"AAAA":  {"2001:db8::1", "2001:DB8:0::1", "64:ff9b::c000:201"},
		"CNAME": {"x.org", "Y.org."},
		"TXT":   {"text", "Text"},
	}
	targets := rapid.SliceOfN(rapid.SampledFrom(of[recordType]), 0, 3).Draw(t, "targets")
	if len(targets) == 0 {
		targets = []string{"-"}
	}
	return fmt.Sprintf("%s %s %d %s %s",
		rapid.SampledFrom([]string{"a.org", "A.org.", "b.org", "*.c.org", "1.2.0.192.in-addr.arpa"}).Draw(t, "name"),
		recordType,
		rapid.SampledFrom([]int{0, 0, 30, 60}).Draw(t, "ttl"),
		strings.Join(targets, ","),
		rapid.SampledFrom([]string{"", "record-type=ptr", "record-type=no", "aws/x=1", "alias=true"}).Draw(t, "property"))
}

func drawOptions(t *rapid.T) desired.Options {
	o := desired.Options{
		Sources:      rapid.Permutation([]string{"service", "crd"}).Draw(t, "sources"),
		NAT64:        []string{"64:ff9b::/96"},
		ManagedTypes: []string{"A", "PTR"},
		CreatePTR:    rapid.Bool().Draw(t, "PTR"),
		PreferAlias:  rapid.Bool().Draw(t, "alias"),
		MinTTL:       rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "TTL"),
		Properties:   rapid.SampledFrom([][]string{{"aws/"}, nil}).Draw(t, "properties"),
	}
	if rapid.Bool().Draw(t, "defaults") {
		o.DefaultTargets = []string{"192.0.2.9", "lb.org"}
		o.ForceDefaultTargets = rapid.Bool().Draw(t, "force")
	}
	return o
}

// wantedByName returns the wanted record sets of each name.
func wantedByName(s *desired.Set) map[string][]*dns.RecordSet {
	all := map[string][]*dns.RecordSet{}
	for name := range s.Names() {
		all[name] = s.Want(name)
	}
	return all
}

// After any sequence of Puts, Want returns the same as for a Set that got only the last ones, in
// any order. Names with other results were dirty, and no others unless an object asks for something
// else. A repeated Put changes nothing.
func TestPutProperty(t *testing.T) {
	paths := []string{"service/d/a", "service/d/b", "crd/d/a", "crd/d/b", "node//n"}
	rapid.Check(t, func(t *rapid.T) {
		options := drawOptions(t)
		s := mustNew(t, options)
		state := map[string][]string{}
		before := wantedByName(s)
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			path := rapid.SampledFrom(paths).Draw(t, "by")
			lines := rapid.SliceOfN(rapid.Custom(line), 0, 4).Draw(t, "lines")
			dirty, _ := put(s, path, lines...)
			state[path] = lines
			if rapid.Bool().Draw(t, "count") {
				s.Stats()
			}
			now := wantedByName(s)
			wantDirty(t, before, now, dirty)
			before = now
			if again, _ := put(s, path, lines...); len(again) > 0 {
				t.Fatalf("%s asks for the same again, and %q are dirty", path, again)
			}
		}
		fresh := mustNew(t, options)
		for _, path := range rapid.Permutation(paths).Draw(t, "order") {
			put(fresh, path, state[path]...)
		}
		if diff := cmp.Diff(wantedByName(fresh), before); diff != "" {
			t.Fatalf("from scratch -, after changes +\n%s", diff)
		}
		if diff := cmp.Diff(fresh.Stats(), s.Stats()); diff != "" {
			t.Fatalf("numbers from scratch -, after changes +\n%s", diff)
		}
		wantConsistent(t, s)
	})
}

func mustNew(t *rapid.T, o desired.Options) *desired.Set {
	s, err := desired.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func wantDirty(t *rapid.T, before, now map[string][]*dns.RecordSet, dirty []string) {
	for name := range before {
		if now[name] == nil && !slices.Contains(dirty, name) {
			t.Fatalf("%s is gone, but only %q are dirty", name, dirty)
		}
	}
	for name, sets := range now {
		if !cmp.Equal(before[name], sets) && !slices.Contains(dirty, name) {
			t.Fatalf("%s changed, but only %q are dirty", name, dirty)
		}
	}
	if !slices.IsSorted(dirty) || len(slices.Compact(slices.Clone(dirty))) != len(dirty) {
		t.Fatalf("%q are not sorted, each once", dirty)
	}
}

// wantConsistent checks that each requested name has valid record sets, and that Stats counts them.
func wantConsistent(t *rapid.T, s *desired.Set) {
	records := map[string]int{}
	for name := range s.Names() {
		sets := s.Want(name)
		if len(sets) == 0 || len(s.OriginsOf(name)) == 0 {
			t.Fatalf("%s is asked for by %v, and is to have %v", name, s.OriginsOf(name), sets)
		}
		for _, r := range sets {
			records[r.Type]++
			if err := r.Check(); err != nil || r.Name != name || r.Normal() != r {
				t.Fatalf("%s is to have %s: %v", name, format(r), err)
			}
		}
	}
	if diff := cmp.Diff(records, s.Stats().Records); diff != "" {
		t.Fatalf("want -, got +\n%s", diff)
	}
}

// service returns a Service with a name of its own, and the record sets that it asks for.
func service(i int) (desired.Origin, []*dns.RecordSet) {
	o := desired.Origin{Source: "service", Namespace: "default", Name: fmt.Sprintf("shop-%d", i)}
	r := &dns.RecordSet{
		Name: o.Name + ".production.example.org", Labels: map[string]string{dns.LabelResource: "service/default/" + o.Name},
		Objects: []dns.Object{{APIVersion: "v1", Kind: "Service", Namespace: o.Namespace, Name: o.Name, Source: o.Source}},
	}
	return o, r.PerType([]string{fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&0xff, i&0xff)})
}

// The memory of a Set per name, with the strings that it keeps, is limited.
func TestMemory(t *testing.T) {
	const names, most = 50_000, 800
	s := newSet(t, desired.Options{})
	before := heaptest.InUse()
	for i := range names {
		s.Put(service(i))
	}
	s.Stats()
	each := (int64(heaptest.InUse()) - int64(before)) / names
	if each > most {
		t.Errorf("%d names need %d bytes each, more than %d", names, each, most)
	}
	t.Logf("%d bytes for each name", each)
	runtime.KeepAlive(s)
}

package dns_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/dns"
)

// parseSet makes a record set of "name type ttl targets resource", with commas between targets, and
// "-" for a missing part.
func parseSet(line string) *dns.RecordSet {
	var ttl int64
	f := strings.Fields(line)
	if _, err := fmt.Sscan(f[2], &ttl); err != nil {
		panic(err)
	}
	r := &dns.RecordSet{Name: f[0], Type: f[1], TTL: ttl, Labels: map[string]string{}}
	if f[3] != "-" {
		r.Targets = strings.Split(f[3], ",")
	}
	if f[4] != "-" {
		r.Labels["resource"] = f[4]
		r.Objects = []dns.Object{{Name: f[4]}}
	}
	return r
}

func formatSet(r *dns.RecordSet) string {
	or := func(s string) string {
		if s == "" {
			return "-"
		}
		return s
	}
	line := fmt.Sprintf("%s %s %d %s %s", r.Name, r.Type, r.TTL, or(strings.Join(r.Targets, ",")), or(r.Labels["resource"]))
	if len(r.Objects) > 1 {
		line += " of"
		for _, o := range r.Objects {
			line += " " + o.Name
		}
	}
	return line
}

func parseSets(lines []string) []*dns.RecordSet {
	var sets []*dns.RecordSet
	for _, line := range lines {
		sets = append(sets, parseSet(line))
	}
	return sets
}

func formatSets(sets []*dns.RecordSet) []string {
	var lines []string
	for _, r := range sets {
		lines = append(lines, formatSet(r))
	}
	return lines
}

func TestMerge(t *testing.T) {
	tests := map[string]struct{ in, want []string }{
		"none": {},
		"targets, the first resource counts": {
			in:   []string{"a.org A 60 2.2.2.2,1.1.1.1 s/b", "a.org A 60 3.3.3.3,1.1.1.1 s/a"},
			want: []string{"a.org A 60 1.1.1.1,2.2.2.2,3.3.3.3 s/a of s/a s/b"},
		},
		"one alone gets its targets in order": {in: []string{"a.org A 0 2.2.2.2,1.1.1.1,2.2.2.2 -"}, want: []string{"a.org A 0 1.1.1.1,2.2.2.2 -"}},
		"names, types and TTLs stay apart": {
			in: []string{"b.org A 0 1.1.1.1 -", "a.org TXT 0 x -", "a.org A 60 1.1.1.1 s/b", "a.org A 0 2.2.2.2 s/c", "a.org A 60 3.3.3.3 s/d"},
			want: []string{
				"a.org A 60 1.1.1.1,3.3.3.3 s/b of s/b s/d", "a.org A 0 2.2.2.2 s/c", "a.org TXT 0 x -", "b.org A 0 1.1.1.1 -",
			},
		},
		"CNAME and DNAME": {
			in: []string{
				"a.org CNAME 0 x.org,z.org s/c", "a.org CNAME 60 X.org s/b", "a.org CNAME 0 y.org s/a", "a.org CNAME 0 - s/d",
				"a.org DNAME 0 y.org s/a", "a.org DNAME 0 - s/a",
			},
			want: []string{"a.org CNAME 0 y.org s/a", "a.org CNAME 60 X.org s/b of s/b s/c", "a.org DNAME 0 y.org s/a"},
		},
		"without targets": {in: []string{"a.org A 0 - s/a"}, want: []string{"a.org A 0 - s/a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := parseSets(test.in)
			if diff := cmp.Diff(test.want, formatSets(dns.Merge(in))); diff != "" {
				t.Errorf("want -, got +\n%s", diff)
			}
			if diff := cmp.Diff(test.in, formatSets(in)); diff != "" {
				t.Errorf("what was given was changed: -, +\n%s", diff)
			}
		})
	}
	alias := parseSet("a.org A 0 lb.org s/a")
	alias.SetProperty("alias", "true")
	wantTwo := []string{"a.org A 0 lb.org s/a", "a.org A 0 1.1.1.1 s/b"}
	if diff := cmp.Diff(wantTwo, formatSets(dns.Merge([]*dns.RecordSet{parseSet(wantTwo[1]), alias}))); diff != "" {
		t.Errorf("an alias and an address: want -, got +\n%s", diff)
	}
	blue, green := parseSet("a.org A 0 1.1.1.1 -"), parseSet("a.org A 0 2.2.2.2 -")
	blue.SetIdentifier = "blue"
	if got := dns.Merge([]*dns.RecordSet{blue, green}); len(got) != 2 {
		t.Errorf("record sets with other set identifiers became %v", formatSets(got))
	}
}

// Merging gives the same result in every order (§17, random order), and merging the result
// changes nothing.
func TestMergeProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "n")
		sets := make([]*dns.RecordSet, n)
		for i := range sets {
			sets[i] = parseSet(fmt.Sprintf("%s %s %d %s r/%02d",
				rapid.SampledFrom([]string{"a.org", "b.org"}).Draw(t, "name"),
				rapid.SampledFrom([]string{"A", "CNAME", "TXT"}).Draw(t, "type"),
				rapid.SampledFrom([]int{0, 60}).Draw(t, "ttl"),
				strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"1.1.1.1", "2.2.2.2", "X", "x"}), 1, 3).Draw(t, "targets"), ","), i))
		}
		merged := dns.Merge(sets)
		again := formatSets(dns.Merge(rapid.Permutation(sets).Draw(t, "order")))
		if diff := cmp.Diff(formatSets(merged), again); diff != "" {
			t.Fatalf("another order: -, +\n%s", diff)
		}
		if diff := cmp.Diff(formatSets(merged), formatSets(dns.Merge(merged))); diff != "" {
			t.Fatalf("merged once more: -, +\n%s", diff)
		}
	})
}

func TestJoinObjects(t *testing.T) {
	a, b, c := dns.Object{Name: "a"}, dns.Object{Name: "b"}, dns.Object{Name: "c"}
	shared := append(make([]dns.Object, 0, 4), a, b)
	got := dns.JoinObjects(nil, shared, []dns.Object{b, c}, []dns.Object{c})
	if diff := cmp.Diff([]dns.Object{a, b, c}, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	if rest := shared[:3]; !slices.Equal(rest, []dns.Object{a, b, {}}) {
		t.Errorf("the array of an argument was written: %v", rest)
	}
	if got := dns.JoinObjects(); got != nil {
		t.Errorf("got %v for nothing", got)
	}
}

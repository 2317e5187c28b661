package desired_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
)

// parse makes a record set of "name type ttl targets properties", with commas between targets and
// between properties, and "-" for a missing part. Its resource is that of the origin.
func parse(origin desired.Origin, line string) *dns.RecordSet {
	f := strings.Fields(line)
	resource := origin.Source + "/" + origin.Namespace + "/" + origin.Name
	r := &dns.RecordSet{
		Name: f[0], Type: f[1], Labels: map[string]string{"resource": resource},
		Objects: []dns.Object{{Kind: "Kind", Source: origin.Source, Namespace: origin.Namespace, Name: origin.Name}},
	}
	if _, err := fmt.Sscan(f[2], &r.TTL); err != nil {
		panic(err)
	}
	if f[3] != "-" {
		r.Targets = strings.Split(f[3], ",")
	}
	for _, p := range f[4:] {
		name, value, _ := strings.Cut(p, "=")
		r.Properties = append(r.Properties, dns.Property{Name: name, Value: value})
	}
	return r
}

// format is the opposite of parse, with set identifier, resource and objects at the end.
func format(r *dns.RecordSet) string {
	line := fmt.Sprintf("%s %s %d %s", r.Name, r.Type, r.TTL, strings.Join(r.Targets, ","))
	for _, p := range r.Properties {
		line += " " + p.Name + "=" + p.Value
	}
	if r.SetIdentifier != "" {
		line += " set " + r.SetIdentifier
	}
	if resource, ok := r.Labels["resource"]; ok {
		line += " by " + resource
	}
	if len(r.Objects) > 1 {
		line += " of"
		for _, o := range r.Objects {
			line += " " + o.Name
		}
	}
	return line
}

func origin(path string) desired.Origin {
	f := strings.Split(path, "/")
	return desired.Origin{Source: f[0], Namespace: f[1], Name: f[2]}
}

func newSet(t *testing.T, o desired.Options) *desired.Set {
	t.Helper()
	s, err := desired.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// put has an origin such as service/default/shop ask for lines.
func put(s *desired.Set, path string, lines ...string) (dirty []string, problems []dns.Problem) {
	var sets []*dns.RecordSet
	for _, line := range lines {
		sets = append(sets, parse(origin(path), line))
	}
	return s.Put(origin(path), sets)
}

// everything returns the wanted record sets of all names, by name.
func everything(s *desired.Set) []string {
	var lines []string
	for _, name := range slices.Sorted(s.Names()) {
		for _, r := range s.Want(name) {
			lines = append(lines, format(r))
		}
	}
	return lines
}

func wantLines(t *testing.T, got, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

// originRequest is an origin and the record sets that it asks for.
type originRequest struct {
	by    string
	lines []string
}

// Objects of two kinds with one name are distinct origins.
func TestKinds(t *testing.T) {
	s := newSet(t, desired.Options{})
	route := desired.Origin{Source: "traefik", Kind: "IngressRoute.traefik.io", Namespace: "d", Name: "shop"}
	tcp := route
	tcp.Kind = "IngressRouteTCP.traefik.io"
	s.Put(route, []*dns.RecordSet{parse(route, "a.org A 60 1.1.1.1")})
	s.Put(tcp, []*dns.RecordSet{parse(tcp, "b.org A 60 2.2.2.2"), parse(tcp, "a.org A 60 3.3.3.3")})
	if asks := s.OriginsOf("a.org"); !slices.Equal(asks, []desired.Origin{route, tcp}) {
		t.Errorf("a.org is asked for by %v", asks)
	}
	dirty, _ := s.Put(tcp, nil)
	if !slices.Equal(dirty, []string{"a.org", "b.org"}) || !s.Has(route) || s.Has(tcp) {
		t.Errorf("after one kind asks for nothing: %q are dirty; the other is there: %v", dirty, s.Has(route))
	}
	if got := format(s.Want("a.org")[0]); got != "a.org A 60 1.1.1.1 by traefik/d/shop" {
		t.Errorf("a.org is %s", got)
	}
}

func TestWant(t *testing.T) {
	ptr := []string{"A", "PTR"}
	tests := map[string]struct {
		options desired.Options
		asks    []originRequest
		want    []string
	}{
		"one": {
			asks: []originRequest{{by: "service/d/s", lines: []string{"A.org. A 60 2.2.2.2,1.1.1.1"}}},
			want: []string{"a.org A 60 1.1.1.1,2.2.2.2 by service/d/s"},
		},
		"case 208: identical, whatever the order": {
			asks: []originRequest{{by: "crd/d/s", lines: []string{"a.org TXT 0 x,y", "a.org TXT 0 y,x", "a.org A 0 1.1.1.1"}}},
			want: []string{"a.org A 0 1.1.1.1 by crd/d/s", "a.org TXT 0 x,y by crd/d/s"},
		},
		"case 208: from two sources": {
			options: desired.Options{Sources: []string{"service", "ingress"}},
			asks: []originRequest{
				{by: "ingress/d/i", lines: []string{"a.org A 60 1.1.1.1", "a.org A 0 2.2.2.2"}},
				{by: "service/d/s", lines: []string{"a.org A 0 1.1.1.1"}},
			},
			want: []string{"a.org A 0 1.1.1.1 by service/d/s of s i", "a.org A 0 2.2.2.2 by ingress/d/i"},
		},
		"order of sources, known before unknown": {
			options: desired.Options{Sources: []string{"node", "crd"}},
			asks: []originRequest{
				{by: "pod/d/p", lines: []string{"a.org A 0 4.4.4.4"}},
				{by: "ingress/d/i", lines: []string{"a.org A 0 3.3.3.3"}},
				{by: "crd/d/c", lines: []string{"a.org A 0 2.2.2.2"}},
				{by: "node/d/n", lines: []string{"a.org A 0 1.1.1.1"}},
			},
			want: []string{
				"a.org A 0 1.1.1.1 by node/d/n", "a.org A 0 2.2.2.2 by crd/d/c",
				"a.org A 0 3.3.3.3 by ingress/d/i", "a.org A 0 4.4.4.4 by pod/d/p",
			},
		},
		"services share a name whatever their TTL": {
			asks: []originRequest{
				{by: "service/d/b", lines: []string{"a.org A 30 2.2.2.2 aws/x=b"}},
				{by: "service/d/a", lines: []string{"a.org A 60 1.1.1.1 aws/x=a"}},
				{by: "service/d/c", lines: []string{"a.org A 30 3.3.3.3", "a.org CNAME 9 x.org"}},
				{by: "service/d/d", lines: []string{"a.org CNAME 8 y.org"}},
			},
			options: desired.Options{Properties: []string{"aws/"}, OneTTL: []string{"service"}},
			want: []string{
				"a.org A 60 1.1.1.1,2.2.2.2,3.3.3.3 aws/x=a by service/d/a of a b c",
				"a.org CNAME 9 x.org by service/d/c", "a.org CNAME 8 y.org by service/d/d",
			},
		},
		"other objects share a name with one TTL": {
			asks: []originRequest{
				{by: "crd/d/c", lines: []string{"a.org A 60 3.3.3.3"}},
				{by: "crd/d/b", lines: []string{"a.org A 30 2.2.2.2"}},
				{by: "crd/d/a", lines: []string{"a.org A 60 1.1.1.1"}},
			},
			want: []string{"a.org A 60 1.1.1.1,3.3.3.3 by crd/d/a of a c", "a.org A 30 2.2.2.2 by crd/d/b"},
		},
		"the minimum TTL doesn't bring them together": {
			options: desired.Options{MinTTL: time.Minute},
			asks:    []originRequest{{by: "crd/d/a", lines: []string{"a.org A 60 1.1.1.1"}}, {by: "crd/d/b", lines: []string{"a.org A 0 2.2.2.2"}}},
			want:    []string{"a.org A 60 1.1.1.1 by crd/d/a", "a.org A 60 2.2.2.2 by crd/d/b"},
		},
		"case 209: default targets": {
			options: desired.Options{DefaultTargets: []string{"lb.org.", "1.2.3.4", "::1"}},
			asks:    []originRequest{{by: "crd/d/a", lines: []string{"a.org A 60 -", "b.org A 0 1.1.1.1"}}},
			want: []string{
				"a.org A 60 1.2.3.4 by crd/d/a", "a.org AAAA 60 ::1 by crd/d/a", "a.org CNAME 60 lb.org by crd/d/a", "b.org A 0 1.1.1.1 by crd/d/a",
			},
		},
		"case 209: forced": {
			options: desired.Options{DefaultTargets: []string{"1.2.3.4"}, ForceDefaultTargets: true},
			asks:    []originRequest{{by: "crd/d/a", lines: []string{"a.org A 60 -", "b.org AAAA 0 ::2", "b.org CNAME 0 lb.org"}}},
			want:    []string{"a.org A 60 1.2.3.4 by crd/d/a", "b.org A 0 1.2.3.4 by crd/d/a"},
		},
		"forced without any": {
			options: desired.Options{ForceDefaultTargets: true},
			asks:    []originRequest{{by: "crd/d/a", lines: []string{"b.org A 0 1.1.1.1"}}},
			want:    []string{"b.org A 0 1.1.1.1 by crd/d/a"},
		},
		"case 210: NAT64": {
			options: desired.Options{NAT64: []string{"2001:db8:96::/96"}},
			asks:    []originRequest{{by: "crd/d/a", lines: []string{"a.org AAAA 60 2001:db8:96::c633:640a,2001:db8::c633:640b"}}},
			want: []string{
				"a.org A 60 198.51.100.10 by crd/d/a", "a.org AAAA 60 2001:db8:96::c633:640a,2001:db8::c633:640b by crd/d/a",
			},
		},
		"NAT64 of an alias": {
			options: desired.Options{NAT64: []string{"2001:db8:96::/96"}},
			asks:    []originRequest{{by: "crd/d/a", lines: []string{"a.org AAAA 0 lb.org alias=true"}}},
			want:    []string{"a.org AAAA 0 lb.org alias=true by crd/d/a"},
		},
		"target filter, after NAT64": {
			options: desired.Options{NAT64: []string{"2001:db8:96::/96"}, Targets: targets(t, "198.51.100.0/24")},
			asks:    []originRequest{{by: "crd/d/a", lines: []string{"a.org AAAA 0 2001:db8:96::c633:640a", "b.org A 0 1.1.1.1,198.51.100.9", "c.org CNAME 0 lb.org"}}},
			want:    []string{"a.org A 0 198.51.100.10 by crd/d/a", "b.org A 0 198.51.100.9 by crd/d/a"},
		},
		"case 211: PTR asked for by all but one": {
			options: desired.Options{ManagedTypes: ptr, CreatePTR: true},
			asks:    []originRequest{{by: "crd/d/a", lines: []string{"a.org A 60 192.0.2.1", "b.org A 60 192.0.2.2 record-type=", "*.c.org A 60 192.0.2.3", "* A 60 192.0.2.3"}}},
			want: []string{
				"* A 60 192.0.2.3 by crd/d/a", "*.c.org A 60 192.0.2.3 by crd/d/a", "1.2.0.192.in-addr.arpa PTR 60 a.org",
				"a.org A 60 192.0.2.1 by crd/d/a", "b.org A 60 192.0.2.2 by crd/d/a",
			},
		},
		"case 211: PTR asked for by one": {
			options: desired.Options{ManagedTypes: ptr},
			asks:    []originRequest{{by: "crd/d/a", lines: []string{"a.org A 60 192.0.2.1 record-type=PTR", "b.org A 60 192.0.2.2", "c.org A 60 192.0.2.3 record-type=txt"}}},
			want: []string{
				"1.2.0.192.in-addr.arpa PTR 60 a.org", "a.org A 60 192.0.2.1 by crd/d/a", "b.org A 60 192.0.2.2 by crd/d/a", "c.org A 60 192.0.2.3 by crd/d/a",
			},
		},
		"case 211: two names on one address": {
			options: desired.Options{ManagedTypes: ptr, CreatePTR: true},
			asks: []originRequest{
				{by: "ingress/d/i", lines: []string{"z.org A 60 192.0.2.1"}},
				{by: "service/d/s", lines: []string{"a.org A 30 192.0.2.1"}},
				{by: "node//n", lines: []string{"n.org AAAA 0 2001:db8::1"}},
				{by: "node//m", lines: []string{"m.org AAAA 9 2001:db8::1"}},
			},
			want: []string{
				"1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa PTR 0 m.org,n.org of m n",
				"1.2.0.192.in-addr.arpa PTR 30 a.org,z.org of i s", "a.org A 30 192.0.2.1 by service/d/s",
				"m.org AAAA 9 2001:db8::1 by node//m", "n.org AAAA 0 2001:db8::1 by node//n", "z.org A 60 192.0.2.1 by ingress/d/i",
			},
		},
		"PTR beside one that is asked for": {
			options: desired.Options{ManagedTypes: ptr, CreatePTR: true, MinTTL: 5 * time.Second},
			asks:    []originRequest{{by: "crd/d/a", lines: []string{"1.2.0.192.in-addr.arpa PTR 60 b.org", "a.org A 0 192.0.2.1"}}},
			want:    []string{"1.2.0.192.in-addr.arpa PTR 60 b.org by crd/d/a", "1.2.0.192.in-addr.arpa PTR 5 a.org", "a.org A 5 192.0.2.1 by crd/d/a"},
		},
		"PTR not managed": {
			asks: []originRequest{{by: "crd/d/a", lines: []string{"a.org A 60 192.0.2.1 record-type=ptr"}}},
			want: []string{"a.org A 60 192.0.2.1 by crd/d/a"},
		},
		"case 212: post-processing": {
			options: desired.Options{MinTTL: time.Minute, PreferAlias: true, Properties: []string{"azure/"}},
			asks: []originRequest{{by: "crd/d/a", lines: []string{
				"a.org CNAME 0 lb.org azure/t=1 aws/x=1", "b.org CNAME 30 lb.org alias=false", "c.org A -1 1.1.1.1 scw/y=1",
			}}},
			want: []string{
				"a.org CNAME 60 lb.org alias=true azure/t=1 by crd/d/a", "b.org CNAME 30 lb.org alias=false by crd/d/a", "c.org A 60 1.1.1.1 by crd/d/a",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSet(t, test.options)
			for _, a := range test.asks {
				if _, problems := put(s, a.by, a.lines...); len(problems) > 0 {
					t.Errorf("%s: %v", a.by, problems)
				}
			}
			wantLines(t, everything(s), test.want)
			reversed := newSet(t, test.options)
			for _, a := range slices.Backward(test.asks) {
				put(reversed, a.by, a.lines...)
			}
			wantLines(t, everything(reversed), test.want)
		})
	}
}

func targets(t *testing.T, include string) *dns.TargetFilter {
	t.Helper()
	f, problems := dns.NewTargetFilter([]string{include}, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return f
}

func TestSetIdentifiers(t *testing.T) {
	// Case 208: record sets with other set identifiers are kept.
	s := newSet(t, desired.Options{})
	blue, green := parse(origin("crd/d/a"), "a.org A 0 1.1.1.1"), parse(origin("crd/d/a"), "a.org A 0 1.1.1.1")
	blue.SetIdentifier, green.SetIdentifier = "blue", "green"
	s.Put(origin("crd/d/a"), []*dns.RecordSet{nil, green, blue})
	wantLines(t, everything(s), []string{"a.org A 0 1.1.1.1 set blue by crd/d/a", "a.org A 0 1.1.1.1 set green by crd/d/a"})
}

func TestPutDirty(t *testing.T) {
	s := newSet(t, desired.Options{ManagedTypes: []string{"PTR"}, CreatePTR: true})
	const reverse1, reverse2 = "1.2.0.192.in-addr.arpa", "2.2.0.192.in-addr.arpa"
	steps := []struct {
		name  string
		by    string
		lines []string
		want  []string
	}{
		{name: "first", by: "crd/d/a", lines: []string{"b.org A 0 192.0.2.1", "A.org CNAME 0 x"}, want: []string{reverse1, "a.org", "b.org"}},
		{name: "the same", by: "crd/d/a", lines: []string{"b.org A 0 192.0.2.1", "A.org CNAME 0 x"}},
		{name: "another order and spelling", by: "crd/d/a", lines: []string{"a.org CNAME 0 X.", "B.org. A 0 192.0.2.1"}},
		{name: "the other one changes", by: "crd/d/a", lines: []string{"a.org CNAME 0 y", "b.org A 0 192.0.2.1"}, want: []string{"a.org"}},
		{name: "another address", by: "crd/d/a", lines: []string{"a.org CNAME 0 y", "b.org A 0 192.0.2.2"}, want: []string{reverse1, reverse2, "b.org"}},
		{name: "another name for it", by: "crd/d/b", lines: []string{"c.org A 0 192.0.2.2"}, want: []string{reverse2, "c.org"}},
		{name: "an invalid one", by: "crd/d/a", lines: []string{"a.org CNAME 0 y", "b.org A 0 x"}, want: []string{reverse2, "b.org"}},
		{name: "nothing", by: "crd/d/a", want: []string{reverse2, "a.org", "b.org"}},
		{name: "nothing again", by: "crd/d/a"},
		{name: "the rest", by: "crd/d/b", want: []string{reverse2, "c.org"}},
	}
	for _, step := range steps {
		if got, _ := put(s, step.by, step.lines...); !slices.Equal(got, step.want) {
			t.Errorf("%s: dirty are %q, want %q", step.name, got, step.want)
		}
	}
	if s.Len() != 0 || s.Want("a.org") != nil || len(slices.Collect(s.Origins())) != 0 {
		t.Errorf("there are %d names and %d origins left", s.Len(), len(slices.Collect(s.Origins())))
	}
}

func TestPutProblems(t *testing.T) {
	s := newSet(t, desired.Options{ManagedTypes: []string{"PTR"}})
	_, problems := put(s, "crd/d/a",
		"no..label A 0 1.1.1.1", "a.org A 0 x", "b.org A 0 -", "ok.org A 0 1.1.1.1", "t.org TXT 0 x record-type=ptr", "l.org A 0 lb.org alias=true record-type=ptr")
	object := dns.Object{Kind: "Kind", Source: "crd", Namespace: "d", Name: "a"}
	want := []dns.Problem{
		{Object: object, Subject: "name of the A record set no..label", Value: "no..label", Reason: "a label is empty: remove the dot beside it"},
		{Object: object, Subject: "target of the A record set a.org", Value: "x", Reason: "not an IPv4 address, as an A record has"},
		{Object: object, Subject: "targets of the A record set b.org", Reason: "there are none, and no default targets are configured"},
		{Object: object, Subject: "property record-type of the TXT record set t.org", Value: "ptr", Reason: "only record sets of the types A and AAAA can have it; it is ignored"},
		{Object: object, Subject: "target of the A record set l.org", Value: "lb.org", Reason: "not an IP address, so it can't have a PTR record: remove the property, or give an address"},
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	wantLines(t, everything(s), []string{
		"l.org A 0 lb.org alias=true by crd/d/a", "ok.org A 0 1.1.1.1 by crd/d/a", "t.org TXT 0 x by crd/d/a",
	})

	_, problems = s.Put(desired.Origin{Source: "connector"}, []*dns.RecordSet{{Name: "a.org", Type: "A"}})
	if len(problems) != 1 || problems[0].Object != (dns.Object{Source: "connector"}) {
		t.Errorf("without an object: got %v", problems)
	}
}

func TestAsks(t *testing.T) {
	s := newSet(t, desired.Options{Sources: []string{"service", "crd"}, ManagedTypes: []string{"PTR"}, CreatePTR: true})
	put(s, "crd/d/a", "a.org A 0 192.0.2.1")
	put(s, "service/d/b", "a.org A 0 192.0.2.2", "b.org A 0 192.0.2.1")
	put(s, "crd/d/bad", "c.org A 0 x")
	tests := map[string][]desired.Origin{
		"A.org.":                 {origin("service/d/b"), origin("crd/d/a")},
		"1.2.0.192.in-addr.arpa": {origin("service/d/b"), origin("crd/d/a")},
		"b.org":                  {origin("service/d/b")},
		"c.org":                  nil,
	}
	for name, want := range tests {
		if got := s.OriginsOf(name); !slices.Equal(got, want) {
			t.Errorf("Asks(%q) = %v, want %v", name, got, want)
		}
	}
	for path, want := range map[string]bool{"crd/d/a": true, "crd/d/bad": true, "crd/d/b": false} {
		if got := s.Has(origin(path)); got != want {
			t.Errorf("Has(%s) is %v", path, got)
		}
	}
	if got := len(slices.Collect(s.Origins())); got != 3 {
		t.Errorf("there are %d origins, want 3", got)
	}
}

// Labels other than the resource are kept, and the arguments are not changed.
func TestLabels(t *testing.T) {
	s := newSet(t, desired.Options{})
	labels := map[string]string{"resource": "crd/d/a", "more": "x"}
	given := &dns.RecordSet{Name: "B.org", Type: "A", Targets: []string{"2.2.2.2", "1.1.1.1"}, Labels: labels}
	before := given.Clone()
	s.Put(origin("crd/d/a"), []*dns.RecordSet{given, {Name: "a.org", Type: "A", Targets: []string{"1.1.1.1"}}})
	if diff := cmp.Diff(labels, s.Want("b.org")[0].Labels); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	if got := s.Want("a.org")[0].Labels; got == nil || len(got) != 0 {
		t.Errorf("without labels: got %v, want an empty map", got)
	}
	if diff := cmp.Diff(before, given, cmp.Transformer("clone", func(r *dns.RecordSet) dns.RecordSet { c := *r.Clone(); c.Objects = nil; return c })); diff != "" {
		t.Errorf("what was given was changed: -, +\n%s", diff)
	}
}

func TestNewFails(t *testing.T) {
	tests := map[string]struct {
		options desired.Options
		err     string
	}{
		"case 210: length":  {options: desired.Options{NAT64: []string{"2001:db8:96::/64"}}, err: `--nat64-networks "2001:db8:96::/64": give an IPv6 network of 96 bits such as 64:ff9b::/96`},
		"IPv4":              {options: desired.Options{NAT64: []string{"10.0.0.0/8"}}, err: "IPv6 network of 96 bits"},
		"no network":        {options: desired.Options{NAT64: []string{"x"}}, err: "IPv6 network of 96 bits"},
		"TTL":               {options: desired.Options{MinTTL: -1}, err: "must not be negative"},
		"PTR isn't managed": {options: desired.Options{CreatePTR: true, ManagedTypes: []string{"A"}}, err: "add --managed-record-types=PTR"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := desired.New(test.options); err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %v, want %q", err, test.err)
			}
		})
	}
}

func TestStats(t *testing.T) {
	s := newSet(t, desired.Options{ManagedTypes: []string{"PTR"}})
	kind := func(recordType, source string) desired.Kind { return desired.Kind{Type: recordType, Source: source} }
	want := func(records map[string]int, invalid, deduplicated map[desired.Kind]int) {
		t.Helper()
		if diff := cmp.Diff(desired.Stats{Records: records, Invalid: invalid, Deduplicated: deduplicated}, s.Stats()); diff != "" {
			t.Errorf("want -, got +\n%s", diff)
		}
	}
	none := map[desired.Kind]int{}
	want(map[string]int{}, none, none)
	put(s, "service/d/a", "a.org A 0 192.0.2.1 record-type=ptr", "a.org A 0 192.0.2.1", "a.org AAAA 0 ::1", "b.org A 0 x", "b.org MX 0 x")
	put(s, "service/d/b", "a.org A 0 192.0.2.2")
	put(s, "ingress/d/i", "a.org AAAA 0 ::1")
	// Case 208: invalid ones are counted.
	invalid := map[desired.Kind]int{kind("A", "service"): 1, kind("MX", "service"): 1}
	want(map[string]int{"A": 1, "AAAA": 1, "PTR": 1}, invalid, map[desired.Kind]int{kind("A", "service"): 1, kind("AAAA", "service"): 1})
	s.Put(desired.Origin{Source: "connector"}, []*dns.RecordSet{{Name: "c.org", Type: "NS"}})
	invalid[kind("NS", "unknown")] = 1
	put(s, "ingress/d/i")
	want(map[string]int{"A": 1, "AAAA": 1, "PTR": 1}, invalid, map[desired.Kind]int{kind("A", "service"): 1})
	s.Want("a.org")
	put(s, "service/d/a")
	put(s, "service/d/b", "c.org A 0 192.0.2.2")
	s.Want("c.org")
	want(map[string]int{"A": 1}, map[desired.Kind]int{kind("NS", "unknown"): 1}, none)
	s.Put(desired.Origin{Source: "connector"}, nil)
	put(s, "service/d/b")
	want(map[string]int{}, none, none)
}

// An object with the hostnames of two load balancers gets a CNAME to one of them (dns F6).
func TestOneTargetOfSeveral(t *testing.T) {
	s := newSet(t, desired.Options{})
	_, problems := put(s, "service/d/shop", "a.org CNAME 60 lb2.org,lb1.org")
	wantLines(t, everything(s), []string{"a.org CNAME 60 lb1.org by service/d/shop"})
	if len(problems) != 1 || problems[0].Value != "lb1.org,lb2.org" || s.Unresolved("a.org") {
		t.Errorf("problems are %v", problems)
	}
	if _, problems = put(s, "service/d/shop", "a.org CNAME 60 lb2.org,lb1.org", "a.org A 60 1.1.1.1"); len(problems) > 0 {
		t.Errorf("beside an address, which is published, problems are %v", problems)
	}
}

// The holder decides TTL and label of merged record sets, not the object whose label sorts first
// (tenants S2).
func TestMergedByRank(t *testing.T) {
	s := newSet(t, desired.Options{OneTTL: []string{"service"}})
	put(s, "service/bank/shop", "a.org A 60 1.1.1.1")
	put(s, "service/aaa/evil", "a.org A 900 6.6.6.6")
	put(s, "ingress/aaa/evil", "b.org A 900 1.1.1.1")
	put(s, "service/bank/pay", "b.org A 60 1.1.1.1")
	rank := func(r *dns.RecordSet) int {
		if len(r.Objects) > 0 && r.Objects[0].Namespace == "bank" {
			return 0
		}
		return 1
	}
	for _, name := range []string{"a.org", "b.org"} {
		requested := s.Candidates(name, rank)
		if len(requested) != 1 || requested[0].Set.TTL != 60 || len(requested[0].Set.Objects) != 2 || requested[0].Set.Objects[0].Namespace != "bank" {
			t.Errorf("%s: %+v", name, requested[0].Set)
		}
	}
}

// The names that say something about another name are known as long as objects ask for them.
func TestDescribing(t *testing.T) {
	s := newSet(t, desired.Options{})
	describing := func(name string) []string { return slices.Sorted(s.Describing(name)) }
	put(s, "service/a/one", "_3a1f.www.example.org CNAME 0 x.example.net", "www.example.org A 0 192.0.2.1")
	put(s, "service/b/two", "_3a1f.www.example.org CNAME 0 y.example.net", "_sip._tcp.www.example.org CNAME 0 y.example.net")
	both := []string{"_3a1f.www.example.org", "_sip._tcp.www.example.org"}
	wantLines(t, describing("www.example.org"), both)
	wantLines(t, describing("*.www.example.org"), both)
	wantLines(t, describing("example.org"), nil)
	put(s, "service/b/two")
	wantLines(t, describing("www.example.org"), both[:1])
	put(s, "service/a/one")
	wantLines(t, describing("www.example.org"), nil)
}

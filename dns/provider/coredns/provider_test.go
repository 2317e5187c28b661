package coredns

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/providertest"
)

func TestConformance(t *testing.T) {
	for _, strict := range []bool{false, true} {
		t.Run(fmt.Sprintf("strictly owned %v", strict), func(t *testing.T) {
			providertest.Run(t, providertest.Options{
				Types:      []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeTXT, dns.TypePTR},
				Properties: []string{"coredns/group"},
				Open: func(t *testing.T, in provider.Input) providertest.Fixture {
					e := newEtcd(t)
					return providertest.Fixture{
						Provider: e.open(in, strict), Zone: "example.test", Reverse: "2.0.192.in-addr.arpa", Lookup: e.lookup,
						Reopen: func(*testing.T) provider.Provider { return e.open(in, strict) },
					}
				},
			})
		})
	}
}

func set(name, recordType string, targets ...string) *dns.RecordSet {
	return &dns.RecordSet{Name: name, Type: recordType, Targets: targets, TTL: 60}
}

// ownershipRecord returns an ownership record of a name.
func ownershipRecord(name, text string) *dns.RecordSet {
	return &dns.RecordSet{
		Name: "a-" + name, Type: dns.TypeTXT, Targets: []string{text},
		Labels: map[string]string{dns.LabelOwnedRecord: name, dns.LabelOwner: "me"},
	}
}

func create(r *dns.RecordSet) dns.Change      { return dns.Change{New: r} }
func remove(r *dns.RecordSet) dns.Change      { return dns.Change{Old: r} }
func update(old, r *dns.RecordSet) dns.Change { return dns.Change{Old: old, New: r} }

func apply(t *testing.T, p *coreDNS, changes ...dns.Change) {
	t.Helper()
	if err := p.Apply(t.Context(), dns.Zone{}, changes); err != nil {
		t.Fatal(err)
	}
}

// masked replaces the further labels of keys.
func masked(all map[string]string) []string {
	var lines []string
	for key, value := range all {
		lines = append(lines, regexp.MustCompile(`/[0-9a-f]{8}$`).ReplaceAllString(key, "/########")+" "+value)
	}
	slices.Sort(lines)
	return lines
}

// The bytes in etcd are what CoreDNS reads, and what spec/dns.md §8.8 says.
func TestBytes(t *testing.T) {
	e := newEtcd(t)
	p := e.open(input("me"))
	grouped := set("grouped.example.test", dns.TypeA, "192.0.2.9")
	grouped.Properties = []dns.Property{{Name: "coredns/group", Value: "blue"}}
	noTTL := set("Plain.example.test", dns.TypeTXT, "hello")
	noTTL.TTL = 0
	apply(
		t, p,
		create(set("www.example.test", dns.TypeA, "192.0.2.1", "192.0.2.2")),
		create(set("www.example.test", dns.TypeAAAA, "2001:db8::1")),
		create(ownershipRecord("www.example.test", `"heritage=external-dns,external-dns/owner=me"`)),
		create(set("*.apps.example.test", dns.TypeCNAME, "LB.example.net.")),
		create(set("1.2.0.192.in-addr.arpa", dns.TypePTR, "www.example.test")),
		create(grouped), create(noTTL),
	)
	want := []string{
		`arpa/in-addr/192/0/2/1 {"host":"www.example.test","ttl":60}`,
		`test/example/a-www/######## {"text":"\"heritage=external-dns,external-dns/owner=me\"","targetstrip":1}`,
		`test/example/apps/*/######## {"host":"lb.example.net","ttl":60,"targetstrip":1}`,
		`test/example/grouped/######## {"host":"192.0.2.9","ttl":60,"targetstrip":1,"group":"blue"}`,
		`test/example/plain/######## {"text":"hello","targetstrip":1}`,
		`test/example/www/######## {"host":"192.0.2.1","ttl":60,"targetstrip":1}`,
		`test/example/www/######## {"host":"192.0.2.2","ttl":60,"targetstrip":1}`,
		`test/example/www/######## {"host":"2001:db8::1","ttl":60,"targetstrip":1}`,
	}
	if diff := cmp.Diff(want, masked(e.all())); diff != "" {
		t.Errorf("in etcd (-want +got):\n%s", diff)
	}
}

// §17: ownership texts are deleted with their record, an update adds no copy of them, and all
// entries of a record are deleted together.
func TestOwnershipTextsAndAllEntriesGo(t *testing.T) {
	e := newEtcd(t)
	p := e.open(input("me"))
	www, text := set("www.example.test", dns.TypeA, "192.0.2.1", "192.0.2.2"), ownershipRecord("www.example.test", `"owner=me"`)
	apply(t, p, create(www), create(text))
	before := e.all()
	if len(before) != 3 {
		t.Fatalf("in etcd: %v", before)
	}
	changed, changedText := set("www.example.test", dns.TypeA, "192.0.2.2", "192.0.2.3"), ownershipRecord("www.example.test", `"owner=me,more"`)
	apply(t, p, update(www, changed), update(text, changedText))
	after := e.all()
	if len(after) != 3 {
		t.Errorf("after an update: %v", after)
	}
	for key, value := range before {
		if strings.Contains(value, "192.0.2.2") && after[key] != value {
			t.Errorf("%s was %s, now it is %s, although its target is still wanted", key, value, after[key])
		}
	}
	apply(t, p, remove(changed), remove(changedText))
	if rest := e.all(); len(rest) != 0 {
		t.Errorf("after the deletion: %v", rest)
	}
}

// The keys of texts come after those of addresses, so that ExternalDNS reads both as what they are (W10).
func TestTextsComeLast(t *testing.T) {
	e := newEtcd(t)
	p := e.open(input("me"))
	for i := range 20 {
		name := fmt.Sprintf("n%d.example.test", i)
		apply(t, p, create(set(name, dns.TypeTXT, fmt.Sprintf(`"text %d"`, i))), create(set(name, dns.TypeA, fmt.Sprintf("192.0.2.%d", i))))
	}
	all := e.all()
	text := ""
	for _, key := range slices.Sorted(maps.Keys(all)) {
		name := key[:strings.LastIndex(key, "/")]
		if strings.Contains(all[key], "text ") {
			text = name
		} else if text == name {
			t.Errorf("%s %s comes after a text", key, all[key])
		}
	}
}

// Entries of ExternalDNS, with copies and random labels, are taken over.
func TestEntriesOfExternalDNS(t *testing.T) {
	e := newEtcd(t)
	e.put("test/example/www/11111111", `{"host":"192.0.2.1","text":"\"old form\"","ttl":30,"targetstrip":1}`)
	e.put("test/example/www/22222222", `{"host":"192.0.2.1","ttl":60,"targetstrip":1}`)
	e.put("test/example/www/33333333", `{"host":"192.0.2.7","ttl":60,"targetstrip":1}`)
	e.put("test/example/www/44444444", `{"host":"alias.example.net","targetstrip":1}`)
	e.put("test/example/a-www/55555555", `{"text":"\"owner=me\"","targetstrip":1}`)
	e.put("test/example/a-www/66666666", `{"text":"\"owner=me\"","targetstrip":1}`)
	e.put("test/example/www/below/77777777", `{"host":"192.0.2.8","targetstrip":1}`)
	e.put("test/example/www-2/88888888", `{"host":"192.0.2.9","targetstrip":1}`)
	e.put("test/example/Upper/99999999", `{"host":"192.0.2.9","targetstrip":1}`)
	e.put("test/example/broken", `host`)
	p := e.open(input("me"))
	list, err := p.Records(t.Context(), dns.Zone{})
	if err != nil {
		t.Fatal(err)
	}
	want := []*dns.RecordSet{
		{Name: "a-www.example.test", Type: "TXT", Targets: []string{`"owner=me"`}},
		{Name: "www-2.example.test", Type: "A", Targets: []string{"192.0.2.9"}},
		{Name: "www.example.test", Type: "A", Targets: []string{"192.0.2.1", "192.0.2.7"}, TTL: 30},
		{Name: "www.example.test", Type: "TXT", Targets: []string{`"old form"`}, TTL: 30},
		{Name: "www.example.test", Type: "CNAME", Targets: []string{"alias.example.net"}},
		{Name: "below.www.example.test", Type: "A", Targets: []string{"192.0.2.8"}},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Fatalf("listed (-want +got):\n%s", diff)
	}
	untouched := []string{"test/example/www/below/77777777", "test/example/www-2/88888888", "test/example/Upper/99999999", "test/example/broken"}
	before := e.all()

	// The text beside a host gets an entry of its own, with what it had.
	apply(t, p, update(want[2], set("www.example.test", dns.TypeA, "192.0.2.1")), update(want[0], ownershipRecord("www.example.test", `"owner=me"`)), remove(want[4]))
	all := e.all()
	for _, key := range untouched {
		if all[key] != before[key] {
			t.Errorf("%s was %s, now it is %q", key, before[key], all[key])
		}
		delete(all, key)
	}
	wantLines := []string{
		`test/example/a-www/######## {"text":"\"owner=me\"","targetstrip":1}`,
		`test/example/www/######## {"host":"192.0.2.1","ttl":60,"targetstrip":1}`,
		`test/example/www/######## {"text":"\"old form\"","ttl":30,"targetstrip":1}`,
	}
	if diff := cmp.Diff(wantLines, masked(all)); diff != "" {
		t.Errorf("after an update (-want +got):\n%s", diff)
	}
}

func TestTextBesideHost(t *testing.T) {
	const shared = `{"host":"192.0.2.1","port":8080,"text":"a","ttl":30,"targetstrip":1}`
	old := set("www.example.test", dns.TypeTXT, "a")
	tests := map[string]struct {
		change dns.Change
		want   []string
	}{
		"text changed": {update(old, set("www.example.test", dns.TypeTXT, "b")), []string{
			`test/example/www/######## {"host":"192.0.2.1","port":8080,"ttl":30,"targetstrip":1}`,
			`test/example/www/######## {"text":"b","ttl":60,"targetstrip":1}`,
		}},
		"text removed": {remove(old), []string{
			`test/example/www/######## {"host":"192.0.2.1","port":8080,"ttl":30,"targetstrip":1}`,
		}},
		"host removed": {remove(set("www.example.test", dns.TypeA, "192.0.2.1")), []string{
			`test/example/www/######## {"port":8080,"text":"a","ttl":30,"targetstrip":1}`,
		}},
		"another type": {create(set("www.example.test", dns.TypeAAAA, "2001:db8::1")), []string{
			`test/example/www/######## ` + shared,
			`test/example/www/######## {"host":"2001:db8::1","ttl":60,"targetstrip":1}`,
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e := newEtcd(t)
			e.put("test/example/www/11111111", shared)
			apply(t, e.open(input("me")), tt.change)
			if diff := cmp.Diff(tt.want, masked(e.all())); diff != "" {
				t.Errorf("in etcd (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStrictlyOwned(t *testing.T) {
	e := newEtcd(t)
	e.put("test/example/www/11111111", `{"host":"192.0.2.1","targetstrip":1,"owner":"other"}`)
	e.put("arpa/in-addr/192/0/2/1", `{"host":"theirs.example.test","owner":"other"}`)
	e.put("arpa/in-addr/192/0/2/2", `{"host":"nobodys.example.test"}`)
	unowned := e.all()
	p := e.open(input("me"), true)
	if list, err := p.Records(t.Context(), dns.Zone{}); err != nil || len(list) != 0 {
		t.Errorf("Records: %v, %v", list, err)
	}
	www := set("www.example.test", dns.TypeA, "192.0.2.1", "192.0.2.2")
	apply(t, p, create(www))
	own := e.all()
	maps.DeleteFunc(own, func(key, _ string) bool { return unowned[key] != "" })
	want := []string{
		`test/example/www/######## {"host":"192.0.2.1","ttl":60,"targetstrip":1,"owner":"me"}`,
		`test/example/www/######## {"host":"192.0.2.2","ttl":60,"targetstrip":1,"owner":"me"}`,
	}
	if diff := cmp.Diff(want, masked(own)); diff != "" {
		t.Errorf("in etcd (-want +got):\n%s", diff)
	}
	for _, name := range []string{"1.2.0.192.in-addr.arpa", "2.2.0.192.in-addr.arpa"} {
		err := p.Apply(t.Context(), dns.Zone{}, []dns.Change{create(set(name, dns.TypePTR, "mine.example.test"))})
		if !errors.Is(err, provider.ErrRejected) {
			t.Errorf("writing over %s: %v", name, err)
		}
	}
	apply(t, p, remove(www))
	theirs := []dns.Change{remove(set("1.2.0.192.in-addr.arpa", dns.TypePTR, "theirs.example.test"))}
	if err := p.Apply(t.Context(), dns.Zone{}, theirs); !errors.Is(err, provider.ErrStale) {
		t.Errorf("deleting what others have: %v", err)
	}
	if diff := cmp.Diff(unowned, e.all()); diff != "" {
		t.Errorf("what others have (-before +after):\n%s", diff)
	}
}

func TestRejected(t *testing.T) {
	e := newEtcd(t)
	p := e.open(input("me"))
	long := set("www.example.test", dns.TypeA, "192.0.2.1")
	long.TTL = 1 << 31
	bad := []*dns.RecordSet{
		long,
		set("www.example.test", dns.TypeMX, "10 mail.example.test"),
		set("1.2.0.192.in-addr.arpa", dns.TypeCNAME, "www.example.test"),
		set("www.example.test", dns.TypePTR, "www.example.test"),
		set("0/25.2.0.192.in-addr.arpa", dns.TypePTR, "www.example.test"),
		set("1.2.0.192.in-addr.arpa", dns.TypePTR, "a.example.test", "b.example.test"),
	}
	for _, r := range bad {
		good := set("good.example.test", dns.TypeA, "192.0.2.1")
		err := p.Apply(t.Context(), dns.Zone{}, []dns.Change{create(r), create(ownershipRecord(r.Name, "x")), create(good)})
		var each *provider.ApplyError
		if !errors.As(err, &each) {
			t.Fatalf("%v: %v", r, err)
		}
		if !errors.Is(each.Errs[0], provider.ErrRejected) || !errors.Is(each.Errs[1], provider.ErrRejected) || each.Errs[2] != nil {
			t.Errorf("%v: %v", r, each.Errs)
		}
		apply(t, p, remove(good))
	}
	if all := e.all(); len(all) != 0 {
		t.Errorf("in etcd: %v", all)
	}
}

func TestAdjust(t *testing.T) {
	p := newEtcd(t).open(input("me"))
	www := set("www.example.test", dns.TypeA, "192.0.2.2", "192.0.2.1")
	grouped := set("www.example.test", dns.TypeAAAA, "2001:db8::1")
	grouped.Properties = []dns.Property{{Name: "alias", Value: "true"}, {Name: "coredns/group", Value: "g"}}
	pointer := set("1.2.0.192.in-addr.arpa", dns.TypePTR, "b.example.test", "a.example.test")
	answers, err := p.Adjust(t.Context(), dns.Zone{}, []*dns.RecordSet{www, grouped, pointer, set("www.example.test", dns.TypeMX, "10 mail.example.test")})
	if err != nil {
		t.Fatal(err)
	}
	var got []*dns.RecordSet
	for _, answer := range answers[:3] {
		got = append(got, answer.Sets[0])
	}
	// What can't be stored has an error of its own (D1).
	if !errors.Is(answers[3].Err, provider.ErrRejected) || len(answers[3].Sets) != 0 {
		t.Errorf("the MX record is adjusted to %v", answers[3])
	}
	if got[0] != www {
		t.Error("a record set that is as it will be listed is another one")
	}
	if diff := cmp.Diff([]dns.Property{{Name: "coredns/group", Value: "g"}}, got[1].Properties); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b.example.test"}, got[2].Targets); diff != "" {
		t.Errorf("targets of a PTR record set (-want +got):\n%s", diff)
	}
}

// A record set may have more targets than a transaction of etcd takes.
func TestManyTargets(t *testing.T) {
	e := newEtcd(t)
	p := e.open(input("me"))
	many := set("many.example.test", dns.TypeA)
	for i := range 2*transactionSize + 1 {
		many.Targets = append(many.Targets, fmt.Sprintf("10.0.%d.%d", i/256, i%256))
	}
	apply(t, p, create(many))
	if n := len(e.all()); n != len(many.Targets) {
		t.Errorf("%d entries for %d targets", n, len(many.Targets))
	}
	list, err := p.Records(t.Context(), dns.Zone{})
	if err != nil || len(list) != 1 || !dns.SameTargets(list[0].Targets, many.Targets) {
		t.Errorf("Records: %v, %v", list, err)
	}
	apply(t, p, remove(many))
	if all := e.all(); len(all) != 0 {
		t.Errorf("after the deletion: %v", all)
	}
}

// No key is lost at the end of a page, and all pages have the same revision.
func TestPages(t *testing.T) {
	e := newEtcd(t)
	p := e.open(input("me"))
	const n = pageSize + pageSize/2
	for first := 0; first < n; first += 100 {
		var ops []clientv3.Op
		for i := first; i < min(first+100, n); i++ {
			ops = append(ops, clientv3.OpPut(fmt.Sprintf("%stest/n%d/11111111", e.prefix, i), `{"host":"192.0.2.1","targetstrip":1}`))
		}
		if _, err := e.client.Txn(t.Context()).Then(ops...).Commit(); err != nil {
			t.Fatal(err)
		}
	}
	list, err := p.Records(t.Context(), dns.Zone{})
	if err != nil || len(list) != n {
		t.Errorf("%d record sets, %v; want %d", len(list), err, n)
	}
}

// externalWriter is a client that changes an entry before each transaction.
type externalWriter struct {
	clientv3.KV
	change func()
}

func (m externalWriter) Txn(ctx context.Context) clientv3.Txn {
	m.change()
	return m.KV.Txn(ctx)
}

func TestConcurrentWriter(t *testing.T) {
	e := newEtcd(t)
	p := e.open(input("me"))
	www := set("www.example.test", dns.TypeA, "192.0.2.1")
	apply(t, p, create(www))
	kv, key := p.store.kv, slices.Collect(maps.Keys(e.all()))[0]
	times := 0
	p.store.kv = externalWriter{KV: kv, change: func() {
		if times++; times < 3 {
			e.put(key, fmt.Sprintf(`{"host":"192.0.2.1","priority":%d,"targetstrip":1}`, times))
		}
	}}
	longer := set("www.example.test", dns.TypeA, "192.0.2.1", "192.0.2.2")
	longer.TTL = 120
	apply(t, p, update(www, longer))
	want := []string{
		`test/example/www/######## {"host":"192.0.2.1","priority":2,"ttl":120,"targetstrip":1}`,
		`test/example/www/######## {"host":"192.0.2.2","ttl":120,"targetstrip":1}`,
	}
	if diff := cmp.Diff(want, masked(e.all())); diff != "" {
		t.Errorf("in etcd (-want +got):\n%s", diff)
	}

	p.store.kv = externalWriter{KV: kv, change: func() {
		times++
		e.put(key, fmt.Sprintf(`{"host":"192.0.2.1","priority":%d,"targetstrip":1}`, times))
	}}
	err := p.Apply(t.Context(), dns.Zone{}, []dns.Change{remove(longer)})
	if each := (*provider.ApplyError)(nil); !errors.As(err, &each) || !errors.Is(each.Errs[0], errContended) {
		t.Errorf("against a writer without end: %v", err)
	}
}

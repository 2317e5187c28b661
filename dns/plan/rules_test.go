package plan

import (
	"errors"
	"strings"
	"testing"
)

// ruleCases cover policies, managed types, filters and set identifiers.
var ruleCases = []testCase{
	{name: "case 11: only a create", wanted: "foo A 1.1.1.1", want: "+ foo A 1.1.1.1"},
	{name: "case 12: only a delete", current: "foo A 1.1.1.1", want: "- foo A 1.1.1.1"},
	{
		name: "case 15: equal ones twice, no type managed", managed: "none",
		current: "foo CNAME v\nfoo CNAME v", wanted: "foo CNAME v\nfoo CNAME v",
	},
	{name: "case 15: with types managed", current: "foo CNAME v\nfoo CNAME v", wanted: "foo CNAME v\nfoo CNAME v"},
	{name: "one key twice is deleted once", current: "foo A 1.1.1.1\nFOO A 1.1.1.1", want: "- FOO A 1.1.1.1"},
	{name: "case 25: TXT not managed", current: "foo TXT x", wanted: "foo CNAME v", want: "+ foo CNAME v"},
	{name: "case 26: TXT managed and excluded", managed: "A TXT", exclude: "TXT", current: "foo TXT x", wanted: "foo TXT y\nbar TXT z"},
	{name: "case 28: sync", current: "foo A 1.1.1.1\nbar A 1.1.1.1", wanted: "foo A 1.1.1.1", want: "- bar A 1.1.1.1"},
	{name: "case 29: upsert-only", policy: UpsertOnly, current: "foo A 1.1.1.1\nbar A 1.1.1.1", wanted: "foo A 1.1.1.1"},
	{
		name: "case 29: upsert-only creates and updates", policy: UpsertOnly, current: "foo A 1.1.1.1", wanted: "foo A 2.2.2.2\nnew A 1.1.1.1",
		want: "~ foo A 1.1.1.1 > foo A 2.2.2.2\n+ new A 1.1.1.1",
	},
	{
		name: "case 30: create-only", policy: CreateOnly, current: "foo A 1.1.1.1\nbar A 1.1.1.1", wanted: "foo A 2.2.2.2\nnew A 1.1.1.1",
		want: "+ new A 1.1.1.1",
	},
	{
		name: "upsert-only: a type change whose first half is forbidden", policy: UpsertOnly, owner: "me",
		current: "foo CNAME v own=me", wanted: "foo A 1.1.1.1\nfoo AAAA ::1",
		want: "! foo A 1.1.1.1: foo CNAME v own=me is not deletable under the policy\n" +
			"! foo AAAA ::1: foo CNAME v own=me is not deletable under the policy",
	},
	{
		name: "upsert-only: the same to a CNAME", policy: UpsertOnly, owner: "me",
		current: "foo A 1.1.1.1 own=me", wanted: "foo CNAME v",
		want: "! foo CNAME v: foo A 1.1.1.1 own=me is not deletable under the policy",
	},
	{
		name: "create-only: the same to a CNAME, without an owner", policy: CreateOnly,
		current: "foo A 1.1.1.1\nfoo AAAA ::1", wanted: "foo CNAME v",
		want: "! foo CNAME v: foo A 1.1.1.1 is not deletable under the policy\n" +
			"! foo CNAME v: foo AAAA ::1 is not deletable under the policy",
	},
	{
		name: "upsert-only: a further type beside one that stays", policy: UpsertOnly, owner: "me",
		current: "foo A 1.1.1.1 own=me", wanted: "foo AAAA ::1",
		want: "+ foo AAAA ::1 own=me",
	},
	{
		name:    "case 32: set identifiers are independent",
		current: "foo A 1.1.1.1 set=s1\nfoo A 2.2.2.2 set=s2", wanted: "foo A 1.1.1.1 set=s1\nfoo A 2.2.2.2 set=s2",
	},
	{
		name:    "case 33: another set identifier",
		current: "foo A 1.1.1.1 set=s1", wanted: "foo A 1.1.1.1 set=s2",
		want: "- foo A 1.1.1.1 set=s1\n+ foo A 1.1.1.1 set=s2",
	},
	{
		name: "a CNAME beside an A that stays under another set identifier", policy: UpsertOnly,
		current: "foo A 1.1.1.1 set=s1", wanted: "foo CNAME v set=s2",
		want: "! foo CNAME v set=s2: foo A 1.1.1.1 set=s1 is not deletable under the policy",
	},
}

// ownerCases have record sets of other owners (spec/dns.md §3.7, §3.9).
var ownerCases = []testCase{
	{name: "no owner: everything may go", current: "foo A 1.1.1.1 own=them", want: "- foo A 1.1.1.1 own=them"},
	{name: "what is not ours stays", owner: "me", current: "foo A 1.1.1.1 own=them\nbar A 1.1.1.1"},
	{
		name: "what is not ours is not updated", owner: "me",
		current: "bar A 1.1.1.1\nfoo A 1.1.1.1 own=them", wanted: "bar A 2.2.2.2\nfoo A 2.2.2.2",
		want: "! bar A 2.2.2.2: bar A 1.1.1.1 is not owned\n! foo A 2.2.2.2: foo A 1.1.1.1 own=them is not owned",
	},
	{name: "what is not ours but as asked for is no conflict", owner: "me", current: "foo A 1.1.1.1 own=them", wanted: "foo A 1.1.1.1"},
	{name: "under create-only an update is no conflict", owner: "me", policy: CreateOnly, current: "foo A 1.1.1.1 own=them", wanted: "foo A 2.2.2.2"},
	{
		name: "what is created is ours, whatever its labels say", owner: "me", wanted: "foo A 1.1.1.1 own=them res=a",
		want: "+ foo A 1.1.1.1 own=me res=a",
	},
	{
		name: "case 41: a further type at a name of somebody else", owner: "me",
		current: "foo.a.b A 1.1.1.1 own=them", wanted: "foo.a.b A 1.1.1.1\nfoo.a.b AAAA ::1",
		want: "! foo.a.b AAAA ::1: foo.a.b A 1.1.1.1 own=them is not owned",
	},
	{
		name: "a name that is partly ours gets no further type", owner: "me",
		current: "foo A 1.1.1.1 own=me\nfoo AAAA ::1 own=them", wanted: "foo A 2.2.2.2\nfoo MX m", managed: "A AAAA MX",
		want: "~ foo A 1.1.1.1 own=me > foo A 2.2.2.2 own=me\n! foo MX m: foo AAAA ::1 own=them is not owned",
	},
	{
		name: "set identifiers share a name among owners", owner: "me",
		current: "foo A 1.1.1.1 own=them set=a", wanted: "foo A 2.2.2.2 set=b",
		want: "+ foo A 2.2.2.2 set=b own=me",
	},
	{
		name: "but not a CNAME beside an A", owner: "me",
		current: "foo A 1.1.1.1 own=them set=a", wanted: "foo CNAME v set=b",
		want: "! foo CNAME v set=b: foo A 1.1.1.1 set=a own=them is not owned",
	},
	{name: "one key twice, one not ours", owner: "me", current: "FOO A 1.1.1.1 own=me\nfoo A 1.1.1.1 own=them"},
	{
		name: "case 40: what the old owner has and is asked for changes hands", owner: "bar", old: "foo",
		current: "a A 1.1.1.1 own=foo res=x ttl=300", wanted: "a A 1.1.1.1 res=y",
		want: "~ a A 1.1.1.1 ttl=300 own=foo res=x > a A 1.1.1.1 ttl=300 own=bar res=y",
	},
	{
		name: "case 40: and is updated, under upsert-only too", owner: "bar", old: "foo", policy: UpsertOnly,
		current: "a A 1.1.1.1 own=foo", wanted: "a A 2.2.2.2",
		want: "~ a A 1.1.1.1 own=foo > a A 2.2.2.2 own=bar",
	},
	{name: "case 40: once (better than in ExternalDNS)", owner: "bar", old: "foo", current: "a A 1.1.1.1 own=bar", wanted: "a A 1.1.1.1"},
	{name: "what the old owner has and is not asked for stays", owner: "bar", old: "foo", current: "a A 1.1.1.1 own=foo\nb AAAA ::1 own=foo"},
	{name: "nothing changes hands under create-only", owner: "bar", old: "foo", policy: CreateOnly, current: "a A 1.1.1.1 own=foo", wanted: "a A 1.1.1.1"},
	{name: "what a third one has doesn't change hands", owner: "bar", old: "foo", current: "a A 1.1.1.1 own=baz\nb A 1.1.1.1", wanted: "a A 1.1.1.1\nb A 1.1.1.1"},
	{
		name: "a name that changes hands gets a further type at once", owner: "bar", old: "foo",
		current: "a A 1.1.1.1 own=foo", wanted: "a A 1.1.1.1\na AAAA ::1",
		want: "~ a A 1.1.1.1 own=foo > a A 1.1.1.1 own=bar\n+ a AAAA ::1 own=bar",
	},
	{
		name: "no type change of what the old owner has", owner: "bar", old: "foo",
		current: "a CNAME v own=foo", wanted: "a A 1.1.1.1",
		want: "! a A 1.1.1.1: a CNAME v own=foo is not owned",
	},
	{name: "nothing changes hands to nobody", old: "foo", current: "a A 1.1.1.1 own=foo", wanted: "a A 1.1.1.1"},
}

// labelCases are about the labels of record sets that are as wanted. If the registry keeps one
// label per name, a new object for the first type changes the label. Other types and record sets
// that aren't ours don't. The label stays as long as its object asks for any type of the name (SD6
// of spec/clouds.md §8).
var labelCases = []testCase{
	{
		name: "one label: another object", owner: "me", oneLabel: true, current: "a A 1.1.1.1 own=me res=x", wanted: "a A 1.1.1.1 res=y",
		want: "~ a A 1.1.1.1 own=me res=x > a A 1.1.1.1 own=me res=y",
	},
	{name: "one label: the same object", owner: "me", oneLabel: true, current: "a A 1.1.1.1 own=me res=x", wanted: "a A 1.1.1.1 res=x"},
	{name: "one label: somebody else's", owner: "me", oneLabel: true, current: "a A 1.1.1.1 own=you res=x", wanted: "a A 1.1.1.1 res=y"},
	{name: "one label: no object", owner: "me", oneLabel: true, current: "a A 1.1.1.1 own=me res=x", wanted: "a A 1.1.1.1"},
	{
		name: "one label: the second type", owner: "me", oneLabel: true,
		current: "a A 1.1.1.1 own=me res=x\na AAAA ::1 own=me res=x", wanted: "a A 1.1.1.1 res=x\na AAAA ::1 res=y",
	},
	{
		name: "one label: the first type, while its object asks for the second", owner: "me", oneLabel: true,
		current: "a A 1.1.1.1 own=me res=x\na AAAA ::1 own=me res=x", wanted: "a A 1.1.1.1 res=y\na AAAA ::1 res=x",
	},
	{
		name: "one label: both types", owner: "me", oneLabel: true,
		current: "a A 1.1.1.1 own=me res=x\na AAAA ::1 own=me res=x", wanted: "a A 1.1.1.1 res=y\na AAAA ::1 res=y",
		want: "~ a A 1.1.1.1 own=me res=x > a A 1.1.1.1 own=me res=y",
	},
	{
		name: "one label: the only type that stays", owner: "me", oneLabel: true,
		current: "a A 1.1.1.1 own=me res=x\na AAAA ::1 own=me res=x", wanted: "a AAAA ::1 res=y",
		want: "- a A 1.1.1.1 own=me res=x\n~ a AAAA ::1 own=me res=x > a AAAA ::1 own=me res=y",
	},
	{
		name: "one label: a new type of another object", owner: "me", oneLabel: true,
		current: "foo AAAA ::1 own=me res=s/v/a", wanted: "foo A 6.6.6.6 res=s/e/a\nfoo AAAA ::2 res=s/v/a",
		want: "~ foo AAAA ::1 own=me res=s/v/a > foo AAAA ::2 own=me res=s/v/a\n+ foo A 6.6.6.6 own=me res=s/v/a",
	},
	{
		name: "a label for each type", owner: "me",
		current: "a A 1.1.1.1 own=me res=x\na AAAA ::1 own=me res=x", wanted: "a A 1.1.1.1 res=x\na AAAA ::1 res=y",
		want: "~ a AAAA ::1 own=me res=x > a AAAA ::1 own=me res=y",
	},
	{name: "the case of names doesn't matter", current: "a CNAME Some.Thing", wanted: "a CNAME some.thing"},
	{name: "that of texts does", managed: "TXT", current: "a TXT Some.Thing", wanted: "a TXT some.thing", want: "~ a TXT Some.Thing > a TXT some.thing"},
}

// A refused record set delays only the record sets that it would replace (dns F5).
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct{ current, wanted, refused, want string }{
		"a CNAME beside an A":                  {"", "foo CNAME lb1 res=s/v/a\nfoo A 1.1.1.1 res=s/v/a", "foo CNAME lb1", "+ foo A 1.1.1.1 own=me res=s/v/a"},
		"a CNAME beside an A that is there":    {"foo A 1.1.1.1 own=me res=s/v/a", "foo CNAME lb1 res=s/v/a\nfoo A 2.2.2.2 res=s/v/a", "foo CNAME lb1", "~ foo A 1.1.1.1 own=me res=s/v/a > foo A 2.2.2.2 own=me res=s/v/a"},
		"a newcomer":                           {"", "foo A 1.1.1.1 res=s/e/a\nfoo A 2.2.2.2 res=s/v/a", "foo A 1.1.1.1", "+ foo A 2.2.2.2 own=me res=s/v/a"},
		"an A, and the CNAME is good":          {"", "foo A 1.1.1.1 res=s/e/a\nfoo CNAME lb res=s/v/a", "foo A 1.1.1.1", "+ foo CNAME lb own=me res=s/v/a"},
		"the holder keeps what it has":         {"foo A 3.3.3.3 own=me res=s/v/a", "foo A 4.4.4.4 res=s/v/a\nfoo A 1.1.1.1 res=s/e/a", "foo A 4.4.4.4", ""},
		"the holder turns to another type":     {"foo CNAME lb own=me res=s/v/a", "foo A 4.4.4.4 res=s/v/a", "foo A 4.4.4.4", ""},
		"another type of somebody else":        {"foo A 3.3.3.3 own=me res=s/v/a", "foo A 4.4.4.4 res=s/v/a\nfoo AAAA ::1 res=s/e/a", "foo AAAA ::1", "~ foo A 3.3.3.3 own=me res=s/v/a > foo A 4.4.4.4 own=me res=s/v/a"},
		"a newcomer, and the holder is gone":   {"foo A 3.3.3.3 own=me res=s/v/a", "foo A 4.4.4.4 res=s/e/a", "foo A 4.4.4.4", "- foo A 3.3.3.3 own=me res=s/v/a"},
		"without a label":                      {"foo CNAME lb own=me", "foo A 4.4.4.4 res=s/v/a", "foo A 4.4.4.4", ""},
		"a CNAME that stays":                   {"foo CNAME lb own=me res=s/v/a", "foo A 4.4.4.4 res=s/v/a\nfoo AAAA ::1 res=s/e/a", "foo A 4.4.4.4", "! foo AAAA ::1 res=s/e/a: foo CNAME lb own=me res=s/v/a is kept because its replacement is refused"},
		"another type, and the holder is gone": {"foo A 3.3.3.3 own=me res=s/v/a", "foo AAAA ::1 res=s/e/a", "foo AAAA ::1", "- foo A 3.3.3.3 own=me res=s/v/a"},
	} {
		wanted := candidates(sets(c.wanted)...)
		for i := range wanted {
			if strings.HasPrefix(show(wanted[i].Set), c.refused) {
				wanted[i].Err = errors.New("no such luck")
			}
		}
		out := Name(current(c.current), wanted, &Rules{Policy: Sync, Owner: "me", Managed: DefaultManaged()})
		if got := strings.TrimSpace(transcript(out)); got != c.want {
			t.Errorf("%s: got:\n%s\nwant:\n%s", name, got, c.want)
		}
	}
}

// Of equal candidates, that of the first source gets the record set.
func TestSourcesInOrder(t *testing.T) {
	wanted := candidates(sets("foo A 1.1.1.1 res=s/a/a ttl=60\nfoo A 1.1.1.1 res=i/z/a ttl=90")...)
	wanted[0].Source = 1
	chosen, lost := Choose(nil, wanted, &Rules{Policy: Sync, Owner: "me", Managed: DefaultManaged()})
	if len(chosen) != 1 || chosen[0].Set != wanted[1].Set || len(lost) != 1 || lost[0].Winner != wanted[1].Set || lost[0].Holder {
		t.Errorf("chosen are %v, lost %v", chosen, lost)
	}
}

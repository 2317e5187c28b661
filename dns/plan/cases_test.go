package plan

// choiceCases have several wanted record sets with one key (spec/dns.md §3.4).
var choiceCases = []testCase{
	{
		name:   "case 1: of new ones the least target is created",
		wanted: "foo CNAME v1\nfoo CNAME v2\nbar A 127.0.0.1",
		want:   "+ bar A 127.0.0.1\n+ foo CNAME v1",
	},
	{
		name:    "case 2: who has the name keeps it",
		current: "foo CNAME v1 res=r1",
		wanted:  "foo CNAME v2 res=r2\nfoo CNAME v1 res=r1\nbar A 127.0.0.1",
		want:    "+ bar A 127.0.0.1",
	},
	{
		name:    "case 2: also when its target is not the least",
		current: "foo CNAME v2 res=r2",
		wanted:  "foo CNAME v2 res=r2\nfoo CNAME v1 res=r1",
	},
	{
		name:    "case 2: and when its target changes",
		current: "foo CNAME v2 res=r2",
		wanted:  "foo CNAME v3 res=r2\nfoo CNAME v1 res=r1",
		want:    "~ foo CNAME v2 res=r2 > foo CNAME v3 res=r2",
	},
	{
		// A deliberate difference: ExternalDNS takes the least target.
		name:    "case 3: no label: who asks for what is there keeps it",
		current: "foo CNAME v2",
		wanted:  "foo CNAME v2 res=r2\nfoo CNAME v1 res=r1\nbar A 127.0.0.1",
		want:    "+ bar A 127.0.0.1",
		lost:    "lost foo CNAME v1 res=r1: foo CNAME v2 res=r2 keeps",
	},
	{
		name:    "case 3: nobody asks for what is there: the least target",
		current: "foo CNAME v3",
		wanted:  "foo CNAME v2 res=r2\nfoo CNAME v1 res=r1",
		want:    "~ foo CNAME v3 > foo CNAME v1 res=r1",
		lost:    "lost foo CNAME v2 res=r2: foo CNAME v1 res=r1 gets",
	},
	{
		name:    "case 3: no resource is one that is equal to none",
		current: "foo CNAME v2",
		wanted:  "foo CNAME v2\nfoo CNAME v1 res=r1",
	},
	{
		name:   "a new one is for the least target even if it has a resource",
		wanted: "foo CNAME v2\nfoo CNAME v1 res=r1",
		want:   "+ foo CNAME v1 res=r1",
	},
	{
		name:   "case 43: the least address, by number and not by text",
		wanted: "foo A 10.0.0.1\nfoo A 9.0.0.1",
		want:   "+ foo A 9.0.0.1",
	},
	{
		name:   "case 43: an address beats a name",
		wanted: "foo A a.example.com\nfoo A 1.1.1.1",
		want:   "+ foo A 1.1.1.1",
	},
	{
		name:   "case 43: one target beats two",
		wanted: "foo A 1.1.1.1,1.1.1.2\nfoo A 2.2.2.2",
		want:   "+ foo A 2.2.2.2",
	},
	{
		name:    "case 44: nothing of the resource that has it: the least",
		current: "foo CNAME v9 res=gone",
		wanted:  "foo CNAME v2 res=r2\nfoo CNAME v1 res=r1",
		want:    "~ foo CNAME v9 res=gone > foo CNAME v1 res=r1",
	},
	{
		name:   "equal targets: the first resource, whatever the order",
		wanted: "foo A 1.1.1.1 res=b ttl=60\nfoo A 1.1.1.1 res=a ttl=90",
		want:   "+ foo A 1.1.1.1 ttl=90 res=a",
	},
	{
		name:   "equal but for the object",
		wanted: "foo A 1.1.1.1 for=b\nfoo A 1.1.1.1 for=a",
		want:   "+ foo A 1.1.1.1 for=a",
	},
	{
		name:   "equal but for a label",
		wanted: "foo A 1.1.1.1 team=b\nfoo A 1.1.1.1 team=a",
		want:   "+ foo A 1.1.1.1 team=a",
	},
	{
		name:    "case 45: spellings of a name",
		current: "foo.com A 1.1.1.1",
		wanted:  "FOO.com A 2.2.2.2",
		want:    "~ foo.com A 1.1.1.1 > foo.com A 2.2.2.2",
	},
	{
		name: "case 45: spellings of a name, under upsert-only", policy: UpsertOnly, owner: "me",
		current: "foo.com AAAA ::1 own=me", wanted: "FOO.com AAAA ::2",
		want: "~ foo.com AAAA ::1 own=me > foo.com AAAA ::2 own=me",
	},
	{
		name:    "case 45: names with a dot at the end",
		current: "foo.com. A 1.1.1.1",
		wanted:  "FOO.com A 1.1.1.1\nfoo.com A 1.1.1.1",
	},
	{
		name:    "case 45: internationalised names",
		current: "xn--bcher-kva.com A 1.1.1.1",
		wanted:  "Bücher.com A 2.2.2.2",
		want:    "~ xn--bcher-kva.com A 1.1.1.1 > xn--bcher-kva.com A 2.2.2.2",
	},
}

// holderCases decide which object gets a name (docs/dns/tenancy.md). v is the victim, e another
// tenant.
var holderCases = []testCase{
	{
		name: "tenants S2: an A takes no CNAME that is held", owner: "me",
		current: "foo CNAME lb own=me res=s/v/a", wanted: "foo CNAME lb res=s/v/a\nfoo A 6.6.6.6 res=s/e/a",
		lost: "lost foo A 6.6.6.6 res=s/e/a: foo CNAME lb res=s/v/a keeps",
	},
	{
		name: "and none whose target changes", owner: "me",
		current: "foo CNAME lb own=me res=s/v/a", wanted: "foo CNAME lb2 res=s/v/a\nfoo A 6.6.6.6 res=s/e/a",
		want: "~ foo CNAME lb own=me res=s/v/a > foo CNAME lb2 own=me res=s/v/a",
	},
	{
		name:    "without labels, an A takes no CNAME that somebody still asks for",
		current: "foo CNAME lb", wanted: "foo CNAME lb res=s/v/a\nfoo A 6.6.6.6 res=s/e/a",
		lost: "lost foo A 6.6.6.6 res=s/e/a: foo CNAME lb res=s/v/a keeps",
	},
	{
		name: "a CNAME takes no A that is held", owner: "me",
		current: "foo A 1.1.1.1 own=me res=s/v/a", wanted: "foo A 1.1.1.1 res=s/v/a\nfoo CNAME lb res=s/e/a",
		lost: "lost foo CNAME lb res=s/e/a: foo A 1.1.1.1 res=s/v/a keeps",
	},
	{
		name: "the holder of an A may ask for a CNAME instead", owner: "me",
		current: "foo A 1.1.1.1 own=me res=s/v/a", wanted: "foo A 6.6.6.6 res=s/e/a\nfoo CNAME lb res=s/v/a",
		want: "- foo A 1.1.1.1 own=me res=s/v/a\n+ foo CNAME lb own=me res=s/v/a",
		lost: "lost foo A 6.6.6.6 res=s/e/a: foo CNAME lb res=s/v/a keeps",
	},
	{
		name: "a CNAME that another owner's record set excludes takes nothing", owner: "me",
		current: "foo A 1.1.1.1 set=s1 own=them\nfoo A 2.2.2.2 own=me res=s/v/a", wanted: "foo A 3.3.3.3 res=s/e/a\nfoo CNAME lb res=s/v/a",
		want: "~ foo A 2.2.2.2 own=me res=s/v/a > foo A 3.3.3.3 own=me res=s/e/a",
		lost: "lost foo CNAME lb res=s/v/a: foo A 3.3.3.3 res=s/e/a gets",
	},
	{
		name: "a CNAME of an object that asks for both doesn't hide another one", owner: "me",
		current: "foo CNAME a own=me res=s/v/a\nfoo CNAME b set=s1 own=me res=s/w/a",
		wanted:  "foo A 1.1.1.1 res=s/v/a\nfoo CNAME a res=s/v/a\nfoo CNAME b set=s1 res=s/w/a",
		lost:    "lost foo A 1.1.1.1 res=s/v/a: foo CNAME b set=s1 res=s/w/a keeps",
	},
	{
		name: "but not while somebody else holds an AAAA", owner: "me",
		current: "foo A 1.1.1.1 own=me res=s/v/a\nfoo AAAA ::1 own=me res=s/w/a", wanted: "foo AAAA ::1 res=s/w/a\nfoo CNAME lb res=s/v/a",
		want: "- foo A 1.1.1.1 own=me res=s/v/a",
	},
	{
		name: "the holder of a CNAME that asks for an A gets it, also if another one is less", owner: "me",
		current: "foo CNAME lb own=me res=s/v/a", wanted: "foo A 9.9.9.9 res=s/v/a\nfoo A 6.6.6.6 res=s/e/a",
		want: "- foo CNAME lb own=me res=s/v/a\n+ foo A 9.9.9.9 own=me res=s/v/a",
	},
	{
		name: "the holder of a CNAME that asks for an A, too, gets the A", owner: "me",
		current: "foo CNAME lb own=me res=s/v/a", wanted: "foo CNAME lb res=s/v/a\nfoo A 9.9.9.9 res=s/v/a",
		want: "- foo CNAME lb own=me res=s/v/a\n+ foo A 9.9.9.9 own=me res=s/v/a",
	},
	{
		name: "the holder is gone: the next one in one step", owner: "me",
		current: "foo CNAME lb own=me res=s/v/a", wanted: "foo A 2.2.2.2 res=s/e/a\nfoo CNAME x res=s/w/a",
		want: "- foo CNAME lb own=me res=s/v/a\n+ foo A 2.2.2.2 own=me res=s/e/a",
		lost: "lost foo CNAME x res=s/w/a: foo A 2.2.2.2 res=s/e/a gets",
	},
	{
		name: "the first of several holders is gone: those that remain keep it", owner: "me",
		current: "foo A 1.1.1.1,2.2.2.2 own=me res=s/v/a", wanted: "foo A 2.2.2.2 res=s/w/a\nfoo A 1.1.1.3 res=i/e/a",
		want: "~ foo A 1.1.1.1,2.2.2.2 own=me res=s/v/a > foo A 2.2.2.2 own=me res=s/w/a",
	},
	{
		name: "a label is written when there is a rival", owner: "me",
		current: "foo A 1.1.1.1 own=me", wanted: "foo A 1.1.1.1 res=s/v/a\nfoo A 1.1.1.0 res=i/e/a",
		want: "~ foo A 1.1.1.1 own=me > foo A 1.1.1.1 own=me res=s/v/a",
	},
	{
		name: "what somebody else owns has no holder", owner: "me",
		current: "foo A 3.3.3.3 own=them res=s/v/a", wanted: "foo A 2.2.2.2 res=s/w/a\nfoo A 1.1.1.1 res=s/e/a",
		want: "! foo A 1.1.1.1 res=s/e/a: foo A 3.3.3.3 own=them res=s/v/a is not owned",
	},
}

// differenceCases show which differences lead to an update (spec/dns.md §3.5).
var differenceCases = []testCase{
	{
		name:    "case 4: a TTL is asked for",
		current: "foo A 1.1.1.1", wanted: "foo A 1.1.1.1 ttl=300",
		want: "~ foo A 1.1.1.1 > foo A 1.1.1.1 ttl=300",
	},
	{name: "case 5: no TTL is asked for", current: "foo A 1.1.1.1 ttl=300", wanted: "foo A 1.1.1.1"},
	{name: "a TTL that is negative is none", current: "foo A 1.1.1.1 ttl=300", wanted: "foo A 1.1.1.1 ttl=-1"},
	{
		name:    "case 6: a property changes",
		current: "foo A 1.1.1.1 p=true", wanted: "foo A 1.1.1.1 p=false",
		want: "~ foo A 1.1.1.1 p=true > foo A 1.1.1.1 p=false",
	},
	{name: "case 7: equal properties", current: "foo A 1.1.1.1 p=1 q=2", wanted: "foo A 1.1.1.1 q=2 p=1"},
	{
		name:    "case 8: a property goes",
		current: "foo A 1.1.1.1 p=true", wanted: "foo A 1.1.1.1",
		want: "~ foo A 1.1.1.1 p=true > foo A 1.1.1.1",
	},
	{
		name:    "case 9: a property comes",
		current: "foo A 1.1.1.1", wanted: "foo A 1.1.1.1 p=true",
		want: "~ foo A 1.1.1.1 > foo A 1.1.1.1 p=true",
	},
	{
		name:    "case 10: a property has another name",
		current: "foo A 1.1.1.1 p=true", wanted: "foo A 1.1.1.1 q=true",
		want: "~ foo A 1.1.1.1 p=true > foo A 1.1.1.1 q=true",
	},
	{name: "case 13: an update that changes nothing is none", owner: "me", current: "foo A 1.1.1.1 own=me res=a", wanted: "foo A 1.1.1.1 res=a"},
	{
		name:    "case 14: an update has the owner of the old and the resource of the new",
		current: "foo CNAME v1 own=pwner res=old", wanted: "foo CNAME v2 res=new",
		want: "~ foo CNAME v1 own=pwner res=old > foo CNAME v2 own=pwner res=new",
	},
	{
		// A deliberate difference: ExternalDNS keeps the label of a deleted object, which gives the name
		// to that object if it is recreated.
		name: "another holder is noted", owner: "me", current: "foo A 1.1.1.1 own=me res=a", wanted: "foo A 1.1.1.1 res=b",
		want: "~ foo A 1.1.1.1 own=me res=a > foo A 1.1.1.1 own=me res=b",
	},
	{name: "without ownership no holder is noted", current: "foo A 1.1.1.1 res=a", wanted: "foo A 1.1.1.1 res=b"},
	{name: "a record without a label keeps none as long as nobody else asks", owner: "me", current: "foo A 1.1.1.1 own=me", wanted: "foo A 1.1.1.1 res=b"},
	{name: "case 27: case of letters", current: "foo CNAME Bar.example.com", wanted: "foo CNAME bar.EXAMPLE.com"},
	{name: "order of targets", current: "foo A 2.2.2.2,1.1.1.1", wanted: "foo A 1.1.1.1,2.2.2.2"},
	{name: "spelling of addresses", current: "foo AAAA 2001:db8::1", wanted: "foo AAAA 2001:db8:0:0::0001"},
	{
		name:    "§17: a difference after one of spelling only",
		current: "foo AAAA 2001:db8:0:0::1,2001:db8::2", wanted: "foo AAAA 2001:db8::1,2001:db8::3",
		want: "~ foo AAAA 2001:db8:0:0::1,2001:db8::2 > foo AAAA 2001:db8::1,2001:db8::3",
	},
	{
		name:    "ownership records to rewrite",
		owner:   "me",
		current: "rewrite foo A 1.1.1.1 own=me res=a ttl=300", wanted: "FOO A 1.1.1.1 res=b for=b",
		want: "~ foo A 1.1.1.1 ttl=300 own=me res=a > foo A 1.1.1.1 ttl=300 own=me res=b for=b",
	},
	{
		name:    "ownership records to rewrite beside a difference: one change",
		owner:   "me",
		current: "rewrite foo A 1.1.1.1 own=me", wanted: "foo A 2.2.2.2",
		want: "~ foo A 1.1.1.1 own=me > foo A 2.2.2.2 own=me",
	},
	{name: "ownership records of somebody else stay", owner: "me", current: "rewrite foo A 1.1.1.1 own=them", wanted: "foo A 1.1.1.1"},
	{
		name: "ownership records of what is not asked for stay", owner: "me", policy: UpsertOnly,
		current: "rewrite foo A 1.1.1.1 own=me",
	},
	{
		name: "ownership records to rewrite under create-only stay", owner: "me", policy: CreateOnly,
		current: "rewrite foo A 1.1.1.1 own=me", wanted: "foo A 1.1.1.1",
	},
}

// typeCases have record sets of several types at one name (spec/dns.md §3.3).
var typeCases = []testCase{
	{
		name: "case 16: CNAME becomes A", owner: "me",
		current: "foo CNAME v own=me", wanted: "foo A 1.1.1.1",
		want: "- foo CNAME v own=me\n+ foo A 1.1.1.1 own=me",
	},
	{
		name: "case 17: CNAME becomes A and AAAA", owner: "me",
		current: "foo CNAME v own=me", wanted: "foo A 1.1.1.1\nfoo AAAA ::1",
		want: "- foo CNAME v own=me\n+ foo A 1.1.1.1 own=me\n+ foo AAAA ::1 own=me",
	},
	{
		name: "case 18: A and AAAA become CNAME, which comes last (§17)", owner: "me",
		current: "foo A 1.1.1.1 own=me\nfoo AAAA ::1 own=me", wanted: "foo CNAME v",
		want: "- foo A 1.1.1.1 own=me\n- foo AAAA ::1 own=me\n+ foo CNAME v own=me",
	},
	{
		name: "case 19: A of nobody, CNAME asked for", owner: "me",
		current: "foo A 1.1.1.1", wanted: "foo CNAME v",
		want: "! foo CNAME v: foo A 1.1.1.1 is not owned",
	},
	{
		name: "CNAME of nobody, A asked for", owner: "me",
		current: "foo CNAME v", wanted: "foo A 1.1.1.1",
		want: "! foo A 1.1.1.1: foo CNAME v is not owned",
	},
	{
		name: "MX becomes CNAME, beside a name of nobody", owner: "me", managed: "A CNAME MX",
		current: "bar A 1.1.1.1\nfoo MX m own=me", wanted: "foo CNAME v",
		want: "- foo MX m own=me\n+ foo CNAME v own=me",
	},
	{
		name: "case 20: CNAME beside A, A asked for", owner: "me",
		current: "foo CNAME v own=me\nfoo A 1.1.1.1 own=me", wanted: "foo A 1.1.1.1",
		want: "- foo CNAME v own=me",
	},
	{
		name: "case 21: CNAME beside A, nothing asked for", owner: "me",
		current: "foo CNAME v own=me\nfoo A 1.1.1.1 own=me",
		want:    "- foo A 1.1.1.1 own=me\n- foo CNAME v own=me",
	},
	{
		name: "case 22: CNAME beside A and AAAA asked for, CNAME there", owner: "me",
		current: "foo CNAME v own=me", wanted: "foo CNAME v\nfoo A 1.1.1.1\nfoo AAAA ::1",
		want: "- foo CNAME v own=me\n+ foo A 1.1.1.1 own=me\n+ foo AAAA ::1 own=me",
		lost: "lost foo CNAME v: foo A 1.1.1.1 gets",
	},
	{
		name:   "case 23: CNAME beside A and AAAA asked for, nothing there",
		wanted: "foo CNAME v\nfoo A 1.1.1.1\nfoo AAAA ::1",
		want:   "+ foo A 1.1.1.1\n+ foo AAAA ::1",
		lost:   "lost foo CNAME v: foo A 1.1.1.1 gets",
	},
	{name: "case 24: CNAMEs only", wanted: "foo CNAME v\nfoo CNAME v2", want: "+ foo CNAME v"},
	{name: "case 24, case 37: A and AAAA only", wanted: "foo A 1.1.1.1\nfoo AAAA ::1", want: "+ foo A 1.1.1.1\n+ foo AAAA ::1"},
	{
		name: "CNAME beside A under another set identifier", wanted: "foo CNAME v set=b\nfoo A 1.1.1.1 set=a",
		want: "+ foo A 1.1.1.1 set=a",
		lost: "lost foo CNAME v set=b: foo A 1.1.1.1 set=a gets",
	},
	{
		name: "a CNAME beside a type that is not managed", wanted: "foo CNAME v\nfoo TXT x",
		want: "+ foo CNAME v",
	},
	{
		name: "a DNAME is none", managed: "A DNAME CNAME", wanted: "foo DNAME v\nfoo A 1.1.1.1",
		want: "+ foo A 1.1.1.1\n+ foo DNAME v",
	},
	{name: "case 36: AAAA only", wanted: "foo AAAA ::1", want: "+ foo AAAA ::1"},
	{
		name: "case 38: A and AAAA go", owner: "me", current: "foo A 1.1.1.1 own=me\nfoo AAAA ::1 own=me",
		want: "- foo A 1.1.1.1 own=me\n- foo AAAA ::1 own=me",
	},
	{
		name: "case 39: AAAA goes", current: "foo A 1.1.1.1\nfoo AAAA ::1", wanted: "foo A 1.1.1.1",
		want: "- foo AAAA ::1",
	},
	{
		name: "what goes is before what changes is before what comes", managed: "A AAAA MX",
		current: "foo A 1.1.1.1\nfoo MX m", wanted: "foo A 2.2.2.2\nfoo AAAA ::1",
		want: "- foo MX m\n~ foo A 1.1.1.1 > foo A 2.2.2.2\n+ foo AAAA ::1",
	},
}

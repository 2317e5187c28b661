package owner

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
)

// long is a label whose ownership record would have a label that is too long.
var long = strings.Repeat("x", 62)

type beforeTest struct {
	name    string
	options TXTOptions
	zone    []string
	changes []string
	// want are the changes to apply, and refused with "! " before them.
	want []string
}

var creates = []beforeTest{
	{
		name: "case 71: with a prefix", options: TXTOptions{Prefix: "txt."},
		changes: []string{"+ new.z.org CNAME x.y set=one ttl=300 res=svc weight=10"},
		want:    []string{"+ new.z.org CNAME x.y set=one ttl=300 weight=10", "+ txt.cname-new.z.org TXT @me/svc set=one weight=10 for new.z.org"},
	},
	{
		name: "case 72: a single label", options: TXTOptions{Prefix: "txt."},
		changes: []string{"+ example CNAME x.y"}, want: []string{"+ example CNAME x.y", "+ txt.cname-example TXT @me for example"},
	},
	{
		name: "case 77: wildcard", options: TXTOptions{Suffix: "-txt", WildcardReplacement: "wildcard"},
		changes: []string{"+ *.wildcard.z.org CNAME x.y"},
		want:    []string{"+ *.wildcard.z.org CNAME x.y", "+ cname-wildcard-txt.wildcard.z.org TXT @me for *.wildcard.z.org"},
	},
	{
		name: "case 79: the ownership record has survived",
		zone: []string{"a-a.z.org TXT @me/svc", "aaaa-a.z.org TXT @me/svc", "cname-c.z.org TXT @me"},
		changes: []string{
			"+ a.z.org A 1.1.1.1 res=svc", "+ a.z.org AAAA ::1 res=svc", "+ c.z.org CNAME x.y",
		},
		want: []string{"+ a.z.org A 1.1.1.1", "+ a.z.org AAAA ::1", "+ c.z.org CNAME x.y"},
	},
	{
		name: "case 79: the ownership record has survived, of another object", zone: []string{"a-a.z.org TXT @me/old"},
		changes: []string{"+ a.z.org A 1.1.1.1 res=svc"}, want: []string{"+ a.z.org A 1.1.1.1", "~ a-a.z.org TXT @me/svc for a.z.org"},
	},
	{
		name: "case 81: both are gone", changes: []string{"+ a.z.org A 1.1.1.1"},
		want: []string{"+ a.z.org A 1.1.1.1", "+ a-a.z.org TXT @me for a.z.org"},
	},
	{
		name:    "case 83: a label that is too long",
		changes: []string{"+ " + long + ".z.org A 1.1.1.1", "+ www.z.org A 1.1.1.1"},
		want:    []string{"+ " + long + ".z.org A 1.1.1.1", "+ www.z.org A 1.1.1.1", "+ a-www.z.org TXT @me for www.z.org"},
	},
	{
		name: "case 84: an alias", changes: []string{"+ www.z.org A x.y alias=true"},
		want: []string{"+ www.z.org A x.y alias=true", "+ a-www.z.org TXT @me alias=true for www.z.org"},
	},
	{
		name: "case 86: two clusters, two types of a name", zone: []string{"www.z.org A 1.1.1.1", "a-www.z.org TXT @owner"},
		changes: []string{"+ www.z.org AAAA ::1"}, want: []string{"+ www.z.org AAAA ::1", "+ aaaa-www.z.org TXT @me for www.z.org"},
	},
	{
		name: "the ownership record is somebody else's (#6617)", zone: []string{"a-www.z.org TXT random|@owner"},
		changes: []string{"+ www.z.org A 1.1.1.1", "+ v.z.org A 1.1.1.1"},
		want:    []string{"+ v.z.org A 1.1.1.1", "+ a-v.z.org TXT @me for v.z.org", "! + www.z.org A 1.1.1.1"},
	},
	{
		name: "somebody else's under another set identifier", zone: []string{"a-www.z.org TXT @owner set=b"},
		changes: []string{"+ www.z.org A 1.1.1.1 set=a"}, want: []string{"+ www.z.org A 1.1.1.1 set=a", "+ a-www.z.org TXT @me set=a for www.z.org"},
	},
	{
		name: "beside another text (#573)", zone: []string{"a-www.z.org TXT v=spf1|" + knownSealed + " ttl=60"},
		changes: []string{"+ www.z.org A 1.1.1.1"},
		want:    []string{"+ www.z.org A 1.1.1.1", "~ a-www.z.org TXT v=spf1|" + knownSealed + "|@me ttl=60 for www.z.org"},
	},
	{
		name: "a CNAME is where the ownership record has to be", zone: []string{"a-www.z.org CNAME x.y"},
		changes: []string{"+ www.z.org A 1.1.1.1"}, want: []string{"! + www.z.org A 1.1.1.1"},
	},
	{
		name: "the CNAME goes", zone: []string{"a-www.z.org CNAME x.y", "cname-a-www.z.org TXT @me"},
		changes: []string{"- a-www.z.org CNAME x.y", "+ www.z.org A 1.1.1.1"},
		want: []string{
			"- a-www.z.org CNAME x.y", "- cname-a-www.z.org TXT @me for a-www.z.org", "+ www.z.org A 1.1.1.1", "+ a-www.z.org TXT @me for www.z.org",
		},
	},
	{
		name: "a forged ownership record", changes: []string{"+ a-www.z.org TXT random|@me"}, want: []string{"! + a-www.z.org TXT random|@me"},
	},
	{
		name: "a TXT record where an ownership record is", zone: []string{"a-www.z.org TXT @me", "www.z.org A 1.1.1.1"},
		changes: []string{"+ a-www.z.org TXT random"}, want: []string{"! + a-www.z.org TXT random"},
	},
	{
		name: "an ordinary TXT record", changes: []string{"+ www.z.org TXT random"},
		want: []string{"+ www.z.org TXT random", "+ txt-www.z.org TXT @me for www.z.org"},
	},
	{
		name: "two names with one ownership record", options: TXTOptions{WildcardReplacement: "any"},
		changes: []string{"+ any.z.org A 1.1.1.1 res=a", "+ *.z.org A 1.1.1.1 res=b"},
		want:    []string{"+ any.z.org A 1.1.1.1", "+ a-any.z.org TXT @me/a for any.z.org", "+ *.z.org A 1.1.1.1"},
	},
	{
		name: "two names with one ownership record, one of which is nobody's", options: TXTOptions{WildcardReplacement: "any"}, zone: []string{"*.z.org A 1.1.1.1"},
		changes: []string{"+ any.z.org A 1.1.1.1", "+ any.z.org AAAA ::1"},
		want:    []string{"+ any.z.org AAAA ::1", "+ aaaa-any.z.org TXT @me for any.z.org", "! + any.z.org A 1.1.1.1"},
	},
	{
		name: "capital letters", zone: []string{"A-Www.Z.org TXT @me/old"},
		changes: []string{"+ WWW.z.org A 1.1.1.1 res=new"}, want: []string{"+ WWW.z.org A 1.1.1.1", "~ A-Www.Z.org TXT @me/new for WWW.z.org"},
	},
}

var updates = []beforeTest{
	{
		name: "case 73: not ours", zone: []string{"a.z.org A 1.1.1.1", "b.z.org A 1.1.1.1", "a-b.z.org TXT @owner"},
		changes: []string{"~ a.z.org A 1.1.1.1 => a.z.org A 2.2.2.2", "~ b.z.org A 1.1.1.1 own=me => b.z.org A 2.2.2.2 own=me"},
		want:    []string{"! ~ a.z.org A 2.2.2.2", "! ~ b.z.org A 2.2.2.2"},
	},
	{
		name: "case 74: another object", zone: []string{"a.z.org A 1.1.1.1", "a-a.z.org TXT @me/old"},
		changes: []string{"~ a.z.org A 1.1.1.1 => a.z.org A 2.2.2.2 res=new"}, want: []string{"~ a.z.org A 2.2.2.2", "~ a-a.z.org TXT @me/new for a.z.org"},
	},
	{
		name: "the same object", zone: []string{"a.z.org A 1.1.1.1", "a-a.z.org TXT @me/svc"},
		changes: []string{"~ a.z.org A 1.1.1.1 => a.z.org A 2.2.2.2 res=svc"}, want: []string{"~ a.z.org A 2.2.2.2"},
	},
	{
		name:    "the same object, written in another way",
		zone:    []string{"a.z.org A 1.1.1.1", "a-a.z.org TXT external-dns/resource=svc,x=y,external-dns/owner=me,heritage=external-dns"},
		changes: []string{"~ a.z.org A 1.1.1.1 => a.z.org A 2.2.2.2 res=svc"}, want: []string{"~ a.z.org A 2.2.2.2"},
	},
	{
		name: "another weight, which an ownership record has too", zone: []string{"a.z.org A 1.1.1.1 weight=1", "a-a.z.org TXT @me weight=1"},
		changes: []string{"~ a.z.org A 1.1.1.1 weight=1 => a.z.org A 1.1.1.1 weight=2"}, want: []string{"~ a.z.org A 1.1.1.1 weight=2", "~ a-a.z.org TXT @me weight=2 for a.z.org"},
	},
	{
		name: "case 78: rewritten", zone: []string{"a.z.org A 1.1.1.1 ttl=60", "a.z.org TXT @me/svc"},
		changes: []string{"~ a.z.org A 1.1.1.1 ttl=60 => a.z.org A 1.1.1.1 res=svc"}, want: []string{"+ a-a.z.org TXT @me/svc for a.z.org"},
	},
	{
		name: "case 84: an alias is rewritten", zone: []string{"a.z.org A x.y alias=true", "cname-a.z.org TXT @me"},
		changes: []string{"~ a.z.org A x.y alias=true => a.z.org A x.y alias=true"}, want: []string{"+ a-a.z.org TXT @me alias=true for a.z.org"},
	},
	{
		name: "not rewritten where that would make another record ours", options: TXTOptions{WildcardReplacement: "any"},
		zone:    []string{"any.z.org A x.y alias=true", "cname-any.z.org TXT @me", "*.z.org A 1.1.1.1"},
		changes: []string{"~ any.z.org A x.y alias=true => any.z.org A x.y alias=true"}, want: []string{},
	},
	{
		name: "nothing to rewrite any more", zone: []string{"a.z.org A 1.1.1.1", "a-a.z.org TXT @me"},
		changes: []string{"~ a.z.org A 1.1.1.1 => a.z.org A 1.1.1.1"}, want: []string{},
	},
	{
		name: "two texts of ours (spec/dns.md §17)", zone: []string{"a.z.org A 1.1.1.1", "a-a.z.org TXT @me/b|random|@me/a|@owner"},
		changes: []string{"~ a.z.org A 1.1.1.1 => a.z.org A 1.1.1.1 res=c"}, want: []string{"~ a-a.z.org TXT random|@owner|@me/c for a.z.org"},
	},
	{
		name: "case 87: from the old owner (spec/dns.md §17: no two texts)", options: TXTOptions{OldOwnerID: "old"},
		zone:    []string{"a.z.org A 1.1.1.1", "a-a.z.org TXT @old/svc", "b.z.org A 1.1.1.1", "b.z.org TXT @old", "c.z.org A 1.1.1.1", "a-c.z.org TXT @old|@me"},
		changes: []string{"~ a.z.org A 1.1.1.1 => a.z.org A 1.1.1.1 res=svc", "~ b.z.org A 1.1.1.1 => b.z.org A 2.2.2.2", "~ c.z.org A 1.1.1.1 => c.z.org A 1.1.1.1"},
		want:    []string{"~ a-a.z.org TXT @me/svc for a.z.org", "~ b.z.org A 2.2.2.2", "+ a-b.z.org TXT @me for b.z.org", "~ a-c.z.org TXT @me for c.z.org"},
	},
	{
		name: "an ownership record by itself", zone: []string{"a.z.org A 1.1.1.1", "a-a.z.org TXT @me"},
		changes: []string{"~ a-a.z.org TXT @me => a-a.z.org TXT random", "- a-a.z.org TXT @me"}, want: []string{"! ~ a-a.z.org TXT random", "! - a-a.z.org TXT @me"},
	},
}

var deletes = []beforeTest{
	{
		name: "case 73: ours", zone: []string{"a.z.org A 1.1.1.1 set=x", "a-a.z.org TXT @me/svc set=x ttl=60"},
		changes: []string{"- a.z.org A 1.1.1.1 set=x"}, want: []string{"- a.z.org A 1.1.1.1 set=x", "- a-a.z.org TXT @me/svc set=x ttl=60 for a.z.org"},
	},
	{
		name: "case 73: not ours", zone: []string{"a.z.org A 1.1.1.1", "b.z.org A 1.1.1.1", "a-b.z.org TXT @owner"},
		changes: []string{"- a.z.org A 1.1.1.1", "- b.z.org A 1.1.1.1 own=me"}, want: []string{"! - a.z.org A 1.1.1.1", "! - b.z.org A 1.1.1.1"},
	},
	{
		name: "the text as it is listed (spec/dns.md §17)", zone: []string{"a.z.org A 1.1.1.1", "a-a.z.org TXT external-dns/owner=me,x=y,heritage=external-dns"},
		changes: []string{"- a.z.org A 1.1.1.1"},
		want:    []string{"- a.z.org A 1.1.1.1", "- a-a.z.org TXT external-dns/owner=me,x=y,heritage=external-dns for a.z.org"},
	},
	{
		name: "other texts stay", zone: []string{"a.z.org A 1.1.1.1", "a-a.z.org TXT random|@me|@owner|@me/b ttl=60"},
		changes: []string{"- a.z.org A 1.1.1.1"}, want: []string{"- a.z.org A 1.1.1.1", "~ a-a.z.org TXT random|@owner ttl=60 for a.z.org"},
	},
	{
		name: "with what older versions left", zone: []string{"a.z.org A x.y alias=true", "a-a.z.org TXT @me", "cname-a.z.org TXT @me", "a.z.org TXT @me"},
		changes: []string{"- a.z.org A x.y alias=true"},
		want:    []string{"- a.z.org A x.y alias=true", "- a-a.z.org TXT @me for a.z.org", "- cname-a.z.org TXT @me for a.z.org", "- a.z.org TXT @me for a.z.org"},
	},
	{
		name: "of which others are somebody else's", zone: []string{"a.z.org A 1.1.1.1", "a-a.z.org TXT @me", "cname-a.z.org TXT @owner", "a.z.org TXT @owner|random"},
		changes: []string{"- a.z.org A 1.1.1.1"}, want: []string{"- a.z.org A 1.1.1.1", "- a-a.z.org TXT @me for a.z.org"},
	},
	{
		name: "a historic ownership record that another type needs", zone: []string{"a.z.org A 1.1.1.1", "a-a.z.org TXT @me", "a.z.org MX mx", "a.z.org TXT @me"},
		changes: []string{"- a.z.org A 1.1.1.1"}, want: []string{"- a.z.org A 1.1.1.1", "- a-a.z.org TXT @me for a.z.org"},
	},
	{
		name:    "a historic ownership record that nothing needs, as that has its own",
		zone:    []string{"a.z.org A 1.1.1.1", "a-a.z.org TXT @me", "a.z.org MX mx", "mx-a.z.org TXT @me", "a.z.org AAAA ::1", "a.z.org NS ns", "a.z.org TXT @me"},
		changes: []string{"- a.z.org A 1.1.1.1"}, want: []string{"- a.z.org A 1.1.1.1", "- a-a.z.org TXT @me for a.z.org", "- a.z.org TXT @me for a.z.org"},
	},
	{
		name: "a historic ownership record of all that goes", zone: []string{"a.z.org A 1.1.1.1", "a.z.org MX mx", "a.z.org TXT @me"},
		changes: []string{"- a.z.org A 1.1.1.1", "- a.z.org MX mx"}, want: []string{"- a.z.org A 1.1.1.1", "- a.z.org MX mx", "- a.z.org TXT @me for a.z.org"},
	},
	{
		name: "two names with one ownership record", options: TXTOptions{WildcardReplacement: "any"},
		zone:    []string{"any.z.org A 1.1.1.1", "*.z.org A 1.1.1.1", "a-any.z.org TXT @me"},
		changes: []string{"- any.z.org A 1.1.1.1"}, want: []string{"- any.z.org A 1.1.1.1"},
	},
	{
		name: "with a templated prefix, the typed historic one too", options: TXTOptions{Prefix: "x%{record_type}."},
		zone:    []string{"a.z.org MX mx", "x.mx-a.z.org TXT @me", "xmx.a.z.org TXT @me"},
		changes: []string{"- a.z.org MX mx"}, want: []string{"- a.z.org MX mx", "- xmx.a.z.org TXT @me for a.z.org", "- x.mx-a.z.org TXT @me for a.z.org"},
	},
	{
		name: "another type of the name", zone: []string{"a.z.org CNAME x.y", "cname-a.z.org TXT @me/svc"},
		changes: []string{"- a.z.org CNAME x.y", "+ a.z.org A 1.1.1.1 res=svc", "+ a.z.org AAAA ::1 res=svc"},
		want: []string{
			"- a.z.org CNAME x.y", "- cname-a.z.org TXT @me/svc for a.z.org", "+ a.z.org A 1.1.1.1", "+ a-a.z.org TXT @me/svc for a.z.org",
			"+ a.z.org AAAA ::1", "+ aaaa-a.z.org TXT @me/svc for a.z.org",
		},
	},
	{
		name: "an alias becomes a CNAME, whose ownership record it had", zone: []string{"a.z.org A x.y alias=true", "cname-a.z.org TXT @me"},
		changes: []string{"- a.z.org A x.y alias=true", "+ a.z.org CNAME x.y"}, want: []string{"- a.z.org A x.y alias=true", "+ a.z.org CNAME x.y"},
	},
	{
		name: "nothing goes for what can't come", zone: []string{"a.z.org A 1.1.1.1", "a-a.z.org TXT @me", "cname-a.z.org TXT @owner"},
		changes: []string{"- a.z.org A 1.1.1.1", "+ a.z.org CNAME x.y"}, want: []string{"! - a.z.org A 1.1.1.1", "! + a.z.org CNAME x.y"},
	},
	{
		name: "the old owner's stay", options: TXTOptions{OldOwnerID: "old"}, zone: []string{"a.z.org A 1.1.1.1", "a-a.z.org TXT @old"},
		changes: []string{"- a.z.org A 1.1.1.1"}, want: []string{"! - a.z.org A 1.1.1.1"},
	},
	{
		name: "capital letters (spec/dns.md §17)", zone: []string{"Www.z.org A 1.1.1.1", "a-www.z.org TXT @me"},
		changes: []string{"- Www.z.org A 1.1.1.1"}, want: []string{"- Www.z.org A 1.1.1.1", "- a-www.z.org TXT @me for Www.z.org"},
	},
}

// Each change is made in the zone by a server that requires the old record set. Afterwards
// nothing is left to rewrite, and what we made is ours.
func TestBefore(t *testing.T) {
	for _, test := range slices.Concat(creates, updates, deletes) {
		t.Run(test.name, func(t *testing.T) {
			var problems []dns.Problem
			test.options.Problems = func(p dns.Problem) { problems = append(problems, p) }
			o := newTXT(t, test.options)
			w := newZoneRecords(t, test.zone...)
			var changes []dns.Change
			for _, line := range test.changes {
				changes = append(changes, change(t, line))
			}
			apply, refused, err := o.Before(t.Context(), w.lookup, changes)
			if err != nil {
				t.Fatal(err)
			}
			got := showChanges(apply)
			for _, c := range refused {
				got = append(got, "! "+showChange(c))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if len(problems) < len(refused) {
				t.Errorf("got %d problems for %d refused changes", len(problems), len(refused))
			}
			w.apply(t, apply)
			checkSettled(t, o, w, apply)
		})
	}
}

// checkSettled finds out whether what was made is ours now, with nothing to rewrite.
func checkSettled(t *testing.T, o *TXT, w zoneRecords, applied []dns.Change) {
	t.Helper()
	for _, c := range applied {
		if c.New == nil || o.isOwnershipRecord(c.New) || o.OwnershipRecordName(c.New.Name, c.New.Type) == "" {
			continue
		}
		if labels, rewrite := o.Labels(w.lookup, c.New); labels[dns.LabelOwner] != "me" || rewrite {
			t.Errorf("%s has the labels %v, rewrite %v", show(c.New), labels, rewrite)
		}
		if c.New.Labels[dns.LabelOwner] != "me" {
			t.Errorf("%s goes to the provider with the labels %v", show(c.New), c.New.Labels)
		}
	}
}

// "case 80": the plan sees record sets of others as such, and doesn't change them. If it did,
// they would not become ours.
func TestUnownedStaysUnowned(t *testing.T) {
	w := newZoneRecords(t, "a.z.org A 1.1.1.1", "b.z.org A 1.1.1.1", "a-b.z.org TXT @owner")
	o := newTXT(t, TXTOptions{})
	before := w.lines()
	for _, line := range []string{"~ a.z.org A 1.1.1.1 => a.z.org A 1.1.1.1", "~ b.z.org A 1.1.1.1 => b.z.org A 1.1.1.1"} {
		apply, refused, err := o.Before(t.Context(), w.lookup, []dns.Change{change(t, line)})
		if err != nil || len(apply) > 0 || len(refused) != 1 {
			t.Errorf("%s: got %v, refused %v, error %v", line, apply, refused, err)
		}
	}
	if diff := cmp.Diff(before, w.lines()); diff != "" {
		t.Errorf("zone (-want +got):\n%s", diff)
	}
}

// "case 83": a record set that can't be owned is created and reported.
func TestUnownedIsReported(t *testing.T) {
	var problems []dns.Problem
	o := newTXT(t, TXTOptions{Problems: func(p dns.Problem) { problems = append(problems, p) }})
	c := change(t, "+ "+long+".z.org A 1.1.1.1")
	c.New.Objects = []dns.Object{{Kind: "Service", Name: "shop"}}
	if _, _, err := o.Before(t.Context(), zoneRecords{}.lookup, []dns.Change{c}); err != nil {
		t.Fatal(err)
	}
	if len(problems) != 1 || problems[0].Object.Name != "shop" || problems[0].Value != c.New.Name || !strings.Contains(problems[0].Reason, "its ownership record can't be written") {
		t.Errorf("got %+v", problems)
	}
	if got := o.OwnershipRecordName(c.New.Name, dns.TypeA); got != "" {
		t.Errorf("the name of the ownership record is %q", got)
	}
}

// "case 85": with encryption, a written text can be read with the key. A text that says the
// same isn't changed. Plain texts are encrypted when their record set is updated.
func TestBeforeEncrypts(t *testing.T) {
	o := newTXT(t, TXTOptions{EncryptEnabled: true, AESKey: knownKey})
	w := newZoneRecords(t, "p.z.org A 1.1.1.1", "a-p.z.org TXT @me/svc")
	run := func(line string) []dns.Change {
		t.Helper()
		apply, refused, err := o.Before(t.Context(), w.lookup, []dns.Change{change(t, line)})
		if err != nil || len(refused) > 0 {
			t.Fatalf("%s: refused %v, error %v", line, refused, err)
		}
		w.apply(t, apply)
		return apply
	}
	apply := run("+ a.z.org A 1.1.1.1 res=svc")
	if len(apply) != 2 {
		t.Fatalf("got %v, want two changes", showChanges(apply))
	}
	target := apply[1].New.Targets[0]
	if strings.Contains(target, "heritage") || !strings.HasPrefix(target, `"`) {
		t.Errorf("the text is %s", target)
	}
	if labels, _ := o.Labels(w.lookup, w["a.z.org"][0]); !cmp.Equal(labels, map[string]string{"owner": "me", "resource": "svc"}) {
		t.Errorf("the labels are %v", labels)
	}
	if apply = run("~ a.z.org A 1.1.1.1 => a.z.org A 2.2.2.2 res=svc"); len(apply) != 1 {
		t.Errorf("a text that says the same: got %v", showChanges(apply))
	}
	if apply = run("~ a.z.org A 2.2.2.2 => a.z.org A 2.2.2.2 res=other"); len(apply) != 1 || apply[0].New.Targets[0] == target {
		t.Errorf("another text: got %v", showChanges(apply))
	}
	if apply = run("~ p.z.org A 1.1.1.1 => p.z.org A 2.2.2.2 res=svc"); len(apply) != 2 || strings.Contains(apply[1].New.Targets[0], "heritage") {
		t.Errorf("a plain text: got %v", showChanges(apply))
	}
	if apply = run("- a.z.org A 2.2.2.2"); len(apply) != 2 || len(w["a-a.z.org"]) != 0 {
		t.Errorf("deleted: got %v", showChanges(apply))
	}
	if apply = run("+ a.z.org A 1.1.1.1 res=svc"); apply[1].New.Targets[0] == target {
		t.Errorf("the same text is encrypted with the same nonce: %s", target)
	}
}

func TestUnmark(t *testing.T) {
	w := newZoneRecords(t, "a.z.org A 1.1.1.1", "a-a.z.org TXT @me", "a.z.org TXT @me", "a.z.org MX mx")
	got := showChanges(newTXT(t, TXTOptions{}).OwnershipDeletions(w.lookup, w["a.z.org"][0]))
	if diff := cmp.Diff([]string{"- a-a.z.org TXT @me for a.z.org"}, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// The arguments may be used again.
func TestBeforeLeavesArguments(t *testing.T) {
	w := newZoneRecords(t, "a.z.org A 1.1.1.1", "a-a.z.org TXT random|@me")
	c := change(t, "~ a.z.org A 1.1.1.1 => a.z.org A 2.2.2.2 res=svc")
	zone, old, wanted := w.lines(), *c.Old, c.New.Clone()
	if _, _, err := newTXT(t, TXTOptions{}).Before(t.Context(), w.lookup, []dns.Change{c}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(zone, w.lines()) + cmp.Diff(old, *c.Old) + cmp.Diff(wanted, c.New); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

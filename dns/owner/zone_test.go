package owner

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/plan"
)

// planned returns the changes of a plan for a zone.
func planned(o Owner, rules *plan.Rules, w zoneRecords, wanted []*dns.RecordSet) []dns.Change {
	byName := map[string][]*dns.RecordSet{}
	for _, r := range wanted {
		name := dns.Canonical(r.Name)
		byName[name] = append(byName[name], r)
	}
	for name := range w {
		byName[name] = append([]*dns.RecordSet(nil), byName[name]...)
	}
	var changes []dns.Change
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		var current []plan.Current
		for _, r := range w[name] {
			if _, ownership := o.OwnershipRecord(r); ownership {
				continue
			}
			labels, rewrite := o.Labels(w.lookup, r)
			labelled := *r
			labelled.Labels = labels
			current = append(current, plan.Current{Set: &labelled, RewriteOwnership: rewrite})
		}
		changes = append(changes, plan.Name(current, candidates(byName[name]), rules).Changes...)
	}
	return changes
}

// A zone of ExternalDNS, written by hand in the format of spec/dns.md §4.2, is taken over: all
// of it is ours, and nothing has to be changed.
func TestDropIn(t *testing.T) {
	nonce := bytes.Repeat([]byte{9}, nonceSize)
	sealed, err := newTestSealer(t, knownKey).seal("heritage=external-dns,external-dns/owner=default,external-dns/resource=service/default/nginx", nonce)
	if err != nil {
		t.Fatal(err)
	}
	const plain = `"heritage=external-dns,external-dns/owner=default,external-dns/resource=service/default/nginx"`
	for name, test := range map[string]struct {
		options    TXTOptions
		ownerships map[string]string // by the record set that they are for
		text       string
	}{
		"plain": {
			TXTOptions{},
			map[string]string{"www.z.org A": "a-www.z.org", "www.z.org AAAA": "aaaa-www.z.org", "*.z.org CNAME": "cname-*.z.org"},
			plain,
		},
		"prefixed": {
			TXTOptions{Prefix: "txt.", WildcardReplacement: "wc"},
			map[string]string{"www.z.org A": "txt.a-www.z.org", "www.z.org AAAA": "txt.aaaa-www.z.org", "*.z.org CNAME": "txt.cname-wc.z.org"},
			plain,
		},
		"templated prefix": {
			TXTOptions{Prefix: "%{record_type}-edns-.", WildcardReplacement: "wc"},
			map[string]string{"www.z.org A": "a-edns-.www.z.org", "www.z.org AAAA": "aaaa-edns-.www.z.org", "*.z.org CNAME": "cname-edns-.wc.z.org", "z.org A": "a-edns-.z.org"},
			plain,
		},
		"templated suffix": {
			TXTOptions{Suffix: "-%{record_type}"},
			map[string]string{"www.z.org A": "www-a.z.org", "www.z.org AAAA": "www-aaaa.z.org", "*.z.org CNAME": "*-cname.z.org"},
			plain,
		},
		"encrypted": {
			TXTOptions{EncryptEnabled: true, AESKey: knownKey},
			map[string]string{"www.z.org A": "a-www.z.org", "www.z.org AAAA": "aaaa-www.z.org", "*.z.org CNAME": "cname-*.z.org"},
			quote(sealed),
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.options.OwnerID = "default"
			o := newTXT(t, test.options)
			w := newZoneRecords(t, "z.org NS ns.z.org", "mail.z.org A 9.9.9.9", "note.z.org TXT random")
			var wanted []*dns.RecordSet
			for line, ownership := range test.ownerships {
				r := record(t, line+" "+map[string]string{"A": "1.1.1.1", "AAAA": "::1", "CNAME": "x.y"}[line[len(line)-1:]])
				if r.Type == dns.TypeAAAA {
					r.Targets = []string{"::1"}
				}
				if r.Type == dns.TypeCNAME {
					r.Targets = []string{"x.y"}
				}
				w.put(r)
				w.put(&dns.RecordSet{Name: ownership, Type: dns.TypeTXT, Targets: []string{test.text}})
				asked := r.Clone()
				asked.Labels[dns.LabelResource] = "service/default/nginx"
				wanted = append(wanted, asked)
				if labels, rewrite := o.Labels(w.lookup, r); rewrite || !cmp.Equal(labels, map[string]string{"owner": "default", "resource": "service/default/nginx"}) {
					t.Errorf("%s: got the labels %v, rewrite %v", line, labels, rewrite)
				}
			}
			rules := &plan.Rules{Policy: plan.Sync, Owner: "default", Managed: plan.DefaultManaged()}
			if changes := planned(o, rules, w, wanted); len(changes) > 0 {
				t.Errorf("got changes:\n%v", showChanges(changes))
			}
			// All of it can be deleted again.
			apply, refused, err := o.Before(t.Context(), w.lookup, planned(o, rules, w, nil))
			if err != nil || len(refused) > 0 {
				t.Fatalf("refused %v, error %v", refused, err)
			}
			w.apply(t, apply)
			if diff := cmp.Diff([]string{"mail.z.org A 9.9.9.9", "note.z.org TXT random", "z.org NS ns.z.org"}, w.lines()); diff != "" {
				t.Errorf("what is left (-want +got):\n%s", diff)
			}
		})
	}
}

// A zone of an older version gets ownership records in the current format once. Nothing else changes.
func TestDropInHistoric(t *testing.T) {
	o := newTXT(t, TXTOptions{})
	w := newZoneRecords(t, "www.z.org A 1.1.1.1", "www.z.org TXT @me/svc", "ali.z.org A x.y alias=true", "cname-ali.z.org TXT @me/svc")
	var wanted []*dns.RecordSet
	for _, line := range []string{"www.z.org A 1.1.1.1 res=svc", "ali.z.org A x.y alias=true res=svc"} {
		wanted = append(wanted, record(t, line))
	}
	rules := &plan.Rules{Policy: plan.Sync, Owner: "me", Managed: plan.DefaultManaged()}
	apply, refused, err := o.Before(t.Context(), w.lookup, planned(o, rules, w, wanted))
	if err != nil || len(refused) > 0 {
		t.Fatalf("refused %v, error %v", refused, err)
	}
	want := []string{"+ a-ali.z.org TXT @me/svc alias=true for ali.z.org", "+ a-www.z.org TXT @me/svc for www.z.org"}
	if diff := cmp.Diff(want, showChanges(apply)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	w.apply(t, apply)
	if changes := planned(o, rules, w, wanted); len(changes) > 0 {
		t.Errorf("still to do: %v", showChanges(changes))
	}
}

// Random record sets are asked for, in a zone with other owners. After one round, our ownership records
// exist for what is ours and for nothing else, and what isn't ours is unchanged.
func TestSettles(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a := rapid.SampledFrom(affixes).Draw(rt, "affixes")
		if a.prefix == "%{record_type}" || a.suffix == "%{record_type}" {
			// Nobody can distinguish names that two types share.
			a.prefix, a.suffix = "", ""
		}
		o := newTXT(t, TXTOptions{Prefix: a.prefix, Suffix: a.suffix, WildcardReplacement: a.wildcard, OldOwnerID: "old", EncryptEnabled: rapid.Bool().Draw(rt, "encrypt"), AESKey: knownKey})
		w := drawZone(rt, o)
		unowned := unownedLines(o, w)
		rules := &plan.Rules{Policy: plan.Sync, Owner: "me", OldOwner: "old", Managed: plan.DefaultManaged()}
		for round := range rapid.IntRange(1, 4).Draw(rt, "rounds") {
			wanted := drawWanted(rt, round)
			for range 2 {
				// There are two rounds, because a name is free for other types only when our
				// record set has been deleted.
				apply, _, err := o.Before(t.Context(), w.lookup, planned(o, rules, w, wanted))
				if err != nil {
					rt.Fatal(err)
				}
				w.apply(rtb{t, rt}, apply)
			}
			apply, refused, err := o.Before(t.Context(), w.lookup, planned(o, rules, w, wanted))
			if err != nil || len(apply) > 0 {
				rt.Fatalf("still to do: %v, refused %v, error %v, zone %v", showChanges(apply), showChanges(refused), err, w.lines())
			}
			if diff := cmp.Diff(unowned, unownedLines(o, w)); diff != "" {
				rt.Fatalf("what isn't ours (-before +after):\n%s", diff)
			}
			checkOwnershipRecords(rt, o, w)
		}
	})
}

// rtb is a testing.TB that reports to rapid.
type rtb struct {
	testing.TB
	rt *rapid.T
}

func (r rtb) Helper()                           {}
func (r rtb) Errorf(format string, args ...any) { r.rt.Errorf(format, args...) }

func drawName(rt *rapid.T) string {
	return rapid.SampledFrom([]string{"www.z.org", "WWW.z.org", "*.z.org", "any.z.org", "a-www.z.org", "b.z.org", "z.org"}).Draw(rt, "name")
}

// drawZone returns a zone with record sets of others, without an owner, and of ours; ours have
// ownership records in any format.
func drawZone(rt *rapid.T, o *TXT) zoneRecords {
	w := zoneRecords{}
	for range rapid.IntRange(0, 5).Draw(rt, "record sets") {
		name, recordType := drawName(rt), rapid.SampledFrom([]string{"A", "AAAA", "CNAME", "MX"}).Draw(rt, "type")
		r := &dns.RecordSet{Name: name, Type: recordType, Targets: []string{"listed"}}
		canonical := dns.Canonical(name)
		if slices.ContainsFunc(w[canonical], func(other *dns.RecordSet) bool {
			return other.Type == recordType || other.Type == dns.TypeCNAME || recordType == dns.TypeCNAME
		}) {
			continue
		}
		w.put(r)
		made := o.names.withType(nil, canonical, recordType)
		if recordType != dns.TypeAAAA {
			made = o.names.withoutType(made, canonical)
		}
		ownership := rapid.SampledFrom(made).Draw(rt, "ownership record").name
		if len(w[ownership]) > 0 {
			continue
		}
		texts := rapid.SliceOfN(rapid.SampledFrom([]string{"@me", "@me/x", "@owner", "@old", "random"}), 0, 3).Draw(rt, "texts")
		set := &dns.RecordSet{Name: ownership, Type: dns.TypeTXT}
		for _, short := range texts {
			set.Targets = append(set.Targets, text(short))
		}
		if len(texts) > 0 {
			w.put(set)
		}
	}
	return w
}

func drawWanted(rt *rapid.T, round int) []*dns.RecordSet {
	var wanted []*dns.RecordSet
	for i := range rapid.IntRange(0, 4).Draw(rt, "wanted") {
		r := &dns.RecordSet{
			Name: dns.Canonical(drawName(rt)), Type: rapid.SampledFrom([]string{"A", "AAAA", "CNAME"}).Draw(rt, "type"),
			Targets: []string{fmt.Sprint("wanted-", round, "-", i)}, Labels: map[string]string{dns.LabelResource: fmt.Sprint(i)},
		}
		if r.Name == "*.z.org" || r.Name == "any.z.org" {
			// These names may share an ownership record. The publisher decides whose object it names, so
			// that it isn't written in turns; here both names are of one object.
			r.Labels[dns.LabelResource] = "both"
		}
		wanted = append(wanted, r)
	}
	return wanted
}

// unownedLines are the record sets of others and of nobody, and the texts that aren't ours.
func unownedLines(o *TXT, w zoneRecords) []string {
	lines := []string{}
	for name, sets := range w {
		for _, r := range sets {
			if _, ownership := o.OwnershipRecord(r); ownership || r.Type == dns.TypeTXT {
				for _, target := range o.otherTexts(r) {
					lines = append(lines, name+" "+target)
				}
				continue
			}
			if labels, _ := o.Labels(w.lookup, r); labels[dns.LabelOwner] == "owner" || labels == nil {
				lines = append(lines, show(r))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// checkOwnershipRecords finds ownership records of today's format that are ours and describe nothing.
func checkOwnershipRecords(rt *rapid.T, o *TXT, w zoneRecords) {
	for _, sets := range w {
		for _, r := range sets {
			if o.Orphan(w.lookup, r) {
				rt.Fatalf("%s describes nothing in %v", show(r), w.lines())
			}
		}
	}
}

// candidates returns record sets as candidates of one source.
func candidates(sets []*dns.RecordSet) []plan.Candidate {
	list := make([]plan.Candidate, len(sets))
	for i, r := range sets {
		list[i].Set = r
	}
	return list
}

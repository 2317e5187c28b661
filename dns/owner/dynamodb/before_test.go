package dynamodb

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
)

type beforeTest struct {
	name    string
	options Options
	rows    map[string]row
	zone    zone
	changes []dns.Change
	fail    map[string]string
	// calls are those of Before; apply and refused what it returns, after the calls of After.
	calls, apply, refused, after []string
	err                          string
	// left are the keys of our items at the end.
	left []string
}

// Unlike ExternalDNS, a creation writes an item twice: as intended, and as confirmed.
var beforeTests = []beforeTest{
	{
		name:    "case 90: create",
		changes: []dns.Change{{New: set("www.z.org A 1.1.1.1 svc")}},
		calls:   []string{"batch of 1", "INSERT www.z.org#A#"}, apply: []string{"+ www.z.org A"}, after: []string{"batch of 1", "UPDATE www.z.org#A#"}, left: []string{"www.z.org#A#"},
	},
	{
		name: "case 90: a spare item with the same labels", rows: map[string]row{"www.z.org#A#": {"me", labels("svc")}},
		changes: []dns.Change{{New: set("www.z.org A 1.1.1.1 svc")}}, calls: []string{"batch of 1", "UPDATE www.z.org#A#"}, apply: []string{"+ www.z.org A"}, after: []string{"batch of 1", "UPDATE www.z.org#A#"}, left: []string{"www.z.org#A#"},
	},
	{
		name: "case 90: a spare item with other labels", rows: map[string]row{"WWW.z.org#A#": {"me", labels("old")}},
		changes: []dns.Change{{New: set("www.z.org A 1.1.1.1 svc")}},
		calls:   []string{"batch of 1", "UPDATE WWW.z.org#A#"}, apply: []string{"+ www.z.org A"}, after: []string{"batch of 1", "UPDATE WWW.z.org#A#"}, left: []string{"WWW.z.org#A#"},
	},
	{
		name: "case 90: somebody else has it", rows: map[string]row{"www.z.org#A#": {"owner", nil}},
		changes: []dns.Change{{New: set("www.z.org A 1.1.1.1")}, {New: set("v.z.org A 1.1.1.1")}},
		calls:   []string{"batch of 2", "INSERT www.z.org#A#", "INSERT v.z.org#A#"}, apply: []string{"+ v.z.org A"}, refused: []string{"+ www.z.org A"}, after: []string{"batch of 1", "UPDATE v.z.org#A#"}, left: []string{"v.z.org#A#"},
	},
	{
		name: "nothing goes for what can't come", rows: map[string]row{"www.z.org#A#": {"owner", nil}, "www.z.org#CNAME#": {"me", nil}},
		zone:    zone{set("www.z.org CNAME x.y")},
		changes: []dns.Change{{Old: set("www.z.org CNAME x.y")}, {New: set("www.z.org A 1.1.1.1")}},
		calls:   []string{"batch of 1", "INSERT www.z.org#A#"}, refused: []string{"- www.z.org CNAME", "+ www.z.org A"}, left: []string{"www.z.org#CNAME#"},
	},
	{
		name: "case 90: an error", changes: []dns.Change{{New: set("www.z.org A 1.1.1.1")}, {New: set("v.z.org A 1.1.1.1")}},
		fail:  map[string]string{"INSERT www.z.org#A#": "ProvisionedThroughputExceeded"},
		calls: []string{"batch of 2", "INSERT www.z.org#A#", "INSERT v.z.org#A#"}, err: "ProvisionedThroughputExceeded: says the fake", left: []string{"v.z.org#A#"},
	},
	{
		name: "case 91: update with the same labels", rows: map[string]row{"www.z.org#A#": {"me", labels("svc")}},
		zone:    zone{set("www.z.org A 1.1.1.1")},
		changes: []dns.Change{{Old: set("www.z.org A 1.1.1.1"), New: set("www.z.org A 2.2.2.2 svc")}}, apply: []string{"~ www.z.org A"}, left: []string{"www.z.org#A#"},
	},
	{
		name: "case 91: update with other labels", rows: map[string]row{"www.z.org#A#": {"me", labels("old")}},
		zone:    zone{set("www.z.org A 1.1.1.1")},
		changes: []dns.Change{{Old: set("www.z.org A 1.1.1.1"), New: set("www.z.org A 2.2.2.2 svc")}},
		calls:   []string{"batch of 1", "UPDATE www.z.org#A#"}, apply: []string{"~ www.z.org A"}, left: []string{"www.z.org#A#"},
	},
	{
		name: "case 91: delete", rows: map[string]row{"www.z.org#A#": {"me", nil}},
		zone: zone{set("www.z.org A 1.1.1.1")}, changes: []dns.Change{{Old: set("www.z.org A 1.1.1.1")}},
		apply: []string{"- www.z.org A"}, after: []string{"batch of 1", "DELETE www.z.org#A#"}, left: []string{},
	},
	{
		name: "deleted by somebody else", rows: map[string]row{"www.z.org#A#": {"me", nil}},
		zone: zone{set("www.z.org A 1.1.1.1")}, changes: []dns.Change{{Old: set("www.z.org A 1.1.1.1")}},
		fail:  map[string]string{"DELETE www.z.org#A#": "ConditionalCheckFailed"},
		apply: []string{"- www.z.org A"}, after: []string{"batch of 1", "DELETE www.z.org#A#"}, left: []string{"www.z.org#A#"},
	},
	{
		name: "not ours", zone: zone{set("www.z.org A 1.1.1.1")},
		changes: []dns.Change{{Old: set("www.z.org A 1.1.1.1"), New: set("www.z.org A 2.2.2.2")}, {Old: set("www.z.org A 1.1.1.1")}},
		refused: []string{"~ www.z.org A", "- www.z.org A"}, left: []string{},
	},
	{
		name: "only labels", rows: map[string]row{"www.z.org#A#": {"me", labels("old")}}, zone: zone{set("www.z.org A 1.1.1.1")},
		changes: []dns.Change{{Old: set("www.z.org A 1.1.1.1"), New: set("www.z.org A 1.1.1.1 svc")}},
		calls:   []string{"batch of 1", "UPDATE www.z.org#A#"}, left: []string{"www.z.org#A#"},
	},
	{
		name: "case 91: taken over from a TXT record", options: Options{TXT: newTXT()},
		zone:    zone{set("www.z.org A 1.1.1.1"), set("a-www.z.org TXT " + ownText("me"))},
		changes: []dns.Change{{Old: set("www.z.org A 1.1.1.1"), New: set("www.z.org A 1.1.1.1 svc")}},
		calls:   []string{"batch of 1", "INSERT www.z.org#A#"}, left: []string{"www.z.org#A#"},
	},
	{
		name: "taken over from a TXT record, which goes", options: Options{TXT: newTXT(), RemoveTXT: true},
		zone:    zone{set("www.z.org A 1.1.1.1"), set("a-www.z.org TXT " + ownText("me"))},
		changes: []dns.Change{{Old: set("www.z.org A 1.1.1.1"), New: set("www.z.org A 2.2.2.2 svc")}},
		calls:   []string{"batch of 1", "INSERT www.z.org#A#"}, apply: []string{"~ www.z.org A", "- a-www.z.org TXT"}, left: []string{"www.z.org#A#"},
	},
	{
		name: "taken over from the old owner, but not deleted", options: Options{TXT: newTXT()},
		zone:    zone{set("www.z.org A 1.1.1.1"), set("a-www.z.org TXT " + ownText("old")), set("v.z.org A 1.1.1.1"), set("a-v.z.org TXT " + ownText("old"))},
		changes: []dns.Change{{Old: set("www.z.org A 1.1.1.1"), New: set("www.z.org A 1.1.1.1 svc")}, {Old: set("v.z.org A 1.1.1.1")}},
		calls:   []string{"batch of 1", "INSERT www.z.org#A#"}, refused: []string{"- v.z.org A"}, left: []string{"www.z.org#A#"},
	},
	{
		name: "an ownership text as a record", options: Options{TXT: newTXT()},
		changes: []dns.Change{{New: set("a-www.z.org TXT " + ownText("me"))}}, refused: []string{"+ a-www.z.org TXT"}, left: []string{},
	},
}

func TestBefore(t *testing.T) {
	for _, test := range beforeTests {
		t.Run(test.name, func(t *testing.T) {
			problems := 0
			test.options.Problems = func(dns.Problem) { problems++ }
			rows := map[string]row{}
			maps.Copy(rows, test.rows)
			o, f := newOwner(t, test.options, rows)
			f.Fail = test.fail
			apply, refused, err := o.Before(t.Context(), test.zone.lookup, test.changes)
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("got error %v, want one with %q", err, test.err)
			}
			compare(t, "calls of Before", test.calls, f.Take())
			compare(t, "applied", test.apply, showAll(apply))
			compare(t, "refused", test.refused, showAll(refused))
			if problems != len(refused) {
				t.Errorf("got %d problems for %d refused changes", problems, len(refused))
			}
			for _, c := range apply {
				if c.New != nil && c.New.Labels[dns.LabelOwner] != "me" {
					t.Errorf("%s goes to the provider with the labels %v", show(c), c.New.Labels)
				}
			}
			if err == nil {
				if err := o.After(t.Context(), apply); err != nil {
					t.Error(err)
				}
				compare(t, "calls of After", test.after, f.Take())
			}
			left := []string{}
			for k, r := range f.Rows() {
				if r.Owner == "me" {
					left = append(left, k)
				}
			}
			slices.Sort(left)
			compare(t, "our items", test.left, left)
			for _, c := range apply {
				if c.New == nil {
					continue
				}
				if got, rewrite := o.Labels(test.zone.lookup, c.New); got["owner"] != "me" || got["resource"] != c.New.Labels["resource"] || rewrite {
					t.Errorf("%s: got labels %v, rewrite %v", show(c), got, rewrite)
				}
			}
		})
	}
}

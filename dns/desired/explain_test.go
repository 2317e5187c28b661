package desired_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
)

// TestExplain shows that Explain names the setting behind each dropped part.
func TestExplain(t *testing.T) {
	t.Parallel()
	networks, problems := dns.NewTargetFilter([]string{"192.0.2.0/24"}, []string{"192.0.2.128/25"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	regex, err := dns.NewRegexFilter("a", "except")
	if err != nil {
		t.Fatal(err)
	}
	all := desired.Scope{Managed: []string{"A", "AAAA", "CNAME"}}
	tests := []struct {
		name    string
		options desired.Options
		scope   func(*desired.Scope)
		line    string
		want    string
	}{
		{name: "nothing", line: "a.org A 0 192.0.2.1", want: "kept a.org A 192.0.2.1"},
		{name: "invalid", line: "a.org A 0 text", want: "Invalid  a.org A text"},
		{name: "no target", line: "a.org A 0 -", want: "Invalid  a.org A "},
		{
			name: "default targets", options: desired.Options{DefaultTargets: []string{"192.0.2.9"}, ForceDefaultTargets: true},
			line: "a.org A 0 192.0.2.1", want: "Replaced --force-default-targets a.org A 192.0.2.1\nkept a.org A 192.0.2.9",
		},
		{
			name: "networks", options: desired.Options{Targets: networks}, line: "a.org A 0 10.0.0.1,192.0.2.1,192.0.2.200",
			want: "TargetFiltered --target-net-filter a.org A 10.0.0.1\nTargetFiltered --exclude-target-net a.org A 192.0.2.200\nkept a.org A 192.0.2.1",
		},
		{
			name: "refused", options: desired.Options{Refuse: func(*dns.RecordSet) error { return fmt.Errorf("no room") }},
			line: "a.org A 0 192.0.2.1", want: "Refused --registry a.org A 192.0.2.1",
		},
		{name: "type", line: "a.org TXT 0 text", want: "TypeNotManaged --managed-record-types a.org TXT text"},
		{
			name: "excluded type", scope: func(p *desired.Scope) { p.Excluded = []string{"A"} },
			line: "a.org A 0 192.0.2.1", want: "TypeNotManaged --exclude-record-types a.org A 192.0.2.1",
		},
		{
			name: "domain", scope: func(p *desired.Scope) { p.Domains = dns.NewDomainFilter([]string{"b.org"}, nil) },
			line: "a.org A 0 192.0.2.1", want: "NameFiltered --domain-filter a.org A 192.0.2.1",
		},
		{
			name: "excluded domain", scope: func(p *desired.Scope) { p.Domains = dns.NewDomainFilter([]string{"org"}, []string{"a.org"}) },
			line: "a.org A 0 192.0.2.1", want: "NameFiltered --exclude-domains a.org A 192.0.2.1",
		},
		{
			name: "expression", scope: func(p *desired.Scope) { p.Domains = regex },
			line: "b.org A 0 192.0.2.1", want: "NameFiltered --regex-domain-filter b.org A 192.0.2.1",
		},
		{
			name: "excluding expression", scope: func(p *desired.Scope) { p.Domains = regex },
			line: "except.a.org A 0 192.0.2.1", want: "NameFiltered --regex-domain-exclusion except.a.org A 192.0.2.1",
		},
		{
			name: "zone", scope: func(p *desired.Scope) { p.HasZone = func(name string) bool { return name == "b.org" } },
			line: "a.org A 0 192.0.2.1", want: "NoZone  a.org A 192.0.2.1",
		},
		// A PTR record set for an address is reported as dropped (dns F13).
		{
			name: "PTR that isn't managed", line: "a.org A 0 192.0.2.1 record-type=ptr",
			want: "TypeNotManaged --managed-record-types 1.2.0.192.in-addr.arpa PTR a.org\nkept a.org A 192.0.2.1",
		},
		{
			name: "PTR in a domain that isn't managed", options: desired.Options{ManagedTypes: []string{"A", "PTR"}, CreatePTR: true},
			scope: func(p *desired.Scope) {
				p.Managed, p.Domains = []string{"A", "PTR"}, dns.NewDomainFilter([]string{"a.org"}, nil)
			},
			line: "a.org A 0 192.0.2.1", want: "NameFiltered --domain-filter 1.2.0.192.in-addr.arpa PTR a.org\nkept a.org A 192.0.2.1",
		},
		{
			name: "PTR that is published", options: desired.Options{ManagedTypes: []string{"A", "PTR"}, CreatePTR: true},
			scope: func(p *desired.Scope) { p.Managed = []string{"A", "PTR"} },
			line:  "a.org A 0 192.0.2.1", want: "kept a.org A 192.0.2.1",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			scope := all
			if test.scope != nil {
				test.scope(&scope)
			}
			by := origin("service/d/a")
			kept, dropped := newSet(t, test.options).Explain(by, []*dns.RecordSet{parse(by, test.line)}, scope)
			var got []string
			for _, d := range dropped {
				got = append(got, fmt.Sprintf("%s %s %s %s %s", d.Reason, d.Setting, d.Name, d.Type, strings.Join(d.Targets, ",")))
				if d.Message == "" {
					t.Errorf("the drop %+v doesn't say what to do", d)
				}
			}
			for _, r := range kept {
				got = append(got, fmt.Sprintf("kept %s %s %s", r.Name, r.Type, strings.Join(r.Targets, ",")))
			}
			if diff := cmp.Diff(test.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("explained (-want +got):\n%s", diff)
			}
		})
	}
}

// Each wanted target is either kept or dropped, and the kept ones that the scope doesn't drop are
// those of Want.
func TestExplainProperty(t *testing.T) {
	networks, _ := dns.NewTargetFilter(nil, []string{"192.0.2.2/32"})
	rapid.Check(t, func(t *rapid.T) {
		options := drawOptions(t)
		if rapid.Bool().Draw(t, "networks") {
			options.Targets = networks
		}
		lines := rapid.SliceOfN(rapid.Custom(line), 0, 6).Draw(t, "lines")
		by := origin("service/d/a")
		var requested []*dns.RecordSet
		for _, l := range lines {
			requested = append(requested, parse(by, l))
		}
		everywhere := desired.Scope{Managed: []string{"A", "AAAA", "CNAME", "TXT"}}
		narrow := desired.Scope{
			Managed: everywhere.Managed, Excluded: rapid.SampledFrom([][]string{nil, {"AAAA"}}).Draw(t, "excluded"),
			Domains: dns.NewDomainFilter(nil, []string{"b.org"}), HasZone: func(name string) bool { return name != "a.org" },
		}
		s := mustNew(t, options)
		all, _ := s.Explain(by, requested, everywhere)
		kept, dropped := s.Explain(by, requested, narrow)
		var have, lost, got []string
		for _, r := range kept {
			have = append(have, each(r.Name, r.Type, r.Targets)...)
		}
		for _, d := range dropped {
			lost = append(lost, each(d.Name, d.Type, d.Targets)...)
		}
		for _, r := range requested {
			n := r.Normal()
			for _, part := range each(n.Name, n.Type, n.Targets) {
				if !slices.Contains(have, part) && !slices.Contains(lost, part) {
					t.Fatalf("%q is neither kept (%q) nor dropped (%q)", part, have, lost)
				}
			}
		}
		s.Put(by, requested)
		for name := range s.Names() {
			for _, r := range s.Want(name) {
				if r.Type != dns.TypePTR {
					got = append(got, each(r.Name, r.Type, r.Targets)...)
				}
			}
		}
		have = nil
		for _, r := range all {
			have = append(have, each(r.Name, r.Type, r.Targets)...)
		}
		// Of several CNAMEs of one name, merging publishes one.
		have = slices.DeleteFunc(have, func(part string) bool { return strings.Contains(part, " CNAME ") && !slices.Contains(got, part) })
		if diff := cmp.Diff(dns.UniqueSorted(have), dns.UniqueSorted(got)); diff != "" {
			t.Fatalf("explained -, published +\n%s", diff)
		}
	})
}

// each returns a text for each target of a record set.
func each(name, recordType string, targets []string) []string {
	parts := []string{}
	for _, target := range targets {
		parts = append(parts, name+" "+recordType+" "+target)
	}
	return parts
}

package crd_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/crd"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

const unsuitable = `
apiVersion: externaldns.k8s.io/v1alpha1
kind: DNSEndpoint
metadata: {name: a}
spec:
  endpoints:
  - {dnsName: a.example.org, recordType: A, targets: [lb.example.com]}
  - {dnsName: b.example.org, recordType: A, targets: [192.0.2.1]}
  - {dnsName: b.example.org, recordType: A, targets: ["2001:db8::1"]}
  - {dnsName: c.example.org, targets: [192.0.2.1]}
  - {dnsName: d.example.org, recordType: A, targets: [192.0.2.1.]}
`

// TestUnsuitableTargets shows that --force-default-targets replaces an unsuitable target before the entry is
// checked (W13), and that an entry that can't be published still asks for its name, whose records stay (D12).
func TestUnsuitableTargets(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name             string
		options          desired.Options
		want, unresolved []string
		problems         int
	}{
		{
			name: "W13: the targets are replaced", options: desired.Options{DefaultTargets: []string{"192.0.2.9"}, ForceDefaultTargets: true},
			want: []string{"a.example.org A 192.0.2.9", "b.example.org A 192.0.2.9", "c.example.org A 192.0.2.9"}, unresolved: []string{"d.example.org"},
		},
		{
			name: "D12: the names are unresolved", want: []string{"b.example.org A 192.0.2.1"},
			unresolved: []string{"a.example.org", "b.example.org", "c.example.org", "d.example.org"}, problems: 3,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			fixture := sourcetest.MustOpen(t, crd.Plugin(), unsuitable)
			result := fixture.Evaluate(source.Key{Namespace: "default", Name: "a"})
			s, err := desired.New(test.options)
			if err != nil {
				t.Fatal(err)
			}
			_, problems := s.Put(desired.Origin{Source: "crd", Namespace: "default", Name: "a"}, result.Records)
			var want, unresolved []string
			for _, name := range []string{"a.example.org", "b.example.org", "c.example.org", "d.example.org"} {
				for _, r := range s.Want(name) {
					want = append(want, r.Name+" "+r.Type+" "+strings.Join(r.Targets, " "))
				}
				if s.Unresolved(name) {
					unresolved = append(unresolved, name)
				}
			}
			if !slices.Equal(want, test.want) || !slices.Equal(unresolved, test.unresolved) {
				t.Errorf("wanted are %q, want %q; unresolved are %q, want %q", want, test.want, unresolved, test.unresolved)
			}
			if len(problems) != test.problems || len(result.Problems) != 1 || result.Problems[0].Subject != "spec.endpoints[4].targets[0]" {
				t.Errorf("there are these problems: %v and %v", result.Problems, problems)
			}
		})
	}
}

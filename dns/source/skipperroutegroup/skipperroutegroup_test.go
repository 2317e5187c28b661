package skipperroutegroup_test

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/skipperroutegroup"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(kubetest.Wrap(m, kubetest.WithCRDs("testdata/crds")))
}

func TestScenarios(t *testing.T) { sourcetest.Run(t, skipperroutegroup.Plugin()) }

func TestRealAPIServer(t *testing.T) {
	sourcetest.RunReal(t, skipperroutegroup.Plugin(), kubetest.Start(t), "lifecycle")
}

const prefix = "external-dns.kubernetes.io/"

func object(annotations, spec, status string) string {
	return fmt.Sprintf("apiVersion: zalando.org/v1\nkind: RouteGroup\nmetadata: {name: a, annotations: {%s}}\nspec: {%s}\nstatus: {%s}\n", annotations, spec, status)
}

var key = source.Key{Kind: "RouteGroup.zalando.org", Namespace: "default", Name: "a"}

// An object without a record says why, and what to do.
func TestSkipped(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, object string
		flags        []string
		reason       source.SkipReason
		message      string
	}{
		{"no host", object(prefix+"target: 192.0.2.1", "", ""), nil, source.SkipNoHostname, "spec.hosts"},
		{"no target", object("", "hosts: [a.example.org]", ""), nil, source.SkipNoTarget, "load balancer writes it"},
		{"an empty template", object("", "", ""), []string{"--fqdn-template={{if false}}a{{end}}"}, source.SkipNoHostname, "templates write no name"},
		{"another controller", object(prefix+"controller: other", "", ""), nil, source.SkipOtherController, "leaves the object"},
		{"a filter", object("", "", ""), []string{"--label-filter=a"}, source.SkipFiltered, "--label-filter"},
		{"a namespace", object("", "", ""), []string{"--namespace=other"}, source.SkipFiltered, "--namespace"},
		{"annotations", object("", "", ""), []string{"--annotation-filter=a"}, source.SkipFiltered, "--annotation-filter"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := sourcetest.MustOpen(t, skipperroutegroup.Plugin(), test.object, test.flags...)
			got := s.Evaluate(key)
			sourcetest.WantSkip(t, got, test.reason, test.message)
		})
	}
}

// What of an object is over a limit, or can't be read, is reported.
func TestHostile(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 300)
	tests := []struct {
		name, object string
		records      int
		problem      string
	}{
		{"hosts", object(prefix+"target: 192.0.2.1", "hosts: "+sourcetest.Many("n%d.example.org"), ""), source.NameLimit, "spec.hosts: 5000 items: the first 512 are used"},
		{"addresses", object("", "hosts: [a.example.org]", "loadBalancer: {routegroup: "+sourcetest.Many("{hostname: n%d.example.org}")+"}"), 1, "status.loadBalancer.routegroup: 5000 items: the first 256"},
		{"a long host", object(prefix+"target: 192.0.2.1", "hosts: ["+long+", a.example.org]", ""), 1, "spec.hosts: longer than 254 bytes"},
		{"another type", object(prefix+"target: 192.0.2.1", "hosts: a", ""), 0, "field spec.hosts"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := sourcetest.MustOpen(t, skipperroutegroup.Plugin(), test.object).Evaluate(key)
			sourcetest.WantProblem(t, got, test.records, test.problem)
		})
	}
}

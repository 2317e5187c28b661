package kongtcpingress_test

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/kongtcpingress"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(kubetest.Wrap(m, kubetest.WithCRDs("testdata/crds")))
}

func TestScenarios(t *testing.T) { sourcetest.Run(t, kongtcpingress.Plugin()) }

func TestRealAPIServer(t *testing.T) {
	sourcetest.RunReal(t, kongtcpingress.Plugin(), kubetest.Start(t), "lifecycle")
}

const prefix = "external-dns.kubernetes.io/"

func object(annotations, spec, status string) string {
	return fmt.Sprintf("apiVersion: configuration.konghq.com/v1beta1\nkind: TCPIngress\nmetadata: {name: a, annotations: {%s}}\nspec: {%s}\nstatus: {%s}\n", annotations, spec, status)
}

var key = source.Key{Kind: "TCPIngress.configuration.konghq.com", Namespace: "default", Name: "a"}

// An object without a record says why, and what to do.
func TestSkipped(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, object string
		flags        []string
		reason       source.SkipReason
		message      string
	}{
		{"no host", object(prefix+"target: 192.0.2.1", "rules: [{port: 1}]", ""), nil, source.SkipNoHostname, "spec.rules"},
		{"no target", object("", "rules: [{host: a.example.org}]", ""), nil, source.SkipNoTarget, "until Kong writes it"},
		{"another controller", object(prefix+"controller: other", "", ""), nil, source.SkipOtherController, "leaves the object"},
		{"a filter", object("", "", ""), []string{"--label-filter=a"}, source.SkipFiltered, "--label-filter"},
		{"a namespace", object("", "", ""), []string{"--namespace=other"}, source.SkipFiltered, "--namespace"},
		{"annotations", object("", "", ""), []string{"--annotation-filter=a"}, source.SkipFiltered, "--annotation-filter"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := sourcetest.MustOpen(t, kongtcpingress.Plugin(), test.object, test.flags...)
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
		{"rules", object(prefix+"target: 192.0.2.1", "rules: "+sourcetest.Many("{host: n%d.example.org}"), ""), source.NameLimit, "spec.rules: 5000 items: the first 2048 are used"},
		{"addresses", object("", "rules: [{host: a.example.org}]", "loadBalancer: {ingress: "+sourcetest.Many("{hostname: n%d.example.org}")+"}"), 1, "status.loadBalancer.ingress: 5000 items: the first 256"},
		{"a long host", object(prefix+"target: 192.0.2.1", "rules: [{host: "+long+"}, {host: a.example.org}]", ""), 1, "spec.rules: longer than 254 bytes"},
		{"another type", object(prefix+"target: 192.0.2.1", "rules: a", ""), 0, "field spec.rules"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := sourcetest.MustOpen(t, kongtcpingress.Plugin(), test.object).Evaluate(key)
			sourcetest.WantProblem(t, got, test.records, test.problem)
		})
	}
}

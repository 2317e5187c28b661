package f5_test

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/f5"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(kubetest.Wrap(m, kubetest.WithCRDs("testdata/crds")))
}

func TestScenarios(t *testing.T) {
	t.Run("virtualserver", func(t *testing.T) { sourcetest.RunIn(t, f5.VirtualServer(), "testdata/virtualserver") })
	t.Run("transportserver", func(t *testing.T) { sourcetest.RunIn(t, f5.TransportServer(), "testdata/transportserver") })
}

func TestRealAPIServer(t *testing.T) {
	cluster := kubetest.Start(t)
	t.Run("virtualserver", func(t *testing.T) { sourcetest.RunReal(t, f5.VirtualServer(), cluster, "virtualserver/lifecycle") })
	t.Run("transportserver", func(t *testing.T) { sourcetest.RunReal(t, f5.TransportServer(), cluster, "transportserver/lifecycle") })
}

const prefix = "external-dns.kubernetes.io/"

func object(annotations, spec, status string) string {
	return fmt.Sprintf("apiVersion: cis.f5.com/v1\nkind: VirtualServer\nmetadata: {name: a, annotations: {%s}}\nspec: {%s}\nstatus: {%s}\n", annotations, spec, status)
}

var key = source.Key{Kind: "VirtualServer.cis.f5.com", Namespace: "default", Name: "a"}

// An object without a record says why, and what to do.
func TestSkipped(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, object string
		flags        []string
		reason       source.SkipReason
		message      string
	}{
		{"no host", object("", "", "vsAddress: 192.0.2.1"), nil, source.SkipNoHostname, "give it a host"},
		{"not served", object("", "host: a.example.org, virtualServerAddress: 192.0.2.1", ""), nil, source.SkipNoTarget, "BIG-IP doesn't serve"},
		{"an alias that isn't served", object("", "hostAliases: [a.example.org]", "vsAddress: none"), nil, source.SkipNoTarget, "BIG-IP doesn't serve"},
		{"a template without targets", object("", "", ""), []string{"--fqdn-template=a.example.org"}, source.SkipNoHostname, "or no target"},
		{"another controller", object(prefix+"controller: other", "", ""), nil, source.SkipOtherController, "leaves the object"},
		{"a filter", object("", "", ""), []string{"--label-filter=a"}, source.SkipFiltered, "--label-filter"},
		{"a namespace", object("", "", ""), []string{"--namespace=other"}, source.SkipFiltered, "--namespace"},
		{"annotations", object("", "", ""), []string{"--annotation-filter=a"}, source.SkipFiltered, "--annotation-filter"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := sourcetest.MustOpen(t, f5.VirtualServer(), test.object, test.flags...)
			got := s.Evaluate(key)
			sourcetest.WantSkip(t, got, test.reason, test.message)
		})
	}
}

// Why there is no address doesn't hide that an annotation is misspelled.
func TestMisspelled(t *testing.T) {
	t.Parallel()
	s := sourcetest.MustOpen(t, f5.VirtualServer(), object(prefix+"tagret: 192.0.2.1", "host: a.example.org", ""))
	sourcetest.WantSkip(t, s.Evaluate(key), source.SkipNoTarget, "BIG-IP doesn't serve", source.SkipUnknownAnnotation)
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
		{"aliases", object("", "hostAliases: "+sourcetest.Many("n%d.example.org"), "vsAddress: 192.0.2.1"), source.NameLimit, "spec.hostAliases: 5000 items: the first 512 are used"},
		{"a long host", object("", "hostAliases: ["+long+", a.example.org]", "vsAddress: 192.0.2.1"), 1, "spec.hostAliases: longer than 254 bytes"},
		{"a long address", object("", "host: a.example.org", "vsAddress: "+long), 0, "longer than 254 bytes"},
		{"another type", object("", "host: [a]", "vsAddress: 192.0.2.1"), 0, "field spec.host"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := sourcetest.MustOpen(t, f5.VirtualServer(), test.object).Evaluate(key)
			sourcetest.WantProblem(t, got, test.records, test.problem)
		})
	}
}

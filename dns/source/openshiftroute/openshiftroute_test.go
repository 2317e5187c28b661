package openshiftroute_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/openshiftroute"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) { sourcetest.Main(m, "testdata/crds") }

func TestScenarios(t *testing.T) { sourcetest.Run(t, openshiftroute.Plugin()) }

func TestRealAPIServer(t *testing.T) { sourcetest.RunReal(t, openshiftroute.Plugin(), "lifecycle") }

var shop = source.Key{Kind: "Route.route.openshift.io", Namespace: "default", Name: "shop"}

// route returns a Route in YAML; its parts are in one line each.
func route(metadata, ingress string) string {
	return fmt.Sprintf("---\napiVersion: route.openshift.io/v1\nkind: Route\nmetadata: {name: shop%s}\nstatus: {ingress: [%s]}\n", metadata, ingress)
}

// entry returns an entry of the status.
func entry(host, router, canonical, admitted string) string {
	return fmt.Sprintf(`{host: "%s", routerName: "%s", routerCanonicalHostname: "%s", conditions: [{type: Admitted, status: "%s"}]}`, host, router, canonical, admitted)
}

// TestWhyNot shows that each Route without records has a reason.
func TestWhyNot(t *testing.T) {
	const canonical = "default.apps.example.net"
	tests := []struct {
		name, metadata, ingress string
		flags                   []string
		reason                  source.SkipReason
		says                    string
	}{
		{"other namespace", "", entry("x.example.org", "default", canonical, "True"), []string{"--namespace=other"}, source.SkipFiltered, "--namespace"},
		{"other controller", ", annotations: {external-dns.kubernetes.io/controller: other}", "", nil, source.SkipOtherController, "controller"},
		{"nothing yet", "", "", nil, source.SkipNotAccepted, "wait until a router"},
		{"refused", "", entry("x.example.org", "default", canonical, "False"), nil, source.SkipNotAccepted, "Admitted"},
		{"other router", "", entry("x.example.org", "default", canonical, "True"), []string{"--openshift-router-name=public"}, source.SkipNotAccepted, `router "public"`},
		{"no canonical name", "", entry("x.example.org", "default", "", "True"), nil, source.SkipNoTarget, "routerCanonicalHostname"},
		{"no host", "", entry("", "default", canonical, "True"), nil, source.SkipNoHostname, "hostname"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := sourcetest.MustOpen(t, openshiftroute.Plugin(), route(test.metadata, test.ingress), test.flags...).Evaluate(shop)
			sourcetest.WantSkip(t, got, test.reason, test.says)
		})
	}
}

// TestMisspelled shows that the reason of a missing entry doesn't hide the remark about a misspelt
// annotation.
func TestMisspelled(t *testing.T) {
	s := sourcetest.MustOpen(t, openshiftroute.Plugin(), route(", annotations: {external-dns.kubernetes.io/hostnme: x}", ""))
	sourcetest.WantSkip(t, s.Evaluate(shop), source.SkipNotAccepted, "wait until a router", source.SkipUnknownAnnotation)
}

// TestHostile shows that a status with thousands of entries costs no more than one, and that too long names
// are problems.
func TestHostile(t *testing.T) {
	long := strings.Repeat("a", 300)
	refused := make([]string, 5000)
	for i := range refused {
		refused[i] = entry(fmt.Sprint("x-", i), "default", "y", "False")
	}
	hosts := strings.Repeat("h.example.org,", 600)
	for name, test := range map[string]struct {
		metadata, ingress string
		records, problems int
	}{
		"many entries": {"", strings.Join(append(refused, entry("x.example.org", "default", "y.example.net", "True")), ", "), 1, 0},
		"a long host":  {"", entry(long, "default", "y.example.net", "True"), 0, 1},
		"a long name":  {"", entry("x.example.org", "default", long, "True"), 0, 1},
		"many names":   {", annotations: {external-dns.kubernetes.io/hostname: \"" + hosts + "\"}", entry("x.example.org", "default", "y.example.net", "True"), 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := sourcetest.MustOpen(t, openshiftroute.Plugin(), route(test.metadata, test.ingress)).Evaluate(shop)
			if len(got.Records) != test.records || len(got.Problems) != test.problems || got.Err != nil {
				t.Fatalf("%+v, want %d records and %d problems", got, test.records, test.problems)
			}
			for _, p := range got.Problems {
				if len(p.Value) > 80 {
					t.Errorf("a problem quotes %d bytes", len(p.Value))
				}
			}
		})
	}
}

package ambassadorhost_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/ambassadorhost"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) { sourcetest.Main(m, "testdata/crds") }

func TestScenarios(t *testing.T) { sourcetest.Run(t, ambassadorhost.Plugin()) }

func TestRealAPIServer(t *testing.T) { sourcetest.RunReal(t, ambassadorhost.Plugin(), "lifecycle") }

var shop = source.Key{Kind: "Host.getambassador.io", Namespace: "default", Name: "shop"}

// host returns a Host in YAML.
func host(annotations, hostname string) string {
	return fmt.Sprintf("---\napiVersion: getambassador.io/v3alpha1\nkind: Host\nmetadata: {name: shop, annotations: {%s}}\nspec: {hostname: \"%s\"}\n", annotations, hostname)
}

func service(name, ingress string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Service\nmetadata: {name: %s}\nspec: {type: LoadBalancer, ports: [{port: 80}]}\nstatus: {loadBalancer: {ingress: [%s]}}\n", name, ingress)
}

const annotated = "external-dns.ambassador-service: emissary"

// TestWhyNot shows that each Host without records has a reason.
func TestWhyNot(t *testing.T) {
	tests := []struct {
		name, objects, flag string
		reason              source.SkipReason
		says                string
	}{
		{"other namespace", host(annotated, "x.example.org"), "--namespace=other", source.SkipFiltered, "--namespace"},
		{"no annotation", host("", "x.example.org"), "", source.SkipNotPublished, "external-dns.ambassador-service"},
		{"no name", host(annotated, "*"), "", source.SkipNoHostname, "spec.hostname"},
		{"no Service", host(annotated, "x.example.org"), "", source.SkipNotFound, "Service default/emissary"},
		{"no address", host(annotated, "x.example.org") + service("emissary", ""), "", source.SkipNoTarget, "wait"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := sourcetest.MustOpen(t, ambassadorhost.Plugin(), test.objects, strings.Fields(test.flag)...).Evaluate(shop)
			sourcetest.WantSkip(t, got, test.reason, test.says)
		})
	}
}

// TestExternalIPs shows that external IPs of the Service take precedence over its load balancer, as in
// ExternalDNS (peers P4).
func TestExternalIPs(t *testing.T) {
	const fixed = "---\napiVersion: v1\nkind: Service\nmetadata: {name: emissary}\nspec: {type: LoadBalancer, ports: [{port: 80}], externalIPs: [192.0.2.8, 192.0.2.9]}\n"
	for _, status := range []string{"", "status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}\n"} {
		got := sourcetest.MustOpen(t, ambassadorhost.Plugin(), host(annotated, "x.example.org")+fixed+status).Records()
		if !strings.Contains(got, "x.example.org A 192.0.2.8 192.0.2.9") {
			t.Errorf("with %q: got\n%s", status, got)
		}
	}
}

// TestHostile shows that a value beyond a limit is a problem.
func TestHostile(t *testing.T) {
	long := strings.Repeat("a", 600)
	addresses := make([]string, 5000)
	for i := range addresses {
		addresses[i] = fmt.Sprintf("{ip: 10.0.%d.%d}", i/250, i%250)
	}
	for name, test := range map[string]struct {
		objects                    string
		records, targets, problems int
	}{
		"a long name":      {host(annotated, long), 0, 0, 1},
		"a long Service":   {host("external-dns.ambassador-service: "+long, "x.example.org"), 0, 0, 1},
		"an empty Service": {host("external-dns.ambassador-service: a/", "x.example.org"), 0, 0, 1},
		"many targets":     {host(annotated+", external-dns.kubernetes.io/target: \""+strings.Repeat("a.example.net,", 300)+"\"", "x.example.org"), 1, 1, 1},
		"many addresses":   {host(annotated, "x.example.org") + service("emissary", strings.Join(addresses, ", ")), 1, 256, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := sourcetest.MustOpen(t, ambassadorhost.Plugin(), test.objects).Evaluate(shop)
			if len(got.Records) != test.records || len(got.Problems) != test.problems || got.Err != nil {
				t.Fatalf("%+v, want %d records and %d problems", got, test.records, test.problems)
			}
			if test.records > 0 && len(got.Records[0].Targets) != test.targets {
				t.Errorf("%d targets, want %d", len(got.Records[0].Targets), test.targets)
			}
			for _, p := range got.Problems {
				if len(p.Value) > 80 {
					t.Errorf("a problem quotes %d bytes", len(p.Value))
				}
			}
		})
	}
}

// TestWaits shows that a Host has no problem at the start, before its Service was read.
func TestWaits(t *testing.T) {
	sourcetest.Waits(t, ambassadorhost.Plugin(), "services", host(annotated, "x.example.org")+service("emissary", "{ip: 192.0.2.1}"),
		"default/shop", "service", "x.example.org A 192.0.2.1")
}

// TestRandomChanges shows that each Host whose records change is evaluated again: Apply and Delete compare
// the records before and after.
func TestRandomChanges(t *testing.T) {
	t.Parallel()
	d := rand.New(rand.NewPCG(3, 0))
	pick := func(of ...string) string { return of[d.IntN(len(of))] }
	sourcetest.RandomChanges(t, ambassadorhost.Plugin(), 100, 20, func(s *sourcetest.Fixture, step int) {
		if d.IntN(2) == 0 {
			s.Apply(host(pick("", annotated, annotated, "external-dns.ambassador-service: default/other", annotated+", external-dns.kubernetes.io/target: 192.0.2.9"), pick("x.example.org", "y.example.org", "*")))
		} else {
			s.Apply(service(pick("emissary", "other"), pick("", "{ip: 192.0.2.1}", "{hostname: lb.example.net}")))
		}
		if step%10 == 9 {
			s.Apply(service("emissary", "{ip: 192.0.2.3}"))
			s.Delete("Service", source.Key{Namespace: "default", Name: "emissary"})
		}
	})
}

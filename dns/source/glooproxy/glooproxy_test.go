package glooproxy_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/glooproxy"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) { sourcetest.Main(m, "testdata/crds") }

func TestScenarios(t *testing.T) { sourcetest.Run(t, glooproxy.Plugin()) }

func TestRealAPIServer(t *testing.T) { sourcetest.RunReal(t, glooproxy.Plugin(), "real") }

var edge = source.Key{Kind: "Proxy.gloo.solo.io", Namespace: "gloo-system", Name: "edge"}

// object returns an object of Gloo in YAML; its parts are in one line each.
func object(kind, metadata, spec string) string {
	group := "gateway.solo.io"
	if kind == "Proxy" {
		group = "gloo.solo.io"
	}
	return fmt.Sprintf("---\napiVersion: %s/v1\nkind: %s\nmetadata: {namespace: gloo-system, name: %s}\nspec: {%s}\n", group, kind, metadata, spec)
}

func service(spec, status string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Service\nmetadata: {namespace: gloo-system, name: edge}\nspec: {%s}\nstatus: {loadBalancer: {ingress: [%s]}}\n", spec, status)
}

// from returns metadata that names objects of a kind.
func from(kind string, names ...string) string {
	sources := make([]string, len(names))
	for i, name := range names {
		sources[i] = fmt.Sprintf(`{resourceKind: "*v1.%s", resourceRef: {namespace: gloo-system, name: %s}}`, kind, name)
	}
	return "metadataStatic: {sources: [" + strings.Join(sources, ", ") + "]}"
}

func host(metadata string, domains ...string) string {
	return "{domains: [" + strings.Join(domains, ",\n  ") + "], " + metadata + "}"
}

func listeners(metadata string, hosts ...string) string {
	return "listeners: [{httpListener: {virtualHosts: [" + strings.Join(hosts, ", ") + "]}, " + metadata + "}]"
}

const balanced = "type: LoadBalancer"

// TestWhyNot shows that each Proxy without records has a reason.
func TestWhyNot(t *testing.T) {
	one := listeners("name: l", host("name: h", "x.example.org"))
	tests := []struct {
		name, metadata, spec, service string
		flags                         []string
		reason                        source.SkipReason
		says                          string
	}{
		{"other namespace", "edge", one, "", []string{"--gloo-namespace=other"}, source.SkipFiltered, "--gloo-namespace"},
		{"other controller", "edge, annotations: {external-dns.kubernetes.io/controller: other}", one, "", nil, source.SkipOtherController, "controller"},
		{"no domain", "edge", listeners("name: l", host("name: h", `"*"`)), service(balanced, "{ip: 192.0.2.1}"), nil, source.SkipNoHostname, "VirtualService"},
		{"compressed", "edge", "compressedSpec: eJy", service(balanced, "{ip: 192.0.2.1}"), nil, source.SkipNotPublished, "compress"},
		{"no load balancer", "edge", one, service("type: ClusterIP", "{ip: 192.0.2.1}"), nil, source.SkipNoTarget, "Service gloo-system/edge"},
		{"no address", "edge", one, service(balanced, ""), nil, source.SkipNoTarget, "wait"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := sourcetest.MustOpen(t, glooproxy.Plugin(), object("Proxy", test.metadata, test.spec)+test.service, test.flags...).Evaluate(edge)
			sourcetest.WantSkip(t, got, test.reason, test.says)
		})
	}
}

// many returns n texts.
func many(n int, format string) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(format, i)
	}
	return list
}

// TestHostile shows that a Proxy with too many domains and references is reported and evaluated in time, and
// one with a VirtualService with a wrong annotation too.
func TestHostile(t *testing.T) {
	objects := service(balanced, "{ip: 192.0.2.1}, {ip: 192.0.2.2}") + object("VirtualService", "shop, annotations: {external-dns.kubernetes.io/ttl: soon}", "")
	for i := range 64 {
		objects += object("Gateway", fmt.Sprint("g-", i), "")
	}
	fixture := sourcetest.MustOpen(t, glooproxy.Plugin(), objects)
	fixture.Apply(object("Proxy", "edge", listeners(from("Gateway", many(100, "g-%d")...),
		host(from("VirtualService", "shop"), append(many(17000, "d-%d.example.org"), strings.Repeat("a", 300)+".example.org")...))))
	start := time.Now()
	got := fixture.Evaluate(edge)
	if took := time.Since(start); took > time.Minute { // mostly the comparison of both, under the race detector
		t.Errorf("two evaluations took %s", took)
	}
	if len(got.Records) != 16384 || len(got.Records[0].Targets) != 2 || got.Err != nil {
		t.Errorf("%d records, error %v", len(got.Records), got.Err)
	}
	all := fmt.Sprint(got.Problems)
	for _, want := range []string{"this Gateway isn't used", "more problems"} {
		if len(got.Problems) > 20 || !strings.Contains(all, want) {
			t.Errorf("problems %.2000s, want one that says %q", all, want)
		}
	}
	fixture.Apply(object("Proxy", "edge", listeners("name: l", host(from("VirtualService", "shop"), append(many(17000, "d-%d.example.org"), strings.Repeat("a", 300)+".example.org")...))))
	want := []string{"domains: too long for a name of DNS; shorten it", "spec.listeners: 17000 items: the first 16384 are used; shorten the list", "external-dns.kubernetes.io/ttl of VirtualService gloo-system/shop: "}
	got = fixture.Evaluate(edge)
	for i, text := range want {
		if len(got.Problems) != len(want) || !strings.HasPrefix(got.Problems[i].Subject+": "+got.Problems[i].Reason, text) {
			t.Fatalf("problems %+v, want %q", got.Problems, want)
		}
	}
}

// TestWaits shows that a Proxy has no problem at the start, before its dependencies were read.
func TestWaits(t *testing.T) {
	objects := object("Proxy", "edge", listeners("name: l", host(from("VirtualService", "shop"), "x.example.org"))) +
		object("VirtualService", "shop", "") + service(balanced, "{ip: 192.0.2.1}")
	sourcetest.Waits(t, glooproxy.Plugin(), "virtualservices", objects, "gloo-system/edge", "gloovirtualservice", "x.example.org A 192.0.2.1")
}

// TestRandomChanges shows that each Proxy whose records change is evaluated again: Apply and Delete compare
// the records before and after.
func TestRandomChanges(t *testing.T) {
	t.Parallel()
	d := rand.New(rand.NewPCG(2, 0))
	pick := func(of ...string) string { return of[d.IntN(len(of))] }
	draw := func() string {
		switch d.IntN(5) {
		case 0:
			return object("VirtualService", pick("shop", "docs")+pick("", ", annotations: {external-dns.kubernetes.io/ttl: 1m}", ", annotations: {external-dns.kubernetes.io/ttl: 2m}"), "")
		case 1:
			return object("Gateway", pick("a", "b")+pick("", "", ", annotations: {external-dns.kubernetes.io/ingress: front}"), "")
		case 2:
			return service(pick(balanced, balanced, "type: ClusterIP"), pick("{ip: 192.0.2.1}", "{ip: 192.0.2.2}", "{hostname: lb.example.net}"))
		case 3:
			return "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {namespace: gloo-system, name: front}\nstatus: {loadBalancer: {ingress: [{ip: " + pick("203.0.113.1", "203.0.113.2") + "}]}}\n"
		}
		return object("Proxy", "edge"+pick("", "", ", annotations: {external-dns.kubernetes.io/target: 198.51.100.1}", ", annotations: {external-dns.kubernetes.io/controller: other}"),
			listeners(from("Gateway", pick("a", "b")), host(from("VirtualService", pick("shop", "docs")), pick("x.example.org", `"*"`, "y.example.org"))))
	}
	sourcetest.RandomChanges(t, glooproxy.Plugin(), 150, 20, func(s *sourcetest.Fixture, step int) {
		s.Apply(draw())
		if step%20 == 19 {
			s.Apply(object("Gateway", "a", ""))
			s.Delete("Gateway.gateway.solo.io", source.Key{Namespace: "gloo-system", Name: "a"})
		}
	})
}

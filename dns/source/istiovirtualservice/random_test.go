package istiovirtualservice_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/istiovirtualservice"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

// drawn draws objects with few names, so that most changes have an effect.
type drawn struct{ *rand.Rand }

func pick[T any](d drawn, of ...T) T { return of[d.IntN(len(of))] }

func (d drawn) namespace() string { return pick(d, "a", "b") }

// object draws an object of any kind.
func (d drawn) object() string {
	in := "namespace: " + d.namespace() + ", name: "
	switch d.IntN(5) {
	case 0:
		return fmt.Sprintf("---\napiVersion: v1\nkind: Service\nmetadata: {%s%s}\nspec: {selector: {%s}, externalIPs: [192.0.2.%d], ports: [{port: 80}]}\n",
			in, pick(d, "one", "two"), pick(d, "istio: a", "istio: b", "istio: a, tier: x", ""), d.IntN(3))
	case 1:
		return fmt.Sprintf("---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {%sfront}\nstatus: {loadBalancer: {ingress: [{ip: 198.51.100.%d}]}}\n", in, d.IntN(2))
	case 2, 3:
		annotations := pick(d, "", "", "", ", annotations: {external-dns.kubernetes.io/ingress: "+pick(d, "front", "a/front", "a/b/c")+"}",
			", annotations: {external-dns.kubernetes.io/target: 203.0.113.1}")
		return object("Gateway", in+pick(d, "edge", "back")+annotations, fmt.Sprintf(`selector: {%s}, servers: [{hosts: ["%s", "%s"]}]`,
			pick(d, "istio: a", "istio: b", "", "istio: a, tier: x"), pick(d, "*", "./*", "b/*"), pick(d, "*.example.org", "x.example.org", "a/*.example.org")))
	}
	annotations := pick(d, "", "", "", ", annotations: {external-dns.kubernetes.io/target: 203.0.113.2}", ", annotations: {external-dns.kubernetes.io/controller: other}")
	return object("VirtualService", in+pick(d, "shop", "docs")+annotations, fmt.Sprintf(`hosts: [%s], gateways: [%s, %s], exportTo: [%s]`,
		pick(d, "x.example.org", `"*", y.example.org`, "x.example.net"), pick(d, "edge", "a/edge", "mesh"), pick(d, "back", "b/edge", "b/missing"), pick(d, "", "", `"*"`, ".", "a")))
}

// TestRandomChanges shows that each VirtualService whose records change is evaluated again: Apply and Delete
// compare all records before and after.
func TestRandomChanges(t *testing.T) {
	for i, flags := range [][]string{nil, {"--fqdn-template={{.Name}}.example.org"}, {"--namespace=a"}} {
		for seed := range uint64(2 - i/2) {
			t.Run(fmt.Sprint(flags, seed), func(t *testing.T) {
				t.Parallel()
				d := drawn{rand.New(rand.NewPCG(seed, 0))}
				sourcetest.RandomChanges(t, istiovirtualservice.Plugin(), 60, 30, func(s *sourcetest.Fixture, step int) {
					s.Apply(d.object())
					if step%15 == 14 {
						s.Apply(object("Gateway", "namespace: a, name: edge", `servers: [{hosts: ["*"]}]`))
						s.Delete("Gateway.networking.istio.io", source.Key{Namespace: "a", Name: "edge"})
					}
				}, flags...)
			})
		}
	}
}

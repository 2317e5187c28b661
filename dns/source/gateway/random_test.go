package gateway_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/gateway"
	"github.com/signpostd/signpost/testkit/longtest"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

// drawn draws objects with few names, so that most changes have an effect.
type drawn struct{ *rand.Rand }

func pick[T any](d drawn, of ...T) T { return of[d.IntN(len(of))] }

func (d drawn) namespace() string { return pick(d, "a", "b") }

func (d drawn) from() string {
	return pick(d, "from: Same", "from: All", "from: None", "from: Selector, selector: {matchLabels: {team: x}}", "from: Selector, selector: {matchLabels: {team: x}}",
		"from: Selector, selector: {matchExpressions: [{key: team, operator: DoesNotExist}]}")
}

func (d drawn) listener(name string) string {
	l := fmt.Sprintf(`{name: %s, port: %d, protocol: %s, hostname: "%s"}`, name, pick(d, 80, 81), pick(d, "HTTP", "HTTP", "HTTPS", "TCP"),
		pick(d, "", "*.example.org", "*.b.example.org"))
	return in(l, d.from())
}

func (d drawn) annotations() string {
	return pick(d, "", "", "", "", fmt.Sprintf(", annotations: {%starget: 192.0.2.%d}", prefix, 100+d.IntN(2)), ", annotations: {"+prefix+"controller: other}")
}

func (d drawn) accepted() string {
	return pick(d, `"True"`, `"True"`, `"True"`, `"True"`, `"True"`, `"False"`)
}

// object draws an object of any kind.
func (d drawn) object() string {
	condition := func() string { return "conditions: [{type: Accepted, status: " + d.accepted() + "}]" }
	metadata := "namespace: " + d.namespace() + ", name: "
	switch d.IntN(5) {
	case 0:
		return namespace(d.namespace(), pick(d, "", "team: x", "team: x"))
	case 1:
		const one, other = "addresses: [{value: 192.0.2.1}]", "addresses: [{value: 192.0.2.2}]"
		spec := "allowedListeners: {namespaces: {" + d.from() + "}}, listeners: [" + d.listener("web") + ", " + d.listener("more") + "]"
		return object("Gateway", metadata+"edge"+d.annotations(), spec, pick(d, "", one, one, other))
	case 2:
		spec := "parentRef: {namespace: " + d.namespace() + ", name: edge}, listeners: [" + d.listener("web") + "]"
		return object("ListenerSet", metadata+"set"+d.annotations(), spec, condition()+", listeners: [{name: web, "+condition()+"}]")
	}
	parent := func() string {
		return "namespace: " + d.namespace() + pick(d, ", kind: ListenerSet, name: set", ", kind: ListenerSet, name: set", ", name: edge", ", name: edge, sectionName: web", ", name: edge, port: 80")
	}
	one, other := parent(), parent()
	return object("HTTPRoute", metadata+pick(d, "shop", "docs")+d.annotations(),
		"hostnames: ["+pick(d, "", "shop.example.org", `"*.example.org", x.b.example.org`)+"], parentRefs: [{"+one+"}, {"+other+"}]",
		"parents: [{parentRef: {"+one+"}, "+condition()+"}, {parentRef: {"+other+"}, "+condition()+"}]")
}

// TestRandomChanges shows that each route whose records change is evaluated again: Apply and Delete compare
// the records of all routes before and after.
func TestRandomChanges(t *testing.T) {
	for seed := range uint64(longtest.Rounds(4)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			d := drawn{rand.New(rand.NewPCG(seed, 0))}
			sourcetest.RandomChanges(t, gateway.HTTPRoute(), 140, 20, func(s *sourcetest.Fixture, step int) {
				// The first steps make objects of all kinds.
				if step > 40 && step%15 == 14 {
					remove(s, d)
				}
				s.Apply(d.object())
			}, "--gateway-listener-sets")
		})
	}
}

// remove deletes a Gateway, which it creates first if necessary.
func remove(s *sourcetest.Fixture, d drawn) {
	of := d.namespace()
	s.Apply(gw("namespace: "+of+", name: edge", "192.0.2.1", in(open, "from: All")))
	s.Delete("Gateway.gateway.networking.k8s.io", source.Key{Namespace: of, Name: "edge"})
}

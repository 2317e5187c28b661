package service

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/longtest"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

// drawn draws objects with few names, so that most changes have an effect.
type drawn struct{ *rand.Rand }

func (d drawn) pick(of ...string) string { return of[d.IntN(len(of))] }

// service draws a Service with random dependencies.
func (d drawn) service() string {
	annotations := d.pick("P/hostname: foo.example.org", "P/hostname: foo.example.org", "P/internal-hostname: in.example.org", "") +
		d.pick("", "", ", P/target: 9.9.9.9") + d.pick("", ", P/endpoints-type: NodeExternalIP", ", P/endpoints-type: HostIP") +
		d.pick("", "", ", P/access: private") + d.pick("", "", ", dns.alpha.kubernetes.io/internal: kops.example.org")
	spec := d.pick("clusterIP: None", "clusterIP: None", "type: NodePort", "type: NodePort, externalTrafficPolicy: Local",
		"type: NodePort, externalTrafficPolicy: Local", "type: LoadBalancer, clusterIP: 10.0.0.9") +
		d.pick(", selector: {app: foo}", ", selector: {app: foo, tier: a}", ", selector: {tier: a}", "")
	return strings.Replace(specified(strings.TrimPrefix(annotations, ", "), spec), "name: foo", "name: "+d.pick("foo", "bar"), 1)
}

func (d drawn) pod() string {
	return withPrefix(fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {namespace: testing, name: %s, labels: {%s}, annotations: {%s}}\nspec: {nodeName: %s%s}\nstatus: {%s%s}\n",
		d.pick("a", "b", "c"), d.pick("app: foo", "app: foo, tier: a", "tier: a", "app: bar", ""), d.pick("", "", "P/target: 8.8.8.8"),
		d.pick("node1", "node2", `""`), d.pick("", ", hostname: h1", ", hostname: h2"),
		d.pick(isReady, isReady, isNotReady, "phase: Pending", "phase: Succeeded"), d.pick("", ", hostIP: 10.0.1.1", ", hostIP: 10.0.1.2")))
}

func (d drawn) slice() string {
	end := func() string {
		ready := []func(address, pod string) string{at, notReadyAt}[d.IntN(2)]
		return ready(d.pick("10.1.0.1", "10.1.0.2"), d.pick("a", "b", "c"))
	}
	return strings.Replace(sliceOf(d.pick("s", "t"), "IPv4", end(), end()), "service-name: foo", "service-name: "+d.pick("foo", "bar"), 1)
}

func (d drawn) node() string {
	return fmt.Sprintf("apiVersion: v1\nkind: Node\nmetadata: {name: %s, labels: {%s}}\nspec: {unschedulable: %s}\nstatus: {addresses: [{type: %s, address: %s}]}\n",
		d.pick("node1", "node2"), d.pick("", roleLabel+`: ""`), d.pick("false", "false", "true"),
		d.pick("ExternalIP", "InternalIP"), d.pick("54.10.11.1", "10.0.1.2"))
}

// TestRandomChanges shows that each Service whose records change is evaluated again: Apply and Delete compare
// the records of all Services before and after.
func TestRandomChanges(t *testing.T) {
	for seed := range uint64(longtest.Rounds(4)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			d := drawn{rand.New(rand.NewPCG(seed, 0))}
			sourcetest.RandomChanges(t, Plugin(), 150, 20, func(s *sourcetest.Fixture, step int) {
				draw := []func() string{d.service, d.pod, d.pod, d.slice, d.node}
				s.Apply(draw[d.IntN(len(draw))]())
				if step%10 == 9 {
					s.Apply(podOf("a", "node1", isReady) + twoNodes)
					s.Delete("Pod", source.Key{Namespace: "testing", Name: "a"})
					s.Delete("Node", source.Key{Name: "node1"})
				}
			}, "--compatibility=kops-dns-controller")
		})
	}
}

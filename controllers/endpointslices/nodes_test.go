package endpointslices

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	fakediscovery "k8s.io/client-go/kubernetes/typed/discovery/v1/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// running is a controller without a cluster that leads, under synctest.
type running struct {
	*testing.T
	*Controller
	exist map[string]*watched.Node
	// stop ends the term.
	stop func()
}

func run(t *testing.T) *running {
	t.Helper()
	return runController(t, bare())
}

func runController(t *testing.T, c *Controller) *running {
	t.Helper()
	r := &running{T: t, Controller: c, exist: map[string]*watched.Node{}}
	r.o.Client.(*fakediscovery.FakeDiscoveryV1).PrependReactor("*", "endpointslices", versioned())
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Controller.Run(ctx)
	}()
	r.stop = func() {
		stop()
		<-done
	}
	t.Cleanup(r.stop)
	synctest.Wait()
	return r
}

// versioned sets UIDs and versions of written objects, as an API server does.
func versioned() clienttesting.ReactionFunc {
	var writes atomic.Int64
	return func(a clienttesting.Action) (bool, runtime.Object, error) {
		if w, ok := a.(interface{ GetObject() runtime.Object }); ok {
			e := w.GetObject().(*discoveryv1.EndpointSlice)
			e.UID, e.ResourceVersion = types.UID(e.Name), strconv.FormatInt(writes.Add(1), 10)
		}
		return false, nil, nil
	}
}

// node creates or changes a node as the table of nodes does.
func (r *running) node(n watched.Node) {
	old := r.exist[n.Name]
	r.exist[n.Name] = &n
	r.NodeChanged(old, &n)
	synctest.Wait()
}

func (r *running) deleteNode(name string) {
	r.NodeChanged(r.exist[name], nil)
	delete(r.exist, name)
	synctest.Wait()
}

// service creates or changes a Service.
func (r *running) service(edits ...func(*corev1.Service)) {
	s := service(0)
	s.Spec.TrafficDistribution = nil
	for _, edit := range edits {
		edit(s)
	}
	r.o.Pods.PutService(s)
	r.ServiceChanged(reconcile.Key{Namespace: s.Namespace, Name: s.Name})
	synctest.Wait()
}

// pod creates a pod of the Service on a node.
func (r *running) pod(n int, node string) {
	name := fmt.Sprint("pod-", n)
	ip := fmt.Sprint("10.0.0.", n)
	r.o.Pods.Put(&watched.Pod{
		Namespace: "ns", Name: name, UID: name, Labels: objectmeta.NewLabels(map[string]string{"app": "web-0"}), Node: node, IP: ip, IPs: []string{ip},
		Ready: corev1.ConditionTrue, ReadySince: time.Unix(1, 0),
	})
}

// endpoints formats the endpoints of the Service in the API server, with their zones and hints.
func (r *running) endpoints() string {
	r.Helper()
	list, err := r.o.Client.EndpointSlices("ns").List(r.Context(), metav1.ListOptions{})
	if err != nil {
		r.Fatal(err)
	}
	var words []string
	for _, s := range list.Items {
		for _, e := range s.Endpoints {
			word := e.Addresses[0] + "@" + ptr.Deref(e.Zone, "")
			if e.Hints != nil {
				word += ">" + e.Hints.ForZones[0].Name
			}
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

func (r *running) want(want string) {
	r.Helper()
	if got := r.endpoints(); got != want {
		r.Errorf("the endpoints are %q, want %q", got, want)
	}
}

// actions returns the requests so far.
func (r *running) actions() []clienttesting.Action {
	return r.o.Client.(*fakediscovery.FakeDiscoveryV1).Actions()
}

func isWrite(a clienttesting.Action) bool { return a.GetVerb() != "list" && a.GetVerb() != "get" }

func ready(name, zone string) watched.Node {
	return watched.Node{Name: name, Zone: zone, Ready: true, MilliCPU: 1000}
}

func auto(s *corev1.Service) {
	s.Annotations = map[string]string{corev1.AnnotationTopologyMode: "Auto"}
}

// The deletion of a Node doesn't remove its running pods from slices within orphanGrace. It emptied the
// slices at once (controllers N1).
func TestDeletedNodeChangesNoSliceWithinOrphanGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t)
		r.node(ready("a", "z1"))
		r.node(ready("b", "z2"))
		r.pod(1, "a")
		r.pod(2, "a")
		r.pod(3, "b")
		r.pod(4, "b")
		r.service(auto)
		const before = "10.0.0.1@z1>z1 10.0.0.2@z1>z1 10.0.0.3@z2>z2 10.0.0.4@z2>z2"
		r.want(before)
		writes := len(r.actions())

		r.deleteNode("a")
		r.want(before)
		time.Sleep(orphanGrace - time.Second)
		r.service(auto) // a sync for any other reason
		r.want(before)
		r.node(watched.Node{Name: "a"}) // its zone, condition and CPU follow
		r.service(auto)
		r.want(before)
		r.node(ready("a", "z1"))
		time.Sleep(2 * orphanGrace)
		r.service(auto)
		r.want(before)
		if made := r.actions()[writes:]; slices.ContainsFunc(made, isWrite) {
			t.Error("there were writes")
		}

		r.deleteNode("a")
		time.Sleep(orphanGrace)
		r.service()
		r.want("10.0.0.3@z2 10.0.0.4@z2")
	})
}

// A Node that is recreated in another zone changes its zone at once.
func TestNodeRecreatedInAnotherZone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t)
		r.node(ready("a", "z1"))
		r.pod(1, "a")
		r.service()
		r.deleteNode("a")
		if moved := r.nodes.changed(nil, &watched.Node{Name: "a", Zone: "z3"}); !moved {
			t.Error("a recreated node in another zone kept the old zone")
		}
		r.service()
		r.want("10.0.0.1@z3")
	})
}

// Hints return when the zone of a node becomes known. One node without a zone removed the hints of all
// Services for good (controllers N2).
func TestHintsReturnWhenTheZoneOfANodeIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t)
		r.node(ready("a", "z1"))
		r.node(ready("b", "z2"))
		r.pod(1, "a")
		r.pod(2, "b")
		r.service(auto)
		r.want("10.0.0.1@z1>z1 10.0.0.2@z2>z2")
		r.node(watched.Node{Name: "c", Ready: true, MilliCPU: 10})
		r.want("10.0.0.1@z1 10.0.0.2@z2")
		r.node(watched.Node{Name: "c", Zone: "z1", Ready: true, MilliCPU: 10})
		r.want("10.0.0.1@z1>z1 10.0.0.2@z2>z2")
	})
}

// A Node that was deleted before the start of this process counts with the zone of its endpoints.
func TestNodesMissingAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNodes()
		n.assume([]*watched.Node{{Name: "gone", Zone: "z1"}})
		if got := n.node("gone"); got == nil || cmp.Or(got.Zone, "none") != "z1" {
			t.Errorf("node gone is %v, want it in z1", got)
		}
		n.changed(nil, &watched.Node{Name: "a", Zone: "z1", Ready: true, MilliCPU: 1})
		n.changed(nil, &watched.Node{Name: "b", Zone: "z2", Ready: true, MilliCPU: 1})
		if cpus := cpuByZone(n.all()); cpus["z1"] != 1 || cpus["z2"] != 1 {
			t.Errorf("the CPUs are %v, want those of the nodes that exist", cpus)
		}
		time.Sleep(orphanGrace)
		if got := n.node("gone"); got != nil {
			t.Errorf("node gone is %v after %v, want none", got, orphanGrace)
		}
		if wake := n.expire(); wake != 0 {
			t.Errorf("deleted nodes remain after %v", wake)
		}
	})
}

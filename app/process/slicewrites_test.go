package process

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/endpointslice"
	"k8s.io/endpointslice/util"
	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/controllers/endpointslices"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

// sliceWrites is an API server for the library that the controllers write EndpointSlices with. It
// keeps the writes until a watch has delivered them.
type sliceWrites struct {
	kubernetes.Interface
	discoveryclient.DiscoveryV1Interface
	discoveryclient.EndpointSliceInterface

	made    int
	stored  map[string]*discoveryv1.EndpointSlice
	pending []*discoveryv1.EndpointSlice
}

func (w *sliceWrites) DiscoveryV1() discoveryclient.DiscoveryV1Interface            { return w }
func (w *sliceWrites) EndpointSlices(string) discoveryclient.EndpointSliceInterface { return w }
func (w *sliceWrites) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	panic(name)
}

func (w *sliceWrites) Create(_ context.Context, e *discoveryv1.EndpointSlice, _ metav1.CreateOptions) (*discoveryv1.EndpointSlice, error) {
	w.made++
	e.Name = fmt.Sprint("web-", w.made)
	return w.write(e), nil
}

func (w *sliceWrites) Update(_ context.Context, e *discoveryv1.EndpointSlice, _ metav1.UpdateOptions) (*discoveryv1.EndpointSlice, error) {
	return w.write(e), nil
}

func (w *sliceWrites) write(e *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	e = e.DeepCopy()
	w.stored[e.Name] = e
	w.pending = append(w.pending, e)
	return e
}

// dualStack is a dual-stack Service with two zones, its slice writer, and a catalog that follows it.
type dualStack struct {
	writes     *sliceWrites
	reconciler *endpointslice.Reconciler
	service    *corev1.Service
	pods       []*corev1.Pod
	// known is what the watches have delivered.
	known map[catalog.ID]catalog.Object
	seen  map[string]*discoveryv1.EndpointSlice
}

func newDualStack(distribution string) *dualStack {
	d := &dualStack{
		writes: &sliceWrites{stored: map[string]*discoveryv1.EndpointSlice{}},
		service: &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web"},
			Spec: corev1.ServiceSpec{
				ClusterIP: "10.96.0.1", ClusterIPs: []string{"10.96.0.1", "fd00:96::1"}, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol},
				Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080), Protocol: corev1.ProtocolTCP}},
				TrafficDistribution: &distribution,
			},
		},
		known: map[catalog.ID]catalog.Object{}, seen: map[string]*discoveryv1.EndpointSlice{},
	}
	nodes := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	for i := range 3 {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), Labels: map[string]string{corev1.LabelTopologyZone: zoneOf(i)}}}
		_ = nodes.Add(node)
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("web-", i), UID: types.UID(fmt.Sprint(i)), Labels: d.service.Spec.Selector},
			Spec:       corev1.PodSpec{NodeName: node.Name},
			Status: corev1.PodStatus{
				Phase: corev1.PodRunning, PodIP: fmt.Sprint("10.0.0.", i+1),
				PodIPs:     []corev1.PodIP{{IP: fmt.Sprint("10.0.0.", i+1)}, {IP: fmt.Sprint("fd00::", i+1)}},
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			},
		}
		d.pods = append(d.pods, pod)
		w, _ := kinds.Pods().Trim(kube.NewScope(catalog.LocalCluster), pod)
		d.known[w.ID()] = w
	}
	s, _ := kinds.Services().Trim(kube.NewScope(catalog.LocalCluster), d.service)
	d.known[s.ID()] = s
	d.reconciler = endpointslice.NewReconciler(d.writes, corelisters.NewNodeLister(nodes), 100, util.NewEndpointSliceTracker(), nil,
		&record.FakeRecorder{}, endpointslices.ManagedBy, endpointslice.WithPreferSameTrafficDistributionEnabled(true))
	return d
}

// zoneOf returns the zone of a node: the first one is alone in its zone.
func zoneOf(node int) string { return fmt.Sprint("zone-", min(node, 1)) }

// setReady changes a pod, and writes the slices anew.
func (d *dualStack) setReady(t *rapid.T, pod int, status corev1.ConditionStatus) {
	d.pods[pod].Status.Conditions[0].Status = status
	var existing []*discoveryv1.EndpointSlice
	for _, e := range d.writes.stored {
		existing = append(existing, e.DeepCopy())
	}
	if err := d.reconciler.Reconcile(klog.Logger{}, d.service, d.pods, existing, time.Time{}); err != nil {
		t.Fatal(err)
	}
}

// deliver has the catalog learn of one of the writes. Those of one slice keep their order.
func (d *dualStack) deliver(t *rapid.T) {
	at := rapid.IntRange(0, len(d.writes.pending)-1).Draw(t, "write")
	for i, e := range d.writes.pending {
		if e.Name == d.writes.pending[at].Name {
			at = i
			break
		}
	}
	e := d.writes.pending[at]
	d.writes.pending = append(d.writes.pending[:at], d.writes.pending[at+1:]...)
	d.seen[e.Name] = e
	s, _ := kinds.EndpointSlices().Trim(kube.NewScope(catalog.LocalCluster), e)
	d.known[s.ID()] = s
}

// hasReady reports whether a slice that was delivered has a ready endpoint of the families.
func (d *dualStack) hasReady(ipv6 bool) bool {
	for _, e := range d.seen {
		for _, endpoint := range e.Endpoints {
			if *endpoint.Conditions.Ready && (ipv6 || e.AddressType == discoveryv1.AddressTypeIPv4) {
				return true
			}
		}
	}
	return false
}

// endpointsFor returns the number of endpoints in the response to a client on a node.
func (d *dualStack) endpointsFor(node int, ipv6 bool) int {
	known := catalog.New(catalog.Options{})
	for _, v := range d.known {
		known.Put(v)
	}
	known.MarkSynced()
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = known.Run(ctx) })
	<-known.Synced()
	stop()
	running.Wait()
	s := known.Service(catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: "shop", Name: "web"})
	filter := s.Filters().For(catalog.Client{Node: fmt.Sprint("n", node), Zone: zoneOf(node)})
	return len(catalog.Resolve(s, catalog.Query{Port: 80, Filter: filter, IPv6: ipv6}).Endpoints)
}

// For any order of writes and reads of the slices of both families, no client is left without
// endpoints while a family that it may use has a ready one (mesh F2).
func TestNoEmptySetBetweenSlices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDualStack(rapid.SampledFrom([]string{"PreferSameZone", "PreferSameNode", "PreferClose"}).Draw(t, "distribution"))
		d.setReady(t, 0, corev1.ConditionFalse)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			if len(d.writes.pending) == 0 || rapid.IntRange(0, 2).Draw(t, "change") == 0 {
				pod := rapid.IntRange(0, len(d.pods)-1).Draw(t, "pod")
				d.setReady(t, pod, rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}).Draw(t, "ready"))
				continue
			}
			d.deliver(t)
			for node := range d.pods {
				for _, ipv6 := range []bool{false, true} {
					if d.hasReady(ipv6) && d.endpointsFor(node, ipv6) == 0 {
						t.Fatalf("a client on node %d (IPv6 %v) has no endpoints, and there are ready ones", node, ipv6)
					}
				}
			}
		}
	})
}

package endpointslices

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/endpointslice"
	"k8s.io/endpointslice/util"
	"k8s.io/klog/v2"

	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/controllers/slices"
	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/internal/leader"
)

// recorder is a client that records the slices that the library creates.
type recorder struct {
	kubernetes.Interface
	slices *recordedSlices
}

func (c recorder) DiscoveryV1() discoveryclient.DiscoveryV1Interface {
	return recorderOfSlices{slices: c.slices}
}

type recorderOfSlices struct {
	discoveryclient.DiscoveryV1Interface
	slices *recordedSlices
}

func (c recorderOfSlices) EndpointSlices(string) discoveryclient.EndpointSliceInterface {
	return c.slices
}

type recordedSlices struct {
	discoveryclient.EndpointSliceInterface
	list []*discoveryv1.EndpointSlice
}

func (s *recordedSlices) Create(_ context.Context, e *discoveryv1.EndpointSlice, _ metav1.CreateOptions) (*discoveryv1.EndpointSlice, error) {
	s.list = append(s.list, e)
	return e, nil
}

// pods returns two pods with all fields that endpoints depend on.
func pods(host string) []*watched.Pod {
	pod := func(name, ip string) *watched.Pod {
		return &watched.Pod{
			Namespace: "ns-" + host, Name: name + host, UID: name + host, Node: "node-" + host, Hostname: name + host, Subdomain: "web",
			IP: ip, IPs: []string{ip}, Ports: []watched.ContainerPort{{Name: "http", Number: 80, Protocol: corev1.ProtocolTCP}},
			Ready: corev1.ConditionTrue, ReadySince: time.Unix(1, 0),
		}
	}
	return []*watched.Pod{pod("a", "10.0.0.1"), pod("b", "10.0.0.2")}
}

// A written slice doesn't change when the memory of its pods is reused.
func TestWrittenSlicesAreDetachedFromPods(t *testing.T) {
	made := &recordedSlices{}
	reconciler := endpointslice.NewReconciler(recorder{slices: made}, newNodes(), 100, util.NewEndpointSliceTracker(), nil, &record.FakeRecorder{}, ManagedBy)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns-x", Name: "web"},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true,
		},
	}
	var before []*discoveryv1.EndpointSlice
	err := watched.WithObjects(pods("x"), func(objects []*corev1.Pod) error {
		if err := reconciler.Reconcile(klog.Logger{}, service, objects, nil, time.Time{}); err != nil {
			return err
		}
		for _, e := range made.list {
			detach(e)
			before = append(before, e.DeepCopy())
		}
		// The next sync overwrites the same objects.
		for i, p := range pods("other") {
			other := objects[i]
			*other = corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Spec: corev1.PodSpec{NodeName: p.Node, Hostname: p.Hostname}}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(before) != 1 || len(before[0].Endpoints) != 2 || before[0].Endpoints[0].Hostname == nil {
		t.Fatalf("made %v, want one slice with two endpoints that have hostnames", before)
	}
	if diff := cmp.Diff(before, made.list); diff != "" {
		t.Errorf("before and after the memory was reused:\n%s", diff)
	}
}

// until is a client whose creates last until their context ends.
type until struct {
	discoveryclient.EndpointSliceInterface
	begun chan struct{}
}

func (u until) EndpointSlices(string) discoveryclient.EndpointSliceInterface { return u }

// Create implements discoveryclient.EndpointSliceInterface.
func (u until) Create(ctx context.Context, _ *discoveryv1.EndpointSlice, _ metav1.CreateOptions) (*discoveryv1.EndpointSlice, error) {
	close(u.begun)
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// A create of the library ends with the sync, although the library passes a context that never ends.
func TestRequestsOfTheLibraryEndWithTheSync(t *testing.T) {
	c := bare()
	client := until{begun: make(chan struct{})}
	c.store = slices.NewStore(slices.Options{ManagedBy: ManagedBy, Client: client, Table: c.o.Slices, Loop: c.loop})
	c.writer = newWriter(c.store)
	c.begin()
	s := service(1)
	c.o.Pods.PutService(s)
	ctx, stop := context.WithCancelCause(t.Context())
	lost := leader.ErrNotLeading
	go func() {
		<-client.begun
		stop(lost)
	}()
	if err := c.sync(ctx, reconcile.Key{Namespace: s.Namespace, Name: s.Name}); !errors.Is(err, lost) {
		t.Errorf("the sync ended with %v, want %v", err, lost)
	}
}

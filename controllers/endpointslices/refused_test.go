package endpointslices

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// While a quota refuses new slices, the endpoint of a deleted pod is removed, and no other one is. The sync
// fails after three refused creates. When the quota allows it, all slices are created.
func TestQuotaKeepsNoDeadEndpoints(t *testing.T) {
	client := fake.NewClientset()
	limited, refusals := false, 0
	version := 0
	client.PrependReactor("*", "endpointslices", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if write, ok := a.(clienttesting.UpdateAction); ok {
			version++
			e := write.GetObject().(*discoveryv1.EndpointSlice)
			e.ResourceVersion, e.UID = fmt.Sprint(version), types.UID(e.Name)
		}
		return false, nil, nil
	})
	client.PrependReactor("create", "endpointslices", func(clienttesting.Action) (bool, runtime.Object, error) {
		if !limited {
			return false, nil, nil
		}
		refusals++
		return true, nil, apierrors.NewForbidden(discoveryv1.Resource("endpointslices"), "web", errors.New("exceeded quota"))
	})
	o := bare().o
	o.Client, o.MaxEndpointsPerSlice = client.DiscoveryV1(), 2
	c := New(o)
	c.begin()
	s := service(1)
	s.Spec.PublishNotReadyAddresses = true // pods need no node then
	key := reconcile.Key{Namespace: s.Namespace, Name: s.Name}
	c.o.Pods.PutService(s)
	pod := func(i int) *watched.Pod {
		name, ip := fmt.Sprint("pod-", i), fmt.Sprint("10.0.0.", i)
		return &watched.Pod{
			Namespace: "ns", Name: name, UID: name, Labels: objectmeta.NewLabels(s.Spec.Selector), Ready: corev1.ConditionTrue, IP: ip, IPs: []string{ip},
		}
	}
	addresses := func() []string {
		list, err := client.DiscoveryV1().EndpointSlices("ns").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, e := range list.Items {
			for i := range e.Endpoints {
				found = append(found, e.Endpoints[i].Addresses...)
			}
		}
		slices.Sort(found)
		return found
	}
	c.o.Pods.Put(pod(1))
	c.o.Pods.Put(pod(2))
	if err := c.sync(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	limited = true
	c.o.Pods.Delete(reconcile.Key{Namespace: "ns", Name: "pod-1"})
	for i := range 12 {
		c.o.Pods.Put(pod(i + 3))
	}
	if err := c.sync(t.Context(), key); err == nil || !strings.Contains(err.Error(), "exceeded quota") {
		t.Errorf("the sync ended with %v, want the refusal", err)
	}
	if got := addresses(); slices.Contains(got, "10.0.0.1") || !slices.Contains(got, "10.0.0.2") {
		t.Errorf("the slices have %v, want 10.0.0.2 and not 10.0.0.1", got)
	}
	if refusals != refusedLimit {
		t.Errorf("%d creates were sent, want %d", refusals, refusedLimit)
	}
	limited = false
	if err := c.sync(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if got := addresses(); len(got) != 13 || slices.Contains(got, "10.0.0.1") {
		t.Errorf("the slices have %v, want those of the 13 pods", got)
	}
}

// A write that takes away an endpoint of a missing slice is left out, and so is one that takes away an
// endpoint of the first write.
func TestSafeWrites(t *testing.T) {
	slice := func(name string, addresses ...string) *discoveryv1.EndpointSlice {
		e := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, a := range addresses {
			e.Endpoints = append(e.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
		}
		return e
	}
	current := map[string]*discoveryv1.EndpointSlice{
		"w": slice("w", "dead"), "x": slice("x", "a", "d"), "y": slice("y", "b", "c"), "z": slice("z", "e", "dead"),
	}
	writes := []heldWrite{{"y", slice("y", "c")}, {"x", slice("x", "d", "b")}, {"z", slice("z", "e")}, {"w", nil}}
	var got []string
	for _, h := range safeWrites(current, []*discoveryv1.EndpointSlice{slice("", "a")}, writes) {
		got = append(got, h.name)
	}
	if !slices.Equal(got, []string{"z", "w"}) {
		t.Errorf("the writes of %v are safe, want those of z and w", got)
	}
}

package writeclient

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/testkit/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

func slice(namespace string) *discoveryv1.EndpointSlice {
	port, name := int32(8080), "http"
	return &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: namespace, Name: "web", Labels: map[string]string{"app": "web"}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.1.2.3"}}},
		Ports: []discoveryv1.EndpointPort{{Port: &port, Name: &name}},
	}
}

func endpoints(namespace string) *corev1.Endpoints {
	return &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", Annotations: map[string]string{"a": "b"}},
		Subsets:    []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "10.1.2.3"}}, Ports: []corev1.EndpointPort{{Port: 80}}}},
	}
}

// A write returns the object of the API server, without managed fields.
func TestWrites(t *testing.T) {
	api := kubetest.Start(t)
	ns := api.Namespace(t)
	ctx := t.Context()
	bare := func(o metav1.Object) { o.SetManagedFields(nil) }

	slices := Slices(api.Client.DiscoveryV1()).EndpointSlices(ns)
	made, err := slices.Create(ctx, slice(ns), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made.Endpoints[0].Addresses[0] = "10.1.2.4"
	made.Labels["more"] = "yes"
	made, err = slices.Update(ctx, made, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	live, err := slices.Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bare(live)
	if diff := cmp.Diff(live, made); diff != "" || made.UID == "" || made.Generation != 2 {
		t.Errorf("slice (-live +returned):\n%s", diff)
	}

	eps := Endpoints(api.Client.CoreV1()).Endpoints(ns)
	madeEndpoints, err := eps.Create(ctx, endpoints(ns), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	madeEndpoints.Subsets[0].Ports[0].Port = 81
	if madeEndpoints, err = eps.Update(ctx, madeEndpoints, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	liveEndpoints, err := eps.Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bare(liveEndpoints)
	if diff := cmp.Diff(liveEndpoints, madeEndpoints); diff != "" || madeEndpoints.UID == "" {
		t.Errorf("Endpoints (-live +returned):\n%s", diff)
	}
}

// A response that is no object, as of a proxy, is an error.
func TestResponseWithoutObject(t *testing.T) {
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://api.test", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		return respond(r, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice"}`)
		}), nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Slices(client.DiscoveryV1()).EndpointSlices("ns").Create(t.Context(), slice("ns"), metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), "read the response: it has no UID or no resource version") {
		t.Errorf("error %v, want that the response is no object", err)
	}
}

// A client of an unknown type is returned unchanged.
func TestOtherClients(t *testing.T) {
	client := fake.NewClientset()
	if _, err := Slices(client.DiscoveryV1()).EndpointSlices("ns").Create(t.Context(), slice("ns"), metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := Endpoints(client.CoreV1()).Endpoints("ns").Create(t.Context(), endpoints("ns"), metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

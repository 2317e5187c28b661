package writeclient

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
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

// A write returns the object of the API server, without managed fields.
func TestWrites(t *testing.T) {
	api := kubetest.Start(t)
	slices := Slices(api.Client.DiscoveryV1()).EndpointSlices(api.Namespace(t))
	made, err := Write(t.Context(), func(ctx context.Context) (*discoveryv1.EndpointSlice, error) {
		return slices.Create(ctx, slice(""), metav1.CreateOptions{})
	})
	if err != nil {
		t.Fatal(err)
	}
	live, err := slices.Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	live.ManagedFields = nil
	if diff := cmp.Diff(live, made); diff != "" {
		t.Errorf("slice (-live +returned):\n%s", diff)
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
	_, err = Write(t.Context(), func(ctx context.Context) (*discoveryv1.EndpointSlice, error) {
		return Slices(client.DiscoveryV1()).EndpointSlices("ns").Create(ctx, slice("ns"), metav1.CreateOptions{})
	})
	if err == nil || !strings.Contains(err.Error(), "read the response: it has no UID or no resource version") {
		t.Errorf("error %v, want that the response is no object", err)
	}
}

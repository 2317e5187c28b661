package frugal

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/internal/kubetest"
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

// What a write returns is what the API server has, without managed fields.
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
	live.Endpoints[0].Conditions, live.Ports[0].Protocol = made.Endpoints[0].Conditions, made.Ports[0].Protocol // defaults
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
	liveEndpoints.Subsets[0].Ports[0].Protocol = "" // a default
	if diff := cmp.Diff(liveEndpoints, madeEndpoints); diff != "" || madeEndpoints.UID == "" {
		t.Errorf("Endpoints (-live +returned):\n%s", diff)
	}
}

// Failures are those of the API server: that callers tell one from the other depends on it.
func TestRefusedWrites(t *testing.T) {
	api := kubetest.Start(t)
	ns := api.Namespace(t)
	slices := Slices(api.Client.DiscoveryV1()).EndpointSlices(ns)
	for range 2 {
		if _, err := slices.Create(t.Context(), slice(ns), metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	if _, err := slices.Create(t.Context(), slice(ns), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("the second creation: %v, want that it exists already", err)
	}
	outdated := slice(ns)
	outdated.ResourceVersion = "1"
	if _, err := slices.Update(t.Context(), outdated, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("an update of version 1: %v, want a conflict", err)
	}
	bad := endpoints(ns)
	bad.Subsets[0].Addresses[0].IP = "nowhere"
	_, err := Endpoints(api.Client.CoreV1()).Endpoints(ns).Create(t.Context(), bad, metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "subsets[0].addresses[0].ip") {
		t.Errorf("a bad address: %v, want that it is invalid", err)
	}
}

// answering returns a client of a server that answers each request like this.
func answering(t *testing.T, contentType string, body []byte) *kubernetes.Clientset {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// An API server, or a proxy before it, may answer in JSON, or make no sense.
func TestAnswers(t *testing.T) {
	answer := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", ResourceVersion: "7", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}},
	}
	inJSON, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	var inProtobuf message
	if err := protobuf.NewSerializer(nil, nil).EncodeWithAllocator(answer, &inProtobuf, &runtime.SimpleAllocator{}); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		contentType string
		body        []byte
		want        string
	}{
		"JSON":             {"application/json", inJSON, ""},
		"protobuf":         {protobufType, inProtobuf, ""},
		"protobuf cut off": {protobufType, inProtobuf[:len(inProtobuf)-9], "read the answer: the protobuf is cut off"},
		"metadata cut off": {protobufType, []byte("k8s\x00\x12\x04\x0a\x02\x0a\x09"), "read the answer: the protobuf is cut off"},
		"nothing":          {protobufType, nil, "0-length response"},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := Slices(answering(t, test.contentType, test.body).DiscoveryV1()).EndpointSlices("ns").Create(t.Context(), slice("ns"), metav1.CreateOptions{})
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v, want %q", err, test.want)
				}
				return
			}
			want := slice("ns")
			want.ObjectMeta = metav1.ObjectMeta{Name: "web", ResourceVersion: "7"}
			if diff := cmp.Diff(want, made); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

package writeclient

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/internal/leader"
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

// A write returns the status error of the API server, so that callers can distinguish errors.
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

// responding returns a client of a server with this handler.
func responding(t *testing.T, config rest.Config, answer http.HandlerFunc) *kubernetes.Clientset {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	config.Host = server.URL
	client, err := kubernetes.NewForConfig(&config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// create creates the slice "web" with a client.
func create(ctx context.Context, client *kubernetes.Clientset) (*discoveryv1.EndpointSlice, error) {
	return Slices(client.DiscoveryV1()).EndpointSlices("ns").Create(ctx, slice("ns"), metav1.CreateOptions{})
}

func encoded(t *testing.T, object runtime.Object) []byte {
	var b bytes.Buffer
	if err := protobuf.NewSerializer(nil, nil).Encode(object, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Responses in protobuf, in JSON and unreadable ones, as of a proxy, are handled.
func TestResponses(t *testing.T) {
	created := metav1.Unix(1_700_000_000, 0)
	answer := slice("ns")
	answer.TypeMeta = metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"}
	answer.UID, answer.ResourceVersion, answer.Generation = "u", "7", 2
	answer.CreationTimestamp, answer.DeletionTimestamp = created, &created
	answer.Labels = map[string]string{"from": "a webhook"}
	answer.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
	inJSON, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	inProtobuf := encoded(t, answer)
	for name, test := range map[string]struct {
		body []byte
		want string
	}{
		"JSON":             {inJSON, ""},
		"protobuf":         {inProtobuf, ""},
		"JSON cut off":     {inJSON[:len(inJSON)-9], "unexpected end of JSON"},
		"protobuf cut off": {inProtobuf[:len(inProtobuf)-9], "EOF"},
		"nothing":          {nil, "text/plain"},
		"no object":        {[]byte(`{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice"}`), "read the response: it has no UID or no resource version"},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := create(t.Context(), responding(t, rest.Config{}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", typeOf(test.body))
				_, _ = w.Write(test.body)
			}))
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v, want %q", err, test.want)
				}
				return
			}
			want := answer.DeepCopy()
			want.TypeMeta, want.ManagedFields = made.TypeMeta, nil
			if diff := cmp.Diff(want, made); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// typeOf returns the content type of a response.
func typeOf(body []byte) string {
	switch {
	case bytes.HasPrefix(body, []byte("k8s\x00")):
		return runtime.ContentTypeProtobuf
	case bytes.HasPrefix(body, []byte("{")):
		return runtime.ContentTypeJSON
	default:
		return "text/plain"
	}
}

// Errors can be distinguished, whether the API server or a proxy responds.
func TestFailures(t *testing.T) {
	busy := encoded(t, &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Message: "no room", Code: http.StatusTooManyRequests,
		Reason: metav1.StatusReasonTooManyRequests, Details: &metav1.StatusDetails{RetryAfterSeconds: 3},
	})
	for name, test := range map[string]struct {
		code       int
		retryAfter string
		body       []byte
		want       string
		reason     metav1.StatusReason
		after      int
	}{
		"status in protobuf": {http.StatusTooManyRequests, "", busy, "no room", metav1.StatusReasonTooManyRequests, 3},
		"status in JSON": {
			http.StatusConflict, "", []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too late","reason":"Conflict","code":409}`),
			"too late", metav1.StatusReasonConflict, 0,
		},
		"text of the API server": {http.StatusTooManyRequests, "1", []byte("try again later"), "try again later", metav1.StatusReasonTooManyRequests, 1},
		"a proxy":                {http.StatusBadGateway, "", []byte("<html>"), "<html>", metav1.StatusReasonInternalError, 0},
		"a redirect":             {http.StatusFound, "", nil, "web", metav1.StatusReasonUnknown, 0},
	} {
		t.Run(name, func(t *testing.T) {
			client := responding(t, rest.Config{}, func(w http.ResponseWriter, _ *http.Request) {
				if test.retryAfter != "" {
					w.Header().Set("Retry-After", test.retryAfter)
				}
				w.Header().Set("Content-Type", typeOf(test.body))
				w.WriteHeader(test.code)
				_, _ = w.Write(test.body)
			})
			_, err := Slices(client.DiscoveryV1()).EndpointSlices("ns").Update(t.Context(), slice("ns"), metav1.UpdateOptions{})
			var status apierrors.APIStatus
			if !errors.As(err, &status) || int(status.Status().Code) != test.code || apierrors.ReasonForError(err) != test.reason || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v for the reason %q, want code %d, %q and the reason %q", err, apierrors.ReasonForError(err), test.code, test.want, test.reason)
			}
			if after, _ := apierrors.SuggestsClientDelay(err); after != test.after {
				t.Errorf("to be retried after %d s, want %d", after, test.after)
			}
		})
	}
}

// Requests end when leadership is lost, and obey the limits of the client.
func TestContexts(t *testing.T) {
	ctx, lost := context.WithCancelCause(t.Context())
	var requests atomic.Int64
	client := responding(t, rest.Config{QPS: 0.001, Burst: 1}, func(_ http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		lost(leader.ErrNotLeading)
		<-r.Context().Done()
	})
	_, err := create(ctx, client)
	if !errors.Is(err, leader.ErrNotLeading) || !strings.Contains(err.Error(), "Post \"http://127.0.0.1") {
		t.Errorf("error %v, want that leadership was lost during the request", err)
	}
	term, lose := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Second, func() { lose(leader.ErrNotLeading) })
	if _, err = create(term, client); err == nil || requests.Load() != 1 {
		t.Errorf("error %v after %d requests, want that the second one waits for the rate limiter", err, requests.Load())
	}
}

// A base path, as of a proxy, precedes the paths of the API.
func TestPaths(t *testing.T) {
	var paths []string
	client := responding(t, rest.Config{}, func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.Method+" "+r.URL.Path)
		kind := "EndpointSlice"
		if strings.Contains(r.URL.Path, "/api/v1/") {
			kind = "Endpoints"
		}
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		_, _ = fmt.Fprintf(w, `{"kind":%q,"metadata":{"uid":"u","resourceVersion":"1"}}`, kind)
	})
	behind, err := kubernetes.NewForConfig(&rest.Config{Host: "http://" + client.DiscoveryV1().RESTClient().Get().URL().Host + "/clusters/a"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	_, err1 := Slices(client.DiscoveryV1()).EndpointSlices("ns").Create(ctx, slice("ns"), metav1.CreateOptions{})
	_, err2 := Slices(behind.DiscoveryV1()).EndpointSlices("ns").Update(ctx, slice("ns"), metav1.UpdateOptions{})
	_, err3 := Endpoints(behind.CoreV1()).Endpoints("ns").Create(ctx, endpoints("ns"), metav1.CreateOptions{})
	want := []string{
		"POST /apis/discovery.k8s.io/v1/namespaces/ns/endpointslices",
		"PUT /clusters/a/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices/web",
		"POST /clusters/a/api/v1/namespaces/ns/endpoints",
	}
	if diff := cmp.Diff(want, paths); diff != "" || errors.Join(err1, err2, err3) != nil {
		t.Errorf("errors %v, %v, %v; paths (-want +got):\n%s", err1, err2, err3, diff)
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

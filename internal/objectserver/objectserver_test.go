package objectserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func put(t *testing.T, s *Server, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := s.Put(object(t, text)); err != nil {
			t.Fatal(err)
		}
	}
}

var gateway = schema.GroupKind{Group: "networking.istio.io", Kind: "Gateway"}

func service(namespace, name string) string {
	return fmt.Sprintf(`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": %q, "namespace": %q}, "spec": {"clusterIP": "10.0.0.1"}}`, name, namespace)
}

// TestTables fills tables of package kube in each form, in process and over a connection, and checks that
// they follow all changes.
func TestTables(t *testing.T) {
	for _, way := range []string{"in process", "over a connection"} {
		t.Run(way, func(t *testing.T) {
			s := New(gateway)
			put(
				t, s,
				service("a", "one"), service("b", "one"),
				`{"apiVersion": "networking.istio.io/v1", "kind": "Gateway", "metadata": {"name": "gate"}}`,
				`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p1"}}`,
			)
			cfg := s.Config()
			if way == "over a connection" {
				h := httptest.NewServer(s)
				t.Cleanup(h.Close)
				cfg = &rest.Config{Host: h.URL}
			}
			testTables(t, s, cfg)
		})
	}
}

// A resource with an unknown kind is served with and without objects of any kind.
func TestServeResources(t *testing.T) {
	for _, with := range []bool{false, true} {
		s := New()
		s.ServeResources(schema.GroupResource{Group: "example.com", Resource: "widgetproxies"}, schema.GroupResource{Resource: "configmaps"})
		want := 0
		if with {
			put(t, s, `{"apiVersion": "example.com/v1", "kind": "WidgetProxy", "metadata": {"name": "a"}}`)
			want = 1
		}
		if s.Serves(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}) {
			t.Error("a kind of another resource is served")
		}
		table := kube.Kind[string]{
			Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgetproxies"}, Form: kube.Unstructured(),
			Trim: kube.TrimOf(func(_ kube.Scope, u *unstructured.Unstructured) (*string, []kube.Problem) {
				kind := u.GetKind()
				return &kind, nil
			}),
		}.Table()
		cluster, err := kube.New(kube.Options{Config: s.Config()}, table)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- cluster.Run(ctx) }()
		select {
		case <-cluster.Settled():
		case <-time.After(10 * time.Second):
			t.Errorf("not settled: %+v", cluster.Status())
		}
		if table.Len() != want || !table.Filled() || with && *table.Get(DefaultNamespace, "a") != "WidgetProxy" {
			t.Errorf("%d objects, want %d", table.Len(), want)
		}
		cancel()
		<-done
	}
}

func testTables(t *testing.T, s *Server, cfg *rest.Config) {
	services := kinds.Services().Table()
	pods := kinds.Pods().Table()
	gateways := kube.Kind[string]{
		Name: "gateway", Resource: schema.GroupVersionResource{Group: "networking.istio.io", Version: "v1", Resource: "gateways"},
		Form: kube.Unstructured(),
		Trim: kube.TrimOf(func(_ kube.Scope, u *unstructured.Unstructured) (*string, []kube.Problem) {
			name := u.GetNamespace() + "/" + u.GetName()
			return &name, nil
		}),
	}.Table()
	cluster, err := kube.New(kube.Options{Config: cfg}, services, pods, gateways)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- cluster.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	select {
	case <-cluster.Settled():
	case <-time.After(10 * time.Second):
		t.Fatalf("not settled: %+v", cluster.Status())
	}
	if n := [3]int{services.Len(), pods.Len(), gateways.Len()}; n != [3]int{2, 1, 1} {
		t.Errorf("%v objects", n)
	}
	put(t, s, service("a", "two"), service("a", "one"))
	if !s.Delete(Object{Kind: gateway, NamespacedName: types.NamespacedName{Namespace: DefaultNamespace, Name: "gate"}}) || s.Delete(Object{Kind: gateway}) {
		t.Error("Delete doesn't report whether the object existed")
	}
	version := s.Bookmark()
	for _, table := range []interface{ ResourceVersion() string }{services, pods, gateways} {
		await(t, func() bool { return table.ResourceVersion() == version })
	}
	if n := [3]int{services.Len(), pods.Len(), gateways.Len()}; n != [3]int{3, 1, 0} {
		t.Errorf("%v objects", n)
	}
}

func await(t *testing.T, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(10 * time.Second)
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the condition never became true")
		}
	}
}

// watched returns the names of the objects at the start of a watch.
func watched(t *testing.T, s *Server, path string) string {
	t.Helper()
	client := &http.Client{Transport: s.Config().Transport}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, host+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", jsonType)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(resp.StatusCode, " ", strings.TrimSpace(string(text)))
	}
	names := map[string]int{}
	decoder := json.NewDecoder(resp.Body)
	for {
		var e struct {
			Type   string
			Object unstructured.Unstructured
		}
		if err := decoder.Decode(&e); err != nil {
			t.Fatal(err)
		}
		if e.Type == "BOOKMARK" {
			return fmt.Sprint(len(names), " of ", e.Object.GetKind())
		}
		names[e.Object.GetNamespace()+"/"+e.Object.GetName()]++
	}
}

func TestPaths(t *testing.T) {
	s := New(gateway)
	put(t, s, service("a", "one"), service("b", "one"), service("b", "two"))
	const all = "?watch=true&sendInitialEvents=true"
	for path, want := range map[string]string{
		"/api/v1/services" + all:                           "3 of Service",
		"/api/v1/namespaces/b/services" + all:              "2 of Service",
		"/api/v1/pods" + all:                               "0 of Pod",
		"/apis/networking.istio.io/v1beta1/gateways" + all: "0 of Gateway",
		"/apis/networking.istio.io/v1/virtuals" + all:      "404 no such resource: name its kind when the server is made",
		"/api/v1/services/one" + all:                       "404 no such resource: name its kind when the server is made",
		"/version":                                         "404 no such resource: name its kind when the server is made",
		"/api/v1/services?watch=true":                      "410 only watches with sendInitialEvents=true are served",
	} {
		if got := watched(t, s, path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// A reader may be slower than the changes, for any number of objects.
func TestManyObjects(t *testing.T) {
	s := New()
	const n = 10_000
	for i := range n {
		s.put(object(t, service("a", fmt.Sprint("s", i))))
	}
	if got, want := watched(t, s, "/api/v1/services?sendInitialEvents=true"), fmt.Sprint(n, " of Service"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestPut(t *testing.T) {
	s := New(gateway)
	put(t, s,
		`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "uid": "given"}, "spec": {"later": true}}`,
		`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}`,
		`{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}`)
	var got []string
	for _, o := range s.Objects() {
		got = append(got, o.Kind.String()+" "+o.String())
	}
	if diff := cmp.Diff([]string{"Node /n", "Service default/s"}, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	for _, objects := range s.objects {
		if o := objects[types.NamespacedName{Namespace: "default", Name: "s"}]; o != nil && o.GetUID() != "given" {
			t.Errorf("the UID has become %q", o.GetUID())
		}
	}
	for text, want := range map[string]string{
		`{"apiVersion": "example.org/v1", "kind": "Other", "metadata": {"name": "x"}}`:                                           "put Other.example.org x: the kind is not served",
		`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": {"ports": [{"port": "many"}]}}`:              "spec.ports.port",
		`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": {"externalIPs": "192.0.2.1"}}`:               "spec.externalIPs",
		`{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "x"}, "spec": {"rules": [{"h": 3}, 3]}}`: "spec.rules",
	} {
		if err := s.Put(object(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// When a request ends, its handler ends, even if nothing was read.
func TestRequestEnds(t *testing.T) {
	s := New()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, host+"/api/v1/pods?sendInitialEvents=true", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", jsonType)
	resp, err := s.Config().Transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.Copy(&bytes.Buffer{}, resp.Body); err == nil {
		t.Error("the body ends as if it were complete")
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	await(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.watches) == 0
	})
	req.Header.Set("Accept", "text/plain")
	if resp, err := s.Config().Transport.RoundTrip(req.WithContext(t.Context())); err != nil || resp.StatusCode != http.StatusNotAcceptable {
		t.Errorf("%v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
}

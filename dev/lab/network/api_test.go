package network_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/signpostd/signpost/controllers/writeclient"
	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/history/historytest"
	"github.com/signpostd/signpost/dev/lab/network"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// path is an APIPath with a client in front of it.
type path struct {
	*network.APIPath
	recorder  *history.Recorder
	client    *kubernetes.Clientset
	dynamic   *dynamic.DynamicClient
	http      *http.Client
	config    *rest.Config
	namespace string
}

// newPath builds a path to the shared API server. The options change the client's config.
func newPath(t *testing.T, options ...func(*rest.Config)) path {
	t.Helper()
	cluster := kubetest.Start(t)
	p := path{recorder: historytest.NewRecorder(t), namespace: cluster.Namespace(t)}
	var err error
	if p.APIPath, err = network.NewAPIPath(p.recorder, "replica-a", cluster.Kubeconfig, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	if p.config, err = clientcmd.BuildConfigFromFlags("", p.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	p.config.QPS, p.config.Timeout = -1, soon
	for _, option := range options {
		option(p.config)
	}
	// The client shares no transport with other tests.
	p.config.Dial = (&dialer{}).DialContext
	if p.http, err = rest.HTTPClientFor(p.config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(p.http.Transport) })
	if p.client, err = kubernetes.NewForConfigAndClient(p.config, p.http); err != nil {
		t.Fatal(err)
	}
	p.config.ContentType = ""
	if p.dynamic, err = dynamic.NewForConfigAndClient(p.config, p.http); err != nil {
		t.Fatal(err)
	}
	return p
}

// writes waits until so many writes are recorded, and returns their Kubernetes part.
func (p path) writes(t *testing.T, number int) []history.Write {
	t.Helper()
	var found []history.Write
	kubetest.Eventually(t, soon, func() error {
		found = nil
		for _, e := range writes(p.recorder) {
			found = append(found, *e.Write)
		}
		if len(found) < number {
			return fmt.Errorf("%d writes are recorded, want %d", len(found), number)
		}
		return nil
	})
	return found
}

func (p path) slice(name string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Namespace: p.namespace},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func protobuf(c *rest.Config) { c.ContentType = runtime.ContentTypeProtobuf }
func http1(c *rest.Config)    { c.NextProtos = []string{"http/1.1"} }
func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// TestAPIRecordsWrites shows that each kind of write is recorded with its object, in all encodings.
func TestAPIRecordsWrites(t *testing.T) {
	for name, options := range map[string][]func(*rest.Config){
		"JSON": nil, "protobuf": {protobuf}, "protobuf over HTTP/1.1": {protobuf, http1},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPath(t, options...)
			ctx := t.Context()
			p.writeAll(t)
			got := p.writes(t, 12)
			ns := p.namespace
			want := []history.KubernetesWrite{
				{Verb: "create", Resource: "configmaps", Namespace: ns, Name: "a"},
				{Verb: "create", Resource: "configmaps", Namespace: ns, Name: "made-up-"},
				{Verb: "update", Resource: "configmaps", Namespace: ns, Name: "a"},
				{Verb: "patch", Resource: "configmaps", Namespace: ns, Name: "a"},
				{Verb: "patch", Resource: "configmaps", Namespace: ns, Name: "applied"},
				{Verb: "create", Resource: "endpointslices", Namespace: ns, Name: "s"},
				{Verb: "update", Resource: "endpointslices", Namespace: ns, Name: "s"},
				{Verb: "create", Resource: "leases", Namespace: ns, Name: "l", Holder: "me"},
				{Verb: "update", Resource: "leases", Namespace: ns, Name: "l"},
				{Verb: "delete", Resource: "configmaps", Namespace: ns, Name: "a"},
				{Verb: "deletecollection", Resource: "configmaps", Namespace: ns},
				{Verb: "patch", Resource: "namespaces", Name: ns, Subresource: "status"},
			}
			for i := range want {
				want[i].Reached = true
			}
			var what []history.KubernetesWrite
			for _, w := range got {
				k := *w.Kubernetes
				if conditional := k.Precondition != ""; conditional != (k.Verb == "update") {
					t.Errorf("recorded the precondition %q of a %s", k.Precondition, k.Verb)
				}
				k.Precondition = "" // differs between runs
				what = append(what, k)
				if w.Replica != "replica-a" || w.Responded == 0 || w.Status < 200 || w.Status > 201 {
					t.Errorf("recorded %+v", w)
				}
			}
			if diff := cmp.Diff(want, what); diff != "" {
				t.Errorf("recorded (-want +got):\n%s", diff)
			}
			for _, e := range writes(p.recorder) {
				if e.At <= 0 || e.Write.Responded <= e.At {
					t.Errorf("it arrived at %v and was answered at %v", e.At, e.Write.Responded)
				}
			}
			if err := ctx.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

// writeAll makes the writes of TestAPIRecordsWrites, and some reads.
func (p path) writeAll(t *testing.T) {
	t.Helper()
	ctx, ns := t.Context(), p.namespace
	maps, leases := p.client.CoreV1().ConfigMaps(ns), p.client.CoordinationV1().Leases(ns)
	slices := writeclient.Slices(p.client.DiscoveryV1()).EndpointSlices(ns)
	mapOf, sliceOf, leaseOf := must[*corev1.ConfigMap](t), must[*discoveryv1.EndpointSlice](t), must[*coordinationv1.Lease](t)

	made := mapOf(maps.Create(ctx, configMap("a"), metav1.CreateOptions{}))
	mapOf(maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "made-up-"}}, metav1.CreateOptions{}))
	made.Data = map[string]string{"large": strings.Repeat("x", 500_000)}
	mapOf(maps.Update(ctx, made, metav1.UpdateOptions{}))
	mapOf(maps.Patch(ctx, "a", types.MergePatchType, []byte(`{"data":{"b":"c"}}`), metav1.PatchOptions{}))
	mapOf(maps.Apply(ctx, applycorev1.ConfigMap("applied", ns), metav1.ApplyOptions{FieldManager: "lab"}))
	s := sliceOf(slices.Create(ctx, p.slice("s"), metav1.CreateOptions{}))
	s.Labels = map[string]string{"a": "b"}
	sliceOf(slices.Update(ctx, s, metav1.UpdateOptions{}))
	l := leaseOf(leases.Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "l"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: new("me")},
	}, metav1.CreateOptions{}))
	l.Spec.HolderIdentity = nil
	leaseOf(leases.Update(ctx, l, metav1.UpdateOptions{}))
	if err := maps.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	must[*corev1.Namespace](t)(p.client.CoreV1().Namespaces().Patch(ctx, ns, types.MergePatchType, []byte("{}"), metav1.PatchOptions{}, "status"))

	// None of these requests changes anything.
	must[*corev1.ConfigMapList](t)(maps.List(ctx, metav1.ListOptions{}))
	mapOf(maps.Create(ctx, configMap("dry"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}))
	must[*authorizationv1.SelfSubjectAccessReview](t)(p.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/", Verb: "get"}},
	}, metav1.CreateOptions{}))
	if _, err := p.client.Discovery().ServerVersion(); err != nil {
		t.Fatal(err)
	}
}

// TestAPIRecordsOtherKinds shows that writes of kinds without a Go type, and refused writes, are recorded
// too.
func TestAPIRecordsOtherKinds(t *testing.T) {
	p := newPath(t)
	crd := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	_, err := p.dynamic.Resource(crd).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "nonsense"},
		"spec": "of another type",
	}}, metav1.CreateOptions{})
	if err == nil {
		t.Fatal("the API server took nonsense")
	}
	w := p.writes(t, 1)[0]
	want := history.KubernetesWrite{Verb: "create", Resource: "customresourcedefinitions", Name: "nonsense", Reached: true}
	if diff := cmp.Diff(want, *w.Kubernetes); diff != "" || w.Status < 400 || w.Status >= 500 {
		t.Errorf("recorded %+v (-want +got):\n%s", w, diff)
	}
}

// isReset reports whether a connection was reset. A side that writes and reads at once may see the reset when
// it writes, and then reads EOF.
func isReset(err error) bool {
	return utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || errors.Is(err, syscall.EPIPE)
}

// TestAPIFails shows that the client sees a failure, and that it is recorded.
func TestAPIFails(t *testing.T) {
	for name, tt := range map[string]struct {
		failure network.Failure
		is      func(error) bool
		status  int
		applied bool
	}{
		"too many":      {network.Failure{Status: 429, RetryAfter: time.Second}, apierrors.IsTooManyRequests, 429, false},
		"error":         {network.Failure{Status: 500}, apierrors.IsInternalError, 500, false},
		"unavailable":   {network.Failure{Status: 503}, apierrors.IsServiceUnavailable, 503, false},
		"reset":         {network.Failure{Reset: true}, isReset, -1, false},
		"lost by error": {network.Failure{Status: 500, Applied: true}, apierrors.IsInternalError, 500, true},
		"lost by reset": {network.Failure{Reset: true, Applied: true}, isReset, -1, true},
	} {
		for _, version := range []func(*rest.Config){http1, func(*rest.Config) {}} {
			t.Run(name, func(t *testing.T) {
				p := newPath(t, version)
				tt.failure.Share, tt.failure.Resource = 1, "configmaps"
				end := p.API.Fail(tt.failure)
				// A client without retries.
				err := p.client.CoreV1().RESTClient().Post().Namespace(p.namespace).Resource("configmaps").
					Body(configMap("a")).MaxRetries(0).Do(t.Context()).Error()
				if !tt.is(err) {
					t.Errorf("the client got %v", err)
				}
				w := p.writes(t, 1)[0]
				if w.Status != tt.status || (w.Responded == 0) != (tt.status == -1) || w.Kubernetes.Reached != tt.applied {
					t.Errorf("recorded %+v, %+v", w, w.Kubernetes)
				}
				// Other resources are not affected.
				if _, err := p.client.CoreV1().Secrets(p.namespace).List(t.Context(), metav1.ListOptions{}); err != nil {
					t.Errorf("list others: %v", err)
				}
				end()
				_, err = p.client.CoreV1().ConfigMaps(p.namespace).Get(t.Context(), "a", metav1.GetOptions{})
				if (err == nil) != tt.applied || (err != nil && !apierrors.IsNotFound(err)) {
					t.Errorf("afterwards there is %v, want applied: %v", err, tt.applied)
				}
			})
		}
	}
}

// TestAPIRetries shows that client-go retries when it is asked to, and that each attempt is recorded.
func TestAPIRetries(t *testing.T) {
	p := newPath(t)
	end := p.API.Fail(network.Failure{Share: 1, Status: 429, Resource: "configmaps"})
	created := make(chan error)
	go func() {
		_, err := p.client.CoreV1().ConfigMaps(p.namespace).Create(t.Context(), configMap("a"), metav1.CreateOptions{})
		created <- err
	}()
	p.writes(t, 1)
	end()
	if err := <-created; err != nil {
		t.Error(err)
	}
	found := p.writes(t, 2)
	if first, last := found[0], found[len(found)-1]; first.Status != 429 || last.Status != 201 {
		t.Errorf("recorded %+v and %+v", first, last)
	}
}

// TestAPIFailsAShare shows that a share of the requests fails, and that the seed determines which ones.
func TestAPIFailsAShare(t *testing.T) {
	statuses := func() (all []int) {
		p := newPath(t)
		p.API.Fail(network.Failure{Share: 0.3, Status: 500, Seed: 7})
		for range 50 {
			status := 200
			if _, err := p.client.Discovery().ServerVersion(); err != nil {
				status = 500
			}
			all = append(all, status)
		}
		return all
	}
	first := statuses()
	failed := 0
	for _, s := range first {
		if s == 500 {
			failed++
		}
	}
	if failed < 5 || failed > 25 {
		t.Errorf("%d of 50 failed, want about 15", failed)
	}
	if again := statuses(); !slices.Equal(first, again) {
		t.Errorf("with the same seed:\n%v\n%v", first, again)
	}
}

// event returns the next event of a watch, or nil at its end.
func event(t *testing.T, w watch.Interface) *watch.Event {
	t.Helper()
	select {
	case e, ok := <-w.ResultChan():
		if !ok {
			return nil
		}
		return &e
	case <-time.After(soon):
		t.Fatal("nothing comes")
		return nil
	}
}

// broken waits until a watch ends. It skips the initial objects.
func broken(t *testing.T, w watch.Interface) error {
	t.Helper()
	for {
		switch e := event(t, w); {
		case e == nil, e.Type == watch.Error && strings.Contains(fmt.Sprint(e.Object), "unable to decode an event"):
			return nil
		case e.Type != watch.Added:
			return fmt.Errorf("got %v", e)
		}
	}
}

// TestAPIWatches shows that a watch delivers each event at once, that only a cut ends it, and that failures
// of other requests don't.
func TestAPIWatches(t *testing.T) {
	for name, version := range map[string]func(*rest.Config){"HTTP/1.1": http1, "HTTP/2": func(*rest.Config) {}} {
		t.Run(name, func(t *testing.T) {
			p := newPath(t, version, func(c *rest.Config) { c.Timeout = 0 })
			maps := p.client.CoreV1().ConfigMaps(p.namespace)
			watches := func() watch.Interface {
				w := must[watch.Interface](t)(maps.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name!=kube-root-ca.crt"}))
				t.Cleanup(w.Stop)
				return w
			}
			w := watches()
			end := p.API.Fail(network.Failure{Share: 1, Status: 503, Resource: "secrets"})
			for _, object := range []string{"a", "b"} {
				must[*corev1.ConfigMap](t)(maps.Create(t.Context(), configMap(object), metav1.CreateOptions{}))
				if e := event(t, w); e == nil || e.Type != watch.Added || e.Object.(*corev1.ConfigMap).Name != object {
					t.Fatalf("got %v, want %s", e, object)
				}
			}
			end()
			for how, cut := range map[string]func(){
				"watches":   p.API.CutWatches,
				"in front":  func() { p.Front.Cut()() },
				"behind it": func() { p.Back.Cut()() },
			} {
				cut()
				if err := broken(t, w); err != nil {
					t.Errorf("cut %s: %v", how, err)
				}
				w = watches()
				kubetest.Eventually(t, soon, func() error {
					_, err := maps.List(t.Context(), metav1.ListOptions{})
					return err
				})
			}
		})
	}
}

// TestAPIBehindLinks shows that a fault on either side of the API is a fault for the client, and that the API
// never responds in place of the API server.
func TestAPIBehindLinks(t *testing.T) {
	p := newPath(t, http1, func(c *rest.Config) { c.Timeout = 5 * silence })
	create := func(name string) error {
		return p.client.CoreV1().RESTClient().Post().Namespace(p.namespace).Resource("configmaps").
			Body(configMap(name)).MaxRetries(0).Do(t.Context()).Error()
	}
	if err := create("a"); err != nil {
		t.Fatal(err)
	}
	for i, tt := range []struct {
		what    string
		begin   func() func()
		isWrite bool // it is recorded
		reached bool // the API server may have received it
	}{
		{"front cut", p.Front.Cut, false, false},
		{"back cut", p.Back.Cut, true, false}, // unless the proxy hadn't noticed the cut
		{"front half-open", func() func() { return p.Front.HalfOpen(network.Both) }, false, false},
		{"back half-open", func() func() { return p.Back.HalfOpen(network.Both) }, true, true},
		{"answers swallowed", func() func() { return p.Back.HalfOpen(network.ToClient) }, true, true},
	} {
		// A connection that is open when the fault begins.
		if _, err := p.client.Discovery().ServerVersion(); err != nil {
			t.Fatalf("before %s: %v", tt.what, err)
		}
		before := len(writes(p.recorder))
		name := fmt.Sprintf("at-%d", i)
		end := tt.begin()
		err := create(name)
		var status apierrors.APIStatus
		if err == nil || errors.As(err, &status) {
			t.Errorf("%s: the client got %v", tt.what, err)
		}
		if tt.isWrite {
			w := p.writes(t, before+1)[before]
			if w.Status != -1 || w.Kubernetes.Name != name || (tt.reached && !w.Kubernetes.Reached) {
				t.Errorf("%s: recorded %+v, %+v", tt.what, w, w.Kubernetes)
			}
		}
		end()
		kubetest.Eventually(t, soon, func() error {
			_, err := p.client.Discovery().ServerVersion()
			return err
		})
		if now := len(writes(p.recorder)); !tt.isWrite && now != before {
			t.Errorf("%s: %d writes were recorded", tt.what, now-before)
		}
	}
}

// TestAPINoticesADeadAPIServer shows that a hanging watch behind the API is aborted, because the replica
// can't notice that itself.
func TestAPINoticesADeadAPIServer(t *testing.T) {
	p := newPath(t, func(c *rest.Config) { c.Timeout = 0 })
	w := must[watch.Interface](t)(p.client.CoreV1().Secrets(p.namespace).Watch(t.Context(), metav1.ListOptions{}))
	defer w.Stop()
	p.Back.HalfOpen(network.Both)
	if err := broken(t, w); err != nil {
		t.Error(err)
	}
}

// TestAPIRotatesItsCertificate shows that a client that trusts the kubeconfig can still connect after a
// rotation.
func TestAPIRotatesItsCertificate(t *testing.T) {
	p := newPath(t, func(c *rest.Config) { c.Timeout = 0 })
	w := must[watch.Interface](t)(p.client.CoreV1().Secrets(p.namespace).Watch(t.Context(), metav1.ListOptions{}))
	defer w.Stop()
	seen := func() string {
		trusted, err := rest.TLSConfigFor(p.config)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := tls.Dial("tcp", p.Front.Addr(), trusted)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	before := seen()
	if again := seen(); again != before {
		t.Errorf("the certificate %s became %s by itself", before, again)
	}
	if err := p.API.RotateCertificate(); err != nil {
		t.Fatal(err)
	}
	if after := seen(); after == before {
		t.Errorf("the certificate is still %s", after)
	}
	if err := broken(t, w); err != nil {
		t.Error(err)
	}
	if _, err := p.client.Discovery().ServerVersion(); err != nil {
		t.Error(err)
	}
}

// TestAPIRefuses shows that requests need the token of the kubeconfig, and that invalid requests are refused.
func TestAPIRefuses(t *testing.T) {
	p := newPath(t)
	for name, tt := range map[string]struct {
		token  string
		body   io.Reader
		status int
	}{
		"no token":       {"", strings.NewReader("{}"), http.StatusUnauthorized},
		"too large":      {p.config.BearerToken, strings.NewReader(strings.Repeat(" ", 8<<20+1)), http.StatusRequestEntityTooLarge},
		"an end missing": {p.config.BearerToken, io.MultiReader(strings.NewReader("{"), brokenReader{}), 0},
	} {
		anonymous := rest.AnonymousClientConfig(p.config)
		anonymous.Dial, anonymous.NextProtos = p.config.Dial, []string{"http/1.1"}
		transport, err := rest.TransportFor(anonymous)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(transport) })
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.config.Host+"/api/v1/namespaces/"+p.namespace+"/configmaps", tt.body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+tt.token)
		response, err := transport.RoundTrip(r)
		status := 0
		if err == nil {
			response.Body.Close()
			status = response.StatusCode
		}
		if status != tt.status {
			t.Errorf("%s: %d, %v, want %d", name, status, err, tt.status)
		}
	}
	p.Close()
	if recorded := writes(p.recorder); len(recorded) != 0 {
		t.Errorf("recorded %+v", recorded)
	}
}

// TestAPICloses shows that active requests are recorded at the end.
func TestAPICloses(t *testing.T) {
	p := newPath(t)
	if _, err := p.client.Discovery().ServerVersion(); err != nil { // opens the connection
		t.Fatal(err)
	}
	p.Back.HalfOpen(network.ToClient)
	created := make(chan error)
	go func() {
		_, err := p.client.CoreV1().ConfigMaps(p.namespace).Create(t.Context(), configMap("a"), metav1.CreateOptions{})
		created <- err
	}()
	kubetest.Eventually(t, soon, func() error {
		_, err := kubetest.Start(t).Client.CoreV1().ConfigMaps(p.namespace).Get(t.Context(), "a", metav1.GetOptions{})
		return err
	})
	p.Close()
	want := []history.Entry{{Write: &history.Write{
		Replica: "replica-a", Status: -1,
		Kubernetes: &history.KubernetesWrite{Verb: "create", Resource: "configmaps", Namespace: p.namespace, Name: "a", Reached: true},
	}}}
	if diff := cmp.Diff(want, writes(p.recorder), cmpopts.IgnoreFields(history.Entry{}, "At")); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	if err := <-created; err == nil {
		t.Error("the client got an answer")
	}
}

func TestAPIPathNeedsAKubeconfig(t *testing.T) {
	if _, err := network.NewAPIPath(historytest.NewRecorder(t), "replica-a", "/nonesuch", t.TempDir()); err == nil || !strings.Contains(err.Error(), "connect replica-a to the API server: read the kubeconfig /nonesuch") {
		t.Errorf("got %v", err)
	}
	cluster := kubetest.Start(t)
	noDir := cluster.Kubeconfig
	if _, err := network.NewAPIPath(historytest.NewRecorder(t), "replica-a", cluster.Kubeconfig, noDir); err == nil || !strings.Contains(err.Error(), "write the kubeconfig "+noDir+"/replica-a.kubeconfig") {
		t.Errorf("got %v", err)
	}
}

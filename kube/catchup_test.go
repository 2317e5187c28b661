package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// upToDate bounds what takes one or two seconds.
const upToDate = 20 * time.Second

// way is the way to an API server: it holds back what watches bring, counts requests, and changes them.
type way struct {
	next http.RoundTripper

	mu sync.Mutex
	// shut is not nil while the watches that were open when it was made bring nothing; all is true
	// when no other one does, either.
	shut chan struct{}
	all  bool
	// change may change a request, or answer it.
	change func(*http.Request) *http.Response
	lists  int
}

// lead returns a configuration that goes this way.
func lead(t *testing.T, config *rest.Config) (*way, *rest.Config) {
	w := &way{}
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		w.next = next
		return w
	})
	t.Cleanup(func() { w.open() })
	return w, config
}

// shutWatches keeps what follows from those who watch now.
func (w *way) shutWatches() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shut = make(chan struct{})
}

// shutAll keeps it from those who watch later, too.
func (w *way) shutAll() {
	w.shutWatches()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = true
}

func (w *way) open() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shut != nil {
		close(w.shut)
	}
	w.shut, w.all = nil, false
}

func (w *way) changeBy(change func(*http.Request) *http.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.change = change
}

// listed returns how often objects were listed, or streamed from the beginning.
func (w *way) listed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lists
}

func (w *way) RoundTrip(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	w.mu.Lock()
	discovers := strings.HasPrefix(r.URL.Path, "/apis/") && strings.Count(r.URL.Path, "/") == 3
	if !discovers && q.Get("limit") != "1" && (q.Get("watch") == "" || q.Get("sendInitialEvents") == "true") {
		w.lists++
	}
	change, already := w.change, w.shut
	w.mu.Unlock()
	if change != nil {
		r = r.Clone(r.Context())
		if response := change(r); response != nil {
			return response, nil
		}
	}
	response, err := w.next.RoundTrip(r)
	if err == nil && q.Get("watch") != "" {
		response.Body = &held{response.Body, w, already, r.Context()}
	}
	return response, err
}

// held is the body of a watch.
type held struct {
	io.ReadCloser
	way     *way
	already chan struct{}
	ctx     context.Context
}

func (h *held) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p)
	h.way.mu.Lock()
	shut := h.way.shut
	if shut == h.already && !h.way.all {
		shut = nil
	}
	h.way.mu.Unlock()
	if shut != nil {
		select {
		case <-shut:
		case <-h.ctx.Done():
			return 0, h.ctx.Err()
		}
	}
	return n, err
}

func createService(t *testing.T, api *kubetest.Cluster, namespace, name string) {
	t.Helper()
	api.Apply(t, fmt.Sprintf("{apiVersion: v1, kind: Service, metadata: {name: %s}, spec: {ports: [{port: 80}]}}", name), namespace)
}

// WrappedRoundTripper lets client-go close idle connections.
func (w *way) WrappedRoundTripper() http.RoundTripper { return w.next }

// catchUp calls CatchUp, and logs how long it has taken.
func catchUp(t *testing.T, tables ...AnyTable) (took time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), upToDate)
	defer cancel()
	begun := time.Now()
	if err := CatchUp(ctx, tables...); err != nil {
		t.Fatal(err)
	}
	took = time.Since(begun)
	t.Logf("the tables caught up in %v", took)
	return took
}

// The watches of some objects bring nothing any more when tables have to have what the API server has.
func TestCatchUp(t *testing.T) {
	api := kubetest.Start(t)
	first, second := api.Namespace(t), api.Namespace(t)
	for name, namespaces := range map[string][]string{"all namespaces": nil, "two namespaces": {first, second}} {
		t.Run(name, func(t *testing.T) {
			createService(t, api, first, "gone")
			way, config := lead(t, api.Config)
			var told sync.Map
			services := Services().Table(WithHandler(func(old, new *catalog.Service) {
				if new == nil {
					told.Store("gone", old.Key.Name)
				} else {
					told.Store(new.Key.Namespace, new.Key.Name)
				}
			}))
			c := runWith(t, Options{Config: config, Namespaces: namespaces}, services, Nodes().Table())
			settle(t, c)
			await(t, c, "service", Synced, "")
			way.shutWatches()
			createService(t, api, first, "late")
			createService(t, api, second, "late")
			if err := api.Client.CoreV1().Services(first).Delete(t.Context(), "gone", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if services.Get(first, "late") != nil || services.Get(first, "gone") == nil {
				t.Fatal("nothing is held back")
			}
			listed := way.listed()
			catchUp(t, services, services)
			if services.Get(first, "late") == nil || services.Get(second, "late") == nil || services.Get(first, "gone") != nil {
				t.Errorf("the table has %v", namesOf(services))
			}
			for key, want := range map[string]string{first: "late", second: "late", "gone": "gone"} {
				if got, _ := told.Load(key); got != want {
					t.Errorf("handlers were told %v, want %s", got, want)
				}
			}
			if n := way.listed() - listed; n != 0 {
				t.Errorf("objects were listed %d times", n)
			}
			for _, namespace := range []string{first, second} {
				if err := api.Client.CoreV1().Services(namespace).Delete(t.Context(), "late", metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Of a kind that nothing has happened to, there is nothing to wait for but a bookmark.
func TestCatchUpIdle(t *testing.T) {
	api := kubetest.Start(t)
	r := newRecorder()
	way, config := lead(t, api.Config)
	tables := CatalogTables(r, FromEndpointSlices)
	c := run(t, config, r, tables...)
	settle(t, c)
	listed := way.listed()
	for range 2 {
		createService(t, api, api.Namespace(t), "a") // another kind goes on
		if took := catchUp(t, tables...); took > 10*time.Second {
			t.Errorf("it took %v", took)
		}
	}
	if n := way.listed() - listed; n != 0 {
		t.Errorf("objects were listed %d times", n)
	}
}

// behind returns a table that lacks the Service "late" of a namespace, because its watches were shut before.
func behind(t *testing.T) (w *way, services *Table[catalog.Service], namespace string) {
	t.Helper()
	api := kubetest.Start(t)
	namespace = api.Namespace(t)
	w, config := lead(t, api.Config)
	services = Services().Table()
	c := runWith(t, Options{Config: config}, services)
	settle(t, c)
	await(t, c, "service", Synced, "")
	w.shutWatches()
	createService(t, api, namespace, "late")
	return w, services, namespace
}

// The versions that a table needs are gone, so the objects have to be listed again.
func TestCatchUpExpired(t *testing.T) {
	way, services, namespace := behind(t)
	var once sync.Once
	way.changeBy(func(r *http.Request) (answer *http.Response) {
		if q := r.URL.Query(); q.Get("watch") != "" && q.Get("sendInitialEvents") == "" {
			once.Do(func() { answer = answerOf(r, http.StatusGone, metav1.StatusReasonExpired) })
		}
		return answer
	})
	listed := way.listed()
	catchUp(t, services)
	if services.Get(namespace, "late") == nil {
		t.Errorf("the table has %v", namesOf(services))
	}
	if n := way.listed() - listed; n == 0 {
		t.Error("the objects were not listed again")
	}
}

func answerOf(r *http.Request, code int, reason metav1.StatusReason) *http.Response {
	body := fmt.Sprintf(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": %q, "code": %d}`, reason, code)
	return &http.Response{
		StatusCode: code, Request: r, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

// The request for the version fails a few times, and the watches are refused.
func TestCatchUpAfterErrors(t *testing.T) {
	way, services, namespace := behind(t)
	var mu sync.Mutex
	left := map[string]int{"list": 2, "watch": 2}
	way.changeBy(func(r *http.Request) *http.Response {
		mu.Lock()
		defer mu.Unlock()
		what := "list"
		if r.URL.Query().Get("watch") != "" {
			what = "watch"
		}
		if left[what]--; left[what] >= 0 {
			return answerOf(r, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
		}
		return nil
	})
	catchUp(t, services)
	if services.Get(namespace, "late") == nil {
		t.Errorf("the table has %v", namesOf(services))
	}
	mu.Lock()
	defer mu.Unlock()
	if left["list"] >= 0 || left["watch"] >= 0 {
		t.Errorf("requests that were not refused: %v", left)
	}
}

// An API server that sends no bookmarks is believed when it has had three seconds for its changes.
func TestCatchUpWithoutBookmarks(t *testing.T) {
	api := kubetest.Start(t)
	namespace := api.Namespace(t)
	way, config := lead(t, api.Config)
	way.changeBy(func(r *http.Request) *http.Response {
		q := r.URL.Query()
		if q.Get("sendInitialEvents") == "" {
			q.Del("allowWatchBookmarks")
			r.URL = &url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host, Path: r.URL.Path, RawQuery: q.Encode()}
		}
		return nil
	})
	services := Services().Table()
	c := runWith(t, Options{Config: config}, services)
	settle(t, c)
	await(t, c, "service", Synced, "")
	way.shutWatches()
	createService(t, api, namespace, "late")
	api.Namespace(t) // so that the version that has to be reached isn't that of the Service
	if took := catchUp(t, services); took < shortWatch {
		t.Errorf("the API server had %v only", took)
	}
	if services.Get(namespace, "late") == nil {
		t.Errorf("the table has %v", namesOf(services))
	}
}

// The error says what is missing.
func TestCatchUpEndsWithItsContext(t *testing.T) {
	api := kubetest.Start(t)
	namespace := api.Namespace(t)
	way, config := lead(t, api.Config)
	services := Services().Table()
	c := runWith(t, Options{Config: config, Namespaces: []string{namespace}}, services)
	settle(t, c)
	await(t, c, "service", Synced, "")
	way.shutAll()
	createService(t, api, namespace, "late")
	fails := func(want string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		err := CatchUp(ctx, services)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "catch up with services in namespace "+namespace+": "+want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	fails("the tables are at version")
	way.changeBy(func(r *http.Request) *http.Response {
		return answerOf(r, http.StatusForbidden, metav1.StatusReasonForbidden)
	})
	fails("read its current version")
	way.changeBy(nil)
	way.open()
	catchUp(t, services)
}

// A cluster that lacks an optional kind has none of its changes.
func TestCatchUpWithMissingKind(t *testing.T) {
	api := kubetest.Start(t)
	kind := Servers()
	kind.Name, kind.Resource.Resource = "nowhere", "nowheres"
	missing := kind.Table()
	c := runWith(t, Options{Config: api.Config}, missing)
	settle(t, c)
	if took := catchUp(t, missing); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	// Nor does a table that no cluster fills.
	catchUp(t, kind.Table())
}

// One refusal of an optional kind says nothing, because an API server may refuse requests while it starts.
// Refusals count when the required kinds have been read.
func TestCatchUpWithARefusedKind(t *testing.T) {
	for name, test := range map[string]struct {
		// refusals is how many requests for the optional kind are refused. busy is how many of those for the
		// required one are before that.
		refusals, busy int
		want           bool
	}{
		"once":                            {refusals: 1, want: true},
		"until the required kind is read": {busy: 3, want: true},
		"for good":                        {refusals: math.MaxInt},
	} {
		t.Run(name, func(t *testing.T) {
			api := kubetest.Start(t)
			namespace := api.Namespace(t)
			way, config := lead(t, api.Config)
			services, servers := Services().Table(), Servers().Table()
			c := runWith(t, Options{Config: config}, services, servers)
			settle(t, c)
			await(t, c, "server", Synced, "")
			way.shutWatches()
			api.Apply(t, "{apiVersion: policy.linkerd.io/v1beta3, kind: Server, metadata: {name: late}, spec: {port: 80, podSelector: {}}}", namespace)
			var mu sync.Mutex
			refusals, busy := test.refusals, test.busy
			way.changeBy(func(r *http.Request) *http.Response {
				mu.Lock()
				defer mu.Unlock()
				of := path.Base(r.URL.Path)
				switch {
				case r.URL.Query().Get("limit") != "1":
				case of == "services" && busy > 0:
					busy--
					return answerOf(r, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
				case of == "servers" && busy > 0:
					return answerOf(r, http.StatusForbidden, metav1.StatusReasonForbidden)
				case of == "servers" && refusals > 0:
					refusals--
					return answerOf(r, http.StatusForbidden, metav1.StatusReasonForbidden)
				}
				return nil
			})
			catchUp(t, services, servers)
			if got := servers.Get(namespace, "late") != nil; got != test.want {
				t.Errorf("the table has the new object: %t, want %t", got, test.want)
			}
			if s := servers.Status(); (s.State == Synced) != test.want {
				t.Errorf("after that, the table is %s (%s)", s.State, s.Reason)
			}
		})
	}
}

// A version counts when the handlers of all tables have been told.
func TestCatchUpCountsHandlers(t *testing.T) {
	var s *store
	var come []string
	handler := func(old, new *catalog.Service) { come = append(come, s.part.watches.progress()) }
	s = storeOf(t, binding{scope: NewScope("local")}, Services().Table(), Services().Table(WithHandler(handler)))
	service := func(version string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", ResourceVersion: version, Labels: map[string]string{"v": version}}, Spec: corev1.ServiceSpec{ClusterIP: "10.0.0." + version, Ports: []corev1.ServicePort{{Port: 80}}}}
	}
	for _, change := range []func() error{
		func() error { return s.Replace([]any{service("1")}, "1") },
		func() error { return s.Update(service("2")) },
		func() error { return s.Delete(service("3")) },
		func() error { return s.Bookmark("4") },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(come, ","); got != ",1,2" || s.part.watches.progress() != "4" {
		t.Errorf("handlers found the versions %s, want ,1,2; then it was %s, want 4", got, s.part.watches.progress())
	}
}

// A cluster without the CRD of an optional kind hands over like any other. What a process that
// lists its objects again hands over is nothing.
func TestContainWithMissingKind(t *testing.T) {
	api := kubetest.Start(t)
	kind := Servers()
	kind.Name, kind.Resource.Resource = "nowhere", "nowheres"
	services, missing := Services().Table(), kind.Table()
	c := runWith(t, Options{Config: api.Config}, services, missing)
	settle(t, c)
	contains := func(versions map[string]string) bool {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		return Contain(ctx, versions, services, missing)
	}
	former := Versions(services, missing)
	if !contains(former) {
		t.Errorf("the tables don't contain %v, of a process with the same objects", former)
	}
	for _, p := range services.parts() {
		former[p.label()] = ""
	}
	if contains(former) {
		t.Errorf("the tables contain %v, of a process that had listed nothing", former)
	}
}

// Tables of another process contain a change when they have come to its version, by whatever; a
// bookmark is no change.
func TestVersionsOfChanges(t *testing.T) {
	var w watches
	w.filledTo("10")
	w.advance("12", true)
	w.advance("20", false)
	if got := w.lastChange(); got != "12" {
		t.Errorf("the last change is %s, want 12", got)
	}
	for version, want := range map[string]bool{"12": true, "20": true, "21": false, "": false} {
		if got := w.contain(version); got != want {
			t.Errorf("version %q is contained: %t", version, got)
		}
	}
}

// What the old watch still brings after a rewind is of a history that is gone: neither this process
// nor the next leader takes its version for that of the tables, before the objects are listed
// again.
func TestLateChangeAfterARewind(t *testing.T) {
	var w watches
	w.filledTo("10")
	w.advance("12", true)
	w.forget()
	w.advance("13", true)
	w.advance("14", false)
	if w.progress() != "" || w.lastChange() != "" || w.contain("1") {
		t.Errorf("after a rewind the tables have come to %q, with a change at %q", w.progress(), w.lastChange())
	}
	w.filledTo("5")
	w.advance("6", true)
	if w.progress() != "6" || w.lastChange() != "6" {
		t.Errorf("after the listing the tables have come to %q, with a change at %q", w.progress(), w.lastChange())
	}
}

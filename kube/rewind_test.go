package kube

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/testkit/kubetest"
)

// fakeServer serves two kinds of objects, and nothing happens to them but what tests do.
type fakeServer struct {
	mu      sync.Mutex
	version int
	objects map[string][]string // names by resource
	// cut closes when open watches of the first kind end.
	cut chan struct{}
	// discovery has documents by their path, failing the statuses of those that can't be had, and
	// failed how often.
	discovery map[string]string
	failing   map[string]int
	failed    int
	// gone are resources that are answered with 404, and forbidden those with 403.
	gone, forbidden map[string]bool
	// events take what open watches of a resource bring.
	events map[string]chan string
	// slow, if not nil, is called between the making of a list and its sending.
	slow func()
}

func newFakeServer() *fakeServer {
	return &fakeServer{
		version: 1000, objects: map[string][]string{}, cut: make(chan struct{}),
		discovery: map[string]string{}, failing: map[string]int{}, gone: map[string]bool{}, forbidden: map[string]bool{}, events: map[string]chan string{"as": make(chan string), "bs": make(chan string)},
	}
}

// set changes the server under its lock.
func (s *fakeServer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	version, names, cut, document := strconv.Itoa(s.version), s.objects[resource], s.cut, s.discovery[r.URL.Path]
	gone, forbidden, failing := s.gone[resource], s.forbidden[resource], s.failing[r.URL.Path]
	slow := s.slow
	if failing != 0 {
		s.failed++
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case failing != 0:
		w.WriteHeader(failing)
		fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": %d}`, failing)
		return
	case document != "":
		fmt.Fprint(w, document)
		return
	case s.events[resource] == nil || gone:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`)
		return
	case forbidden:
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}`)
		return
	case r.URL.Query().Get("watch") == "":
		if slow != nil {
			slow()
		}
		fmt.Fprintf(w, `{"kind": "List", "apiVersion": "example.com/v1", "metadata": {"resourceVersion": %q}, "items": []}`, version)
		return
	}
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		for _, name := range names {
			fmt.Fprintf(w, `{"type": "ADDED", "object": {"kind": "X", "apiVersion": "example.com/v1", "metadata": {"name": %q, "resourceVersion": %q}}}`+"\n", name, version)
		}
		fmt.Fprintf(w, `{"type": "BOOKMARK", "object": {"kind": "X", "apiVersion": "example.com/v1", "metadata": {"resourceVersion": %q, "annotations": {"k8s.io/initial-events-end": "true"}}}}`+"\n", version)
	}
	for {
		w.(http.Flusher).Flush()
		select {
		case <-cut:
			return
		case <-r.Context().Done():
			return
		case event := <-s.events[resource]:
			fmt.Fprintln(w, event)
		}
	}
}

// bookmark is an event that says how far a watch has come.
func bookmark(version int) string {
	return fmt.Sprintf(`{"type": "BOOKMARK", "object": {"kind": "X", "apiVersion": "example.com/v1", "metadata": {"resourceVersion": "%d"}}}`, version)
}

// breakWatches ends the open watches after a change. A watch that ended at once, and without an
// event, would not be continued.
func (s *fakeServer) breakWatches(change func(), resources ...string) {
	for _, resource := range resources {
		s.events[resource] <- bookmark(s.version)
	}
	s.set(func() {
		change()
		close(s.cut)
		s.cut = make(chan struct{})
	})
}

// fakeKind is a kind that a fakeServer serves.
func fakeKind(resource string) Kind[string] {
	return Kind[string]{
		Name: resource, Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: resource}, ClusterWide: true,
		Form: Unstructured(), Trim: TrimOf(func(_ Scope, u *unstructured.Unstructured) (*string, []Problem) {
			name := u.GetName()
			return &name, nil
		}),
	}
}

// namesIn returns what a table has.
func namesIn(t *Table[string]) string {
	var all []string
	for _, name := range t.List() {
		all = append(all, *name)
	}
	return strings.Join(all, " ")
}

// becomes waits until a table has these objects.
func becomes(t *testing.T, table *Table[string], want string) {
	t.Helper()
	kubetest.Eventually(t, 20*time.Second, func() error {
		if got := namesIn(table); got != want {
			return fmt.Errorf("the table has %q, want %q", got, want)
		}
		return nil
	})
}

// day2 B1: one kind notices that the version went back, and all are listed again.
func TestRewind(t *testing.T) {
	s := newFakeServer()
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.set(func() { s.objects["as"], s.objects["bs"] = []string{"old-a"}, []string{"old-b"} })
	as, bs := fakeKind("as").Table(), fakeKind("bs").Table()
	r := newRecorder()
	c := run(t, &rest.Config{Host: h.URL}, r, as, bs)
	settle(t, c)
	becomes(t, as, "old-a")
	becomes(t, bs, "old-b")
	until, stop := UntilRewound(t.Context(), as, bs)
	defer stop()

	s.breakWatches(func() {
		s.version = 930
		s.objects["as"], s.objects["bs"] = []string{"restored-a"}, []string{"restored-b"}
	}, "as", "bs")
	becomes(t, as, "restored-a")
	becomes(t, bs, "restored-b")
	select {
	case <-until.Done():
	case <-time.After(10 * time.Second):
		t.Error("nobody was told")
	}
	if n := gauge(t, r, "kube_rewinds_total", "cluster=local"); n != 1 {
		t.Errorf("%v rewinds", n)
	}
	await(t, c, "as", Synced, "")
	await(t, c, "bs", Synced, "")
	if v := as.ResourceVersion(); v != "930" {
		t.Errorf("the table has come to version %s", v)
	}
	catchUp(t, as, bs) // the remembered version doesn't satisfy it

	// A watch that breaks without anything of this is continued.
	s.breakWatches(func() { s.version, s.objects["as"] = 931, []string{"not-listed"} }, "as", "bs")
	s.events["as"] <- `{"type": "ADDED", "object": {"kind": "X", "apiVersion": "example.com/v1", "metadata": {"name": "next", "resourceVersion": "931"}}}`
	kubetest.Eventually(t, 20*time.Second, func() error {
		if as.Get("", "next") == nil || as.Get("", "not-listed") != nil {
			return fmt.Errorf("the table has %q", namesIn(as))
		}
		return nil
	})
	// A bookmark says so, too.
	s.set(func() { s.version = 800 })
	s.events["as"] <- bookmark(800)
	becomes(t, as, "not-listed")
	if n := gauge(t, r, "kube_rewinds_total", "cluster=local"); n != 2 {
		t.Errorf("%v rewinds", n)
	}
}

// While the API server responds to a request for its version, a watch may bring later versions. That is no
// rewind, though the version of the response is below that of the tables when it arrives.
func TestChangesDuringARequestAreNoRewind(t *testing.T) {
	s := newFakeServer()
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	as := fakeKind("as").Table()
	r := newRecorder()
	c := run(t, &rest.Config{Host: h.URL}, r, as)
	settle(t, c)
	await(t, c, "as", Synced, "")
	s.set(func() {
		s.slow = func() {
			s.events["as"] <- bookmark(1010)
			kubetest.Eventually(t, 20*time.Second, func() error {
				if got := as.parts()[0].watches.progress(); got != "1010" {
					return fmt.Errorf("the table has come to version %s", got)
				}
				return nil
			})
		}
	})
	catchUp(t, as)
	if n := gauge(t, r, "kube_rewinds_total", "cluster=local"); n != 0 {
		t.Errorf("%v rewinds", n)
	}
	s.set(func() { s.slow, s.version = nil, 1005 })
	catchUp(t, as)
	if n := gauge(t, r, "kube_rewinds_total", "cluster=local"); n != 1 {
		t.Errorf("%v rewinds after one", n)
	}
}

// A server whose resource version goes back after each listing, or that always expires the version
// of the watch that follows, is listed after pauses that double.
func TestPausesBetweenListings(t *testing.T) {
	for name, after := range map[string]string{
		"rewinds":          bookmark(999),
		"expired versions": `{"type": "ERROR", "object": {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410}}`,
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var listed []time.Time
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.URL.Query().Get("sendInitialEvents") != "true" {
					// The version that a watch continues at, and that of a listing when streaming has failed.
					fmt.Fprint(w, `{"kind": "List", "apiVersion": "example.com/v1", "metadata": {"resourceVersion": "1000"}, "items": []}`)
					return
				}
				mu.Lock()
				listed = append(listed, time.Now())
				mu.Unlock()
				fmt.Fprintf(w, `{"type": "BOOKMARK", "object": {"kind": "X", "apiVersion": "example.com/v1", "metadata": {"resourceVersion": "1000", "annotations": {"k8s.io/initial-events-end": "true"}}}}`+"\n%s\n", after)
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}))
			t.Cleanup(h.Close)
			r := newRecorder()
			run(t, &rest.Config{Host: h.URL}, r, fakeKind("as").Table())
			const want = 5
			kubetest.Eventually(t, 20*time.Second, func() error {
				mu.Lock()
				defer mu.Unlock()
				if len(listed) < want {
					return fmt.Errorf("listed %d times, want %d", len(listed), want)
				}
				return nil
			})
			mu.Lock()
			defer mu.Unlock()
			for i, pause := 1, retryFirst; i < want; i, pause = i+1, 2*pause {
				if got, least := listed[i].Sub(listed[i-1]), pause*3/4; got < least {
					t.Errorf("pause %d took %v, want %v at least", i, got, least)
				}
			}
			if n := gauge(t, r, "kube_rewinds_total", "cluster=local"); name == "rewinds" && n < want-1 {
				t.Errorf("%v rewinds, want %d at least", n, want-1)
			}
		})
	}
}

// day2 B3: a CRD no longer serves the version that is read. The objects exist, so the kind isn't missing.
func TestOtherVersion(t *testing.T) {
	s := newFakeServer()
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.set(func() {
		s.gone["as"] = true
		s.gone["bs"] = true
		s.discovery["/apis/example.com"] = `{"kind": "APIGroup", "versions": [{"version": "v2"}]}`
		s.discovery["/apis/example.com/v2"] = `{"kind": "APIResourceList", "resources": [{"name": "as", "verbs": ["create", "list"]}]}`
	})
	optional := func(resource string) Kind[string] {
		k := fakeKind(resource)
		k.Optional = true
		return k
	}
	as, bs := optional("as").Table(), optional("bs").Table()
	c := run(t, &rest.Config{Host: h.URL}, newRecorder(), as, bs)
	settle(t, c) // nothing else waits for it
	await(t, c, "as", Waiting, OtherVersion)
	await(t, c, "bs", Waiting, NotFound)
	if as.Status().Absent() || !bs.Status().Absent() {
		t.Errorf("absent: %v and %v, want the other one only", as.Status().Absent(), bs.Status().Absent())
	}
	if detail := as.Status().Detail; !strings.Contains(detail, "serves as.example.com in v2, and not in v1") {
		t.Errorf("it says %q", detail)
	}
	s.set(func() {
		s.gone["as"] = false
		s.objects["as"] = []string{"back"}
	})
	becomes(t, as, "back")
}

// The objects stay in the table while the right to read them is withdrawn.
func TestWithdrawnRight(t *testing.T) {
	s := newFakeServer()
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.set(func() { s.objects["as"] = []string{"a"} })
	as := fakeKind("as").Table()
	c := run(t, &rest.Config{Host: h.URL}, newRecorder(), as)
	becomes(t, as, "a")
	s.breakWatches(func() { s.forbidden["as"] = true }, "as")
	await(t, c, "as", Waiting, Forbidden)
	if got := namesIn(as); got != "a" {
		t.Errorf("the table has %q", got)
	}
	s.set(func() { s.forbidden["as"] = false })
	await(t, c, "as", Synced, "")
	if got := namesIn(as); got != "a" {
		t.Errorf("the table has %q afterwards", got)
	}
}

// A right that is refused once, as by an API server that starts, doesn't make the cluster settle
// without the kind.
func TestPassingRefusalAtStart(t *testing.T) {
	s := newFakeServer()
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ServeHTTP(w, r)
		if r.URL.Path == "/apis/example.com/v1/as" && r.URL.Query().Get("watch") == "" {
			s.set(func() { s.forbidden["as"] = false })
		}
	}))
	t.Cleanup(h.Close)
	s.set(func() {
		s.objects["as"] = []string{"a"}
		s.forbidden["as"] = true
	})
	k := fakeKind("as")
	k.Optional = true
	as := k.Table()
	c := run(t, &rest.Config{Host: h.URL}, newRecorder(), as, fakeKind("bs").Table())
	settle(t, c)
	if got := namesIn(as); got != "a" {
		t.Errorf("the cluster settled while the table had %q: %+v", got, as.Status())
	}
}

// However often a kind was refused before, the cluster settles without it only if it is refused
// after the required kinds were filled.
func TestLastingRefusalAtStart(t *testing.T) {
	s := newFakeServer()
	refused, served := 0, 0 // how often the optional kind was refused, and how often when the required one was first served
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.set(func() {
			switch {
			case r.URL.Path == "/apis/example.com/v1/as" && r.URL.Query().Get("watch") == "":
				refused++
				s.forbidden["bs"] = refused < 3
			case r.URL.Path == "/apis/example.com/v1/bs" && !s.forbidden["bs"] && served == 0:
				served = refused
			}
		})
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	s.set(func() { s.forbidden["as"], s.forbidden["bs"] = true, true })
	k := fakeKind("as")
	k.Optional = true
	as := k.Table()
	c := run(t, &rest.Config{Host: h.URL}, newRecorder(), as, fakeKind("bs").Table())
	settle(t, c)
	s.set(func() {
		if served < 3 || refused <= served {
			t.Errorf("the cluster settled after %d refusals, %d of them before the required kind was served", refused, served)
		}
	})
	await(t, c, "as", Waiting, Forbidden)
}

// day2 B3: the objects stay in the table while their definition serves another version.
func TestVersionIsDropped(t *testing.T) {
	s := newFakeServer()
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.set(func() { s.objects["as"] = []string{"a"} })
	k := fakeKind("as")
	k.Optional = true
	as := k.Table()
	c := run(t, &rest.Config{Host: h.URL}, newRecorder(), as)
	becomes(t, as, "a")
	s.breakWatches(func() {
		s.gone["as"] = true
		s.discovery["/apis/example.com"] = `{"kind": "APIGroup", "versions": [{"version": "v2"}]}`
		s.discovery["/apis/example.com/v2"] = `{"kind": "APIResourceList", "resources": [{"name": "as", "verbs": ["create", "list"]}]}`
	}, "as")
	await(t, c, "as", Waiting, OtherVersion)
	if got := namesIn(as); got != "a" {
		t.Errorf("the table has %q", got)
	}
	s.set(func() { s.gone["as"] = false })
	await(t, c, "as", Synced, "")
}

// An API server that is busy, or refuses API discovery, doesn't say whether a kind is served in
// another version: the kind doesn't count as absent.
func TestOtherVersionOfABusyServer(t *testing.T) {
	for code, reason := range map[int]Reason{
		http.StatusForbidden:       DiscoveryForbidden,
		http.StatusTooManyRequests: ServerError, http.StatusInternalServerError: ServerError, http.StatusServiceUnavailable: ServerError,
	} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			s := newFakeServer()
			h := httptest.NewServer(s)
			t.Cleanup(h.Close)
			s.set(func() {
				s.gone["as"] = true
				s.failing["/apis/example.com"] = code
			})
			k := fakeKind("as")
			k.Optional = true
			as := k.Table()
			c := run(t, &rest.Config{Host: h.URL}, newRecorder(), as)
			await(t, c, "as", Waiting, reason)
			if as.Status().Absent() {
				t.Errorf("the kind counts as absent: %s", as.Status().Detail)
			}
			s.set(func() { delete(s.failing, "/apis/example.com") })
			await(t, c, "as", Waiting, NotFound)
		})
	}
}

// While API discovery is forbidden to list the versions of a group, or the resources of another
// version, the status says which right is missing.
func TestForbiddenDiscovery(t *testing.T) {
	for _, path := range []string{"/apis/example.com", "/apis/example.com/v2"} {
		t.Run(path, func(t *testing.T) {
			s := newFakeServer()
			h := httptest.NewServer(s)
			t.Cleanup(h.Close)
			s.set(func() {
				s.gone["as"] = true
				s.discovery["/apis/example.com"] = `{"kind": "APIGroup", "versions": [{"version": "v2"}]}`
				s.failing[path] = http.StatusForbidden
			})
			k := fakeKind("as")
			k.Optional = true
			as := k.Table()
			c := run(t, &rest.Config{Host: h.URL}, newRecorder(), as)
			settle(t, c) // nothing else waits for it
			await(t, c, "as", Waiting, DiscoveryForbidden)
			if got, want := as.Status().Detail, "grant get on /apis/example.com and /apis/example.com/*"; !strings.Contains(got, want) {
				t.Errorf("the status says %q, want %q", got, want)
			}
		})
	}
}

// Versions whose names are none are not asked for, nor shown, nor more than a few: the server may
// be anybody's.
func TestOtherVersionsAreLimited(t *testing.T) {
	s := newFakeServer()
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.set(func() {
		versions := []string{`{"version": "` + strings.Repeat("x", 100) + `"}`, `{"version": "../v3"}`}
		for n := range 30 {
			name := fmt.Sprintf("v1alpha%d", n)
			versions = append(versions, fmt.Sprintf(`{"version": %q}`, name))
			s.discovery["/apis/example.com/"+name] = `{"kind": "APIResourceList", "resources": [{"name": "as", "verbs": ["list"]}]}`
		}
		s.gone["as"] = true
		s.discovery["/apis/example.com"] = `{"kind": "APIGroup", "versions": [` + strings.Join(versions, ", ") + `]}`
	})
	k := fakeKind("as")
	k.Optional = true
	as := k.Table()
	c := run(t, &rest.Config{Host: h.URL}, newRecorder(), as)
	await(t, c, "as", Waiting, OtherVersion)
	if detail, want := as.Status().Detail, "serves as.example.com in v1alpha0, v1alpha1, v1alpha2, v1alpha3, v1alpha4, v1alpha5, v1alpha6, v1alpha7, and not"; !strings.Contains(detail, want) {
		t.Errorf("it says %q, want %q", detail, want)
	}
}

// day2 B11: a CRD is being removed. Requests that fail in the meantime, which may be long, don't
// say that it isn't.
func TestTerminatingDefinitionAndFailures(t *testing.T) {
	for _, code := range []int{http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			s := newFakeServer()
			h := httptest.NewServer(s)
			t.Cleanup(h.Close)
			const path = "/apis/example.com/v1"
			s.set(func() {
				s.discovery[path] = `{"kind": "APIResourceList", "resources": [{"name": "as", "verbs": ["deletecollection", "list"]}]}`
				s.objects["as"] = []string{"a"}
			})
			k := fakeKind("as")
			k.Optional = true
			as := k.Table()
			c := run(t, &rest.Config{Host: h.URL}, newRecorder(), as)
			await(t, c, "as", Waiting, Terminating)
			s.set(func() { s.failing[path] = code })
			kubetest.Eventually(t, 20*time.Second, func() error {
				s.mu.Lock()
				defer s.mu.Unlock()
				if s.failed < 2 { // the first one has been handled when the second one comes
					return fmt.Errorf("the definition was asked for %d times", s.failed)
				}
				return nil
			})
			if got := status(c, "as"); got.Reason != Terminating {
				t.Errorf("%s %s", got.State, got.Reason)
			}
			s.set(func() {
				delete(s.failing, path)
				s.discovery[path] = `{"kind": "APIResourceList", "resources": [{"name": "as", "verbs": ["create", "update", "deletecollection", "list"]}]}`
			})
			await(t, c, "as", Synced, "")
		})
	}
}

// API discovery is forbidden before and after the table is filled, and allowed afterwards: that the
// CRD is being removed is noticed nevertheless.
func TestTerminatingDefinitionAfterRefusals(t *testing.T) {
	s := newFakeServer()
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	const path = "/apis/example.com/v1"
	s.set(func() {
		s.discovery[path] = `{"kind": "APIResourceList", "resources": [{"name": "as", "verbs": ["deletecollection", "list"]}]}`
		s.objects["as"] = []string{"a"}
		s.failing[path] = http.StatusForbidden
	})
	k := fakeKind("as")
	k.Optional = true
	as := k.Table()
	c := run(t, &rest.Config{Host: h.URL}, newRecorder(), as)
	becomes(t, as, "a")
	kubetest.Eventually(t, 20*time.Second, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.failed < 2 { // once before the table was filled, and once after
			return fmt.Errorf("the definition was asked for %d times", s.failed)
		}
		return nil
	})
	s.set(func() { delete(s.failing, path) })
	await(t, c, "as", Waiting, Terminating)
}

// day2 B11: a CRD is being removed, so its objects are deleted.
func TestTerminatingDefinition(t *testing.T) {
	s := newFakeServer()
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	verbs := func(list string) {
		s.discovery["/apis/example.com/v1"] = `{"kind": "APIResourceList", "resources": [{"name": "as", "verbs": [` + list + `]}]}`
	}
	s.set(func() {
		verbs(`"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"`)
		s.objects["as"] = []string{"a"}
	})
	k := fakeKind("as")
	k.Optional = true
	as := k.Table()
	c := run(t, &rest.Config{Host: h.URL}, newRecorder(), as)
	becomes(t, as, "a")
	await(t, c, "as", Synced, "")
	s.set(func() { verbs(`"delete", "deletecollection", "get", "list", "watch"`) })
	s.events["as"] <- `{"type": "DELETED", "object": {"kind": "X", "apiVersion": "example.com/v1", "metadata": {"name": "a", "resourceVersion": "1001"}}}`
	await(t, c, "as", Waiting, Terminating)
	if !as.Filled() {
		t.Error("the table counts as never read")
	}
	// It is gone and comes back.
	s.set(func() {
		verbs(`"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"`)
		s.version, s.objects["as"] = 1002, []string{"again"}
		s.gone["as"] = true
		close(s.cut)
		s.cut = make(chan struct{})
	})
	await(t, c, "as", Waiting, NotFound)
	s.set(func() { s.gone["as"] = false })
	becomes(t, as, "again")
	await(t, c, "as", Synced, "")

	// At the start, it is known before the table is filled.
	s.set(func() { verbs(`"delete", "deletecollection", "get", "list", "watch"`) })
	second := k.Table()
	c = run(t, &rest.Config{Host: h.URL}, newRecorder(), second)
	settle(t, c)
	if s := status(c, "as"); s.Reason != Terminating {
		t.Errorf("filled, and %s %s", s.State, s.Reason)
	}
}

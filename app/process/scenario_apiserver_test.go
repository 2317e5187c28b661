package process

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// deliveryTimeout bounds how long a change may take from the API server to a catalog.
const deliveryTimeout = 30 * time.Second

// TestScenariosOnAPIServer plays the scenarios with a real API server in two ways.
func TestScenariosOnAPIServer(t *testing.T) {
	api := kubetest.StartOwn(t, kubetest.Options{CRDs: "../../deploy/crds"})
	t.Run("tables", func(t *testing.T) { scenariosFromTables(t, api.Cluster) })
	t.Run("served", func(t *testing.T) { scenariosServed(t, api.Cluster) })
}

// scenariosFromTables plays the scenarios with the objects that the tables of package kube
// deliver. The API server has validated these objects and set their defaults.
func scenariosFromTables(t *testing.T, api *kubetest.Cluster) {
	backends := map[kinds.EndpointsFrom]*apiServer{}
	for _, from := range []kinds.EndpointsFrom{kinds.FromEndpointSlices, kinds.FromEndpoints} {
		backends[from] = startAPIServer(t, api, from)
	}
	for _, s := range readScenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			if s.memoryOnly != "" {
				t.Skip(s.memoryOnly)
			}
			names := scenarioNames{ns: api.Namespace(t), other: api.Namespace(t)}
			prepared := s.prepare(t, backends[endpointsFrom(s.options)], names)
			s.compare(t, s.play(t, prepared, names))
		})
	}
}

// objectWriter writes to an API server.
type objectWriter struct{ *kubetest.Cluster }

func (w objectWriter) client(n objectName) dynamic.ResourceInterface {
	if n.kind.global {
		return w.Dynamic.Resource(n.kind.resource)
	}
	return w.Dynamic.Resource(n.kind.resource).Namespace(n.namespace)
}

func (w objectWriter) write(t *testing.T, o manifest) {
	t.Helper()
	w.Apply(t, string(o.text), o.namespace)
}

func (w objectWriter) erase(t *testing.T, n objectName) {
	t.Helper()
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	if err := w.client(n).Delete(context.Background(), n.name, now); err != nil {
		t.Fatalf("delete %v: %v", n, err)
	}
}

// afterwards deletes an object at the end of the test if it belongs to no namespace and still
// exists: it would disturb the next scenario.
func (w objectWriter) afterwards(t *testing.T, n objectName, erase func()) {
	t.Helper()
	if !n.kind.global {
		return
	}
	t.Cleanup(func() {
		if _, err := w.client(n).Get(context.Background(), n.name, metav1.GetOptions{}); err == nil {
			erase()
		}
	})
}

// apiServer is the backend with a real API server.
type apiServer struct {
	objectWriter
	from kinds.EndpointsFrom
	recorder
}

// startAPIServer reads from the API server until the test ends.
func startAPIServer(t *testing.T, api *kubetest.Cluster, from kinds.EndpointsFrom) *apiServer {
	t.Helper()
	a := &apiServer{
		objectWriter: objectWriter{api}, from: from,
		recorder: recorder{objects: map[catalog.ID]catalog.Object{}, changed: make(chan struct{})},
	}
	cluster, err := kube.New(kube.Options{Config: api.Config, Logger: slog.New(slog.DiscardHandler), Report: a.report},
		kinds.CatalogTables(&a.recorder, from)...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- cluster.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-cluster.Settled():
	case <-time.After(deliveryTimeout):
		t.Fatalf("the cluster did not settle: %+v", cluster.Status())
	}
	return a
}

func (a *apiServer) apply(t *testing.T, objects []manifest) changes {
	t.Helper()
	var all changes
	for _, o := range objects {
		a.follow(t, o.objectName)
		a.write(t, o)
		a.afterwards(t, o.objectName, func() { a.remove(t, []objectName{o.objectName}) })
		stored, err := a.client(o.objectName).Get(t.Context(), o.name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(stored.Object)
		if err != nil {
			t.Fatal(err)
		}
		want, problems, err := o.kind.trim(text)
		if err != nil {
			t.Fatalf("%v as stored: %v", o, err)
		}
		if o.kind.readWith(a.from) {
			a.await(t, fmt.Sprint("apply ", o), func(r *recorder) bool { return r.holds(want) && r.reported(problems) })
			all.add(a.followed())
		}
	}
	return all
}

func (a *apiServer) remove(t *testing.T, objects []objectName) changes {
	t.Helper()
	var all changes
	for _, o := range objects {
		id := a.follow(t, o)
		a.erase(t, o)
		a.await(t, fmt.Sprint("delete ", o), func(r *recorder) bool { return r.objects[id] == nil })
		all.add(a.followed())
	}
	return all
}

func (c *changes) add(more changes) {
	c.events = append(c.events, more.events...)
	c.problems = append(c.problems, more.problems...)
}

// recorder is a sink that records what tables tell it.
type recorder struct {
	mu      sync.Mutex
	objects map[catalog.ID]catalog.Object
	changed chan struct{} // closed at the next change

	// id is the object that is followed. change is its last event, and problems are all that
	// were reported since it is followed.
	id       catalog.ID
	change   *event
	problems []objectmeta.Problem
}

// Put implements kube.Sink.
func (r *recorder) Put(o catalog.Object) { r.take(event{o.ID(), o}) }

// Delete implements kube.Sink.
func (r *recorder) Delete(id catalog.ID) { r.take(event{id: id}) }

func (r *recorder) take(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects[e.id] = e.object
	if e.id == r.id {
		r.change = &e
	}
	r.wake()
}

func (r *recorder) report(p objectmeta.Problem) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, p)
	r.wake()
}

func (r *recorder) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// follow begins to follow an object.
func (r *recorder) follow(t *testing.T, o objectName) catalog.ID {
	t.Helper()
	id, err := o.id()
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.id, r.change, r.problems = id, nil, nil
	return id
}

// followed returns what happened to the object.
func (r *recorder) followed() changes {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := changes{problems: r.problems}
	if r.change != nil {
		c.events = []event{*r.change}
	}
	return c
}

// holds reports whether the object has arrived. A nil object isn't waited for.
func (r *recorder) holds(o catalog.Object) bool {
	return o == nil || reflect.DeepEqual(r.objects[o.ID()], o)
}

func (r *recorder) reported(problems []objectmeta.Problem) bool {
	return !slices.ContainsFunc(problems, func(p objectmeta.Problem) bool { return !slices.Contains(r.problems, p) })
}

// await waits until the condition holds.
func (r *recorder) await(t *testing.T, what string, condition func(*recorder) bool) {
	t.Helper()
	late := time.NewTimer(deliveryTimeout)
	defer late.Stop()
	for {
		r.mu.Lock()
		ok, changed := condition(r), r.changed
		r.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-late.C:
			t.Fatalf("%s: what was written did not arrive within %v", what, deliveryTimeout)
		}
	}
}

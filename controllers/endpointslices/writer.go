package endpointslices

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"

	"github.com/signpostd/signpost/controllers/reconcile"
	store "github.com/signpostd/signpost/controllers/slices"
	"github.com/signpostd/signpost/controllers/watched"
)

// writer is the client with which the library writes slices. It writes through the store and keeps the
// errors, because the library turns them into text.
type writer struct {
	kubernetes.Interface // nil: only DiscoveryV1 is called
	discoveryclient.DiscoveryV1Interface
	store *store.Store

	mu sync.Mutex
	// syncs are the syncs under way, by Service, and bySlice by the slices that existed before.
	syncs   map[reconcile.Key]*underway
	bySlice map[types.NamespacedName]*underway
}

// underway is a sync in the library. It keeps the context, because the library doesn't pass it on. Only the
// worker of the Service uses it.
type underway struct {
	ctx   context.Context
	key   reconcile.Key
	store *store.Store
	// current are the slices that the API server has, by name.
	current map[string]*discoveryv1.EndpointSlice
	// aliases replace the ports of the slices in the library.
	aliases *aliases
	// failed is the first failure, apart from refused creates.
	failed  error
	refused refused
}

func newWriter(s *store.Store) *writer {
	return &writer{store: s, syncs: map[reconcile.Key]*underway{}, bySlice: map[types.NamespacedName]*underway{}}
}

// DiscoveryV1 implements kubernetes.Interface.
func (w *writer) DiscoveryV1() discoveryclient.DiscoveryV1Interface { return w }

// EndpointSlices implements discoveryclient.EndpointSlicesGetter.
func (w *writer) EndpointSlices(namespace string) discoveryclient.EndpointSliceInterface {
	return sliceWriter{writer: w, namespace: namespace}
}

// begin prepares a sync of a Service that has these slices. The caller must call the function end after it.
func (w *writer) begin(ctx context.Context, key reconcile.Key, existing []*discoveryv1.EndpointSlice, a *aliases) (s *underway, end func()) {
	s = &underway{ctx: ctx, key: key, store: w.store, aliases: a, current: make(map[string]*discoveryv1.EndpointSlice, len(existing))}
	for _, e := range existing {
		s.current[e.Name] = e
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.syncs[key] = s
	for _, e := range existing {
		w.bySlice[types.NamespacedName{Namespace: e.Namespace, Name: e.Name}] = s
	}
	return s, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.syncs, key)
		for _, e := range existing {
			if name := (types.NamespacedName{Namespace: e.Namespace, Name: e.Name}); w.bySlice[name] == s {
				delete(w.bySlice, name)
			}
		}
	}
}

// prepare makes a slice from the library one that can be written and kept, and returns the sync of
// its Service.
func (w *writer) prepare(e *discoveryv1.EndpointSlice) (*underway, error) {
	key, _ := watched.ServiceOf(e)
	w.mu.Lock()
	s := w.syncs[key]
	w.mu.Unlock()
	if s == nil {
		return nil, fmt.Errorf("write EndpointSlice %s/%s: Service %s is not being synced", e.Namespace, e.Name, key)
	}
	detach(e)
	s.aliases.restore(e)
	return s, nil
}

// size returns the numbers of the Service's slices and of their endpoints.
func (s *underway) size() (slices, endpoints int) {
	for _, e := range s.current {
		endpoints += len(e.Endpoints)
	}
	return len(s.current), endpoints
}

func (s *underway) note(err error) {
	s.failed = cmp.Or(s.failed, err)
}

// create creates a slice, and records the result. If the API server refuses the slice, create returns it
// without an error, because the library would not send the updates and deletes otherwise.
func (s *underway) create(e *discoveryv1.EndpointSlice) (*discoveryv1.EndpointSlice, error) {
	if s.refused.skipsCreate(e) {
		return e, nil
	}
	made, err := s.store.Create(s.ctx, s.key, e)
	switch {
	case err == nil:
		s.current[made.Name] = made
	case reconcile.IsNamespaceTerminating(err):
	case reconcile.IsRefused(err):
		s.refused.add(e, err)
		return e, nil
	default:
		s.note(err)
	}
	return made, err
}

// update updates a slice, and records the result.
func (s *underway) update(e *discoveryv1.EndpointSlice) (*discoveryv1.EndpointSlice, error) {
	made, err := s.store.Update(s.ctx, s.key, e)
	s.note(err)
	if err == nil {
		s.current[made.Name] = made
	}
	return made, err
}

// delete deletes a slice, and records the result.
func (s *underway) delete(e *discoveryv1.EndpointSlice) error {
	err := s.store.Delete(s.ctx, s.key, e)
	s.note(err)
	if err == nil {
		delete(s.current, e.Name)
	}
	return err
}

// sliceWriter is the part of the client that the library uses.
type sliceWriter struct {
	discoveryclient.EndpointSliceInterface // nil: only the methods below are called
	writer                                 *writer
	namespace                              string
}

// Create implements discoveryclient.EndpointSliceInterface.
func (w sliceWriter) Create(_ context.Context, e *discoveryv1.EndpointSlice, _ metav1.CreateOptions) (*discoveryv1.EndpointSlice, error) {
	s, err := w.writer.prepare(e)
	if err != nil {
		return nil, err
	}
	return s.create(e)
}

// Update implements discoveryclient.EndpointSliceInterface.
func (w sliceWriter) Update(_ context.Context, e *discoveryv1.EndpointSlice, _ metav1.UpdateOptions) (*discoveryv1.EndpointSlice, error) {
	s, err := w.writer.prepare(e)
	if err != nil {
		return nil, err
	}
	if s.refused.hold(heldWrite{name: e.Name, next: e}) {
		return e, nil
	}
	return s.update(e)
}

// Delete implements discoveryclient.EndpointSliceInterface.
func (w sliceWriter) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	w.writer.mu.Lock()
	s := w.writer.bySlice[types.NamespacedName{Namespace: w.namespace, Name: name}]
	w.writer.mu.Unlock()
	if s == nil || s.current[name] == nil {
		return fmt.Errorf("delete EndpointSlice %s/%s: no Service that is being synced has this slice", w.namespace, name)
	}
	if s.refused.hold(heldWrite{name: name}) {
		return nil
	}
	return s.delete(s.current[name])
}

// detach makes a slice from the library safe to keep: it points into pod objects whose memory is reused after
// the sync.
func detach(e *discoveryv1.EndpointSlice) {
	copies := make([]string, 0, 3*len(e.Endpoints)) // one allocation for up to a thousand endpoints
	for i := range e.Endpoints {
		endpoint := &e.Endpoints[i]
		for _, text := range []**string{&endpoint.NodeName, &endpoint.Hostname, &endpoint.Zone} {
			if *text != nil {
				copies = append(copies, **text)
				*text = &copies[len(copies)-1]
			}
		}
	}
}

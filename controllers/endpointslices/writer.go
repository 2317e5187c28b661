package endpointslices

import (
	"context"
	"fmt"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// syncs are the syncs under way, by Service.
	syncs map[reconcile.Key]*underway
}

// underway is a sync in the library. It keeps the context, because the library doesn't pass it on.
type underway struct {
	ctx context.Context
	// current are the slices that the API server has, by name.
	current map[string]*discoveryv1.EndpointSlice
	// aliases replace the ports of the slices in the library.
	aliases *aliases
	// failed is the first failure, apart from refused creates.
	failed  error
	refused refused
}

func newWriter(s *store.Store) *writer {
	return &writer{store: s, syncs: map[reconcile.Key]*underway{}}
}

// DiscoveryV1 implements kubernetes.Interface.
func (w *writer) DiscoveryV1() discoveryclient.DiscoveryV1Interface { return w }

// EndpointSlices implements discoveryclient.EndpointSlicesGetter.
func (w *writer) EndpointSlices(namespace string) discoveryclient.EndpointSliceInterface {
	return sliceWriter{writer: w, namespace: namespace}
}

// begin prepares a sync of a Service that has these slices.
func (w *writer) begin(ctx context.Context, key reconcile.Key, existing []*discoveryv1.EndpointSlice, a *aliases) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &underway{ctx: ctx, aliases: a, current: make(map[string]*discoveryv1.EndpointSlice, len(existing))}
	for _, e := range existing {
		s.current[e.Name] = e
	}
	w.syncs[key] = s
}

// end returns the size of the Service's slices after the sync, and its first failure.
func (w *writer) end(key reconcile.Key) (reconcile.Size, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.syncs[key]
	delete(w.syncs, key)
	size := reconcile.Size{Slices: len(s.current)}
	for _, e := range s.current {
		size.Endpoints += len(e.Endpoints)
	}
	return size, s.failure()
}

// wrote records a created or updated slice.
func (w *writer) wrote(key reconcile.Key, e *discoveryv1.EndpointSlice) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.syncs[key]; s != nil {
		s.current[e.Name] = e
	}
}

// deleted records a deleted slice.
func (w *writer) deleted(key reconcile.Key, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.syncs[key]; s != nil {
		delete(s.current, name)
	}
}

func (w *writer) note(key reconcile.Key, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.syncs[key]; s != nil && s.failed == nil {
		s.failed = err
	}
}

// context returns the context of a Service's sync; other if there is none.
func (w *writer) context(key reconcile.Key, other context.Context) context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.syncs[key]; s != nil {
		return s.ctx
	}
	return other
}

// find returns a slice of a sync under way, and its Service.
func (w *writer) find(namespace, name string) (reconcile.Key, *discoveryv1.EndpointSlice) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, s := range w.syncs {
		if e := s.current[name]; key.Namespace == namespace && e != nil {
			return key, e
		}
	}
	return reconcile.Key{}, nil
}

// sliceWriter is the part of the client that the library uses.
type sliceWriter struct {
	discoveryclient.EndpointSliceInterface // nil: only the methods below are called
	writer                                 *writer
	namespace                              string
}

// Create implements discoveryclient.EndpointSliceInterface. If the API server refuses the slice,
// Create returns the slice without an error, because the library would not send the updates and
// deletes otherwise.
func (s sliceWriter) Create(ctx context.Context, e *discoveryv1.EndpointSlice, _ metav1.CreateOptions) (*discoveryv1.EndpointSlice, error) {
	key, _ := watched.ServiceOf(e)
	s.writer.prepare(key, e)
	if s.writer.skipsCreate(key, e) {
		return e, nil
	}
	made, err := s.writer.store.Create(s.writer.context(key, ctx), key, e)
	if reconcile.IsRefused(err) && !reconcile.IsNamespaceTerminating(err) && s.writer.refuse(key, e, err) {
		return e, nil
	}
	if !reconcile.IsNamespaceTerminating(err) {
		s.writer.note(key, err)
	}
	if err == nil {
		s.writer.wrote(key, made)
	}
	return made, err
}

// Update implements discoveryclient.EndpointSliceInterface.
func (s sliceWriter) Update(ctx context.Context, e *discoveryv1.EndpointSlice, _ metav1.UpdateOptions) (*discoveryv1.EndpointSlice, error) {
	key, _ := watched.ServiceOf(e)
	s.writer.prepare(key, e)
	if s.writer.hold(key, heldWrite{name: e.Name, next: e}) {
		return e, nil
	}
	return s.writer.update(s.writer.context(key, ctx), key, e)
}

// update updates a slice, and records the result.
func (w *writer) update(ctx context.Context, key reconcile.Key, e *discoveryv1.EndpointSlice) (*discoveryv1.EndpointSlice, error) {
	made, err := w.store.Update(ctx, key, e)
	w.note(key, err)
	if err == nil {
		w.wrote(key, made)
	}
	return made, err
}

// prepare makes a slice from the library one that can be written and kept.
func (w *writer) prepare(key reconcile.Key, e *discoveryv1.EndpointSlice) {
	detach(e)
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.syncs[key]; s != nil {
		s.aliases.restore(e)
	}
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

// Delete implements discoveryclient.EndpointSliceInterface.
func (s sliceWriter) Delete(ctx context.Context, name string, _ metav1.DeleteOptions) error {
	key, e := s.writer.find(s.namespace, name)
	if e == nil {
		return fmt.Errorf("delete EndpointSlice %s/%s: no Service that is being synced has this slice", s.namespace, name)
	}
	if s.writer.hold(key, heldWrite{name: name}) {
		return nil
	}
	return s.writer.delete(s.writer.context(key, ctx), key, e)
}

// delete deletes a slice, and records the result.
func (w *writer) delete(ctx context.Context, key reconcile.Key, e *discoveryv1.EndpointSlice) error {
	err := w.store.Delete(ctx, key, e)
	w.note(key, err)
	if err == nil {
		w.deleted(key, e.Name)
	}
	return err
}

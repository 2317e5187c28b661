package slices

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"

	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/controllers/writeclient"
	"github.com/signpostd/signpost/kube"
)

// Options configure a [Store].
type Options struct {
	// ManagedBy is the value of the label endpointslice.kubernetes.io/managed-by of the slices.
	ManagedBy string
	Client    discoveryclient.EndpointSlicesGetter
	// Table has the index [watched.ByService].
	Table *kube.Table[watched.Slice]
	// Loop syncs the Services whose slices another writer changed, and counts and logs the writes.
	Loop *reconcile.Loop
	// FailFast makes [Store.Apply] skip all further writes of an address type after a failure, not only the
	// deletions.
	FailFast bool
	// Planned, if not nil, is called with the operation (create, update, delete) of each successful
	// write of a plan.
	Planned func(operation string)
}

// Store has the EndpointSlices of one controller.
type Store struct {
	o       Options
	overlay *reconcile.Overlay[*discoveryv1.EndpointSlice]

	mu sync.Mutex
	// unsettled are the names of slices, by Service, whose last write failed but may have succeeded on the
	// server.
	unsettled map[reconcile.Key]map[string]struct{}
}

// NewStore returns the store of a controller.
func NewStore(o Options) *Store {
	if o.Planned == nil {
		o.Planned = func(string) {}
	}
	has := func(service reconcile.Key, name string, uid types.UID) bool {
		e := o.Table.Get(service.Namespace, name)
		return e != nil && e.GetUID() == uid
	}
	return &Store{
		o: o, overlay: reconcile.NewOverlay[*discoveryv1.EndpointSlice](o.Table.ResourceVersion, has),
		unsettled: map[reconcile.Key]map[string]struct{}{},
	}
}

// Of returns the slices of a Service that the controller manages, by name, without those that are being
// deleted. The caller must not change them, because the store keeps some of them.
func (s *Store) Of(service reconcile.Key) []*discoveryv1.EndpointSlice {
	list := s.overlay.Merge(service, func() []*discoveryv1.EndpointSlice {
		var stored []*discoveryv1.EndpointSlice
		for _, e := range s.o.Table.ByIndex(watched.ByService, service.String()) {
			if s.manages(e) && !e.Terminating {
				stored = append(stored, e.Object())
			}
		}
		return stored
	})
	list = slices.DeleteFunc(list, func(e *discoveryv1.EndpointSlice) bool { return !s.isOf(service, e) })
	slices.SortFunc(list, ByName)
	return list
}

// isOf reports whether the controller manages a slice for a Service, and the slice is not being deleted.
func (s *Store) isOf(service reconcile.Key, e *discoveryv1.EndpointSlice) bool {
	return e.Labels[discoveryv1.LabelServiceName] == service.Name && e.Labels[discoveryv1.LabelManagedBy] == s.o.ManagedBy &&
		e.DeletionTimestamp == nil
}

func (s *Store) manages(e *watched.Slice) bool { return e.ManagedBy == s.o.ManagedBy }

// Create creates a slice, under its name or, if it has none, under one derived from its generateName. If the
// slice exists already, it is read and returned with the error.
func (s *Store) Create(ctx context.Context, service reconcile.Key, e *discoveryv1.EndpointSlice) (*discoveryv1.EndpointSlice, error) {
	if e.Name != "" {
		return s.create(ctx, service, e)
	}
	none := func() (*discoveryv1.EndpointSlice, bool) { return nil, false }
	for n, refused := 0, 0; ; n++ {
		named := *e
		named.GenerateName, named.Name = "", generatedName(e, n)
		if _, written := s.overlay.Find(service, named.Name, none); written || s.o.Table.Get(service.Namespace, named.Name) != nil {
			continue
		}
		created, err := s.create(ctx, service, &named)
		if !apierrors.IsAlreadyExists(err) || refused == nameAttempts || s.find(service, named.Name) != nil {
			return created, err
		}
		refused++
	}
}

// nameAttempts is the number of further names that are tried if slices that the table lacks have the first
// ones.
const nameAttempts = 4

// find returns the slice of a name if [Store.Of] has it, else nil. It decodes no other slice,
// because a plan may have a thousand writes.
func (s *Store) find(service reconcile.Key, name string) *discoveryv1.EndpointSlice {
	e, found := s.overlay.Find(service, name, s.stored(service, name))
	if !found || !s.isOf(service, e) {
		return nil
	}
	return e
}

// stored returns a function that returns the slice of a name in the table, whatever Service and manager it
// has.
func (s *Store) stored(service reconcile.Key, name string) func() (*discoveryv1.EndpointSlice, bool) {
	return func() (*discoveryv1.EndpointSlice, bool) {
		if e := s.o.Table.Get(service.Namespace, name); e != nil {
			return e.Object(), true
		}
		return nil, false
	}
}

func (s *Store) create(ctx context.Context, service reconcile.Key, e *discoveryv1.EndpointSlice) (*discoveryv1.EndpointSlice, error) {
	client := s.o.Client.EndpointSlices(service.Namespace)
	created, err := s.write(ctx, service, "create", e, func(ctx context.Context) (*discoveryv1.EndpointSlice, error) {
		return client.Create(ctx, e, metav1.CreateOptions{})
	})
	if !apierrors.IsAlreadyExists(err) {
		return created, err
	}
	live, readErr := client.Get(ctx, e.Name, metav1.GetOptions{})
	if readErr != nil {
		return nil, fmt.Errorf("read EndpointSlice %s/%s, which exists already: %w", service.Namespace, e.Name, readErr)
	}
	s.read(service, live)
	return live, err
}

// read records a slice that was read from the API server, if it is one of the Service.
func (s *Store) read(service reconcile.Key, live *discoveryv1.EndpointSlice) {
	if key, ok := watched.ServiceOf(live); ok && key == service {
		live.ManagedFields = nil
		s.overlay.Read(service, live)
	}
}

// Update replaces a slice. A slice without a resourceVersion, which was built from scratch, replaces the
// version in the store, and keeps the finalizers and annotations of other writers on it. If the slice was
// deleted, the error is a conflict.
func (s *Store) Update(ctx context.Context, service reconcile.Key, e *discoveryv1.EndpointSlice) (*discoveryv1.EndpointSlice, error) {
	if e.ResourceVersion == "" {
		if stored := s.find(service, e.Name); stored != nil {
			versioned := *e
			versioned.ResourceVersion, versioned.UID = stored.ResourceVersion, stored.UID
			versioned.Finalizers = stored.Finalizers
			versioned.Annotations = withAnnotationsOf(stored, e.Annotations)
			e = &versioned
		}
	}
	return s.write(ctx, service, "update", e, func(ctx context.Context) (*discoveryv1.EndpointSlice, error) {
		made, err := s.o.Client.EndpointSlices(service.Namespace).Update(ctx, e, metav1.UpdateOptions{})
		if reconcile.IsMissing(err) {
			// As after any other conflict, the slices must be read again.
			err = apierrors.NewConflict(discoveryv1.Resource("endpointslices"), e.Name, err)
		}
		return made, err
	})
}

// withAnnotationsOf returns the annotations own, with those of other writers on the replaced slice added. The
// trigger time is always that in own.
func withAnnotationsOf(replaced *discoveryv1.EndpointSlice, own map[string]string) map[string]string {
	all := maps.Clone(replaced.Annotations)
	delete(all, corev1.EndpointsLastChangeTriggerTime)
	if len(all) == 0 {
		return own
	}
	maps.Copy(all, own)
	return all
}

// write carries out a create or update.
func (s *Store) write(
	ctx context.Context, service reconcile.Key, operation string, e *discoveryv1.EndpointSlice,
	request func(context.Context) (*discoveryv1.EndpointSlice, error),
) (*discoveryv1.EndpointSlice, error) {
	before := s.addressesBefore(service, e.Name)
	s.overlay.Begin(service, e.Name)
	made, err := writeclient.Write(ctx, request)
	s.o.Loop.Wrote(service, operation, reconcile.Cause(e), err)
	var meanwhile reconcile.ExternalChange
	if err != nil {
		s.unsettle(service, e.Name, err)
		meanwhile = s.overlay.Failed(service, e.Name)
		err = fmt.Errorf("%s EndpointSlice %s/%s: %w", operation, e.Namespace, e.Name, err)
	} else {
		if s.o.Loop.WantsWritten() {
			s.written(service, operation, made, before, readyByAddress(made))
		}
		meanwhile = s.overlay.Wrote(service, made)
	}
	s.repair(service, e, meanwhile)
	return made, err
}

// Delete deletes a slice if it still has the given version, because another writer may have taken it over by
// its label. A slice that is already deleted is no failure (spec/endpoints.md §13.12).
func (s *Store) Delete(ctx context.Context, service reconcile.Key, e *discoveryv1.EndpointSlice) error {
	s.overlay.Begin(service, e.Name)
	err := writeclient.Send(ctx, func(ctx context.Context) error {
		return s.o.Client.EndpointSlices(service.Namespace).Delete(ctx, e.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &e.UID, ResourceVersion: &e.ResourceVersion},
		})
	})
	if reconcile.IsMissing(err) {
		err = nil
	}
	s.o.Loop.Wrote(service, "delete", time.Time{}, err)
	if err == nil {
		if s.o.Loop.WantsWritten() {
			s.written(service, "delete", e, readyByAddress(e), nil)
		}
		s.overlay.Deleted(service, e)
		return nil
	}
	s.unsettle(service, e.Name, err)
	s.repair(service, e, s.overlay.Failed(service, e.Name))
	return fmt.Errorf("delete EndpointSlice %s/%s: %w", e.Namespace, e.Name, err)
}

// written passes a successful write to the log and the history. The version before the write has the
// addresses before.
func (s *Store) written(service reconcile.Key, operation string, e *discoveryv1.EndpointSlice, before, after map[string]bool) {
	w := reconcile.Written{Kind: "EndpointSlice", Service: service, Name: e.Name, Operation: operation, Before: before, After: after}
	if operation != "delete" {
		w.Cause = reconcile.Cause(e)
	}
	s.o.Loop.Written(w)
}

// addressesBefore returns the addresses of the slice of a name, for [Store.written].
func (s *Store) addressesBefore(service reconcile.Key, name string) map[string]bool {
	if !s.o.Loop.WantsWritten() {
		return nil
	}
	before, found := s.overlay.Find(service, name, s.stored(service, name))
	if !found {
		return nil
	}
	return readyByAddress(before)
}

// readyByAddress returns the addresses of a slice, true for those that are ready.
func readyByAddress(e *discoveryv1.EndpointSlice) map[string]bool {
	addresses := map[string]bool{}
	for i := range e.Endpoints {
		// Without a ready condition, the endpoint counts as ready.
		ready := e.Endpoints[i].Conditions.Ready
		for _, a := range e.Endpoints[i].Addresses {
			addresses[a] = addresses[a] || ready == nil || *ready
		}
	}
	return addresses
}

// Refresh reads the slices of a Service from the API server, after a write has shown that the store is
// outdated.
func (s *Store) Refresh(ctx context.Context, service reconcile.Key) error {
	known := s.Of(service) // before the request: slices that the table gets later are not missing
	selector := labels.Set{discoveryv1.LabelServiceName: service.Name, discoveryv1.LabelManagedBy: s.o.ManagedBy}
	live, err := s.o.Client.EndpointSlices(service.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return fmt.Errorf("read the EndpointSlices of service %s: %w", service, err)
	}
	exists := map[types.UID]bool{}
	for i := range live.Items {
		e := &live.Items[i]
		exists[e.UID] = true
		s.read(service, e)
	}
	s.drop(service, known, func(e *discoveryv1.EndpointSlice) bool { return !exists[e.UID] })
	return nil
}

// unsettle records a failed write that may have succeeded on the server.
func (s *Store) unsettle(service reconcile.Key, name string, err error) {
	if !reconcile.MayHaveSucceeded(err) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unsettled[service] == nil {
		s.unsettled[service] = map[string]struct{}{}
	}
	s.unsettled[service][name] = struct{}{}
}

// Settle must be called before a plan is made for a Service. It reads the slices whose last write failed but
// may have succeeded on the server. The table may lack the written version for a while, and a plan without it
// could put an endpoint into a second slice.
func (s *Store) Settle(ctx context.Context, service reconcile.Key) error {
	s.mu.Lock()
	names := slices.Sorted(maps.Keys(s.unsettled[service]))
	s.mu.Unlock()
	for _, name := range names {
		known := s.Of(service)
		live, err := s.o.Client.EndpointSlices(service.Namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case err == nil:
			s.read(service, live)
		case reconcile.IsMissing(err):
			s.drop(service, known, func(e *discoveryv1.EndpointSlice) bool { return e.Name == name })
		default:
			return fmt.Errorf("read EndpointSlice %s/%s, whose last write may have been carried out: %w", service.Namespace, name, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unsettled, service)
	return nil
}

// drop drops those of the known slices of a Service that the API server no longer has.
func (s *Store) drop(service reconcile.Key, known []*discoveryv1.EndpointSlice, gone func(*discoveryv1.EndpointSlice) bool) {
	for _, e := range known {
		if gone(e) {
			s.overlay.Begin(service, e.Name)
			s.overlay.Deleted(service, e)
		}
	}
}

// Forget drops the controller's writes from the store, for a new term.
func (s *Store) Forget() {
	s.overlay.Forget()
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.unsettled)
}

// Changed is the handler of the table. It queues the Services whose slices another writer changed
// (spec/endpoints.md §13.4).
func (s *Store) Changed(old, current *watched.Slice) {
	switch {
	case !s.o.Loop.Running():
	case current == nil:
		s.lost(old)
	case old != nil && old.GetUID() != current.GetUID():
		s.lost(old)
		s.arrived(nil, current)
	default:
		s.arrived(old, current)
	}
}

func (s *Store) lost(e *watched.Slice) {
	key, ok := e.Key()
	if ok && s.manages(e) {
		s.o.Loop.Repair(key, s.overlay.Gone(key, e), "")
	}
}

func (s *Store) arrived(old, current *watched.Slice) {
	key, ok := current.Key()
	if old != nil && s.manages(old) {
		if before, had := old.Key(); had && (before != key || !s.manages(current)) {
			s.overlay.Gone(before, current)
			s.o.Loop.Repair(before, reconcile.Taken, current.ChangedBy())
		}
	}
	if !ok || !s.manages(current) {
		s.overlay.Gone(key, current) // otherwise the slice would stay hidden if its label is restored
		return
	}
	what := s.overlay.Arrived(key, current).Lacking(func() bool { return old != nil && lacks(current.Object(), old.Object()) })
	s.o.Loop.Repair(key, what, current.ChangedBy())
}

// repair queues a Service if another writer changed its slice during our write.
func (s *Store) repair(service reconcile.Key, written *discoveryv1.EndpointSlice, what reconcile.ExternalChange) {
	if what == reconcile.Untouched {
		return
	}
	by := ""
	if current := s.o.Table.Get(service.Namespace, written.Name); current != nil {
		by, what = current.ChangedBy(), what.Lacking(func() bool { return lacks(current.Object(), written) })
	}
	s.o.Loop.Repair(service, what, by)
}

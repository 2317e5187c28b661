package reconcile

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Overlay answers reads of a table with this process's own writes on top. A write stays in the overlay until
// the table has seen its version, so that nothing is decided on outdated reads. After that the table is
// authoritative, whatever happened to the object. Overlay also tells the process's own writes from external
// changes when they arrive.
//
// Each write starts with Begin and ends with Wrote, Deleted or Failed, because its event may arrive before
// its response. Objects, of type T, belong to the Service that they are made for; an object has one write at
// a time.
type Overlay[T metav1.Object] struct {
	// version returns the version up to which the table has seen everything. exists reports whether the table
	// has the object of a name and a UID.
	version func() string
	exists  func(service Key, name string, uid types.UID) bool

	mu     sync.Mutex
	writes map[Key]map[string]*write[T] // by Service and name of the object
}

// write is the last write of this process to an object.
type write[T metav1.Object] struct {
	// done is true once the write has ended: object was written or, if deletedUID is set, the object with
	// that UID was deleted.
	done       bool
	object     T
	deletedUID types.UID
	// version is the version that was written or deleted.
	version string

	// underway is true between Begin and the end of a write. Meanwhile, arrived is the last version that the
	// table got, and lostUID is the UID of an object that the table lost.
	underway bool
	arrived  string
	lostUID  types.UID
}

// Version has the fields of a version of an object that an [Overlay] uses.
type Version interface {
	GetName() string
	GetUID() types.UID
	GetResourceVersion() string
}

// NewOverlay returns an empty overlay over a table. version returns the table's version. exists reports
// whether the table has the object of a name and a UID that is made for a Service.
func NewOverlay[T metav1.Object](version func() string, exists func(service Key, name string, uid types.UID) bool) *Overlay[T] {
	return &Overlay[T]{version: version, exists: exists, writes: map[Key]map[string]*write[T]{}}
}

// Begin must be called before a request that writes or deletes the object of a name.
func (o *Overlay[T]) Begin(service Key, name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writes[service] == nil {
		o.writes[service] = map[string]*write[T]{}
	}
	w := o.writes[service][name]
	if w == nil {
		w = &write[T]{}
		o.writes[service][name] = w
	}
	w.underway, w.arrived, w.lostUID = true, "", ""
}

// Wrote ends a create or update with the resulting object. It returns the external change that followed, if
// any.
func (o *Overlay[T]) Wrote(service Key, object T) ExternalChange {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.writes[service][object.GetName()]
	if w == nil {
		return Untouched // the term is over
	}
	arrived := compare(w.arrived, object.GetResourceVersion())
	switch {
	case w.lostUID == object.GetUID():
		o.drop(service, object.GetName())
		return Lost
	case arrived > 0:
		o.drop(service, object.GetName())
		return Changed
	case arrived == 0:
		o.drop(service, object.GetName())
		return Untouched
	}
	// The write's event must still be distinguished from external changes, even if the table has it.
	*w = write[T]{done: true, object: object, version: object.GetResourceVersion()}
	return Untouched
}

// Deleted ends a request that deleted an object.
func (o *Overlay[T]) Deleted(service Key, object T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.writes[service][object.GetName()]
	if w == nil {
		return
	}
	deleted := write[T]{done: true, deletedUID: object.GetUID(), version: object.GetResourceVersion()}
	if w.lostUID == object.GetUID() || o.passed(service, object.GetName(), &deleted) {
		o.drop(service, object.GetName())
		return
	}
	*w = deleted
}

// Failed ends a request that failed or whose result is unknown. It returns the change of the object since
// Begin.
func (o *Overlay[T]) Failed(service Key, name string) ExternalChange {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.writes[service][name]
	if w == nil {
		return Untouched
	}
	w.underway = false
	if !w.done {
		o.drop(service, name)
	}
	switch {
	case w.lostUID != "":
		return Lost
	case w.arrived != "":
		return Changed
	default:
		return Untouched
	}
}

// Read records an object that was read from the API server, if it is newer than the table, as if it had been
// written.
func (o *Overlay[T]) Read(service Key, object T) {
	o.mu.Lock()
	seen := o.seen(object)
	o.mu.Unlock()
	if !seen {
		o.Begin(service, object.GetName())
		o.Wrote(service, object)
	}
}

// Merge returns the objects of a Service: those of the table, which list returns, with the process's own
// writes on top. It may change the list. Merge reads the writes before it calls list; otherwise a write that
// the table catches up with in between would be in neither.
func (o *Overlay[T]) Merge(service Key, list func() []T) []T {
	unseen := o.unseen(service)
	stored := list()
	merged := stored[:0]
	for _, object := range stored {
		name, there := object.GetName(), true
		if w, written := unseen[name]; written {
			object, there = w.over(object, true)
			delete(unseen, name)
		}
		if there {
			merged = append(merged, object)
		}
	}
	for _, w := range unseen {
		var none T
		if object, there := w.over(none, false); there {
			merged = append(merged, object)
		}
	}
	return merged
}

// Find is [Overlay.Merge] for the object of a name, which stored returns, or false if the table lacks it.
func (o *Overlay[T]) Find(service Key, name string, stored func() (T, bool)) (T, bool) {
	w, written := o.unseenOf(service, name)
	object, found := stored()
	if written {
		return w.over(object, found)
	}
	return object, found
}

// over returns the object of a name after a write that the table has not caught up with: the written object,
// or the table's object if it is newer or was created after the deletion. It returns false if there is none.
func (w *write[T]) over(stored T, found bool) (T, bool) {
	switch {
	case w.deletedUID != "":
		return stored, found && w.deletedUID != stored.GetUID()
	case !found || compare(w.object.GetResourceVersion(), stored.GetResourceVersion()) > 0:
		return w.object, true
	default:
		return stored, true
	}
}

// unseen returns the writes of a Service that the table has not caught up with.
func (o *Overlay[T]) unseen(service Key) map[string]write[T] {
	o.mu.Lock()
	defer o.mu.Unlock()
	found := make(map[string]write[T], len(o.writes[service]))
	for name, w := range o.writes[service] {
		if o.isUnseen(service, name, w) {
			found[name] = *w
		}
	}
	return found
}

// unseenOf returns the write of an object if the table has not caught up with it.
func (o *Overlay[T]) unseenOf(service Key, name string) (write[T], bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.writes[service][name]
	if w == nil || !o.isUnseen(service, name, w) {
		return write[T]{}, false
	}
	return *w, true
}

// isUnseen reports whether the table has not caught up with a write, and drops the write if no event about it
// follows. The caller holds the lock.
func (o *Overlay[T]) isUnseen(service Key, name string, w *write[T]) bool {
	switch {
	case !w.done:
		return false
	case !w.underway && o.passed(service, name, w):
		o.drop(service, name)
		return false
	default:
		return w.deletedUID != "" || !o.seen(w.object)
	}
}

// passed reports whether the table has seen the version that was written or deleted, and no longer has the
// object. Then no further event about the write follows.
func (o *Overlay[T]) passed(service Key, name string, w *write[T]) bool {
	uid := w.deletedUID
	if uid == "" {
		uid = w.object.GetUID()
	}
	return compare(o.version(), w.version) >= 0 && !o.exists(service, name, uid)
}

// Arrived must be called with each version of an object that the table gets. It returns the external change
// in it. During a write the origin is unknown, so it returns Untouched, and the method that ends the write
// returns the change.
func (o *Overlay[T]) Arrived(service Key, object Version) ExternalChange {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.writes[service][object.GetName()]
	switch {
	case w == nil:
		return Changed
	case w.underway:
		w.arrived, w.lostUID = object.GetResourceVersion(), ""
		return Untouched
	case w.deletedUID == object.GetUID():
		return Untouched // a version from before its deletion
	case w.deletedUID != "":
		o.drop(service, object.GetName())
		return Changed
	}
	order := compare(object.GetResourceVersion(), w.object.GetResourceVersion())
	if order >= 0 {
		o.drop(service, object.GetName())
	}
	if order > 0 {
		return Changed
	}
	return Untouched
}

// Gone must be called with each object that the table loses. It returns Lost if another writer deleted the
// object. During a write it returns Untouched, as Arrived does.
func (o *Overlay[T]) Gone(service Key, object Version) ExternalChange {
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.writes[service][object.GetName()]
	if w == nil {
		return Lost
	}
	if w.underway {
		w.lostUID = object.GetUID()
		return Untouched
	}
	own := w.deletedUID == object.GetUID()
	if own || w.deletedUID == "" && w.object.GetUID() == object.GetUID() {
		o.drop(service, object.GetName())
	}
	if own {
		return Untouched
	}
	return Lost
}

// Forget drops everything, for a new term, because another process may have led in between.
func (o *Overlay[T]) Forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.writes)
}

func (o *Overlay[T]) drop(service Key, name string) {
	delete(o.writes[service], name)
	if len(o.writes[service]) == 0 {
		delete(o.writes, service)
	}
}

// seen reports whether the table has seen this version of an object.
func (o *Overlay[T]) seen(object T) bool {
	return compare(o.version(), object.GetResourceVersion()) >= 0
}

// compare orders two versions. If one of them doesn't parse, a counts as older.
func compare(a, b string) int {
	order, err := resourceversion.CompareResourceVersion(a, b)
	if err != nil {
		return -1
	}
	return order
}

package kube

import (
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Table holds what is kept of the objects of one kind in one cluster.
type Table[T any] struct {
	kind     Kind[T]
	handlers []func(old, new *T)

	// mu guards rows and indexes. Only who holds the lock of the feed writes, and needs
	// no lock to read.
	mu      sync.RWMutex
	rows    map[key]row[T]
	indexes map[string]*index[T]

	// version is nil before the first listing.
	version atomic.Pointer[string]
	// filled is true once the handlers know the first listing, of each namespace.
	filled atomic.Bool

	// binding is set when the table becomes part of a cluster.
	binding tableBinding
}

// tableBinding is what a table gets from the feed that fills it.
type tableBinding struct {
	scope      Scope
	report     Report
	observeLag func(updated int64)
	status     func() TableStatus
	parts      func() []*part
	// index says which of an entry's values is for this table.
	index int
}

// key names an object of a table. The namespace is empty for objects that
// belong to none.
type key struct {
	namespace, name string
}

// row is one object of a table. Its value is never nil.
type row[T any] struct {
	value *T
	// updated is when the object was last updated according to its managed fields, in Unix
	// seconds.
	updated int64
}

// change is what has become of one object; the zero change is none.
type change[T any] struct {
	old, new *T
}

// AnyTable is a *[Table] of any kind.
type AnyTable interface {
	// Len returns the number of objects.
	Len() int
	// Filled reports whether the table has held all objects of its kind, whatever has
	// happened since, and has told its handlers about them.
	Filled() bool
	// Status returns the condition of the resource that the table is filled from.
	Status() TableStatus
	// Resource returns that resource, which whoever fills the table has to list and to watch.
	Resource() schema.GroupVersionResource

	reading() watchSpec
	// parts returns what fills the table; nothing before it is part of a cluster.
	parts() []*part
	// bind makes the table part of a cluster.
	bind(tableBinding) error
	// trim returns what is kept of an object, for an entry. When reads is true, read does so
	// for an object in protobuf. An object on which one of them panics can't be used: that is its problem, and
	// the table goes on.
	trim(runtime.Object) any
	reads() bool
	read(message []byte) (any, error)
	// The others change the table to a version, and then tell its handlers.
	put(e *entry, version string)
	remove(k key, version string)
	replace(listing)
	saw(version string)
}

// listing is all objects that a part of a feed has at one moment.
type listing struct {
	// namespace is that of all of them; empty is any.
	namespace string
	entries   []*entry
	version   string
	// complete is true when the other parts have been listed too.
	complete bool
}

// TableOption sets up a [Table].
type TableOption[T any] func(*Table[T])

// WithHandler makes the table call h for each change: old is nil when the object is new, new
// is nil when it was deleted. Handlers are called in the order in which they were given, after
// the table has changed; after a new listing, when all of the table has. They must not block.
func WithHandler[T any](h func(old, new *T)) TableOption[T] {
	return func(t *Table[T]) { t.handlers = append(t.handlers, h) }
}

// WithIndex makes the table keep an index for [Table.ByIndex]. The function
// keys returns what a value is to be found under and must depend on the value only.
func WithIndex[T any](name string, keys func(*T) []string) TableOption[T] {
	return func(t *Table[T]) { t.indexes[name] = newIndex(keys) }
}

// Table returns a new, empty table of the kind. It is filled once it is given to
// [New] and the cluster runs.
func (k Kind[T]) Table(opts ...TableOption[T]) *Table[T] {
	if k.Same == nil {
		k.Same = func(a, b *T) bool { return reflect.DeepEqual(a, b) }
	}
	t := &Table[T]{kind: k, rows: map[key]row[T]{}, indexes: map[string]*index[T]{}}
	for _, opt := range opts {
		opt(t)
	}
	return t
}

func (t *Table[T]) reading() watchSpec {
	k := &t.kind
	return watchSpec{kind: k.Name, lag: k.Lag, resource: k.Resource, form: k.Form, optional: k.Optional, clusterWide: k.ClusterWide, selector: k.Selector}
}

func (t *Table[T]) bind(p tableBinding) error {
	if t.binding.report != nil {
		return fmt.Errorf("table of %s is part of a cluster already; make another", t.kind.Name)
	}
	t.binding = p
	return nil
}

func (t *Table[T]) parts() []*part {
	if t.binding.parts == nil {
		return nil
	}
	return t.binding.parts()
}

// ResourceVersion returns the version of the resource that the table has come to: the
// table shows every change up to it, and perhaps later ones. It is empty before the
// first listing. It moves on after the objects did and before the handlers are told, so
// a handler, and whoever it wakes, finds the version of the change at least. It stays empty
// when several namespaces are read: the table has come further in one than in another.
func (t *Table[T]) ResourceVersion() string {
	if version := t.version.Load(); version != nil {
		return *version
	}
	return ""
}

// Get returns an object, or nil when there is none of that name. The namespace is
// empty for kinds that have none.
func (t *Table[T]) Get(namespace, name string) *T {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.rows[key{namespace, name}].value
}

// Len returns the number of objects.
func (t *Table[T]) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.rows)
}

// Status implements [AnyTable]. Before the table is part of a cluster it is connecting.
func (t *Table[T]) Status() TableStatus {
	if t.binding.status == nil {
		return TableStatus{Kind: t.kind.Name, State: Connecting, Required: !t.kind.Optional}
	}
	return t.binding.status()
}

// Resource implements [AnyTable].
func (t *Table[T]) Resource() schema.GroupVersionResource { return t.kind.Resource }

// Filled implements [AnyTable].
func (t *Table[T]) Filled() bool { return t.filled.Load() }

// List returns all objects, in no particular order.
func (t *Table[T]) List() []*T {
	t.mu.RLock()
	defer t.mu.RUnlock()
	values := make([]*T, 0, len(t.rows))
	for _, r := range t.rows {
		values = append(values, r.value)
	}
	return values
}

// ByIndex returns the objects that an index has under a key, in no particular order. It
// returns none for an index that the table doesn't have.
func (t *Table[T]) ByIndex(name, under string) []*T {
	t.mu.RLock()
	defer t.mu.RUnlock()
	keys := t.indexes[name].under(under)
	values := make([]*T, 0, len(keys))
	for k := range keys {
		values = append(values, t.rows[k].value)
	}
	return values
}

func (t *Table[T]) trim(obj runtime.Object) (kept any) {
	defer func() {
		if v := recover(); v != nil {
			t.reportAll(func() ObjectRef { return objectOf(obj, t.kind.Resource) }, []Problem{mistake(v)})
			kept = (*T)(nil)
		}
	}()
	own, err := t.kind.Form.object(obj, t.kind.Resource)
	if err != nil {
		t.reportAll(func() ObjectRef { return objectOf(obj, t.kind.Resource) }, []Problem{{Reason: err.Error()}})
		return (*T)(nil)
	}
	value, problems := t.kind.Trim(t.binding.scope, own)
	t.reportAll(func() ObjectRef { return objectOf(own, t.kind.Resource) }, problems)
	return value
}

// reportAll reports the problems of one version of an object.
func (t *Table[T]) reportAll(of func() ObjectRef, problems []Problem) {
	if len(problems) == 0 {
		return
	}
	object := of()
	for _, p := range bounded(problems) {
		t.binding.report(object, p)
	}
}

func (t *Table[T]) reads() bool { return t.kind.Read != nil }

func (t *Table[T]) read(message []byte) (kept any, err error) {
	defer func() {
		if v := recover(); v != nil {
			t.reportAll(func() ObjectRef { return messageOf(t.kind.Form, t.kind.Resource, message) }, []Problem{mistake(v)})
			kept, err = (*T)(nil), nil
		}
	}()
	value, problems, err := t.kind.Read(t.binding.scope, message)
	if err != nil {
		return nil, err
	}
	t.reportAll(func() ObjectRef { return messageOf(t.kind.Form, t.kind.Resource, message) }, problems)
	return value, nil
}

func (t *Table[T]) put(e *entry, version string) {
	c := t.store(e)
	t.saw(version)
	t.tell(c)
}

func (t *Table[T]) remove(k key, version string) {
	c := t.drop(k)
	t.saw(version)
	t.tell(c)
}

// replace makes the table hold these objects, and no others of their namespace.
func (t *Table[T]) replace(l listing) {
	var changes []change[T]
	note := func(c change[T]) {
		if c != (change[T]{}) {
			changes = append(changes, c)
		}
	}
	gone := t.without(l)
	t.makeRoom(len(l.entries))
	for _, e := range l.entries {
		note(t.store(e))
	}
	for _, k := range gone {
		note(t.drop(k))
	}
	t.saw(l.version)
	for _, c := range changes {
		t.tell(c)
	}
	if l.complete {
		t.filled.Store(true)
	}
}

// without returns what the table holds of the namespace besides these objects.
func (t *Table[T]) without(l listing) (others []key) {
	if len(t.rows) == 0 {
		return nil
	}
	listed := make(map[key]struct{}, len(l.entries))
	for _, e := range l.entries {
		listed[e.key] = struct{}{}
	}
	for k := range t.rows {
		if l.namespace != "" && k.namespace != l.namespace {
			continue
		}
		if _, ok := listed[k]; !ok {
			others = append(others, k)
		}
	}
	return others
}

// makeRoom allocates the rows of a table that is filled for the first time. A map that grows
// row by row is copied again and again.
func (t *Table[T]) makeRoom(rows int) {
	if len(t.rows) > 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = make(map[key]row[T], rows)
}

// saw notes that the table shows every change up to a version.
func (t *Table[T]) saw(version string) { t.version.Store(&version) }

// store stores the new value of an object, unless the table holds an equal one.
func (t *Table[T]) store(e *entry) change[T] {
	value := e.values[t.binding.index].(*T)
	old, known := t.rows[e.key]
	if known && e.updated != 0 && e.updated != old.updated {
		t.binding.observeLag(e.updated)
	}
	switch {
	case value == nil:
		// It can't be used, which has been reported: the last good value stays.
		return change[T]{}
	case known && t.kind.Same(old.value, value):
		if e.updated != old.updated {
			t.set(e.key, row[T]{value: old.value, updated: e.updated})
		}
		return change[T]{}
	}
	t.set(e.key, row[T]{value: value, updated: e.updated})
	return change[T]{old.value, value}
}

// drop takes an object out of the table, if it is there.
func (t *Table[T]) drop(k key) change[T] {
	old, known := t.rows[k]
	if known {
		t.set(k, row[T]{})
	}
	return change[T]{old.value, nil}
}

// set stores r under k; a row without a value removes what is there.
func (t *Table[T]) set(k key, r row[T]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.rows[k].value
	if r.value == nil {
		delete(t.rows, k)
	} else {
		t.rows[k] = r
	}
	if old == r.value {
		return
	}
	for _, ix := range t.indexes {
		ix.move(k, old, r.value)
	}
}

// tell tells the handlers about a change, if it is one.
func (t *Table[T]) tell(c change[T]) {
	if c == (change[T]{}) {
		return
	}
	for _, h := range t.handlers {
		h(c.old, c.new)
	}
}

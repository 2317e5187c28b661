package kube

import (
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// Table is an informer cache: it holds what is kept of the objects of one kind in one cluster.
type Table[T any] struct {
	kind     Kind[T]
	handlers []func(old, new *T)

	// mu guards rows and indexes. Only the holder of the feed's lock writes, and may read without mu.
	mu      sync.RWMutex
	rows    map[key]row[T]
	indexes map[string]*index[T]

	// version is nil before the first listing.
	version atomic.Pointer[string]
	// filled is true once the handlers were called for the first listing of each namespace.
	filled atomic.Bool

	// binding is set when the table becomes part of a cluster.
	binding tableBinding
}

// tableBinding is what a table gets from the feed that fills it.
type tableBinding struct {
	scope      Scope
	report     objectmeta.Report
	observeLag func(updated int64)
	status     func() TableStatus
	parts      func() []*part
	// index is the position of the table's value in an entry.
	index int
}

// key names an object of a table. The namespace is empty for cluster-wide objects.
type key struct {
	namespace, name string
}

// row is one object of a table. Its value is never nil.
type row[T any] struct {
	value *T
	// updated is when the object was last updated according to its managed fields, in Unix seconds.
	updated int64
}

// change is the change of one object; the zero change is none.
type change[T any] struct {
	old, new *T
}

// AnyTable is a *[Table] of any kind.
type AnyTable interface {
	// Len returns the number of objects.
	Len() int
	// Filled reports whether the table has held all objects of its kind and has called its handlers for them.
	// It never becomes false again.
	Filled() bool
	// Status returns the status of the resource that the table is filled from.
	Status() TableStatus
	// Resource returns the resource that is listed and watched for the table.
	Resource() schema.GroupVersionResource

	spec() watchSpec
	// parts returns the parts that fill the table; none before it is part of a cluster.
	parts() []*part
	// bind makes the table part of a cluster.
	bind(tableBinding) error
	// trim returns what is kept of an object, for an entry. If reads is true, read does so for an object in
	// protobuf. If one of them panics, the object can't be used: that is reported as its problem, and the
	// table continues.
	trim(runtime.Object) any
	reads() bool
	read(message []byte) (any, error)
	// The remaining methods change the table to a version, and then call its handlers.
	put(e *entry, version string)
	remove(k key, version string)
	replace(listing)
	advance(version string)
}

// listing is all objects of a part of a feed at one moment.
type listing struct {
	// namespace is the namespace of all entries; empty is any.
	namespace string
	entries   []*entry
	version   string
	// complete is true if the other parts have been listed too.
	complete bool
}

// lacks returns whether an object of the namespace is missing in the listing.
func (l *listing) lacks() func(key) bool {
	listed := sync.OnceValue(func() map[key]struct{} {
		all := make(map[key]struct{}, len(l.entries))
		for _, e := range l.entries {
			all[e.key] = struct{}{}
		}
		return all
	})
	return func(k key) bool {
		if l.namespace != "" && k.namespace != l.namespace {
			return false
		}
		_, found := listed()[k]
		return !found
	}
}

// TableOption configures a [Table].
type TableOption[T any] func(*Table[T])

// WithHandler makes the table call h for each change: old is nil for a new object, new is nil for a deleted
// one. Handlers are called in the order in which they were added, after the table has changed; for a new
// listing, after the whole table has. They must not block.
func WithHandler[T any](h func(old, new *T)) TableOption[T] {
	return func(t *Table[T]) { t.handlers = append(t.handlers, h) }
}

// WithIndex adds an index for [Table.ByIndex]. The function keys returns the index keys of a value and must
// depend on the value only.
func WithIndex[T any](name string, keys func(*T) []string) TableOption[T] {
	return func(t *Table[T]) { t.indexes[name] = &index[T]{keys: keys, sets: map[string]map[key]struct{}{}} }
}

// Table returns an empty table of the kind. It is filled once it is passed to [New] and the cluster runs.
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

func (t *Table[T]) spec() watchSpec {
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

// ResourceVersion returns the resource version that the table has reached: the table contains every change up
// to it, and perhaps later ones. It is empty before the first listing. It advances after the objects and
// before the handlers are called, so a handler, and whoever it wakes, sees at least the version of the
// change. It stays empty if several namespaces are watched, because their versions differ.
func (t *Table[T]) ResourceVersion() string {
	if version := t.version.Load(); version != nil {
		return *version
	}
	return ""
}

// Get returns an object, or nil if there is none of that name. The namespace is empty for cluster-wide kinds.
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

// Status implements [AnyTable]. A table that isn't part of a cluster is connecting.
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

// ByIndex returns the objects with a key in an index, in no particular order. It returns none if the table
// has no such index.
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
			t.reportAll(func() objectmeta.Problem { return objectOf(obj, t.kind.Resource) }, []Problem{panicProblem(v)})
			kept = (*T)(nil)
		}
	}()
	own, err := t.kind.Form.object(obj, t.kind.Resource)
	if err != nil {
		t.reportAll(func() objectmeta.Problem { return objectOf(obj, t.kind.Resource) }, []Problem{{Reason: err.Error()}})
		return (*T)(nil)
	}
	value, problems := t.kind.Trim(t.binding.scope, own)
	t.reportAll(func() objectmeta.Problem { return objectOf(own, t.kind.Resource) }, problems)
	return value
}

// reportAll reports the problems of one version of an object.
func (t *Table[T]) reportAll(of func() objectmeta.Problem, problems []Problem) {
	if len(problems) == 0 {
		return
	}
	object := of()
	for _, p := range bounded(problems) {
		object.Field, object.Reason = p.Field, p.Reason
		t.binding.report(object)
	}
}

func (t *Table[T]) reads() bool { return t.kind.Read != nil }

func (t *Table[T]) read(message []byte) (kept any, err error) {
	defer func() {
		if v := recover(); v != nil {
			t.reportAll(func() objectmeta.Problem { return messageOf(t.kind.Form, t.kind.Resource, message) }, []Problem{panicProblem(v)})
			kept, err = (*T)(nil), nil
		}
	}()
	value, problems, err := t.kind.Read(t.binding.scope, message)
	if err != nil {
		return nil, err
	}
	t.reportAll(func() objectmeta.Problem { return messageOf(t.kind.Form, t.kind.Resource, message) }, problems)
	return value, nil
}

func (t *Table[T]) put(e *entry, version string) {
	c := t.store(e)
	t.advance(version)
	t.callHandlers(c)
}

func (t *Table[T]) remove(k key, version string) {
	c := t.drop(k)
	t.advance(version)
	t.callHandlers(c)
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
	t.advance(l.version)
	for _, c := range changes {
		t.callHandlers(c)
	}
	if l.complete {
		t.filled.Store(true)
	}
}

// without returns the table's other objects of the namespace.
func (t *Table[T]) without(l listing) (others []key) {
	lacks := l.lacks()
	for k := range t.rows {
		if lacks(k) {
			others = append(others, k)
		}
	}
	return others
}

// makeRoom allocates the rows of a table that is filled for the first time. A map that grows row by row is
// copied again and again.
func (t *Table[T]) makeRoom(rows int) {
	if len(t.rows) > 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = make(map[key]row[T], rows)
}

// advance records that the table contains every change up to a version.
func (t *Table[T]) advance(version string) { t.version.Store(&version) }

// store stores the new value of an object, unless it equals the old one.
func (t *Table[T]) store(e *entry) change[T] {
	value := e.values[t.binding.index].(*T)
	old, known := t.rows[e.key]
	if known && e.updated != 0 && e.updated != old.updated {
		t.binding.observeLag(e.updated)
	}
	switch {
	case value == nil:
		// The object can't be used, which has been reported. The last good value stays.
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

// drop removes an object from the table, if present.
func (t *Table[T]) drop(k key) change[T] {
	old, known := t.rows[k]
	if known {
		t.set(k, row[T]{})
	}
	return change[T]{old.value, nil}
}

// set stores r under k; a row without a value removes the object.
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

// callHandlers calls the handlers with a change, if it is one.
func (t *Table[T]) callHandlers(c change[T]) {
	if c == (change[T]{}) {
		return
	}
	for _, h := range t.handlers {
		h(c.old, c.new)
	}
}

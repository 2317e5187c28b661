package kube

import (
	"fmt"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/catalog"
)

// Table holds what is kept of all objects of one kind in one cluster.
type Table[T any] struct {
	kind     Kind[T]
	handlers []func(old, new *T)

	// mu guards rows and indexes. Only the goroutine of the reflector writes, so
	// that goroutine needs no lock to read.
	mu      sync.RWMutex
	rows    map[key]row[T]
	indexes map[string]*index[T]

	// blank is what entries embed.
	blank *metav1.ObjectMeta

	// These are set when the table becomes part of a cluster.
	scope      Scope
	report     catalog.Report
	observeLag func(updated int64)
}

// key names an object of a table. The namespace is empty for objects that
// belong to none.
type key struct {
	namespace, name string
}

// row is one object of a table. Its value is never nil.
type row[T any] struct {
	value *T
	// updated is when the object was last updated, in Unix seconds, by its managed fields.
	updated int64
}

// AnyTable is a *[Table] of any kind.
type AnyTable interface {
	// Len returns the number of objects.
	Len() int

	bind(binding) (*feed, error)
}

// TableOption sets up a [Table].
type TableOption[T any] func(*Table[T])

// WithHandler makes the table call h for each change: old is nil when the object is
// new, new is nil when it is gone. Handlers are called in the order in which they
// were given, after the table has changed; they must not block.
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
	t := &Table[T]{kind: k, rows: map[key]row[T]{}, indexes: map[string]*index[T]{}, blank: &metav1.ObjectMeta{}}
	for _, opt := range opts {
		opt(t)
	}
	return t
}

// bind makes the table part of a cluster.
func (t *Table[T]) bind(b binding) (*feed, error) {
	if t.report != nil {
		return nil, fmt.Errorf("table of %s is part of a cluster already; make another", t.kind.Name)
	}
	observe, err := b.lagObserver(t.kind.Lag)
	if err != nil {
		return nil, err
	}
	t.scope, t.report, t.observeLag = b.scope, b.report, observe
	state := newState(b.now)
	return &feed{
		kind: t.kind.Name, optional: t.kind.Optional, resource: t.kind.Resource, form: t.kind.Form,
		len: t.Len, state: state, store: &store[T]{table: t, state: state},
	}, nil
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

// ByIndex returns the objects that an index files under a key, in no particular
// order. An index that the table was not set up with has nothing.
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

// put stores what has become of an object and tells the handlers, unless that
// is what the table holds already.
func (t *Table[T]) put(e *entry[T]) {
	old, known := t.rows[e.key]
	if known && e.updated != 0 && e.updated != old.updated {
		t.observeLag(e.updated)
	}
	switch {
	case e.value == nil:
		// It can't be used, which has been reported: the last good value stays.
	case known && reflect.DeepEqual(old.value, e.value):
		if e.updated != old.updated {
			t.set(e.key, row[T]{value: old.value, updated: e.updated})
		}
	default:
		t.set(e.key, row[T]{value: e.value, updated: e.updated})
		t.tell(old.value, e.value)
	}
}

// remove takes an object out of the table and tells the handlers.
func (t *Table[T]) remove(k key) {
	old, known := t.rows[k]
	if !known {
		return
	}
	t.set(k, row[T]{})
	t.tell(old.value, nil)
}

// replace makes the table hold these objects and no others.
func (t *Table[T]) replace(entries []*entry[T]) {
	listed := make(map[key]struct{}, len(entries))
	for _, e := range entries {
		listed[e.key] = struct{}{}
		t.put(e)
	}
	var gone []key
	for k := range t.rows {
		if _, ok := listed[k]; !ok {
			gone = append(gone, k)
		}
	}
	for _, k := range gone {
		t.remove(k)
	}
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

func (t *Table[T]) tell(old, new *T) {
	for _, h := range t.handlers {
		h(old, new)
	}
}

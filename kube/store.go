package kube

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/signpostd/signpost/catalog"
)

// entry is an object on its way into a table: trimmed, but not yet compared
// with what is there. The reflector keeps entries instead of whole objects
// while a listing comes in, and asks them for their names, which is why an entry is
// a metav1.Object. Everything else about that object is blank.
type entry[T any] struct {
	metav1.Object // blank, shared by all entries of a table
	key           key
	// value is nil when the object can't be used.
	value   *T
	updated int64
}

// GetNamespace implements metav1.Object.
func (e *entry[T]) GetNamespace() string { return e.key.namespace }

// GetName implements metav1.Object.
func (e *entry[T]) GetName() string { return e.key.name }

// store is a table as a reflector sees it. All of its methods are called from
// the goroutine of the reflector.
type store[T any] struct {
	table *Table[T]
	state *state
}

var (
	_ cache.TransformingStore      = (*store[catalog.Node])(nil)
	_ cache.ReflectorBookmarkStore = (*store[catalog.Node])(nil)
)

// Add implements cache.ReflectorStore.
func (s *store[T]) Add(obj any) error { return s.Update(obj) }

// Update implements cache.ReflectorStore.
func (s *store[T]) Update(obj any) error {
	e, err := s.table.entryOf(obj)
	if err != nil {
		return err
	}
	s.table.put(e)
	return nil
}

// Delete implements cache.ReflectorStore.
func (s *store[T]) Delete(obj any) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Errorf("delete from table of %s: %w", s.table.kind.Name, err)
	}
	s.table.remove(key{m.GetNamespace(), m.GetName()})
	return nil
}

// Replace implements cache.ReflectorStore. The objects are entries when they
// were streamed, and whole objects when they were listed.
func (s *store[T]) Replace(objs []any, _ string) error {
	entries := make([]*entry[T], len(objs))
	for i, obj := range objs {
		e, err := s.table.entryOf(obj)
		if err != nil {
			return err
		}
		entries[i], objs[i] = e, nil
	}
	s.table.replace(entries)
	s.state.replaced()
	return nil
}

// Resync implements cache.ReflectorStore.
func (s *store[T]) Resync() error { return nil }

// Bookmark implements cache.ReflectorBookmarkStore.
func (s *store[T]) Bookmark(string) error {
	s.state.bookmarked()
	return nil
}

// Transformer implements cache.TransformingStore.
func (s *store[T]) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) { return s.table.entryOf(obj) }
}

// entryOf trims an object, unless that was done already.
func (t *Table[T]) entryOf(obj any) (*entry[T], error) {
	if e, ok := obj.(*entry[T]); ok {
		return e, nil
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, fmt.Errorf("trim %s: %w", t.kind.Name, err)
	}
	o, ok := obj.(runtime.Object)
	if !ok {
		return nil, fmt.Errorf("trim %s %s/%s: %T is no API object", t.kind.Name, m.GetNamespace(), m.GetName(), obj)
	}
	value, problems := t.kind.Trim(t.scope, o)
	for _, p := range problems {
		t.report(p)
	}
	e := &entry[T]{Object: t.blank, key: key{t.scope.Intern(m.GetNamespace()), m.GetName()}, value: value}
	if t.kind.Lag != "" {
		e.updated = newestUpdate(m)
	}
	return e, nil
}

// newestUpdate returns the time of the newest update that the managed fields of
// an object tell of, in Unix seconds; zero when they tell of none.
func newestUpdate(m metav1.Object) int64 {
	var newest time.Time
	for _, f := range m.GetManagedFields() {
		if f.Operation == metav1.ManagedFieldsOperationUpdate && f.Time != nil && f.Time.After(newest) {
			newest = f.Time.Time
		}
	}
	if newest.IsZero() {
		return 0
	}
	return newest.Unix()
}

package kube

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// entry is an object on its way into the tables of a feed: trimmed, but not yet compared
// with what is there. The reflector keeps entries instead of whole objects
// while a listing comes in, and asks them for their names, which is why an entry is
// a metav1.Object. Everything else about that object is blank.
type entry struct {
	metav1.Object // blank, shared by all entries of a feed
	key           key
	// values has a *T for each table, nil where the object can't be used.
	values  []any
	updated int64
}

// GetNamespace implements metav1.Object.
func (e *entry) GetNamespace() string { return e.key.namespace }

// GetName implements metav1.Object.
func (e *entry) GetName() string { return e.key.name }

// store is the tables of a feed as a reflector sees them. All of its methods are
// called from the goroutine of the reflector.
type store struct {
	feed  *feed
	blank *metav1.ObjectMeta
}

var (
	_ cache.TransformingStore      = (*store)(nil)
	_ cache.ReflectorBookmarkStore = (*store)(nil)
)

func newStore(f *feed) *store { return &store{feed: f, blank: &metav1.ObjectMeta{}} }

// Add implements cache.ReflectorStore.
func (s *store) Add(obj any) error { return s.Update(obj) }

// Update implements cache.ReflectorStore.
func (s *store) Update(obj any) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Errorf("update tables of %s: %w", s.feed.kind, err)
	}
	version := m.GetResourceVersion()
	e, err := s.entryOf(obj)
	if err != nil {
		return err
	}
	s.feed.form.spares.give(obj)
	for _, t := range s.feed.tables {
		t.put(e, version)
	}
	return nil
}

// Delete implements cache.ReflectorStore.
func (s *store) Delete(obj any) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Errorf("delete from tables of %s: %w", s.feed.kind, err)
	}
	gone, version := key{m.GetNamespace(), m.GetName()}, m.GetResourceVersion()
	s.feed.form.spares.give(obj)
	for _, t := range s.feed.tables {
		t.remove(gone, version)
	}
	return nil
}

// Replace implements cache.ReflectorStore. The objects are entries when they
// were streamed, and whole objects when they were listed.
func (s *store) Replace(objs []any, version string) error {
	entries := make([]*entry, len(objs))
	for i, obj := range objs {
		e, err := s.entryOf(obj)
		if err != nil {
			return err
		}
		entries[i], objs[i] = e, nil
	}
	for _, t := range s.feed.tables {
		t.replace(entries, version)
	}
	s.feed.state.replaced()
	return nil
}

// Resync implements cache.ReflectorStore.
func (s *store) Resync() error { return nil }

// Bookmark implements cache.ReflectorBookmarkStore.
func (s *store) Bookmark(version string) error {
	for _, t := range s.feed.tables {
		t.saw(version)
	}
	s.feed.state.bookmarked()
	return nil
}

// Transformer implements cache.TransformingStore.
func (s *store) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) {
		e, err := s.entryOf(obj)
		if err != nil {
			return nil, err
		}
		s.feed.form.spares.give(obj)
		return e, nil
	}
}

// entryOf trims an object for each table, unless that was done already.
func (s *store) entryOf(obj any) (*entry, error) {
	if e, ok := obj.(*entry); ok {
		return e, nil
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, fmt.Errorf("trim %s: %w", s.feed.kind, err)
	}
	o, ok := obj.(runtime.Object)
	if !ok {
		return nil, fmt.Errorf("trim %s %s/%s: %T is no API object", s.feed.kind, m.GetNamespace(), m.GetName(), obj)
	}
	e := &entry{
		Object: s.blank, key: key{s.feed.scope.Intern(m.GetNamespace()), m.GetName()},
		values: make([]any, len(s.feed.tables)),
	}
	if s.feed.lag != "" {
		e.updated = newestUpdate(m)
	}
	// Nothing else is read from the managed fields, and a kind that keeps whole
	// objects is not to keep these: they are often the larger part.
	m.SetManagedFields(nil)
	for i, t := range s.feed.tables {
		e.values[i] = t.trim(o)
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

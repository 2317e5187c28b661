package kube

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
)

// store is the tables of a feed as a reflector sees them. All of its methods are
// called from the goroutine of the reflector.
type store struct {
	feed    *feed
	entries *entries
}

var (
	_ cache.TransformingStore      = (*store)(nil)
	_ cache.ReflectorBookmarkStore = (*store)(nil)
)

func newStore(f *feed) *store { return &store{feed: f, entries: newEntries(f)} }

// Add implements cache.ReflectorStore.
func (s *store) Add(obj any) error { return s.Update(obj) }

// Update implements cache.ReflectorStore.
func (s *store) Update(obj any) error {
	e, err := s.entries.of(obj)
	if err != nil {
		return fmt.Errorf("update tables of %s: %w", s.feed.kind, err)
	}
	for _, t := range s.feed.tables {
		t.put(e, e.version)
	}
	return nil
}

// Delete implements cache.ReflectorStore.
func (s *store) Delete(obj any) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Errorf("delete from tables of %s: %w", s.feed.kind, err)
	}
	for _, t := range s.feed.tables {
		t.remove(key{m.GetNamespace(), m.GetName()}, m.GetResourceVersion())
	}
	return nil
}

// Replace implements cache.ReflectorStore. The objects are entries when they
// were streamed, and whole objects when they were listed.
func (s *store) Replace(objs []any, version string) error {
	entries := make([]*entry, len(objs))
	for i, obj := range objs {
		e, err := s.entries.of(obj)
		if err != nil {
			return fmt.Errorf("list %s: %w", s.feed.kind, err)
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
	return func(obj any) (any, error) { return s.entries.of(obj) }
}

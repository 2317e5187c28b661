package kube

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
)

// store is the tables of a feed as the reflector of one of its parts sees them. Only the goroutine of that
// reflector calls its methods.
type store struct {
	part    *part
	feed    *feed
	entries *entries
}

var (
	_ cache.TransformingStore      = (*store)(nil)
	_ cache.ReflectorBookmarkStore = (*store)(nil)
)

func newStore(p *part) *store { return &store{part: p, feed: p.feed, entries: newEntries(p.feed)} }

// Add implements cache.ReflectorStore.
func (s *store) Add(obj any) error { return s.Update(obj) }

// Update implements cache.ReflectorStore.
func (s *store) Update(obj any) error {
	e, err := s.entries.of(obj)
	if err != nil {
		return fmt.Errorf("update tables of %s: %w", s.feed.kind, err)
	}
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	for _, t := range s.feed.tables {
		t.put(e, s.version(e.version))
	}
	s.part.advance(e.version, true)
	return nil
}

// Delete implements cache.ReflectorStore.
func (s *store) Delete(obj any) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Errorf("delete from tables of %s: %w", s.feed.kind, err)
	}
	deleted := key{m.GetNamespace(), m.GetName()}
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	for _, t := range s.feed.tables {
		t.remove(deleted, s.version(m.GetResourceVersion()))
	}
	s.feed.reported.end(deleted, s.feed.reported.begin())
	s.part.advance(m.GetResourceVersion(), true)
	if s.part.removable() {
		s.part.suspect()
	}
	return nil
}

// Replace implements cache.ReflectorStore. The objects are entries if they were streamed, else full objects.
func (s *store) Replace(objs []any, version string) error {
	entries := make([]*entry, len(objs))
	for i, obj := range objs {
		e, err := s.entries.of(obj)
		if err != nil {
			return fmt.Errorf("list %s: %w", s.feed.kind, err)
		}
		entries[i], objs[i] = e, nil
	}
	s.replace(entries, version)
	s.part.state.replaced()
	if s.part.removable() {
		s.part.suspect()
	}
	return nil
}

func (s *store) replace(entries []*entry, version string) {
	s.part.rewinds.compareNow(s.part, version)
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	s.part.listed = true
	l := listing{namespace: s.part.namespace, entries: entries, version: s.version(version), complete: s.feed.listed()}
	for _, t := range s.feed.tables {
		t.replace(l)
	}
	s.feed.reported.gone(l.lacks())
	s.part.watches.filledTo(version)
}

// version returns the resource version for the tables. It is empty if several reflectors fill them, because
// the others may be behind.
func (s *store) version(version string) string {
	if len(s.feed.parts) > 1 {
		return ""
	}
	return version
}

// Resync implements cache.ReflectorStore.
func (s *store) Resync() error { return nil }

// Bookmark implements cache.ReflectorBookmarkStore.
func (s *store) Bookmark(version string) error {
	for _, t := range s.feed.tables {
		t.advance(s.version(version))
	}
	s.part.advance(version, false)
	s.part.state.bookmarked()
	return nil
}

// Transformer implements cache.TransformingStore.
func (s *store) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) { return s.entries.of(obj) }
}

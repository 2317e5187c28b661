package inspect

import (
	"context"
	"sync"
)

// Shared keeps what the explanations of one search read, so that objects of a namespace are read once for all
// of its Services. Its methods may be called concurrently, and of a nil Shared.
type Shared struct {
	// namespaces have several subjects. Those of any other are read one by one.
	namespaces map[string]bool
	mu         sync.Mutex
	reads      map[string]func() (any, error)
}

// minShared is the number of subjects in a namespace from which on its objects are read together.
const minShared = 3

type sharedKey struct{}

// WithShared returns a context for explanations that share what they read of these namespaces.
func WithShared(ctx context.Context, namespaces map[string]bool) context.Context {
	return context.WithValue(ctx, sharedKey{}, &Shared{namespaces: namespaces, reads: map[string]func() (any, error){}})
}

// shareable returns the namespaces with so many of the Services that their objects are read together.
func shareable(services []Service) map[string]bool {
	count, namespaces := map[string]int{}, map[string]bool{}
	for _, s := range services {
		count[s.Namespace]++
		namespaces[s.Namespace] = count[s.Namespace] >= minShared
	}
	return namespaces
}

// SharedOf returns what explanations with the context share; nil for nothing.
func SharedOf(ctx context.Context) *Shared {
	s, _ := ctx.Value(sharedKey{}).(*Shared)
	return s
}

// Covers reports whether the objects of a namespace are read together.
func (s *Shared) Covers(namespace string) bool { return s != nil && s.namespaces[namespace] }

// Once returns the result of read, which is called once for each key.
func (s *Shared) Once(key string, read func() (any, error)) (any, error) {
	s.mu.Lock()
	once := s.reads[key]
	if once == nil {
		once = sync.OnceValues(read)
		s.reads[key] = once
	}
	s.mu.Unlock()
	return once()
}

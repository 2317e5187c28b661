package kube

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// Recycled returns the form for kinds whose Trim keeps nothing of an object but strings: the
// watch decodes objects into the memory of those that have been trimmed. The function
// empty makes an object what a new one is, but for lists and maps that it may leave it,
// empty, to be filled again. It is for a Form that is made by [Protobuf]; where kinds that
// are not recycled share the watch, none is.
func (f Form) Recycled(empty func(runtime.Object)) Form {
	f.spares = &spares{empty: empty}
	return f
}

// spares are objects that have been trimmed. A nil *spares has none and takes none.
type spares struct {
	empty func(runtime.Object)
	pool  sync.Pool
}

// take returns an empty object, or nil when there is none to spare.
func (s *spares) take() unmarshaler {
	if s == nil {
		return nil
	}
	object, _ := s.pool.Get().(unmarshaler)
	return object
}

// give takes an object that nobody looks at any more.
func (s *spares) give(trimmed any) {
	object, ok := trimmed.(unmarshaler)
	if s == nil || !ok {
		return
	}
	s.empty(object)
	s.pool.Put(object)
}

package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
)

// maxChanges limits the items of an event. If more have changed, the event is a Reset.
const maxChanges = 500

// topics returns the watches of this process' topics.
func (s *Server) topics() map[Topic]func() watch {
	all := map[Topic]func() watch{
		TopicStatus: func() watch { return &statusWatch{status: s.Status} },
	}
	if s.config.Problems != nil {
		all[TopicProblems] = func() watch {
			return newListWatch(func() []Problem { return s.allProblems() }, func(p *Problem) string { return p.ID }, sameProblem)
		}
	}
	if source := s.offered.streams; source != nil {
		all[TopicStreams] = func() watch {
			return newListWatch(source.Streams, func(st *Stream) string { return st.ID }, sameStream)
		}
	}
	if s.offered.planning.Leadership != nil {
		all[TopicPlans] = func() watch {
			return newListWatch(s.planSummaries, func(p *Plan) string { return p.Hash }, reflectEqual)
		}
	}
	if source := s.offered.records; source != nil {
		all[TopicRecords] = func() watch { return &recordsWatch{source: source} }
	}
	return all
}

func reflectEqual[T any](a, b *T) bool { return reflect.DeepEqual(a, b) }

// sameProblem compares problems except for the time.
func sameProblem(a, b *Problem) bool {
	x, y := *a, *b
	x.Last, y.Last = nil, nil
	return x == y
}

// sameStream compares streams except for values that change with time alone.
func sameStream(a, b *Stream) bool {
	x, y := *a, *b
	x.LagSeconds, y.LagSeconds = 0, 0
	return x == y
}

func (s *Server) planSummaries() []Plan {
	held, _ := s.heldPlans()
	list := make([]Plan, 0, len(held))
	for _, h := range held {
		list = append(list, h.summary())
	}
	return list
}

// statusWatch returns the whole status when it has changed.
type statusWatch struct {
	status func(context.Context) Status
	last   []byte
}

func (w *statusWatch) next(ctx context.Context) any {
	status := w.status(ctx)
	text, err := json.Marshal(status)
	if err != nil || bytes.Equal(text, w.last) {
		return nil
	}
	w.last = text
	return json.RawMessage(text)
}

// listWatch compares a list with its former state.
type listWatch[T any] struct {
	list func() []T
	id   func(*T) string
	same func(a, b *T) bool
	// last is nil before the first call of next, which turn counts.
	last map[string]*seen[T]
	turn uint64
}

// seen is an item, and the turn in which it was listed last.
type seen[T any] struct {
	item T
	turn uint64
}

func newListWatch[T any](list func() []T, id func(*T) string, same func(a, b *T) bool) *listWatch[T] {
	return &listWatch[T]{list: list, id: id, same: same}
}

func (w *listWatch[T]) next(context.Context) any {
	list := w.list()
	w.turn++
	begins := w.last == nil
	if begins {
		w.last = make(map[string]*seen[T], len(list))
	}
	// The items stay in place, so that a list of which little changes makes little garbage.
	var d Delta[T]
	for i := range list {
		id := w.id(&list[i])
		old := w.last[id]
		switch {
		case old == nil:
			old = &seen[T]{}
			w.last[id] = old
		case w.same(&old.item, &list[i]):
			old.turn = w.turn
			continue
		}
		old.item, old.turn = list[i], w.turn
		if !begins && len(d.Changed) <= maxChanges {
			d.Changed = append(d.Changed, list[i])
		}
	}
	for id, item := range w.last {
		if item.turn == w.turn {
			continue
		}
		delete(w.last, id)
		if len(d.Gone) <= maxChanges {
			d.Gone = append(d.Gone, id)
		}
	}
	return d.bounded()
}

// bounded returns the changes as the data of an event; nil for none.
func (d Delta[T]) bounded() any {
	switch {
	case d.Reset || len(d.Changed)+len(d.Gone) > maxChanges:
		return Delta[T]{Reset: true}
	case len(d.Changed)+len(d.Gone) == 0:
		return nil
	default:
		return d
	}
}

// recordsWatch queries changes.
type recordsWatch struct {
	source RecordsOf
	begun  bool
}

func (w *recordsWatch) next(ctx context.Context) any {
	d, err := w.source.RecordChanges(ctx, maxChanges)
	if err != nil {
		// Changes are sent when the query succeeds.
		return nil
	}
	if !w.begun {
		// A new listener reads the list itself.
		w.begun = true
		return nil
	}
	return d.bounded()
}

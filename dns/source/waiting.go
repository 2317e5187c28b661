package source

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/signpostd/signpost/kube"
)

// fillCheck is how often Waiting checks whether tables are filled.
const fillCheck = 50 * time.Millisecond

// Waiting delays objects that refer to objects of other tables. At the start tables are filled in
// any order, so a missing object is no fault yet. [NewWaiting] creates it. Its methods may be
// called from any goroutine.
type Waiting struct {
	changed func(Key)
	// wake has room for one value.
	wake chan struct{}

	mu   sync.Mutex
	keys map[Key][]kube.AnyTable
}

// NewWaiting returns a Waiting that calls changed for objects whose wait is over.
func NewWaiting(changed func(Key)) *Waiting {
	return &Waiting{changed: changed, wake: make(chan struct{}, 1), keys: map[Key][]kube.AnyTable{}}
}

// unreadError is the error for an object that refers to an unfilled table.
type unreadError struct{ table kube.TableStatus }

// Error implements error.
func (e *unreadError) Error() string {
	text := "wait for the first list of the kind " + e.table.Kind
	if e.table.State == kube.Waiting {
		text += fmt.Sprintf(", which can't be read: %s: %s", e.table.Reason, e.table.Detail)
	}
	return text
}

// Pending marks an error that ends without a change of the object.
func (e *unreadError) Pending() bool { return true }

// For returns nil if the tables are filled. Otherwise it returns the Err of the object's result,
// and evaluates the object again when they are.
func (w *Waiting) For(object Key, tables ...kube.AnyTable) error {
	unread := firstUnread(tables)
	if unread == nil {
		return nil
	}
	w.mu.Lock()
	w.keys[object] = tables
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return &unreadError{table: unread.Status()}
}

func firstUnread(tables []kube.AnyTable) kube.AnyTable {
	for _, t := range tables {
		if !t.Filled() {
			return t
		}
	}
	return nil
}

// Run evaluates waiting objects again, until ctx ends. It is the Run of a [Source], or a part of
// it.
func (w *Waiting) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.wake:
		}
		for w.check() {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(fillCheck):
			}
		}
	}
}

// check calls changed for the objects whose wait is over, and reports whether others still wait.
func (w *Waiting) check() bool {
	w.mu.Lock()
	var over []Key
	for key, tables := range w.keys {
		if firstUnread(tables) == nil {
			over = append(over, key)
			delete(w.keys, key)
		}
	}
	left := len(w.keys) > 0
	w.mu.Unlock()
	for _, key := range over {
		w.changed(key)
	}
	return left
}

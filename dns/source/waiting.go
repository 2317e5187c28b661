package source

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/signpostd/signpost/kube"
)

// fillCheck is how often Waiting looks whether tables are filled.
const fillCheck = 50 * time.Millisecond

// Waiting is for objects that refer to objects of other tables. At the start these tables are
// filled in any order, and what is missing in a table then is no fault of an object. Make one
// with [NewWaiting]. Its methods may be called from any goroutine.
type Waiting struct {
	changed func(Key)
	// wake has room for one value.
	wake chan struct{}

	mu   sync.Mutex
	keys map[Key][]kube.AnyTable
}

// NewWaiting returns a Waiting that calls changed for objects that don't have to wait any more.
func NewWaiting(changed func(Key)) *Waiting {
	return &Waiting{changed: changed, wake: make(chan struct{}, 1), keys: map[Key][]kube.AnyTable{}}
}

// unreadError is the error for an object that refers to a table that isn't filled yet.
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

// For returns nil if tables are filled, so that an object that refers to them can be evaluated.
// Otherwise it returns the Err of its result, and the object is evaluated again when they are.
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

// Run has objects evaluated again, until ctx ends. It is the Run of a [Source], or part of it.
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

// check calls changed for the objects that don't have to wait any more, and reports whether
// others have to.
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

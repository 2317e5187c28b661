package budget

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// ErrNoStore is the error of a [Store] that refuses a request, and will do so until somebody changes
// something: a right is missing, or the state has no room. The publisher continues without the store
// ([Book.Distrust]), and tries again.
var ErrNoStore = errors.New("the budget can't be stored")

// Store keeps a text outside of the process.
type Store interface {
	// Load returns what is stored: nil if nothing ever was, and an empty text if somebody has emptied the store.
	Load(context.Context) ([]byte, error)
	// Update replaces what is stored by what a function makes of it. The function may be called
	// several times, when somebody else writes at the same time.
	Update(ctx context.Context, change func(stored []byte) []byte) error
}

// Loaded is what a [Keeper] has loaded.
type Loaded struct{ text []byte }

// Keeper keeps the snapshots of a book in a store. Make one with [NewKeeper].
type Keeper struct {
	store  Store // nil if nothing is stored
	window time.Duration
	log    *slog.Logger

	// turn has room for one value, which is there while the store is used. Whoever put it there
	// may use the fields below.
	turn chan struct{}
	// last is what this process has loaded or stored last, number that of its snapshot.
	last   []byte
	number uint64
	// theirs is what somebody else has written since Load.
	theirs []byte
}

// NewKeeper returns a keeper. Without a store, which may be nil, the limits count within this
// process only.
func NewKeeper(store Store, window time.Duration, log *slog.Logger) *Keeper {
	return &Keeper{store: store, window: window, log: log, turn: make(chan struct{}, 1)}
}

// lock waits until nobody else uses the store.
func (k *Keeper) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case k.turn <- struct{}{}:
		return func() { <-k.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Load returns what is stored, for [Book.Restore]; nil if there is no store. Until it has returned
// without an error other than [ErrNoStore], no counted change may be made.
func (k *Keeper) Load(ctx context.Context) (*Loaded, error) {
	unlock, err := k.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if k.store == nil {
		return nil, nil
	}
	text, err := k.store.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("load what was deleted and approved before: %w", err)
	}
	k.last, k.theirs = text, nil
	return &Loaded{text}, nil
}

// Keep stores a snapshot, unless it or a later one is stored. Before it has returned without an
// error, none of the changes may be made that the snapshot has paid for, unless the publisher has
// already found that the store refuses requests.
func (k *Keeper) Keep(ctx context.Context, s Snapshot) error {
	unlock, err := k.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if k.store == nil || s.number <= k.number {
		return nil
	}
	var kept []byte
	err = k.store.Update(ctx, func(stored []byte) []byte {
		kept = k.combine(stored, s)
		return kept
	})
	if err != nil {
		return fmt.Errorf("store what is deleted and approved: %w", err)
	}
	k.last, k.number = kept, s.number
	return nil
}

// combine returns what to store: the own state, with what somebody else has added.
func (k *Keeper) combine(stored []byte, own Snapshot) []byte {
	if !bytes.Equal(stored, k.last) {
		k.theirs = stored
	}
	if k.theirs == nil {
		return own.text
	}
	theirs, err := decode(k.theirs, own.at, k.window)
	if err != nil {
		k.log.Warn("The stored budgets can't be read and are replaced", "err", err)
		k.theirs = nil
		return own.text
	}
	ours, err := decode(own.text, own.at, k.window)
	if err != nil {
		return own.text
	}
	return encode(merge(theirs, ours))
}

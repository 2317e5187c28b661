package budget

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/semaphore"
)

// ErrNoStore is the error of a [Store] that refuses requests until somebody changes something: a
// permission is missing, or the state is too large. The publisher continues without the store
// ([Book.Distrust]), and retries.
var ErrNoStore = errors.New("the budget can't be stored")

// Store keeps a text outside of the process.
type Store interface {
	// Load returns the stored text: nil if nothing was ever stored, and an empty text if somebody has
	// emptied the store.
	Load(context.Context) ([]byte, error)
	// Update replaces the stored text by the result of change, which may be called again after a
	// conflict.
	Update(ctx context.Context, change func(stored []byte) []byte) error
}

// Loaded is the result of [Keeper.Load].
type Loaded struct{ text []byte }

// Keeper stores the snapshots of a book. [NewKeeper] creates it.
type Keeper struct {
	store  Store // nil if nothing is stored
	window time.Duration
	log    *slog.Logger

	// turn is a lock of the store and of the fields below.
	turn *semaphore.Weighted
	// last is the text that this process has loaded or stored last. number is that of its snapshot.
	last   []byte
	number uint64
	// sent is the text that this process has sent last, which may be stored although its Update failed.
	sent []byte
	// otherWriter is the text that another process has written since Load.
	otherWriter []byte
}

// NewKeeper returns a keeper. If store is nil, the limits apply within this process only.
func NewKeeper(store Store, window time.Duration, log *slog.Logger) *Keeper {
	return &Keeper{store: store, window: window, log: log, turn: semaphore.NewWeighted(1)}
}

// Load returns the stored state for [Book.Restore]; nil if there is no store. No counted change may
// be made before Load has returned nil or [ErrNoStore].
func (k *Keeper) Load(ctx context.Context) (*Loaded, error) {
	if err := k.turn.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer k.turn.Release(1)
	if k.store == nil {
		return nil, nil
	}
	text, err := k.store.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("load the stored budgets and approvals: %w", err)
	}
	k.last, k.sent, k.otherWriter = text, nil, nil
	return &Loaded{text}, nil
}

// Keep stores a snapshot, unless it or a later one is stored. The changes that the snapshot has
// charged must not be made before Keep has returned nil, unless the store is known to refuse
// requests.
func (k *Keeper) Keep(ctx context.Context, s Snapshot) error {
	if err := k.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer k.turn.Release(1)
	if k.store == nil || s.number <= k.number {
		return nil
	}
	err := k.store.Update(ctx, func(stored []byte) []byte {
		k.sent = k.combine(stored, s)
		return k.sent
	})
	if err != nil {
		return fmt.Errorf("store budgets and approvals: %w", err)
	}
	k.last, k.number = k.sent, s.number
	return nil
}

// combine returns the text to store: our state, merged with that of another writer.
func (k *Keeper) combine(stored []byte, own Snapshot) []byte {
	switch {
	case bytes.Equal(stored, k.last):
	case k.sent != nil && bytes.Equal(stored, k.sent):
		k.last = stored // only the response was lost
	default:
		k.otherWriter = stored
	}
	if k.otherWriter == nil {
		return own.text
	}
	theirs, err := decode(k.otherWriter, own.at, k.window)
	if err != nil {
		k.log.Warn("The stored budgets can't be read and are replaced", "err", err)
		k.otherWriter = nil
		return own.text
	}
	ours, err := decode(own.text, own.at, k.window)
	if err != nil {
		return own.text
	}
	return encode(merge(theirs, ours))
}

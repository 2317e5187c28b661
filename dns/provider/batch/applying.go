package batch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/pause"
)

// maxRefusals is how many batches may be refused in one call of Apply. What is left then is tried again
// later.
const maxRefusals = 40

// Zone is a zone at its server.
type Zone[R any] interface {
	// Change makes the changes of units, all or none.
	Change(ctx context.Context, batch []*Unit[R]) error
	// One returns the record set that the server has under a key; nil if there is none.
	One(ctx context.Context, key dns.Key) (*R, error)
	// Same reports whether two record sets, or nil, are the same at the server.
	Same(a, b *R) bool
	// Refused gives units that the refusal of a batch is about their error, and returns the others. Alone is
	// the error of a unit if that is all of the batch; nil if err is no refusal.
	Refused(batch []*Unit[R], err error) (rest []*Unit[R], alone error)
	// Note is called when the changes of units were made, and Forget when somebody else has changed the record
	// sets of a unit.
	Note(batch []*Unit[R], now time.Time)
	Forget(*Unit[R])
	// Outdate has the zones listed again: this one isn't what it was.
	Outdate()
}

// Applying is one call of Apply.
type Applying[R any] struct {
	Zone Zone[R]
	// Name is that of the zone, and Server that of the service, for messages.
	Name, Server string
	// Interval is the pause between batches.
	Interval time.Duration

	refusals int
	// made has the units whose changes were made.
	made map[*Unit[R]]bool
}

// Apply sends batches of units, one after the other, and returns the error of [provider.Provider.Apply] for
// n changes. What is refused by name is left out and the rest is sent again; without a name, the batch is
// halved.
func (a *Applying[R]) Apply(ctx context.Context, all []*Unit[R], batches [][]*Unit[R], n int) error {
	a.made = map[*Unit[R]]bool{}
	for i, batch := range batches {
		if i > 0 {
			if err := pause.For(ctx, a.Interval); err != nil {
				return fmt.Errorf("wait before the next batch in zone %s: %w", a.Name, err)
			}
		}
		if err := a.send(ctx, batch); err != nil {
			err = fmt.Errorf("change zone %s: %w", a.Name, err)
			if errors.Is(err, provider.ErrStale) {
				a.Zone.Outdate()
			}
			if !provider.NothingMade(err) {
				return err
			}
			a.stop(all, err)
			break
		}
	}
	return outcome(all, n)
}

// send makes the changes of units. An error says that it is of no use to go on.
func (a *Applying[R]) send(ctx context.Context, batch []*Unit[R]) error {
	for len(batch) > 0 {
		err := a.change(ctx, batch)
		if err == nil {
			a.note(batch)
			return nil
		}
		rest, refused := a.refused(batch, err)
		if !refused {
			return err
		}
		a.refusals++
		switch {
		case len(rest) < len(batch):
			batch = rest
		case a.refusals >= maxRefusals:
			FailAll(batch, fmt.Errorf("not tried yet: %s has refused %d batches in a row", a.Server, a.refusals))
			return nil
		default:
			half := len(batch) / 2
			if err := a.send(ctx, batch[:half]); err != nil {
				return err
			}
			batch = batch[half:]
		}
	}
	return nil
}

// change makes the changes of units, all or none. If the answer is lost, it looks at a record set that tells
// whether they were made, and sends them once more if not.
func (a *Applying[R]) change(ctx context.Context, batch []*Unit[R]) error {
	err := a.Zone.Change(ctx, batch)
	if err == nil || provider.NothingMade(err) || ctx.Err() != nil {
		return err
	}
	switch state, lookErr := a.look(ctx, batch); {
	case lookErr != nil:
		// Nobody may take the error of the look for that of the changes.
		return fmt.Errorf("%w; it isn't known whether the changes were made: %v", err, lookErr)
	case state == done:
		return nil
	case state == undone:
		return a.Zone.Change(ctx, batch)
	}
	return err
}

// state is what a record set says of a batch that was sent.
type state int

const (
	unclear state = iota
	done
	undone
)

// look finds out whether a batch was made. One record set is enough, because all changes of a batch are made
// or none.
func (a *Applying[R]) look(ctx context.Context, batch []*Unit[R]) (state, error) {
	for _, u := range batch {
		for _, s := range u.Swaps {
			if a.Zone.Same(s.Gone, s.New) {
				continue
			}
			now, err := a.Zone.One(ctx, s.Key)
			switch {
			case err != nil:
				return unclear, err
			case a.Zone.Same(now, s.New):
				return done, nil
			case a.Zone.Same(now, s.Gone):
				return undone, nil
			}
			return unclear, nil
		}
	}
	return unclear, nil
}

// refused gives units that a refusal is about their error, and returns the others. It reports false if err
// is no refusal.
func (a *Applying[R]) refused(batch []*Unit[R], err error) ([]*Unit[R], bool) {
	rest, alone := a.Zone.Refused(batch, err)
	if alone == nil {
		return nil, false
	}
	if len(batch) == 1 && len(rest) == 1 {
		batch[0].Fail(alone)
		rest = nil
	}
	for _, u := range batch {
		if errors.Is(u.Err, provider.ErrStale) {
			a.Zone.Forget(u)
		}
	}
	return rest, true
}

// note is called when the changes of units were made.
func (a *Applying[R]) note(batch []*Unit[R]) {
	a.Zone.Note(batch, time.Now())
	for _, u := range batch {
		a.made[u] = true
	}
}

// stop gives all units that weren't made, and that have no error yet, the same one.
func (a *Applying[R]) stop(all []*Unit[R], err error) {
	for _, u := range all {
		if !a.made[u] {
			u.Fail(err)
		}
	}
}

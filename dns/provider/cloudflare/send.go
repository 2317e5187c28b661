package cloudflare

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/signpostd/signpost/dns/provider"
)

// maxRefusals is how many batches may be refused in one call of Apply. What is left then is
// tried again later.
const maxRefusals = 40

// send makes the changes of units, with what belongs to their names. An error says that it is of no
// use to go on.
func (a *applying) send(ctx context.Context, batch []*unit) error {
	for _, u := range batch {
		err := a.p.takeAway(ctx, a.zone, u.side)
		if ctx.Err() != nil || errors.Is(err, provider.ErrThrottled) || errors.Is(err, provider.ErrDryRun) {
			return err
		}
		if err != nil {
			u.fail(err)
		}
	}
	batch = live(batch)
	if err := a.divide(ctx, batch); err != nil {
		return err
	}
	for _, u := range batch {
		if u.made {
			// The records are made, whatever becomes of the rest.
			u.late = a.p.give(ctx, a.zone, u.side)
		}
	}
	return nil
}

// divide makes the changes of units. A batch that is refused is halved until the unit that is at fault
// is alone, because Cloudflare says what is wrong, and not where.
func (a *applying) divide(ctx context.Context, batch []*unit) error {
	for len(batch) > 0 {
		err := a.change(ctx, batch)
		switch {
		case err == nil:
			for _, u := range batch {
				u.made = true
			}
			return nil
		case !refused(err):
			return err
		}
		if a.refusals++; len(batch) == 1 {
			batch[0].fail(err)
			a.zone.forget(batch[0])
			return nil
		}
		if a.refusals >= maxRefusals {
			for _, u := range batch {
				u.fail(fmt.Errorf("not tried yet: Cloudflare has refused %d batches in a row", a.refusals))
			}
			return nil
		}
		half := len(batch) / 2
		if err := a.divide(ctx, batch[:half]); err != nil {
			return err
		}
		batch = batch[half:]
	}
	return nil
}

// refused reports whether an error is about one of the changes, and not about the zone or who asks.
func refused(err error) bool {
	if e, ok := errors.AsType[*apiError](err); ok && e.Status == http.StatusNotFound && !e.has(codeGone) {
		return false
	}
	return errors.Is(err, provider.ErrRejected) || errors.Is(err, provider.ErrStale)
}

// change makes the changes of units, all or none. If the answer is lost, it looks at one of them
// to tell whether they were made, and sends them once more if not. If both arrive, the second
// request is refused, because the first one has made the same records.
func (a *applying) change(ctx context.Context, units []*unit) error {
	var changes batch[outgoing]
	for _, u := range units {
		changes = changes.plus(u.operations)
	}
	if changes.size() == 0 {
		return nil
	}
	a.zone.intend(units, time.Now())
	made, err := a.p.api.change(ctx, a.zone.ID, changes)
	if err != nil && !provider.NothingMade(err) && ctx.Err() == nil {
		switch state, lookErr := a.state(ctx, units); {
		case lookErr != nil:
			// The class of the second error says nothing about the changes.
			return fmt.Errorf("%w; it isn't known whether the changes were made: %v", err, lookErr)
		case state == done:
			err = nil
		case state == undone:
			made, err = a.p.api.change(ctx, a.zone.ID, changes)
		}
	}
	if err == nil {
		a.zone.note(units, made, time.Now())
	}
	return err
}

func (b batch[T]) plus(o batch[T]) batch[T] {
	return batch[T]{append(b.Deletes, o.Deletes...), append(b.Patches, o.Patches...), append(b.Posts, o.Posts...)}
}

func (b batch[T]) size() int { return len(b.Deletes) + len(b.Patches) + len(b.Posts) }

// state is what the records of a unit say of a batch that was sent.
type state int

const (
	unclear state = iota
	done
	undone
)

// state finds out whether a batch was made. One unit is enough, because all changes of a batch are
// made or none.
func (a *applying) state(ctx context.Context, units []*unit) (state, error) {
	for _, u := range units {
		if u.size() == 0 {
			continue
		}
		rows, err := a.p.read(ctx, a.zone, u.queries(a.zone.Name))
		if err != nil {
			return unclear, err
		}
		return u.state(rows), nil
	}
	return unclear, nil
}

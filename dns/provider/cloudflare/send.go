package cloudflare

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// send makes the changes of units, with the settings of their names. It returns an error if no other unit can
// succeed.
func (a *applying) send(ctx context.Context, units []*unit) error {
	for _, u := range units {
		switch err := a.p.deleteSettings(ctx, a.zone, u.nameChange); {
		case err == nil:
		case ctx.Err() != nil || errors.Is(err, provider.ErrThrottled) || errors.Is(err, provider.ErrDryRun):
			return err
		default:
			u.Fail(err)
		}
	}
	units = batch.Pending(units)
	err := a.batches.Send(ctx, units)
	// A refused batch is halved, so the records of some units may be made although a later half has failed.
	for _, u := range units {
		if u.Made {
			// The records are made, regardless of this error.
			u.settingsErr = a.p.createSettings(ctx, a.zone, u.nameChange)
		}
	}
	return err
}

// Change implements [batch.Zone]. If a response is lost and the request is sent twice, Cloudflare refuses the
// second one, because the records exist.
func (a *applying) Change(ctx context.Context, units []*unit) (err error) {
	var all operations[outgoing]
	for _, u := range units {
		all = all.plus(u.operations)
	}
	if a.made = (operations[record]{}); all.size() == 0 {
		return nil
	}
	a.zone.intend(units, time.Now())
	a.made, err = a.p.api.change(ctx, a.zone.ID, all)
	return err
}

func (b operations[T]) plus(o operations[T]) operations[T] {
	return operations[T]{append(b.Deletes, o.Deletes...), append(b.Patches, o.Patches...), append(b.Posts, o.Posts...)}
}

func (b operations[T]) size() int { return len(b.Deletes) + len(b.Patches) + len(b.Posts) }

// Verify implements [batch.Zone]. It checks one unit, because all changes of a batch are made or none.
func (a *applying) Verify(ctx context.Context, units []*unit) (batch.State, error) {
	for _, u := range units {
		if u.operations.size() == 0 {
			continue
		}
		rows, err := a.p.read(ctx, a.zone, u.queries(a.zone.Name))
		if err != nil {
			return batch.Unclear, err
		}
		return u.state(rows), nil
	}
	return batch.Unclear, nil
}

// Refused implements [batch.Zone]. Cloudflare doesn't say which change is at fault.
func (a *applying) Refused(units []*unit, err error) (rest []*unit, alone error) {
	if !refused(err) {
		return nil, nil
	}
	if len(units) == 1 {
		a.Forget(units[0])
	}
	return units, err
}

// refused reports whether an error concerns one of the changes, not the zone or the credentials.
func refused(err error) bool {
	if e, ok := errors.AsType[*apiError](err); ok && e.Status == http.StatusNotFound && !e.has(codeGone) {
		return false
	}
	return errors.Is(err, provider.ErrRejected) || errors.Is(err, provider.ErrStale)
}

// Note implements [batch.Zone].
func (a *applying) Note(units []*unit, now time.Time) { a.zone.note(units, a.made, now) }

// Forget implements [batch.Zone].
func (a *applying) Forget(u *unit) { a.zone.forget(u) }

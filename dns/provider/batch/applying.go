package batch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/pause"
)

// maxRefusals limits the refused batches of one call of Apply. It is more than a batch can be halved, so each
// call finds a refused group. The remaining groups fail with [provider.ErrNotTried].
const maxRefusals = 40

// State is the outcome of a batch whose response was lost, as seen at the server.
type State int

// States of such a batch.
const (
	Unclear State = iota
	Done
	Undone
)

// Zone is a zone at its server. G is the provider's type of a [Group].
type Zone[G Grouped] interface {
	// Change makes the changes of a batch, all or none.
	Change(ctx context.Context, batch []G) error
	// Verify finds out whether a batch was made, after its response was lost.
	Verify(ctx context.Context, batch []G) (State, error)
	// Refused sets the error of the groups that a refusal names, and returns the others. alone is the error
	// if a single group was refused, and nil if err isn't a refusal.
	Refused(batch []G, err error) (rest []G, alone error)
	// Note is called after the changes of a batch were made, and Forget after an external change of a group's
	// record sets.
	Note(batch []G, now time.Time)
	Forget(G)
}

// Applying is one call of Apply.
type Applying[G Grouped] struct {
	Zone Zone[G]
	// Outdate makes the next call list the zones again, because this one has changed or is gone.
	Outdate func()
	// Name is the zone's name, and Server that of the service, for errors.
	Name, Server string
	// Interval is the pause between batches.
	Interval time.Duration

	refusals int
}

// Apply sends batches one after the other, and returns the error of [provider.Provider.Apply] for n changes.
// all has the groups of the batches, and those that have failed before.
func (a *Applying[G]) Apply(ctx context.Context, all []G, batches [][]G, n int) error {
	for i, batch := range batches {
		if i > 0 {
			if err := pause.For(ctx, a.Interval); err != nil {
				return fmt.Errorf("wait before the next batch in zone %s: %w", a.Name, err)
			}
		}
		if err := a.Send(ctx, batch); err != nil {
			if err = a.Stop(all, err); err != nil {
				return err
			}
			break
		}
	}
	return Outcome(Errors(all, n))
}

// Stop ends a call of Apply after an error of Send. If the error says that nothing was made, all groups that
// are still pending fail with it. Otherwise Stop returns it. If the credentials are refused after other groups
// were finished, the pending ones are tried again, because the right may be missing for one of them only.
func (a *Applying[G]) Stop(all []G, err error) error {
	err = fmt.Errorf("change zone %s: %w", a.Name, err)
	if errors.Is(err, provider.ErrStale) {
		a.Outdate()
	}
	if !provider.NothingMade(err) {
		return err
	}
	pending := Pending(all)
	if len(pending) < len(all) && errors.Is(err, provider.ErrCredentials) {
		err = fmt.Errorf("%w: %w", provider.ErrNotTried, err)
	}
	FailAll(pending, err)
	return nil
}

// Send makes the changes of a batch. Groups that the server refuses get an error. Send returns an error if no
// further batch can succeed.
func (a *Applying[G]) Send(ctx context.Context, batch []G) error {
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
			FailAll(batch, fmt.Errorf("%w: %s has refused %d batches in a row", provider.ErrNotTried, a.Server, a.refusals))
			return nil
		default:
			half := len(batch) / 2
			if err := a.Send(ctx, batch[:half]); err != nil {
				return err
			}
			batch = batch[half:]
		}
	}
	return nil
}

// change makes the changes of a batch, all or none. If the response is lost, it verifies the outcome, and
// sends the batch once more if it wasn't made.
func (a *Applying[G]) change(ctx context.Context, batch []G) error {
	err := a.Zone.Change(ctx, batch)
	if err == nil || provider.NothingMade(err) || ctx.Err() != nil {
		return err
	}
	switch state, verifyErr := a.Zone.Verify(ctx, batch); {
	case verifyErr != nil:
		// verifyErr isn't wrapped, because its class says nothing about the changes.
		return fmt.Errorf("%w; it isn't known whether the changes were made: %v", err, verifyErr)
	case state == Done:
		return nil
	case state == Undone:
		return a.Zone.Change(ctx, batch)
	}
	return err
}

// refused sets the errors of refused groups, and returns the others. It returns false if err isn't a refusal.
func (a *Applying[G]) refused(batch []G, err error) ([]G, bool) {
	rest, alone := a.Zone.Refused(batch, err)
	if alone == nil {
		return nil, false
	}
	if len(batch) == 1 && len(rest) == 1 {
		batch[0].group().Fail(alone)
		rest = nil
	}
	for _, g := range batch {
		if errors.Is(g.group().Err, provider.ErrStale) {
			a.Zone.Forget(g)
		}
	}
	return rest, true
}

func (a *Applying[G]) note(batch []G) {
	a.Zone.Note(batch, time.Now())
	for _, g := range batch {
		g.group().Made = true
	}
}

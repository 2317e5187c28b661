package google

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/pause"
)

// maxRefusals is how many requests may be refused in one call of Apply. What is left then is
// tried again later.
const maxRefusals = 40

// Apply implements [provider.Provider]. The changes of a name, with those of its ownership
// records, are in one request. An answer of Cloud DNS names what it refuses; the rest is sent
// again without it. If it names nothing, the batch is halved.
func (p *cloudDNS) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	if len(changes) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	list, err := p.known(ctx)
	if err != nil {
		return fmt.Errorf("before zone %s is changed: %w", zone.Name, err)
	}
	z := list.byID[zone.ID]
	if z == nil {
		return fmt.Errorf("change zone %s: %w: there is no managed zone %s in Cloud DNS", zone.Name, provider.ErrRejected, zone.ID)
	}
	all := units(z, changes, func(name string) error { return list.outside(z, name) })
	a := &applying{api: p.api, zone: z, made: map[*unit]bool{}}
	for i, batch := range batches(all, p.limit) {
		if i > 0 {
			if err := pause.For(ctx, p.interval); err != nil {
				return fmt.Errorf("wait before the next request for zone %s: %w", z.Name, err)
			}
		}
		if err := a.send(ctx, batch); err != nil {
			err = fmt.Errorf("change zone %s: %w", z.Name, err)
			if !provider.NothingMade(err) {
				return err
			}
			if errors.Is(err, provider.ErrStale) {
				p.outdate()
			}
			a.stop(all, err)
			break
		}
	}
	return outcome(all, len(changes))
}

// applying is one call of Apply.
type applying struct {
	api  *client
	zone *managedZone
	// refusals is how many requests were refused.
	refusals int
	// made has the units whose changes were made.
	made map[*unit]bool
}

// send makes the changes of units. An error says that it is of no use to go on.
func (a *applying) send(ctx context.Context, batch []*unit) error {
	for len(batch) > 0 {
		err := a.change(ctx, batch)
		if err == nil {
			a.note(batch)
			return nil
		}
		answer, ok := errors.AsType[*apiError](err)
		if !ok || answer.refusal() == nil {
			return err
		}
		a.refusals++
		rest := a.refused(batch, answer)
		switch {
		case len(rest) < len(batch):
			batch = rest
		case a.refusals >= maxRefusals:
			failAll(batch, fmt.Errorf("not tried yet: Cloud DNS has refused %d requests in a row", a.refusals))
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

// change makes the changes of units, all or none. If the answer is lost, it looks at a record
// set that tells whether they were made, and sends them once more if not.
func (a *applying) change(ctx context.Context, batch []*unit) error {
	c := change(batch)
	err := a.api.change(ctx, a.zone.ID, c)
	if err == nil || provider.NothingMade(err) || ctx.Err() != nil {
		return err
	}
	switch state, lookErr := a.look(ctx, batch); {
	case lookErr != nil:
		return fmt.Errorf("%w; it isn't known whether the changes were made: %s", err, lookErr)
	case state == done:
		return nil
	case state == undone:
		return a.api.change(ctx, a.zone.ID, c)
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

// look finds out whether a batch was made. One record set is enough, because all changes of a
// batch are made or none.
func (a *applying) look(ctx context.Context, batch []*unit) (state, error) {
	for _, u := range batch {
		for _, s := range u.swaps {
			if sameRaw(s.gone, s.new) {
				continue
			}
			now, err := a.api.one(ctx, a.zone.ID, s.key)
			switch {
			case err != nil:
				return unclear, err
			case sameRaw(now, s.new):
				return done, nil
			case sameRaw(now, s.gone):
				return undone, nil
			}
			return unclear, nil
		}
	}
	return unclear, nil
}

// refused gives units that a refusal is about their error, and returns the others.
func (a *applying) refused(batch []*unit, answer *apiError) []*unit {
	rest := blame(batch, change(batch), answer)
	if len(batch) == 1 && len(rest) == 1 {
		batch[0].fail(answer)
		rest = nil
	}
	for _, u := range batch {
		if errors.Is(u.err, provider.ErrStale) {
			a.zone.forget(u)
		}
	}
	return rest
}

// note is called when the changes of units were made.
func (a *applying) note(batch []*unit) {
	a.zone.note(batch, time.Now())
	for _, u := range batch {
		a.made[u] = true
	}
}

// stop gives all units that weren't made, and that have no error yet, the same one.
func (a *applying) stop(all []*unit, err error) {
	for _, u := range all {
		if !a.made[u] {
			u.fail(err)
		}
	}
}

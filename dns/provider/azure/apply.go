package azure

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// Apply implements [provider.Provider]. The changes of a name and of its ownership records are made one by
// one. Several names are changed in parallel.
func (p *azureProvider) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	if err := ctx.Err(); err != nil || len(changes) == 0 {
		return err
	}
	list, z, err := p.Find(ctx, zone)
	if err != nil {
		return fmt.Errorf("change zone %s of Azure: %w", zone.Name, err)
	}
	all := units(z, changes, func(name string) error { return list.OutsideClosest(z.Zone, name) })
	a := &applying{errs: make([]error, len(changes))}
	var group errgroup.Group
	group.SetLimit(p.workers)
	for _, u := range all {
		group.Go(func() error {
			a.run(ctx, u)
			return nil
		})
	}
	// Errors are in a.
	_ = group.Wait()
	for _, u := range all {
		p.outdate(u.Err)
	}
	if err := a.outcome(ctx); err != nil {
		return fmt.Errorf("change zone %s of Azure: %w", z.name, err)
	}
	return nil
}

type applying struct {
	mu sync.Mutex
	// stop is an error that would hit all further units, too.
	stop error
	// uncertain is an error that leaves the outcome unknown.
	uncertain error
	// errs has the error of each change.
	errs []error
}

// run makes the changes of a unit, unless stop is set.
func (a *applying) run(ctx context.Context, u *unit) {
	a.mu.Lock()
	stop := a.stop
	a.mu.Unlock()
	if stop != nil {
		u.fail(fmt.Errorf("%w: %w", provider.ErrNotTried, stop))
	} else {
		u.run(ctx)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, s := range u.steps {
		a.errs[u.Places[i]] = s.err
	}
	if a.uncertain == nil && u.uncertain {
		a.uncertain = u.Err
	}
	if a.stop == nil && batch.StopsAll(u.Err) {
		a.stop = u.Err
	}
}

func (a *applying) outcome(ctx context.Context) error {
	if a.uncertain != nil {
		// The class of this error says nothing about the other changes.
		return fmt.Errorf("%w: %v", cmp.Or(ctx.Err(), errUnknownOutcome), a.uncertain)
	}
	if a.stop != nil && !slices.ContainsFunc(a.errs, func(err error) bool { return !batch.StopsAll(err) }) {
		return a.stop
	}
	return batch.Outcome(a.errs)
}

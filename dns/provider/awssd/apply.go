package awssd

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/pause"
)

// writers is how many names are changed at a time. Most of the time they wait for operations.
const writers = 32

// Apply implements [provider.Provider]. The changes of a name are one unit, since all its
// record sets are in one service. Each unit has its own outcome.
func (p *cloudMap) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	if len(changes) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	n, list, err := p.find(ctx, zone)
	if err != nil {
		return fmt.Errorf("change namespace %s of Cloud Map: %w", zone.Name, err)
	}
	if err := p.ready(ctx, n, changes); err != nil {
		return fmt.Errorf("list namespace %s of Cloud Map before it is changed: %w", zone.Name, err)
	}
	all := units(n, list, changes)
	// Each unit keeps its error, so that one that fails ends no other, unless it would be the same.
	var same atomic.Pointer[error]
	_ = atOnce(ctx, writers, len(all), func(ctx context.Context, i int) error {
		u := all[i]
		if u.err != nil {
			return nil
		}
		u.tried = true
		if err := same.Load(); err != nil {
			u.err = *err
			return nil
		}
		if u.err = p.make(ctx, n, u); errors.Is(u.err, errUnknown) || errors.Is(u.err, provider.ErrThrottled) {
			same.Store(&u.err)
		}
		return nil
	})
	return outcome(ctx, n, all, len(changes))
}

// ready lists the services of a namespace if that has never been done, and they have to be known.
func (p *cloudMap) ready(ctx context.Context, n *namespace, changes []dns.Change) error {
	n.mu.Lock()
	listed := n.listed
	n.mu.Unlock()
	old := false
	for _, c := range changes {
		old = old || c.Old != nil
	}
	if listed || !old {
		return nil
	}
	l := p.account.budget.Part("namespace " + n.Name)
	defer l.End(nil)
	services, err := p.account.services(ctx, n.Zone, l)
	if err == nil {
		n.note(services)
	}
	return err
}

// unit is the changes of one name.
type unit struct {
	name, label string
	// places has the index of each change among all changes.
	places  []int
	changes []dns.Change
	tried   bool
	// err says why the changes weren't made, or that nobody knows.
	err error
}

// units groups changes by their names. It notes what is impossible.
func units(n *namespace, list *namespaceList, changes []dns.Change) []*unit {
	byName := map[string]*unit{}
	var all []*unit
	for i, c := range changes {
		name := c.RecordSet().Key().Name
		u := byName[name]
		if u == nil {
			u = &unit{name: name, err: list.outside(n, name)}
			byName[name], all = u, append(all, u)
		}
		u.places, u.changes = append(u.places, i), append(u.changes, c)
		if err := u.check(n.Zone, c); u.err == nil && err != nil {
			u.err = fmt.Errorf("%w: %s %s: %w", provider.ErrRejected, name, c.RecordSet().Type, err)
		}
	}
	return all
}

// check says why a change can't be made, whatever is in the namespace.
func (u *unit) check(zone dns.Zone, c dns.Change) (err error) {
	if c.New != nil {
		if _, err = adjusted(zone, c.New); err != nil {
			return err
		}
	}
	u.label, err = labelOf(zone, u.name)
	return err
}

// outcome returns the error of Apply.
func outcome(ctx context.Context, n *namespace, all []*unit, changes int) error {
	errs := make([]error, changes)
	failed, denied := 0, 0
	for _, u := range all {
		err := u.err
		if err == nil && !u.tried {
			err = fmt.Errorf("not tried: %w", context.Cause(ctx))
		}
		if err == nil {
			continue
		}
		failed++
		if errors.Is(err, provider.ErrCredentials) {
			denied++
		}
		err = fmt.Errorf("change %s at Cloud Map: %w", u.name, err)
		if u.tried && !isCertain(u.err) {
			return fmt.Errorf("change namespace %s: %w", n.Name, unknowable{err})
		}
		for _, place := range u.places {
			errs[place] = err
		}
	}
	switch {
	case failed == 0:
		return nil
	case denied == len(all):
		return fmt.Errorf("change namespace %s: %w", n.Name, all[0].err)
	}
	return &provider.ApplyError{Errs: errs}
}

const (
	// tries is how often a unit is brought to its state when answers are lost, and tryPause the
	// pause before it is looked at again.
	tries    = 3
	tryPause = time.Second
)

// make makes the changes of a unit: it looks what there is, and takes the steps from there to
// what is wanted. If an answer is lost, it looks again, and takes the steps that are left.
func (p *cloudMap) make(ctx context.Context, n *namespace, u *unit) error {
	w := &work{cloudMap: p, namespace: n, unit: u, request: newRequestID()}
	for try := 1; ; {
		err := w.step(ctx)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errAgain):
			continue
		case isCertain(err) || try == tries || ctx.Err() != nil:
			return w.undo(ctx, err)
		}
		w.begun, try = true, try+1
		if err := pause.For(ctx, p.account.poll); err != nil {
			return err
		}
	}
}

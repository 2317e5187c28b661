package awssd

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/awsaccess"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
	"github.com/signpostd/signpost/internal/pause"
)

// maxWriters limits the names that are changed in parallel. Most of the time they wait for operations.
const maxWriters = 32

// Apply implements [provider.Provider]. The changes of a name are one unit, because all its record sets are
// in one service. Each unit has its own outcome.
func (p *cloudMap) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	if err := ctx.Err(); err != nil || len(changes) == 0 {
		return err
	}
	list, n, err := p.Find(ctx, zone)
	if err != nil {
		return fmt.Errorf("change namespace %s of Cloud Map: %w", zone.Name, err)
	}
	if err := p.listFirst(ctx, n, changes); err != nil {
		return fmt.Errorf("list namespace %s of Cloud Map before it is changed: %w", zone.Name, err)
	}
	all := units(n, list, changes)
	// Errors are per unit. One failure doesn't stop the others, unless the same error would hit all.
	var same atomic.Pointer[error]
	_ = inParallel(ctx, maxWriters, len(all), func(ctx context.Context, i int) error {
		u := all[i]
		if u.Err != nil {
			return nil
		}
		u.tried = true
		if err := same.Load(); err != nil {
			u.Err = *err
			return nil
		}
		if u.Err = p.make(ctx, n, u); errors.Is(u.Err, awsaccess.ErrUnauthenticated) || errors.Is(u.Err, provider.ErrThrottled) {
			same.Store(&u.Err)
		}
		if errors.Is(u.Err, errNoNamespace) {
			p.Outdate()
		}
		return nil
	})
	return outcome(ctx, n, all, len(changes))
}

// listFirst lists the services of a namespace if it was never listed and the changes need them.
func (p *cloudMap) listFirst(ctx context.Context, n *namespace, changes []dns.Change) error {
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

// unit is a group with the label of its service. Its error may also mean an unknown outcome.
type unit struct {
	*batch.Group
	label string
	tried bool
}

// units groups changes by name. Impossible units have an error.
func units(n *namespace, list *batch.List[namespace], changes []dns.Change) []*unit {
	var all []*unit
	for _, g := range batch.BySubject(changes) {
		g.Err = list.Outside(n.Zone, g.Subject)
		u := &unit{Group: g}
		for _, c := range g.Changes {
			if err := u.check(n.Zone, c); err != nil {
				u.Fail(fmt.Errorf("%w: %s %s: %w", provider.ErrRejected, g.Subject, c.RecordSet().Type, err))
			}
		}
		all = append(all, u)
	}
	return all
}

// check returns why a change is impossible, regardless of the namespace's content.
func (u *unit) check(zone dns.Zone, c dns.Change) (err error) {
	if c.New != nil {
		if _, err = adjusted(zone, c.New); err != nil {
			return err
		}
	}
	u.label, err = labelOf(zone, u.Subject)
	return err
}

func outcome(ctx context.Context, n *namespace, all []*unit, changes int) error {
	errs := make([]error, changes)
	failed, denied := 0, 0
	for _, u := range all {
		err := u.Err
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
		err = fmt.Errorf("change %s at Cloud Map: %w", u.Subject, err)
		if u.tried && !isCertain(u.Err) {
			return fmt.Errorf("change namespace %s: %w", n.Name, unknownOutcome{err})
		}
		for _, place := range u.Places {
			errs[place] = err
		}
	}
	switch {
	case failed == 0:
		return nil
	case denied == len(all):
		return fmt.Errorf("change namespace %s: %w", n.Name, all[0].Err)
	}
	return &provider.ApplyError{Errs: errs}
}

const (
	// tries limits the attempts of a unit whose responses are lost, and tryPause is the pause between them.
	tries    = 3
	tryPause = time.Second
)

// make makes the changes of a unit: it reads the service, and takes the steps to the wanted state. If a
// response is lost, it reads the service again and takes the remaining steps.
func (p *cloudMap) make(ctx context.Context, n *namespace, u *unit) error {
	w := &work{cloudMap: p, namespace: n, unit: u, request: newRequestID()}
	for try := 1; ; {
		err := w.step(ctx)
		switch {
		case err == nil:
			w.noteSwapped()
			return nil
		case errors.Is(err, errRetryNow):
			continue
		case isCertain(err) || try == tries || ctx.Err() != nil:
			return w.restore(ctx, w.undo(ctx, err))
		}
		w.started, try = true, try+1
		if err := pause.For(ctx, p.account.poll); err != nil {
			return err
		}
	}
}

package publisher

import (
	"context"
	"time"

	"github.com/signpostd/signpost/dns/provider"
)

const (
	// confirmTimeout limits how long servers may take to return a change.
	confirmTimeout = 10 * time.Minute
	// maxUnconfirmed limits how many names of a zone may wait for confirmation. Further names are
	// reported as published without it.
	maxUnconfirmed = 10_000
)

// confirm reports that the changes of some names are in force as soon as the provider confirms it.
// Neither other changes of the zone nor a run that ends wait for the confirmation.
func (p *Publisher) confirm(z *zone, made []group) {
	_, confirms := p.Provider.(provider.Confirmer)
	if !confirms || p.once != nil || len(z.unconfirmed)+len(made) > maxUnconfirmed {
		p.confirmed(made)
		return
	}
	z.unconfirmed = append(z.unconfirmed, made...)
	p.startConfirm(z)
}

// startConfirm asks the provider whether the changes of a zone are in force, unless such a call is
// running.
func (p *Publisher) startConfirm(z *zone) {
	if len(z.confirming) > 0 || len(z.unconfirmed) == 0 {
		return
	}
	z.confirming, z.unconfirmed = z.unconfirmed, nil
	p.startInTerm(confirmTimeout, func(ctx context.Context) func() {
		err := p.panics.Catch(atProvider, func() error { return p.Provider.(provider.Confirmer).Confirm(ctx, z.Zone) })
		return func() {
			if err != nil {
				p.Log.Warn("Can't confirm that all servers of the provider return the accepted changes", "zone", z.Name, "names", len(z.confirming), "err", err)
			}
			p.confirmed(z.confirming)
			z.confirming = nil
			p.startConfirm(z)
		}
	})
}

// confirmed reports that the changes of some names are in force.
func (p *Publisher) confirmed(made []group) {
	for _, g := range made {
		for _, c := range g.changes {
			n := Notice{Record: c.RecordSet(), Objects: c.RecordSet().Objects, Reason: ReasonReady, Action: ActionUpdated}
			switch {
			case c.Old == nil:
				n.Action = ActionCreated
			case c.New == nil:
				n.Action, n.Reason = ActionDeleted, ReasonDeleted
			}
			p.Notify(n)
		}
	}
}

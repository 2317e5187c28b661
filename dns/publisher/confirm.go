package publisher

import (
	"context"
	"time"

	"github.com/signpostd/signpost/dns/provider"
)

const (
	// confirmTimeout is how long servers may take to answer with a change.
	confirmTimeout = 10 * time.Minute
	// mostUnconfirmed is how many names of a zone may wait to be confirmed. More than that are
	// said to be published before.
	mostUnconfirmed = 10_000
)

// confirm says that the changes of some names are in force, as soon as the provider says so. Other
// changes of the zone don't wait for that, and neither does a run that ends.
func (p *Publisher) confirm(z *zone, made []group) {
	_, confirms := p.Provider.(provider.Confirmer)
	if !confirms || p.once != nil || len(z.made)+len(made) > mostUnconfirmed {
		p.confirmed(made)
		return
	}
	z.made = append(z.made, made...)
	p.askWhether(z)
}

// askWhether has the provider asked about the changes of a zone, unless it is being asked.
func (p *Publisher) askWhether(z *zone) {
	if len(z.confirming) > 0 || len(z.made) == 0 {
		return
	}
	z.confirming, z.made = z.made, nil
	p.startInTerm(confirmTimeout, func(ctx context.Context) func() {
		err := p.panics.Catch(atProvider, func() error { return p.Provider.(provider.Confirmer).Confirm(ctx, z.Zone) })
		return func() {
			if err != nil {
				p.Log.Warn("Can't find out whether all servers of the provider answer with the changes, which it has accepted", "zone", z.Name, "names", len(z.confirming), "err", err)
			}
			p.confirmed(z.confirming)
			z.confirming = nil
			p.askWhether(z)
		}
	})
}

// confirmed says that the changes of some names are in force.
func (p *Publisher) confirmed(made []group) {
	for _, g := range made {
		p.succeeded(g)
	}
}

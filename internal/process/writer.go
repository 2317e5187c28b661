package process

import (
	"context"
	"fmt"

	"github.com/signpostd/signpost/controllers"
	"github.com/signpostd/signpost/internal/leader"
	"github.com/signpostd/signpost/internal/settings"
)

// writerConfig says what a writer writes, and when.
type writerConfig struct {
	// set lacks what the writer itself has to give: clients, metrics and log.
	set    controllers.Config
	leader settings.Leader
	// identity is what the process is called in the Lease; empty for a unique one.
	identity string
	// qps and burst are as in [requestLimit].
	qps   float64
	burst int
}

// writer runs controllers while it holds a Lease.
type writer struct {
	set *controllers.Set
	// elector is nil without leader election.
	elector *leader.Elector
	lease   string
	// closeIdle closes the connections of its clients.
	closeIdle func()
}

// newWriter returns a writer that doesn't run yet.
func newWriter(in roleInput, c writerConfig) (*writer, error) {
	w := &writer{lease: c.leader.ResourceNamespace + "/" + c.leader.ResourceName}
	var made connections
	w.closeIdle = made.closeIdle
	fence := leader.Unfenced()
	if c.leader.Elect {
		client, err := made.client(in.REST, clientConfig{timeout: c.leader.RenewDeadline})
		if err != nil {
			return nil, err
		}
		w.elector, err = leader.New(leader.Config{
			Client:        client.CoordinationV1(),
			Namespace:     c.leader.ResourceNamespace,
			Name:          c.leader.ResourceName,
			Identity:      c.identity,
			LeaseDuration: c.leader.LeaseDuration,
			RenewDeadline: c.leader.RenewDeadline,
			RetryPeriod:   c.leader.RetryPeriod,
			Log:           in.Log,
			Registerer:    in.Registerer,
		})
		if err != nil {
			return nil, err
		}
		fence = w.elector.Fence()
	}
	events, err := made.client(in.REST, clientConfig{timeout: requestTimeout, qps: eventRate, burst: eventBurst})
	if err != nil {
		return nil, err
	}
	writes, err := made.client(in.REST, clientConfig{
		timeout: min(requestTimeout, c.leader.RenewDeadline), qps: c.qps, burst: c.burst, wrap: fence.Wrap,
	})
	if err != nil {
		return nil, err
	}
	c.set.Client, c.set.EventClient = writes, events
	c.set.Metrics, c.set.Logger = in.Metrics, in.Log
	w.set, err = controllers.New(c.set)
	return w, err
}

// run writes, from the time on when the tables have been filled, until ctx ends: only
// who knows everything may lead. Until it leads it follows the changes like the leader.
func (w *writer) run(ctx context.Context, settled <-chan struct{}) error {
	defer w.closeIdle()
	select {
	case <-settled:
	case <-ctx.Done():
		return nil
	}
	if w.elector == nil {
		return w.set.Lead(ctx)
	}
	return w.elector.Run(ctx, w.set.Lead)
}

// details says, for /ready, who writes.
func (w *writer) details() []string { return leadership(w.elector, w.lease) }

// leadership says who holds a lease; the elector is nil without election.
func leadership(elector *leader.Elector, lease string) []string {
	if elector == nil {
		return []string{"leader: this process, without election"}
	}
	switch holder := elector.Leader(); {
	case elector.Fence().Check() == nil:
		return []string{fmt.Sprintf("leader: this process, %s, by lease %s", elector.Identity(), lease)}
	case holder == "" || holder == elector.Identity():
		return []string{fmt.Sprintf("leader: none that is known, by lease %s", lease)}
	default:
		return []string{fmt.Sprintf("leader: %s, by lease %s", holder, lease)}
	}
}

package process

import (
	"context"
	"log/slog"
	"time"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/controllers"
)

// writerConfig says what a writer writes, and when.
type writerConfig struct {
	// set lacks clients, metrics and log: the writer adds them.
	set    controllers.Config
	leader settings.Leader
	// identity is what the process is called in the Lease; empty for a unique one.
	identity string
	// qps and burst are as in [clientConfig].
	qps   float64
	burst int
}

// writer runs controllers while this process leads.
type writer struct {
	set        *controllers.Set
	leadership *leadership
	// leaseDuration is how long a new leader may take until its tables are up to date, if it is longer than upToDateLimit.
	leaseDuration time.Duration
	log           *slog.Logger
	// tell sends Events about the process; nil without a pod.
	tell tell
	// closeIdle closes the connections of its clients.
	closeIdle func()
}

// newWriter returns a writer that doesn't run yet.
func newWriter(in roleInput, c writerConfig) (*writer, error) {
	var made connections
	leadership, err := newLeadership(in, &made, c.leader, c.identity, "")
	if err != nil {
		return nil, err
	}
	c.set.EventClient, err = made.client(in.REST, clientConfig{timeout: requestTimeout, qps: eventRate, burst: eventBurst})
	if err != nil {
		return nil, err
	}
	c.set.Client, err = made.client(in.REST, clientConfig{
		timeout: c.requestTimeout(), qps: c.qps, burst: c.burst, wrap: leadership.fence.Wrap,
	})
	if err != nil {
		return nil, err
	}
	c.set.Metrics, c.set.Logger, c.set.Tracer = in.Metrics, in.Log, in.Tracer
	set, err := controllers.New(c.set)
	return &writer{
		set: set, leadership: leadership, leaseDuration: c.leader.LeaseDuration, log: in.Log, closeIdle: made.closeIdle,
		tell: tellOfPod(c.set.EventClient.CoreV1(), "signpost-controllers", in.Log),
	}, err
}

// requestTimeout bounds the requests that write. The API server, which is told, ends them within this time, too. So a write that
// was begun at the renew deadline is over when another process may have the Lease.
func (c writerConfig) requestTimeout() time.Duration {
	if !c.leader.Elect {
		return requestTimeout
	}
	return min(requestTimeout, c.leader.LeaseDuration-c.leader.RenewDeadline)
}

// run campaigns and writes until ctx ends, but only once the tables are filled: whoever
// leads has to know everything. Until this process leads, it follows all changes, so that
// it can take over within seconds. It takes over when its tables contain everything up to then.
func (w *writer) run(ctx context.Context, settled <-chan struct{}) error {
	defer w.closeIdle()
	select {
	case <-settled:
	case <-ctx.Done():
		return nil
	}
	begin := upToDate{lead: w.set.Lead, tables: w.set.Tables(), log: w.log}
	if w.leadership.elector == nil {
		return w.leadership.run(ctx, begin.runAtOnce)
	}
	begin.limit = max(w.leaseDuration, upToDateLimit)
	begin.handedOver, begin.handOver = w.leadership.elector.HandedOver, w.leadership.elector.HandOver
	work := refusable{lead: begin.run, health: w.set.Health}
	return w.leadership.run(ctx, work.run)
}

// details says, for /ready, who leads, and what is wrong with the writes of this process.
func (w *writer) details() []string {
	return append(w.leadership.details(), writesOf(w.set.Health())...)
}

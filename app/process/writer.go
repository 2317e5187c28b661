package process

import (
	"context"
	"log/slog"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/inspect/whyserved"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/controllers"
	"github.com/signpostd/signpost/internal/run"
)

type writerConfig struct {
	// set lacks clients, metrics and log, which the writer adds.
	set    controllers.Config
	leader settings.Leader
	// identity is the process' identity in the Lease; empty means a unique one.
	identity string
	// qps and burst are as in [clientConfig].
	qps   float64
	burst int
	// explains is true if the writer explains the Services.
	explains bool
}

// writer runs controllers while this process leads.
type writer struct {
	set        *controllers.Set
	leadership *leadership
	// unled detects controllers that the leader doesn't run.
	unled *unled
	// leaseDuration limits how long a new leader may take until its tables are up to date, if it is
	// longer than upToDateLimit.
	leaseDuration time.Duration
	log           *slog.Logger
	// sendWarning sends Events about the process; nil without a pod.
	sendWarning sendWarning
	// objects explains the Services; nil without explains.
	objects inspect.Explainer
	// closeIdle closes the connections of its clients.
	closeIdle func()
}

// newWriter returns a writer, which isn't started.
func newWriter(in roleInput, c writerConfig) (*writer, error) {
	var clients connections
	leadership, err := newLeadership(in, &clients, c.leader, c.identity, controllersLed(c.set.Controllers))
	if err != nil {
		return nil, err
	}
	c.set.EventClient, err = clients.client(in.REST, clientConfig{timeout: requestTimeout, qps: eventRate, burst: eventBurst})
	if err != nil {
		return nil, err
	}
	c.set.Client, err = clients.client(in.REST, clientConfig{
		timeout: c.requestTimeout(), qps: c.qps, burst: c.burst, wrap: leadership.fence.Wrap,
	})
	if err != nil {
		return nil, err
	}
	c.set.Metrics, c.set.Logger, c.set.Tracer, c.set.History = in.Metrics, in.Log, in.Tracer, in.History
	w := &writer{
		leadership: leadership, leaseDuration: c.leader.LeaseDuration, log: in.Log,
		sendWarning: podWarnings(c.set.EventClient.CoreV1(), "signpost-controllers", in.Log),
	}
	w.unled = unledControllers(in, leadership, c.set.Controllers)
	w.unled.sendWarning = w.sendWarning
	if c.explains {
		live, err := clients.client(in.REST, clientConfig{timeout: requestTimeout, qps: explainRate, burst: explainBurst, wrap: whyserved.Bounded})
		if err != nil {
			return nil, err
		}
		w.objects = whyserved.WrittenExplainer{Client: live}
	}
	w.set, w.closeIdle = controllers.New(c.set), clients.closeIdle
	return w, nil
}

// requestTimeout returns the time limit of a write, which the API server gets too. So a write that
// was started at the renew deadline has ended before another process can have the Lease.
func (c writerConfig) requestTimeout() time.Duration {
	if !c.leader.Elect {
		return requestTimeout
	}
	return min(requestTimeout, c.leader.LeaseDuration-c.leader.RenewDeadline)
}

// run campaigns and writes until ctx ends. It campaigns once the tables are filled, because a
// leader needs the whole state. A standby watches all kinds, so that it can take over within
// seconds. A new leader writes when its tables are up to date.
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

// actors returns what runs while the process does.
func (w *writer) actors(name string, settled <-chan struct{}) []run.Actor {
	writing := run.Actor{Name: name, Run: func(ctx context.Context) error { return w.run(ctx, settled) }}
	return append([]run.Actor{writing}, w.unled.actors(name)...)
}

// details returns the leader, controllers that it doesn't run, and failing writes of this process, for /ready.
func (w *writer) details() []string {
	return append(w.unled.details(), writesOf(w.set.Health())...)
}

package process

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/dynamic"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/events"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/internal/leader"
	"github.com/signpostd/signpost/internal/run"
	"github.com/signpostd/signpost/internal/settings"
	"github.com/signpostd/signpost/kube"
)

// settleTime is how long publishers wait for the tables before they begin with what there
// is: a source that can't be read must not keep the others from being published.
const settleTime = 10 * time.Second

// dnsRole is the publishers of the process.
type dnsRole struct {
	opened  []*configure.Opened
	sender  *events.Sender
	elector *leader.Elector
	lease   string
	// objects is for the status of objects. It and sender are nil without a cluster.
	objects dynamic.Interface
	close   func()
}

// newDNSRole makes the role that publishes records. What it opens lives until ctx ends.
func newDNSRole(ctx context.Context, in roleInput, o settings.DNS) (*dnsRole, error) {
	r := &dnsRole{lease: o.Leader.ResourceNamespace + "/" + o.Leader.ResourceName}
	var made connections
	r.close = made.closeIdle
	fence := leader.Unfenced()
	if o.Leader.Elect && in.REST == nil {
		return nil, settings.Usagef("--leader-elect: needs a cluster, which has the Lease")
	}
	if o.Leader.Elect {
		client, err := made.client(in.REST, clientConfig{timeout: o.Leader.RenewDeadline})
		if err != nil {
			return nil, err
		}
		if r.elector, err = leader.New(leader.Config{
			Client: client.CoordinationV1(), Namespace: o.Leader.ResourceNamespace, Name: o.Leader.ResourceName,
			LeaseDuration: o.Leader.LeaseDuration, RenewDeadline: o.Leader.RenewDeadline, RetryPeriod: o.Leader.RetryPeriod,
			Log: in.Log, Registerer: in.Registerer,
		}); err != nil {
			return nil, err
		}
		fence = r.elector.Fence()
	}
	if in.REST != nil {
		var err error
		if r.objects, err = made.dynamic(in.REST, clientConfig{timeout: requestTimeout, wrap: fence.Wrap}); err != nil {
			return nil, err
		}
		if r.sender, err = openSender(in, &made); err != nil {
			return nil, err
		}
	}
	wrap, err := configure.MeasureHTTP(in.Registerer)
	if err != nil {
		return nil, err
	}
	if err := registerBuild(in.Registerer); err != nil {
		return nil, err
	}
	for _, p := range o.Publishers {
		registerer := in.Registerer
		if len(o.Publishers) > 1 {
			registerer = prometheus.WrapRegistererWith(prometheus.Labels{"publisher": p.Name}, registerer)
		}
		opened, err := p.Open(ctx, configure.Input{
			REST: in.REST, Log: in.Log, Registerer: registerer, Notify: r.notify(p), MayWrite: fence.Check, Wrap: wrap,
		})
		if err != nil {
			if p.Name != "" {
				err = fmt.Errorf("publisher %s: %w", p.Name, err)
			}
			return nil, settings.AsUsage(err)
		}
		r.opened = append(r.opened, opened)
	}
	return r, nil
}

// openSender makes what sends Events.
func openSender(in roleInput, made *connections) (*events.Sender, error) {
	client, err := made.client(in.REST, clientConfig{timeout: requestTimeout})
	if err != nil {
		return nil, err
	}
	return events.New(events.Config{Client: client.EventsV1(), Process: thisPod(), Log: in.Log, Registerer: in.Registerer})
}

// notify returns what takes the notices of a publisher; nil when nobody does.
func (r *dnsRole) notify(p *configure.Options) func(publisher.Notice) {
	if r.sender == nil {
		return nil
	}
	return r.sender.For(events.Manner{Reasons: p.EventsEmit, DryRun: p.DryRun})
}

// thisPod is the pod of the process, if it was told who it is.
func thisPod() dns.Object {
	name, namespace := os.Getenv("POD_NAME"), os.Getenv("POD_NAMESPACE")
	if name == "" || namespace == "" {
		return dns.Object{}
	}
	return dns.Object{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name}
}

func (r *dnsRole) role() role {
	var tables []kube.AnyTable
	for _, o := range r.opened {
		tables = append(tables, o.Tables...)
	}
	return role{Name: settings.DNSSection, Tables: tables, Actors: r.actors, Details: r.details}
}

func (r *dnsRole) actors(settled <-chan struct{}) []run.Actor {
	actors := []run.Actor{{Name: "dns leader", Run: func(ctx context.Context) error { return r.lead(ctx, settled) }}}
	if r.sender != nil {
		actors = append(actors, run.Actor{Name: "events", Run: r.sender.Run})
	}
	for _, o := range r.opened {
		actors = append(actors, run.Actor{Name: "publisher", Run: o.Publisher.Run})
		for _, background := range o.Background {
			actors = append(actors, run.Actor{Name: "source", Run: background})
		}
	}
	return actors
}

// lead publishes while this process holds the lease.
func (r *dnsRole) lead(ctx context.Context, settled <-chan struct{}) error {
	defer r.close()
	select {
	case <-settled:
	case <-time.After(settleTime):
	case <-ctx.Done():
		return nil
	}
	if r.elector == nil {
		return r.publish(ctx)
	}
	return r.elector.Run(ctx, r.publish)
}

func (r *dnsRole) publish(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, o := range r.opened {
		group.Go(func() error { return o.Publisher.Lead(ctx) })
		for _, w := range o.Statuses {
			group.Go(func() error { return w.WriteStatus(ctx, r.objects) })
		}
	}
	return group.Wait()
}

func (r *dnsRole) details() []string {
	return leadership(r.elector, r.lease)
}

package process

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/signpostd/signpost/app/dnsinspect"
	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/events"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/internal/pause"
	"github.com/signpostd/signpost/internal/run"
	"github.com/signpostd/signpost/kube"
)

// settleTime limits how long publishers wait for the tables to be filled, because one unreadable
// source must not block the others.
const settleTime = 10 * time.Second

// dnsRole has the publishers of the process.
type dnsRole struct {
	opened     []*configure.Opened
	approvals  []inspect.Publisher
	sender     *events.Sender // nil without a cluster
	leadership *leadership
	// leaseDuration is as in writer.
	leaseDuration time.Duration
	log           *slog.Logger
	// objects writes the status of objects; nil without a cluster.
	objects dynamic.Interface
	// unled detects publishers that the leader doesn't run.
	unled *unled
	// namespaces identify the cluster; nil without one.
	namespaces corev1client.NamespacesGetter
	close      func()
	rotation   rotation
}

// newDNSRole creates the role that publishes records. Everything that it opens stays open until ctx
// ends.
func newDNSRole(ctx context.Context, in roleInput, o settings.DNS) (*dnsRole, error) {
	if o.Leader.Elect && in.REST == nil {
		return nil, settings.Usagef("--leader-elect: a Lease needs a cluster: name one with --kubeconfig, or leave out --leader-elect")
	}
	var clients connections
	leadership, err := newLeadership(in, &clients, o.Leader, "", configure.LeadsFor(o.Publishers))
	if err != nil {
		return nil, err
	}
	r := &dnsRole{leadership: leadership, leaseDuration: o.Leader.LeaseDuration, log: in.Log, close: clients.closeIdle, rotation: newRotation(o.Publishers, in.Log)}
	if r.unled, err = unledPublishers(in, leadership, o.Publishers); err != nil {
		return nil, err
	}
	input := configure.Input{REST: in.REST, Log: in.Log, MayWrite: leadership.fence.Check, Tracer: in.Tracer, History: in.History, Accounts: &provider.Accounts{}}
	if in.REST != nil {
		if input.ConfigMaps, err = r.connect(in, &clients); err != nil {
			return nil, err
		}
	}
	if input.Wrap, err = configure.MeasureHTTP(in.Registerer); err != nil {
		return nil, err
	}
	if err := registerDNSBuild(in.Registerer); err != nil {
		return nil, err
	}
	for _, p := range o.Publishers {
		input.Registerer = in.Registerer
		if len(o.Publishers) > 1 {
			input.Registerer = prometheus.WrapRegistererWith(prometheus.Labels{"publisher": p.Name}, in.Registerer)
		}
		if err := r.open(ctx, p, input); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// connect creates the clients of the role, and returns the one for the budgets.
func (r *dnsRole) connect(in roleInput, clients *connections) (corev1client.ConfigMapsGetter, error) {
	fenced := clientConfig{timeout: requestTimeout, wrap: r.leadership.fence.Wrap}
	var err error
	if r.objects, err = clients.dynamic(in.REST, fenced); err != nil {
		return nil, err
	}
	store, err := clients.client(in.REST, fenced)
	if err != nil {
		return nil, err
	}
	r.namespaces = store.CoreV1()
	if r.sender, err = openSender(in, clients); err != nil {
		return nil, err
	}
	r.unled.sendWarning = r.warnings()
	return store.CoreV1(), nil
}

func (r *dnsRole) open(ctx context.Context, p *configure.Options, input configure.Input) error {
	input.Notify = r.notify(p)
	opened, err := p.Open(ctx, input)
	if err != nil {
		if p.Name != "" {
			err = fmt.Errorf("publisher %s: %w", p.Name, err)
		}
		return settings.AsUsage(err)
	}
	r.opened = append(r.opened, opened)
	r.approvals = append(r.approvals, inspect.Publisher{Name: p.Name, Queue: opened.ApprovalQueue})
	return nil
}

func openSender(in roleInput, clients *connections) (*events.Sender, error) {
	client, err := clients.client(in.REST, clientConfig{timeout: requestTimeout})
	if err != nil {
		return nil, err
	}
	return events.New(events.Config{Client: client.EventsV1(), Process: thisPod(), Log: in.Log, Registerer: in.Registerer})
}

// notify returns the function for the notices of a publisher; nil without a cluster.
func (r *dnsRole) notify(p *configure.Options) func(publisher.Notice) {
	if r.sender == nil {
		return nil
	}
	return r.sender.For(events.Options{Reasons: p.EventsEmit, DryRun: p.DryRun})
}

// thisPod returns the pod of this process from its environment; the zero Object if unknown.
func thisPod() dns.Object {
	name, namespace := os.Getenv("POD_NAME"), os.Getenv("POD_NAMESPACE")
	if name == "" || namespace == "" {
		return dns.Object{}
	}
	return dns.Object{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name}
}

func (r *dnsRole) tables() (all []kube.AnyTable) {
	for _, o := range r.opened {
		all = append(all, o.Tables...)
	}
	return all
}

func (r *dnsRole) role() role {
	return role{
		Name: settings.DNSSection, Tables: r.tables(), Actors: r.actors, Details: r.unled.details,
		Offer:   r.offer(),
		Leading: func() inspect.Leading { return r.unled.leading(settings.DNSSection) },

		Problems: func() []inspect.Problem {
			return append(r.leadership.problems(), dnsinspect.Problems(r.publishers())...)
		},
		SendWarning: r.warnings(),
	}
}

// warnings returns the function that sends Events about this process; nil without a cluster.
func (r *dnsRole) warnings() sendWarning {
	if r.sender == nil {
		return nil
	}
	send := r.sender.For(events.Options{})
	return func(reason, message string) {
		send(publisher.Notice{Action: publisher.ActionFailed, Reason: reason, Message: message})
	}
}

func (r *dnsRole) publishers() []dnsinspect.Publisher {
	var publishers []dnsinspect.Publisher
	for i, o := range r.opened {
		publishers = append(publishers, dnsinspect.Publisher{Name: r.approvals[i].Name, Publisher: o.Publisher, Servers: o.Servers, Kinds: o.Kinds(), Namespaces: o.Namespaces()})
	}
	return publishers
}

// offer returns the role's part of the inspection API.
func (r *dnsRole) offer() inspect.Offer {
	shown := dnsinspect.New(r.publishers(), r.leadership.leads)
	return inspect.Offer{Publishers: r.approvals, Leadership: r.leadership.leads, Records: shown, Zones: shown, Explains: shown}
}

func (r *dnsRole) actors(settled <-chan struct{}) []run.Actor {
	actors := []run.Actor{{Name: "dns leader", Run: func(ctx context.Context) error { return r.lead(ctx, settled) }}}
	actors = append(actors, r.unled.actors("dns")...)
	actors = append(actors, run.Actor{Name: "rotation of secrets", Run: r.rotation.run})
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

// lead publishes while this process leads.
func (r *dnsRole) lead(ctx context.Context, settled <-chan struct{}) error {
	defer r.close()
	select {
	case <-settled:
	case <-time.After(settleTime):
	case <-ctx.Done():
		return nil
	}
	refusals := configure.RefusalsMayPass
	if channel.IsClosed(settled) {
		refusals = configure.RefusalsCount // the API server has let this process read objects
	}
	if !r.identify(ctx, refusals) {
		return nil
	}
	return r.leadership.run(ctx, r.publish)
}

// identifyInterval is the time between two attempts of identify.
const identifyInterval = 5 * time.Second

// identify sets the instance of the publishers, and retries until the instance is known, because a
// publisher without one would change the records of other instances. It returns false if ctx ends
// before. A refusal (403) that may pass counts if it is repeated.
func (r *dnsRole) identify(ctx context.Context, refusals configure.Refusals) bool {
	for failed := false; ; failed = true {
		err := r.identifyOnce(ctx, refusals)
		if err == nil {
			return true
		}
		refusals = configure.RefusalsMayPass
		if apierrors.IsForbidden(err) {
			refusals = configure.RefusalsCount
		}
		if !failed {
			r.log.Warn("Publishing waits until the instance of this process is known; trying again", "err", err)
		}
		if pause.For(ctx, identifyInterval) != nil {
			return false
		}
	}
}

func (r *dnsRole) identifyOnce(ctx context.Context, refusals configure.Refusals) error {
	for _, o := range r.opened {
		if err := o.Identify(ctx, r.namespaces, refusals); err != nil {
			return err
		}
	}
	return nil
}

// upToDate returns when the tables of all sources are up to date, or after a limit, because one
// unreadable source must not block the others.
func (r *dnsRole) upToDate(ctx context.Context) {
	if r.leadership.elector == nil {
		return
	}
	begin := upToDate{tables: r.tables(), limit: max(r.leaseDuration, upToDateLimit), log: r.log}
	if err := begin.catchUp(ctx); err != nil && ctx.Err() == nil {
		r.log.Warn("Sources may be older than the records of the former leader; publishing started anyway", "after", begin.limit, "err", err)
	}
}

func (r *dnsRole) publish(ctx context.Context) error {
	r.upToDate(ctx)
	group, ctx := errgroup.WithContext(ctx)
	for _, o := range r.opened {
		group.Go(func() error { return o.Publisher.Lead(ctx) })
		for _, w := range o.Statuses {
			group.Go(func() error { return w.WriteStatus(ctx, r.objects) })
		}
	}
	return group.Wait()
}

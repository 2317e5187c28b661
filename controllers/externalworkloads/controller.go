package externalworkloads

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"

	"github.com/signpostd/signpost/controllers/membership"
	"github.com/signpostd/signpost/controllers/reconcile"
	slicestore "github.com/signpostd/signpost/controllers/slices"
	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/kube"
)

const (
	// Component is the source of the Events.
	Component = "external-workload-endpoints-controller"

	queueName = "endpoints_controller_workqueue" // spec/destination.md §7.2
)

// The shortest and the longest delay before a failed sync is retried (spec/destination.md §8.6).
const retryFirst, retryLimit = 5 * time.Millisecond, 1000 * time.Second

// Options configure a [Controller].
type Options struct {
	reconcile.Options
	Client    discoveryclient.EndpointSlicesGetter
	Workloads *membership.Index[*Workload]
	// Known reports whether Workloads has all ExternalWorkloads, because they can be read or the cluster
	// lacks the kind; nil means always. It is called at the start of a term.
	Known func() bool
	// Slices has the index watched.ByService.
	Slices *kube.Table[watched.Slice]
}

// Controller writes the EndpointSlices of Services that select ExternalWorkloads. Its methods may be called
// from any goroutine; Run has one call at a time.
type Controller struct {
	reconcile.Status
	o        Options
	loop     *reconcile.Loop
	store    *slicestore.Store
	reported reconcile.EventDedup[Problem]
}

// New returns a controller that isn't running.
func New(o Options) *Controller {
	c := &Controller{o: o}
	o.Name, o.Sync, o.RetryFirst, o.RetryLimit, o.Contested = queueName, c.sync, retryFirst, retryLimit, c.contested
	o.ServicesIn = o.Workloads.ServicesIn
	c.loop = reconcile.New(o.Options)
	c.Status = c.loop
	c.store = slicestore.NewStore(slicestore.Options{
		ManagedBy: ManagedBy, Client: o.Client, Table: o.Slices, Loop: c.loop,
		FailFast: true, // spec/destination.md §8.4.8
	})
	return c
}

// Run writes slices until ctx ends. It first waits until the workloads are known, because slices of existing
// workloads that can't be read would be deleted. Then it syncs all Services.
func (c *Controller) Run(ctx context.Context) {
	defer c.store.Forget() // another process may lead before the next term
	defer c.reported.Forget()
	if c.awaitKnown(ctx) {
		c.loop.Run(ctx, c.o.Workloads.Services)
	}
}

// knownEvery is how often a waiting controller checks whether the workloads are known.
const knownEvery = time.Second

// awaitKnown waits until the workloads are known. It returns false if ctx ends before.
func (c *Controller) awaitKnown(ctx context.Context) bool {
	if c.o.Known == nil || c.o.Known() {
		return true
	}
	c.o.Logger.Warn("EndpointSlices for ExternalWorkloads stay unchanged until ExternalWorkloads can be read")
	look := time.Tick(knownEvery)
	for !c.o.Known() {
		select {
		case <-look:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// ServiceChanged must be called after a Service was added, changed or deleted.
func (c *Controller) ServiceChanged(key reconcile.Key) { c.loop.Add(key) }

// WorkloadsChanged must be called with the Services that a workload's change affects.
func (c *Controller) WorkloadsChanged(namespace string, services []string) {
	membership.Queue(c.loop, namespace, services)
}

// SliceChanged must be called after a slice was added, changed or deleted.
func (c *Controller) SliceChanged(old, current *watched.Slice) {
	c.store.Changed(old, current)
}

// sync brings the slices of a Service into their desired state (spec/destination.md §8.3).
func (c *Controller) sync(ctx context.Context, key reconcile.Key) error {
	if err := c.store.Settle(ctx, key); err != nil {
		return err
	}
	service, workloads := c.o.Workloads.Service(key)
	if service == nil {
		c.report(key, nil) // the garbage collector deletes the slices
		c.loop.Forget(key)
		return nil
	}
	var plan Plan
	refreshed, err := c.store.Apply(ctx, key, func(existing []*discoveryv1.EndpointSlice) slicestore.Plan {
		plan = Compute(service, workloads, existing, DefaultMaxPerSlice)
		return plan.Plan
	})
	if !refreshed {
		return err
	}
	problems := plan.Problems
	if reconcile.IsRefused(err) {
		problems = append(problems, Problem{
			Object: referenceTo(service), Reason: FailedToUpdateEndpointSlices, Message: reconcile.Text(err),
		})
	}
	c.report(key, problems)
	return err
}

// contested reports another writer that keeps changing the slices of a Service.
func (c *Controller) contested(key reconcile.Key) {
	if service := c.o.Workloads.Get(key); service != nil {
		about := referenceTo(service)
		c.o.Recorder.Event(&about, corev1.EventTypeWarning, reconcile.Contested, reconcile.ContestedMessage)
	}
}

// report sends Events for the new problems of a Service.
func (c *Controller) report(key reconcile.Key, problems []Problem) {
	for _, p := range c.reported.Unreported(key, problems...) {
		c.o.Metrics.Problem(queueName, p.Reason)
		c.o.Recorder.Event(&p.Object, corev1.EventTypeWarning, p.Reason, p.Message)
	}
}

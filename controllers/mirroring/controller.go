package mirroring

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"cmp"
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"

	"github.com/signpostd/signpost/controllers/reconcile"
	slicestore "github.com/signpostd/signpost/controllers/slices"
	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/kube"
)

// The names of the controller (spec/endpoints.md §2).
const (
	// ManagedBy is the value of the label endpointslice.kubernetes.io/managed-by.
	ManagedBy = "endpointslicemirroring-controller.k8s.io"
	// Component is the source of the Events.
	Component = "endpoint-slice-mirroring-controller"

	queueName = "endpoint_slice_mirroring"
)

// The shortest and the longest delay before a failed sync is retried (spec/endpoints.md §2).
const retryFirst, retryLimit = time.Second, 100 * time.Second

// Options configure a [Controller].
type Options struct {
	reconcile.Options
	Client    discoveryclient.EndpointSlicesGetter
	Services  *kube.Table[corev1.Service]
	Endpoints *kube.Table[watched.EncodedEndpoints]
	// Slices has the index [watched.ByService].
	Slices *kube.Table[watched.Slice]
	// MaxEndpointsPerSubset is from 1 to 1000.
	MaxEndpointsPerSubset int
	// TookOver, if not nil, is called after the Endpoints of a Service have been mirrored.
	TookOver func(key reconcile.Key)
	// Mirrored are the metrics of this controller alone; nil for none.
	Mirrored *Metrics
}

// Controller mirrors Endpoints. Its methods may be called from any goroutine; Run has one
// call at a time.
type Controller struct {
	reconcile.Status
	o        Options
	loop     *reconcile.Loop
	store    *slicestore.Store
	reported reconcile.EventDedup[Problem]
}

// New returns a controller that isn't running.
func New(o Options) *Controller {
	if o.Mirrored == nil {
		o.Mirrored = NewMetrics(nil)
	}
	if o.TookOver == nil {
		o.TookOver = func(reconcile.Key) {}
	}
	c := &Controller{o: o}
	o.Name, o.Sync, o.RetryFirst, o.RetryLimit, o.Contested = queueName, c.sync, retryFirst, retryLimit, c.contested
	c.loop = reconcile.New(o.Options)
	c.Status = c.loop
	c.store = slicestore.NewStore(slicestore.Options{
		ManagedBy: ManagedBy, Client: o.Client, Table: o.Slices, Loop: c.loop, Planned: o.Mirrored.changed,
	})
	return c
}

// Run mirrors until ctx ends. It first syncs everything.
func (c *Controller) Run(ctx context.Context) {
	defer c.forget()
	c.loop.Run(ctx, c.all)
}

// forget drops the state of a term, because another process may lead before the next one.
func (c *Controller) forget() {
	c.store.Forget()
	c.reported.Forget()
	c.o.Mirrored.totals.Reset()
}

// all returns the names of all Endpoints that are mirrored, and of those that have slices from an earlier
// mirroring.
func (c *Controller) all() []reconcile.Key {
	var keys []reconcile.Key
	for _, endpoints := range c.o.Endpoints.List() {
		key := reconcile.Key{Namespace: endpoints.GetNamespace(), Name: endpoints.GetName()}
		if service := c.service(key); isBare(service) && isMirrored(endpoints.Object(), service) {
			keys = append(keys, key)
		}
	}
	for _, s := range c.o.Slices.List() {
		if key, ok := s.Key(); ok && s.ManagedBy == ManagedBy {
			keys = append(keys, key)
		}
	}
	return keys
}

// endpoints returns Endpoints, or nil if there are none of that name.
func (c *Controller) endpoints(key reconcile.Key) *corev1.Endpoints {
	if encoded := c.o.Endpoints.Get(key.Namespace, key.Name); encoded != nil {
		return encoded.Object()
	}
	return nil
}

func (c *Controller) service(key reconcile.Key) *corev1.Service {
	return c.o.Services.Get(key.Namespace, key.Name)
}

// ServiceChanged must be called after a Service was added, changed or deleted (spec/endpoints.md §14.2).
func (c *Controller) ServiceChanged(old, current *corev1.Service) {
	if isBare(old) != isBare(current) {
		service := cmp.Or(current, old)
		c.loop.Add(reconcile.Key{Namespace: service.Namespace, Name: service.Name})
	}
}

// isBare reports whether the Endpoints of a Service are mirrored.
func isBare(service *corev1.Service) bool { return service != nil && !selects(service) }

// EndpointsChanged must be called after Endpoints were added, changed or deleted. Endpoints of Services that
// select pods, which are most and change often, are ignored: their slices were deleted by ServiceChanged when
// the Service got its selector.
func (c *Controller) EndpointsChanged(old, current *watched.EncodedEndpoints) {
	if !c.loop.Running() {
		return
	}
	endpoints := cmp.Or(current, old)
	key := reconcile.Key{Namespace: endpoints.GetNamespace(), Name: endpoints.GetName()}
	if service := c.service(key); service != nil && selects(service) {
		return
	}
	if old != nil && isWanted(old.Object()) || current != nil && isWanted(current.Object()) {
		c.loop.Add(key)
	}
}

// SliceChanged must be called after a slice was added, changed or deleted.
func (c *Controller) SliceChanged(old, current *watched.Slice) {
	c.store.Changed(old, current)
}

// sync brings the slices of Endpoints into their desired state.
func (c *Controller) sync(ctx context.Context, key reconcile.Key) error {
	if err := c.store.Settle(ctx, key); err != nil {
		return err
	}
	begun := time.Now()
	endpoints, service := c.endpoints(key), c.service(key)
	if endpoints == nil {
		defer c.loop.Forget(key)
	}
	var plan Plan
	refreshed, err := c.store.Apply(ctx, key, func(existing []*discoveryv1.EndpointSlice) slicestore.Plan {
		plan = Compute(endpoints, service, existing, c.o.MaxEndpointsPerSubset)
		return plan.Plan
	})
	if !refreshed {
		return err
	}
	problems := plan.Problems
	if reconcile.IsRefused(err) {
		problems = append(problems, Problem{FailedToUpdateEndpointSlices, reconcile.Text(err)})
	}
	c.report(key, endpoints, problems)
	c.o.Mirrored.synced(key, plan.Stats, len(c.store.Of(key)), time.Since(begun))
	if err == nil && plan.Stats.Endpoints > 0 {
		c.o.TookOver(key)
	}
	return err
}

// Mirrors returns the Endpoints of a Service if they have endpoints and slices mirror all of them, else nil.
func (c *Controller) Mirrors(key reconcile.Key) *corev1.Endpoints {
	endpoints := c.endpoints(key)
	plan := Compute(endpoints, c.service(key), c.store.Of(key), c.o.MaxEndpointsPerSubset)
	if plan.Stats.Endpoints == 0 || plan.Stats.Skipped > 0 || len(plan.Create)+len(plan.Update)+len(plan.Delete) > 0 {
		return nil
	}
	return endpoints
}

// contested reports another writer that keeps changing the slices of a Service.
func (c *Controller) contested(key reconcile.Key) {
	if endpoints := c.endpoints(key); endpoints != nil {
		c.event(endpoints, reconcile.Contested, reconcile.ContestedMessage)
	}
}

// report sends Events for the new problems of Endpoints, which are nil if they were deleted.
func (c *Controller) report(key reconcile.Key, endpoints *corev1.Endpoints, problems []Problem) {
	for _, p := range c.reported.Unreported(key, problems...) {
		c.o.Metrics.Problem(queueName, p.Reason)
		if endpoints != nil {
			c.event(endpoints, p.Reason, p.Message)
		}
	}
}

// event sends a warning Event on Endpoints.
func (c *Controller) event(endpoints *corev1.Endpoints, reason, message string) {
	c.o.Recorder.Event(&corev1.ObjectReference{
		APIVersion: "v1", Kind: ownerKind, Namespace: endpoints.Namespace, Name: endpoints.Name,
		UID: endpoints.UID, ResourceVersion: endpoints.ResourceVersion,
	}, corev1.EventTypeWarning, reason, message)
}

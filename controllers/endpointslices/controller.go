package endpointslices

//lint:file-ignore SA1019 Endpoints are deprecated, and may take the place of a selector.

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
	"k8s.io/endpointslice"
	"k8s.io/endpointslice/metrics"
	"k8s.io/endpointslice/topologycache"
	"k8s.io/endpointslice/util"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/signpostd/signpost/controllers/membership"
	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/controllers/slices"
	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/kube"
)

// The names of the controller (spec/endpoints.md §2).
const (
	// ManagedBy is the value of the label endpointslice.kubernetes.io/managed-by.
	ManagedBy = "endpointslice-controller.k8s.io"
	// Component is the source of the events.
	Component = "endpoint-slice-controller"

	queueName = "endpoint_slice"
)

// The shortest and the longest delay before a failed sync is retried (spec/endpoints.md §2).
const retryFirst, retryLimit = time.Second, 1000 * time.Second

// Options configure a [Controller].
type Options struct {
	reconcile.Options
	Client discoveryclient.EndpointSlicesGetter
	// Services is read before the slices of a removed selector are deleted.
	Services corev1client.ServicesGetter
	// Mirrored returns the Endpoints of a Service without a selector if slices mirror all of them, else nil.
	// The function is nil if this process doesn't mirror Endpoints.
	Mirrored func(key reconcile.Key) *corev1.Endpoints
	Pods     *membership.Index[*watched.Pod]
	// PodTable has the pods of the index. Slices has the index [watched.ByService].
	PodTable *kube.Table[watched.Pod]
	Slices   *kube.Table[watched.Slice]
	// MaxEndpointsPerSlice is from 1 to 1000.
	MaxEndpointsPerSlice int
}

// Controller writes the EndpointSlices of Services that select pods.
type Controller struct {
	reconcile.Status
	o    Options
	loop *reconcile.Loop
	// nodesChanged has a buffer of one signal, so that several changes of nodes lead to one computation of
	// the distribution over zones.
	nodesChanged chan struct{}
	nodes        *nodes
	mu           sync.Mutex
	// moved are the nodes that were added or changed their zone since the last redistribution.
	moved map[string]bool

	// leading is true during terms.
	leading atomic.Bool

	// manyPorts and maxPorts are the constants; tests replace them.
	manyPorts, maxPorts int

	store    *slices.Store
	writer   *writer
	reported reconcile.EventDedup[report]
	// The following are new for each term.
	reconciler *endpointslice.Reconciler
	topology   *topologycache.TopologyCache
	// cpus is the CPU of each zone as last given to the library; nil if no hints are possible.
	cpus     map[string]int64
	triggers *watched.Triggers
	sizes    *reconcile.Totals
	// tracker is only passed to the library, which records its writes there. It is never read, because the
	// store has more.
	tracker *util.EndpointSliceTracker
}

// New returns a controller that isn't running.
func New(o Options) *Controller {
	c := &Controller{o: o, nodesChanged: make(chan struct{}, 1), nodes: newNodes(), moved: map[string]bool{}, manyPorts: manyPorts, maxPorts: slices.MaxPorts}
	o.Name, o.Sync, o.RetryFirst, o.RetryLimit, o.Contested = queueName, c.sync, retryFirst, retryLimit, c.contested
	o.ServicesIn = o.Pods.ServicesIn
	c.loop = reconcile.New(o.Options)
	c.Status = c.loop
	c.store = slices.NewStore(slices.Options{
		ManagedBy: ManagedBy, Client: o.Client, Table: o.Slices,
		Loop: c.loop,
	})
	c.writer = newWriter(c.store)
	return c
}

// Run writes slices until ctx ends. It first syncs all Services.
func (c *Controller) Run(ctx context.Context) {
	c.begin()
	defer c.forget()
	c.leading.Store(true)
	defer c.leading.Store(false)
	c.nodes.assume(c.missingNodes())
	// A Service that is synced before the zones are known would lose its hints.
	c.setNodes()
	var background sync.WaitGroup
	background.Go(func() { c.followNodes(ctx) })
	c.loop.Run(ctx, c.o.Pods.Services)
	background.Wait()
}

// begin makes the state of a new term.
func (c *Controller) begin() {
	c.sizes = c.o.Metrics.NewSizes(queueName)
	c.topology, c.triggers, c.tracker = topologycache.NewTopologyCache(), watched.NewTriggers(), util.NewEndpointSliceTracker()
	c.reconciler = endpointslice.NewReconciler(
		c.writer, c.nodes, int32(c.o.MaxEndpointsPerSlice), c.tracker,
		c.topology, c.o.Recorder, ManagedBy, endpointslice.WithPreferSameTrafficDistributionEnabled(true),
	)
}

// forget drops the state of a term, because another process may lead before the next one. The gauges of the
// library count the slices that this process maintains, so between terms they are zero.
func (c *Controller) forget() {
	c.store.Forget()
	c.reported.Forget()
	c.mu.Lock()
	clear(c.moved)
	c.mu.Unlock()
	for _, gauge := range []interface{ Reset() }{
		metrics.EndpointsDesired, metrics.NumEndpointSlices, metrics.DesiredEndpointSlices, metrics.ServicesCountByTrafficDistribution,
	} {
		gauge.Reset()
	}
	c.sizes.Reset()
	c.reconciler, c.topology, c.triggers, c.tracker = nil, nil, nil, nil
}

// ServiceChanged must be called after a Service was added, changed or deleted.
func (c *Controller) ServiceChanged(key reconcile.Key) { c.loop.Add(key) }

// PodsChanged must be called with the Services that a pod's change affects.
func (c *Controller) PodsChanged(namespace string, services []string) {
	membership.Queue(c.loop, namespace, services)
}

// SliceChanged must be called after a slice was added, changed or deleted.
func (c *Controller) SliceChanged(old, current *watched.Slice) {
	c.store.Changed(old, current)
}

// NodeChanged must be called after a node was added, changed or deleted, because endpoints carry the zones of
// their nodes and are distributed over zones by the ready nodes.
func (c *Controller) NodeChanged(old, current *watched.Node) {
	moved := c.nodes.changed(old, current)
	if !c.leading.Load() {
		return
	}
	if moved {
		c.mu.Lock()
		c.moved[current.Name] = true
		c.mu.Unlock()
	}
	select {
	case c.nodesChanged <- struct{}{}:
	default:
	}
}

// missingNodes returns the nodes that don't exist, although pods run on them and slices have endpoints on
// them. They may have been deleted just before this process started.
func (c *Controller) missingNodes() []*watched.Node {
	missing := map[string]bool{}
	for _, p := range c.o.PodTable.List() {
		if p.Node != "" && c.nodes.node(p.Node) == nil {
			missing[p.Node] = true
		}
	}
	if len(missing) == 0 {
		return nil
	}
	var found []*watched.Node
	for _, s := range c.o.Slices.List() {
		// Slices that are no longer maintained may have the zone of an earlier Node of the name.
		if key, ok := s.Key(); !ok || s.ManagedBy != ManagedBy || s.Terminating || !selects(c.o.Pods.Get(key)) {
			continue
		}
		for _, e := range s.Object().Endpoints {
			if e.NodeName != nil && missing[*e.NodeName] {
				delete(missing, *e.NodeName)
				// The node's CPU is unknown, but a node that isn't ready doesn't count in the distribution
				// over zones.
				found = append(found, &watched.Node{Name: *e.NodeName, Zone: ptr.Deref(e.Zone, "")})
			}
		}
	}
	return found
}

// syncMoved syncs the Services that have a pod on a moved node.
func (c *Controller) syncMoved() {
	c.mu.Lock()
	moved := c.moved
	c.moved = map[string]bool{}
	c.mu.Unlock()
	if len(moved) == 0 {
		return
	}
	for _, p := range c.o.PodTable.List() {
		if moved[p.Node] {
			c.PodsChanged(p.Namespace, c.o.Pods.SelectedBy(reconcile.Key{Namespace: p.Namespace, Name: p.Name}))
		}
	}
}

// followNodes recomputes the distribution over zones whenever nodes have changed, or a deleted node's grace
// period has ended.
func (c *Controller) followNodes(ctx context.Context) {
	expires := time.NewTimer(0) // a grace period may have started before the term
	defer expires.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.nodesChanged:
		case <-expires.C:
		}
		wake := c.nodes.expire()
		c.redistribute()
		if wake > 0 {
			expires.Reset(wake)
		}
	}
}

// redistribute syncs the Services whose slices depend on nodes that have changed.
func (c *Controller) redistribute() {
	changed := c.setNodes()
	c.syncMoved() // after setNodes, because hints depend on all nodes
	for _, service := range c.topology.GetOverloadedServices() {
		namespace, name, _ := strings.Cut(service, "/")
		c.loop.Add(reconcile.Key{Namespace: namespace, Name: name})
	}
	if changed && c.cpus != nil {
		c.syncUnhinted()
	}
}

// syncUnhinted syncs the Services that want hints and have none. The library doesn't list them when hints
// become possible.
func (c *Controller) syncUnhinted() {
	for _, key := range c.o.Pods.Services() {
		service := c.o.Pods.Get(key)
		if service != nil && topologyMode(service) && !c.topology.HasPopulatedHints(key.String()) {
			c.loop.Add(key)
		}
	}
}

// topologyMode reports whether a Service's annotation asks for hints.
func topologyMode(service *corev1.Service) bool {
	mode, ok := service.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]
	if !ok {
		mode = service.Annotations[corev1.AnnotationTopologyMode]
	}
	return mode == "Auto" || mode == "auto"
}

// setNodes passes the nodes to the library. It reports whether the distribution of CPU over zones has
// changed.
func (c *Controller) setNodes() (changed bool) {
	all := c.nodes.all()
	objects := make([]*corev1.Node, len(all))
	for i, n := range all {
		objects[i] = n.Object()
	}
	c.topology.SetNodes(klog.Background(), objects)
	before := c.cpus
	c.cpus = cpuByZone(all)
	return !maps.Equal(before, c.cpus)
}

// sync brings the slices of a Service into their desired state, and counts the result.
func (c *Controller) sync(ctx context.Context, key reconcile.Key) error {
	err := c.syncService(ctx, key)
	result := "success"
	if err != nil {
		result = "error"
	}
	metrics.EndpointSliceSyncs.WithLabelValues(result).Inc()
	return err
}

// syncService brings the slices of a Service into their desired state (spec/endpoints.md §13.3).
func (c *Controller) syncService(ctx context.Context, key reconcile.Key) error {
	if err := c.store.Settle(ctx, key); err != nil {
		return err
	}
	// The library's record of its writes would only grow, by one entry for each slice that ever existed.
	defer c.tracker.DeleteService(key.Namespace, key.Name)
	service, members := c.o.Pods.Service(key)
	if service == nil {
		// The garbage collector deletes the slices with their owner.
		c.triggers.Forget(key)
		c.uncount(key)
		for _, family := range []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6} {
			c.topology.RemoveHints(key.String(), family)
		}
		c.reported.Unreported(key)
		c.loop.Forget(key)
		return nil
	}
	if service.Spec.Selector == nil {
		return c.deleteLeftovers(ctx, key, service)
	}
	if !selects(service) {
		return nil
	}
	labels, problem := slices.Labels(service.Labels)
	in := input{service: service, labels: labels, aliases: newAliases(service, c.manyPorts, c.maxPorts), cause: c.triggers.Next(service, members)}
	err := watched.WithObjects(in.aliases.podsFor(members), func(pods []*corev1.Pod) error {
		in.pods = pods
		err := c.reconcile(ctx, key, in)
		if reconcile.IsConflict(err) {
			// Another writer changed a slice, and the table doesn't have that version yet.
			if err = c.store.Refresh(ctx, key); err == nil {
				err = c.reconcile(ctx, key, in)
			}
		}
		return err
	})
	var problems []report
	if problem != "" {
		problems = append(problems, report{slices.LabelsTooLarge, problem})
	}
	if problem := in.aliases.problem(); problem != "" {
		problems = append(problems, report{slices.TooManyPorts, problem})
	}
	c.announce(service, key, problems, err)
	return err
}

// selects reports whether a Service, which may be nil, has slices for the pods that it selects.
func selects(service *corev1.Service) bool {
	return service != nil && service.Spec.Selector != nil && service.Spec.Type != corev1.ServiceTypeExternalName
}

// uncount removes the slices of a Service from the gauges.
func (c *Controller) uncount(key reconcile.Key) {
	c.reconciler.DeleteService(key.Namespace, key.Name)
	c.sizes.Set(key, 0, 0)
}

// failedToUpdate is the reason of Events about writes that the API server refuses.
const failedToUpdate = "FailedToUpdateEndpointSlices"

// announce reports the problems of a Service and a failure with Events on it.
func (c *Controller) announce(service *corev1.Service, key reconcile.Key, problems []report, err error) {
	if reconcile.IsRefused(err) {
		problems = append(problems, report{failedToUpdate, fmt.Sprintf("Error updating Endpoint Slices for Service %s: %s", key, reconcile.Text(err))})
	}
	for _, r := range c.reported.Unreported(key, problems...) {
		if r.reason != failedToUpdate {
			c.o.Metrics.Problem(queueName, r.reason)
		}
		c.o.Recorder.Event(service, corev1.EventTypeWarning, r.reason, r.text)
	}
}

// report is the content of an Event.
type report struct{ reason, text string }

// contested reports another writer that keeps changing the slices of a Service.
func (c *Controller) contested(key reconcile.Key) {
	if service := c.o.Pods.Get(key); service != nil {
		c.o.Recorder.Event(service, corev1.EventTypeWarning, reconcile.Contested, reconcile.ContestedMessage)
	}
}

// input is what the slices of a Service are computed from. The pods are those of the aliases.
type input struct {
	service *corev1.Service
	// labels are those of the Service that its slices get.
	labels  map[string]string
	aliases *aliases
	pods    []*corev1.Pod
	cause   time.Time
}

// serviceForSlices returns the Service for the library.
func (in *input) serviceForSlices() *corev1.Service {
	service := in.aliases.serviceFor(in.service)
	if len(in.labels) != len(service.Labels) {
		copied := *service
		copied.Labels = in.labels
		return &copied
	}
	return service
}

func (c *Controller) reconcile(ctx context.Context, key reconcile.Key, in input) error {
	existing := c.store.Of(key)
	for i, e := range existing {
		existing[i] = sortable(e)
	}
	s, end := c.writer.begin(ctx, key, existing, in.aliases)
	defer end()
	in.markOutdated(existing)
	// The logger is empty, because the reconciler would log a line for each pod without a node in each sync,
	// and its error names those pods anyway.
	err := c.reconciler.Reconcile(klog.Logger{}, in.serviceForSlices(), in.pods, in.aliases.slicesFor(existing), in.cause)
	s.sendHeld()
	count, endpoints := s.size()
	c.sizes.Set(key, count, endpoints)
	if failed := s.failure(); failed != nil {
		return failed
	}
	if err != nil {
		return reconcile.Refuse(fmt.Errorf("reconcile the EndpointSlices of service %s: %w", key, namePodsWithoutNode(err)))
	}
	return nil
}

// sortable returns a copy of a slice for the library, which sorts ports and the addresses of an endpoint in
// place. The library changes nothing else, so the rest is not copied.
func sortable(e *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	for i := range e.Endpoints {
		if len(e.Endpoints[i].Addresses) > 1 {
			return e.DeepCopy()
		}
	}
	copied := *e
	copied.Ports = append([]discoveryv1.EndpointPort(nil), e.Ports...)
	return &copied
}

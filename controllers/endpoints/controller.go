package endpoints

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"

	"github.com/signpostd/signpost/controllers/membership"
	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/internal/tracing"
	"github.com/signpostd/signpost/kube"
)

const (
	// Component is the source of the events (spec/endpoints.md §2).
	Component = "endpoint-controller"

	queueName = "endpoint"
)

// The delays between failures (spec/endpoints.md §2).
const retryFirst, retryLimit = 5 * time.Millisecond, 1000 * time.Second

// Options are what a [Controller] is made from.
type Options struct {
	Client corev1client.EndpointsGetter
	// Services is asked before Endpoints are overwritten that somebody else wrote, and when a
	// Service seems to be gone.
	Services    corev1client.ServicesGetter
	Pods        *membership.Index[*watched.Pod]
	Endpoints   *kube.Table[watched.EncodedEndpoints]
	Workers     int
	BatchPeriod time.Duration
	// RepairFirst is as in [reconcile.Options].
	RepairFirst time.Duration
	Recorder    record.EventRecorder
	// Tracer begins a span for each sync; nil begins none.
	Tracer  *tracing.Tracer
	Metrics *reconcile.Metrics
	Logger  *slog.Logger
}

// Controller writes the Endpoints of Services that select pods.
type Controller struct {
	o       Options
	loop    *reconcile.Loop
	overlay *reconcile.Overlay[*corev1.Endpoints]
	told    reconcile.EventDedup[string]
	// history is new for each term.
	history *history
}

// New returns a controller that doesn't run yet.
func New(o Options) *Controller {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	c := &Controller{o: o}
	c.overlay = reconcile.NewOverlay[*corev1.Endpoints](o.Endpoints.ResourceVersion, func(key reconcile.Key, name string, uid types.UID) bool {
		ep := o.Endpoints.Get(key.Namespace, name)
		return ep != nil && ep.GetUID() == uid
	})
	c.loop = reconcile.New(reconcile.Options{
		Name: queueName, Sync: c.sync, Workers: o.Workers, BatchPeriod: o.BatchPeriod,
		RetryFirst: retryFirst, RetryLimit: retryLimit, RepairFirst: o.RepairFirst, Contested: c.contested,
		Tracer: o.Tracer, Metrics: o.Metrics, Logger: o.Logger,
	})
	return c
}

// Run writes Endpoints until ctx ends, beginning with a look at all Services, and at
// all Endpoints that a Service may have left behind.
func (c *Controller) Run(ctx context.Context) {
	defer c.forget()
	c.history = newHistory()
	c.loop.Run(ctx, func() []reconcile.Key { return append(c.o.Pods.Services(), c.leftovers()...) })
}

// Health says how the writes go.
func (c *Controller) Health() reconcile.Health { return c.loop.Health() }

// Waiting returns why a Service waits, if it does.
func (c *Controller) Waiting(key reconcile.Key) (reconcile.Wait, bool) { return c.loop.Waiting(key) }

// AllWaiting says why Services wait, as [reconcile.Loop.AllWaiting] does.
func (c *Controller) AllWaiting(most int) ([]reconcile.KeyWait, int) { return c.loop.AllWaiting(most) }

// forget drops what is remembered of a term: somebody else may lead before the next one.
func (c *Controller) forget() {
	c.overlay.Forget()
	c.told.Forget()
	c.history = nil
}

// leftovers returns the names of Endpoints without a Service (spec/endpoints.md §8.2).
func (c *Controller) leftovers() []reconcile.Key {
	var keys []reconcile.Key
	for _, ep := range c.o.Endpoints.List() {
		key := keyOf(ep)
		if c.o.Pods.Get(key) != nil {
			continue
		}
		// An old program may use Endpoints as the lock for the election of its leader. They have
		// no Service, and are not left over from one.
		if _, locked := ep.Object().Annotations[resourcelock.LeaderElectionRecordAnnotationKey]; !locked {
			keys = append(keys, key)
		}
	}
	return keys
}

func keyOf(ep *watched.EncodedEndpoints) reconcile.Key {
	return reconcile.Key{Namespace: ep.GetNamespace(), Name: ep.GetName()}
}

// ServiceChanged is to be called after a Service has come, changed or gone.
func (c *Controller) ServiceChanged(key reconcile.Key) { c.loop.Add(key) }

// PodsChanged is to be called with the Services that a change of a pod concerns.
func (c *Controller) PodsChanged(namespace string, services []string) {
	c.loop.AddBatched(namespace, services...)
}

// EndpointsChanged is to be called after Endpoints have come, changed or gone. Those of
// a Service that selects pods are repaired when somebody else has changed them. The
// Kubernetes controller leaves them until the Service or its pods change (spec/endpoints.md §4.5).
func (c *Controller) EndpointsChanged(old, now *watched.EncodedEndpoints) {
	if !c.loop.Running() {
		return
	}
	if now == nil {
		c.loop.Repair(keyOf(old), c.overlay.Gone(keyOf(old), old), "")
		return
	}
	key := keyOf(now)
	what := c.overlay.Arrived(key, now)
	if service := c.o.Pods.Get(key); service == nil || !selects(service) {
		return
	}
	what = what.Lacking(func() bool { return old != nil && lacks(now.Object(), old.Object()) })
	c.loop.Repair(key, what, now.ChangedBy())
}

// sync makes the Endpoints of a Service what they have to be (spec/endpoints.md §5, §8).
func (c *Controller) sync(ctx context.Context, key reconcile.Key) error {
	service, pods := c.o.Pods.Service(key)
	if service == nil {
		c.history.forget(key)
		c.told.Unreported(key)
		c.loop.Forget(key)
		return c.deleteLeftover(ctx, key)
	}
	if !selects(service) {
		return nil
	}
	cause := c.history.trigger(service, pods)
	err := c.apply(ctx, service, pods, cause)
	if reconcile.IsConflict(err) {
		// Somebody else wrote the Endpoints, and the table doesn't know it yet.
		if err = c.refresh(ctx, key); err == nil {
			err = c.apply(ctx, service, pods, cause)
		}
	}
	c.announce(key, err)
	return err
}

// of returns the Endpoints of a Service; nil when there are none.
func (c *Controller) of(key reconcile.Key) *corev1.Endpoints {
	stored := c.overlay.Merge(key, func() []*corev1.Endpoints {
		if ep := c.o.Endpoints.Get(key.Namespace, key.Name); ep != nil {
			return []*corev1.Endpoints{ep.Object()}
		}
		return nil
	})
	if len(stored) == 0 {
		return nil
	}
	return stored[0]
}

// apply plans and writes. Endpoints of which somebody else wrote the present version are only
// overwritten on the word of the API server: the watches of Services and Endpoints are not
// ordered, so a user may have removed the selector before.
func (c *Controller) apply(ctx context.Context, service *corev1.Service, pods []*watched.Pod, cause time.Time) error {
	key := reconcile.Key{Namespace: service.Namespace, Name: service.Name}
	current := c.of(key)
	action, wanted := Plan(service, pods, current, cause)
	if action == Update && !c.history.isOwn(key, current.ResourceVersion) {
		live, err := c.confirm(ctx, service)
		if live == nil {
			return err
		}
		action, wanted = Plan(live, pods, current, cause)
	}
	if action == None {
		return nil
	}
	c.overlay.Begin(key, key.Name)
	client := c.o.Client.Endpoints(key.Namespace)
	var made *corev1.Endpoints
	var err error
	if action == Create {
		made, err = client.Create(ctx, wanted, metav1.CreateOptions{})
	} else {
		made, err = client.Update(ctx, wanted, metav1.UpdateOptions{})
	}
	c.loop.Wrote(key, action.String(), cause, err)
	if err == nil {
		c.logWritten(key, action.String(), made, cause)
		made.ManagedFields = nil
		c.history.wrote(key, made.ResourceVersion)
		c.repair(key, wanted, c.overlay.Wrote(key, made))
		return nil
	}
	c.repair(key, wanted, c.overlay.Failed(key, key.Name))
	if action == Create && reconcile.IsNamespaceTerminating(err) {
		return nil
	}
	return &writeError{action: action, wanted: wanted, err: fmt.Errorf("%s Endpoints %s: %w", action, key, err)}
}

// repair has a Service synced if somebody else has changed its Endpoints while they were written.
func (c *Controller) repair(key reconcile.Key, written *corev1.Endpoints, what reconcile.ExternalChange) {
	if what == reconcile.Untouched {
		return
	}
	by := ""
	if now := c.o.Endpoints.Get(key.Namespace, key.Name); now != nil {
		by, what = now.ChangedBy(), what.Lacking(func() bool { return lacks(now.Object(), written) })
	}
	c.loop.Repair(key, what, by)
}

// confirm reads a Service from the API server. It returns nil when the Service doesn't select
// what it did any more: then its event is on the way, and leads to another sync.
func (c *Controller) confirm(ctx context.Context, service *corev1.Service) (*corev1.Service, error) {
	live, err := c.o.Services.Services(service.Namespace).Get(ctx, service.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read service %s/%s before its Endpoints are overwritten: %w", service.Namespace, service.Name, err)
	case live.UID != service.UID || !selects(live) || !maps.Equal(live.Spec.Selector, service.Spec.Selector):
		return nil, nil
	}
	return live, nil
}

// writeError is the failure of a write, with what was to be written.
type writeError struct {
	action Action
	wanted *corev1.Endpoints
	err    error
}

// Error implements error.
func (e *writeError) Error() string { return e.err.Error() }

// Unwrap returns the reason.
func (e *writeError) Unwrap() error { return e.err }

// announce tells of a failure by an Event on the Endpoints (spec/endpoints.md §5.12).
func (c *Controller) announce(key reconcile.Key, err error) {
	var failed *writeError
	if !errors.As(err, &failed) || !reconcile.IsRefused(err) {
		c.told.Unreported(key)
		return
	}
	reason, doing := "FailedToUpdateEndpoint", "update endpoint"
	if failed.action == Create {
		reason, doing = "FailedToCreateEndpoint", "create endpoint for service"
	}
	for _, text := range c.told.Unreported(key, fmt.Sprintf("Failed to %s %s: %s", doing, key, reconcile.Text(err))) {
		c.o.Recorder.Event(&corev1.ObjectReference{
			APIVersion: "v1", Kind: "Endpoints", Namespace: key.Namespace, Name: key.Name,
			UID: failed.wanted.UID, ResourceVersion: failed.wanted.ResourceVersion,
		}, corev1.EventTypeWarning, reason, text)
	}
}

// contested tells of somebody who keeps changing the Endpoints of a Service.
func (c *Controller) contested(key reconcile.Key) {
	if ep := c.of(key); ep != nil {
		c.o.Recorder.Event(&corev1.ObjectReference{
			APIVersion: "v1", Kind: "Endpoints", Namespace: key.Namespace, Name: key.Name, UID: ep.UID, ResourceVersion: ep.ResourceVersion,
		}, corev1.EventTypeWarning, reconcile.Contested, reconcile.ContestedMessage)
	}
}

// refresh reads the Endpoints from the API server.
func (c *Controller) refresh(ctx context.Context, key reconcile.Key) error {
	live, err := c.o.Client.Endpoints(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if err == nil {
		live.ManagedFields = nil
		c.overlay.Read(key, live)
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("read Endpoints %s after a conflict: %w", key, err)
	}
	if known := c.of(key); known != nil {
		c.overlay.Begin(key, key.Name)
		c.overlay.Deleted(key, known)
	}
	return nil
}

// deleteLeftover deletes the Endpoints of a Service that is gone. It makes sure that
// the Service is gone first, because the table of Services may lag behind that of
// Endpoints (spec/endpoints.md §8.1, §11 K11). If somebody has changed the Endpoints
// meanwhile, they are no longer what the Service has left, and stay.
func (c *Controller) deleteLeftover(ctx context.Context, key reconcile.Key) error {
	left := c.of(key)
	if left == nil {
		return nil
	}
	_, err := c.o.Services.Services(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if err == nil {
		return nil // its event is on the way
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("make sure that service %s is gone: %w", key, err)
	}
	c.overlay.Begin(key, key.Name)
	err = c.o.Client.Endpoints(key.Namespace).Delete(ctx, key.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &left.UID, ResourceVersion: &left.ResourceVersion},
	})
	if apierrors.IsNotFound(err) {
		err = nil // others were quicker
	}
	c.loop.Wrote(key, "delete", time.Time{}, err)
	switch {
	case err == nil:
		c.logWritten(key, "delete", left, time.Time{})
		c.overlay.Deleted(key, left)
		return nil
	case apierrors.IsConflict(err):
		c.overlay.Failed(key, key.Name)
		return nil // somebody has changed them
	default:
		c.overlay.Failed(key, key.Name)
		return fmt.Errorf("delete Endpoints %s, whose service is gone: %w", key, err)
	}
}

// logWritten writes a line to the log about a write that succeeded.
func (c *Controller) logWritten(key reconcile.Key, operation string, ep *corev1.Endpoints, cause time.Time) {
	if !c.o.Logger.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	w := reconcile.Written{Controller: queueName, Kind: "Endpoints", Service: key, Name: key.Name, Operation: operation, Cause: cause}
	for i := range ep.Subsets {
		w.Ready += len(ep.Subsets[i].Addresses)
		w.NotReady += len(ep.Subsets[i].NotReadyAddresses)
	}
	w.Log(c.o.Logger)
}

package endpoints

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/signpostd/signpost/controllers/membership"
	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/controllers/writeclient"
	"github.com/signpostd/signpost/kube"
)

const (
	// Component is the source of the Events (spec/endpoints.md §2).
	Component = "endpoint-controller"

	queueName = "endpoint"
)

// The shortest and the longest delay before a failed sync is retried (spec/endpoints.md §2).
const retryFirst, retryLimit = 5 * time.Millisecond, 1000 * time.Second

// Options configure a [Controller].
type Options struct {
	reconcile.Options
	Client corev1client.EndpointsGetter
	// Services is read before another writer's Endpoints are overwritten, and to confirm that a Service is
	// deleted.
	Services  corev1client.ServicesGetter
	Pods      *membership.Index[*watched.Pod]
	Endpoints *kube.Table[watched.EncodedEndpoints]
}

// Controller writes the Endpoints of Services that select pods.
type Controller struct {
	reconcile.Status
	o        Options
	loop     *reconcile.Loop
	overlay  *reconcile.Overlay[*corev1.Endpoints]
	reported reconcile.EventDedup[string]
	// history is new for each term.
	history *history
}

// New returns a controller that isn't running.
func New(o Options) *Controller {
	c := &Controller{o: o}
	c.overlay = reconcile.NewOverlay[*corev1.Endpoints](o.Endpoints.ResourceVersion, func(key reconcile.Key, name string, uid types.UID) bool {
		ep := o.Endpoints.Get(key.Namespace, name)
		return ep != nil && ep.GetUID() == uid
	})
	o.Name, o.Sync, o.RetryFirst, o.RetryLimit, o.Contested = queueName, c.sync, retryFirst, retryLimit, c.contested
	o.ServicesIn = o.Pods.ServicesIn
	c.loop = reconcile.New(o.Options)
	c.Status = c.loop
	return c
}

// Run writes Endpoints until ctx ends. It first syncs all Services, and all Endpoints that a deleted Service
// may have left behind.
func (c *Controller) Run(ctx context.Context) {
	defer c.forget()
	c.history = newHistory()
	c.loop.Run(ctx, func() []reconcile.Key { return append(c.o.Pods.Services(), c.leftovers()...) })
}

// forget drops the state of a term, because another process may lead before the next one.
func (c *Controller) forget() {
	c.overlay.Forget()
	c.reported.Forget()
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
		// Old programs use Endpoints as their leader election lock. These Endpoints have no Service, but are
		// no leftovers.
		if _, locked := ep.Object().Annotations[resourcelock.LeaderElectionRecordAnnotationKey]; !locked {
			keys = append(keys, key)
		}
	}
	return keys
}

func keyOf(ep *watched.EncodedEndpoints) reconcile.Key {
	return reconcile.Key{Namespace: ep.GetNamespace(), Name: ep.GetName()}
}

// ServiceChanged must be called after a Service was added, changed or deleted.
func (c *Controller) ServiceChanged(key reconcile.Key) { c.loop.Add(key) }

// PodsChanged must be called with the Services that a pod's change affects.
func (c *Controller) PodsChanged(namespace string, services []string) {
	membership.Queue(c.loop, namespace, services)
}

// EndpointsChanged must be called after Endpoints were added, changed or deleted. If another writer changed
// the Endpoints of a Service that selects pods, they are repaired. (The Kubernetes controller repairs them
// only when the Service or its pods change; spec/endpoints.md §4.5.)
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

// sync brings the Endpoints of a Service into their desired state (spec/endpoints.md §5, §8).
func (c *Controller) sync(ctx context.Context, key reconcile.Key) error {
	service, pods := c.o.Pods.Service(key)
	if service == nil {
		c.history.forget(key)
		c.reported.Unreported(key)
		c.loop.Forget(key)
		return c.deleteLeftover(ctx, key)
	}
	if !selects(service) {
		return nil
	}
	cause := c.history.triggers.Next(service, pods)
	err := c.apply(ctx, service, pods, cause)
	if reconcile.IsConflict(err) {
		// Another writer changed the Endpoints, and the table doesn't have that version yet.
		if err = c.refresh(ctx, key); err == nil {
			err = c.apply(ctx, service, pods, cause)
		}
	}
	c.announce(key, err)
	return err
}

// of returns the Endpoints of a Service; nil if there are none.
func (c *Controller) of(key reconcile.Key) *corev1.Endpoints {
	ep, found := c.overlay.Find(key, key.Name, func() (*corev1.Endpoints, bool) {
		if ep := c.o.Endpoints.Get(key.Namespace, key.Name); ep != nil {
			return ep.Object(), true
		}
		return nil, false
	})
	if !found {
		return nil
	}
	return ep
}

// apply plans and writes. Before it overwrites a version that another writer wrote, it reads the Service from
// the API server: the watches of Services and Endpoints are not ordered, so a user may have removed the
// selector first.
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
	made, err := writeclient.Write(ctx, func(ctx context.Context) (*corev1.Endpoints, error) {
		if action == Create {
			return client.Create(ctx, wanted, metav1.CreateOptions{})
		}
		return client.Update(ctx, wanted, metav1.UpdateOptions{})
	})
	c.loop.Wrote(key, action.String(), cause, err)
	if err == nil {
		c.written(key, action.String(), current, made, cause)
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

// repair queues a Service if another writer changed its Endpoints during our write.
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

// confirm reads a Service from the API server. It returns nil if the Service has another selector now,
// because its event will lead to another sync.
func (c *Controller) confirm(ctx context.Context, service *corev1.Service) (*corev1.Service, error) {
	live, err := c.o.Services.Services(service.Namespace).Get(ctx, service.Name, metav1.GetOptions{})
	switch {
	case reconcile.IsMissing(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read service %s/%s before its Endpoints are overwritten: %w", service.Namespace, service.Name, err)
	case live.UID != service.UID || !selects(live) || !maps.Equal(live.Spec.Selector, service.Spec.Selector):
		return nil, nil
	}
	return live, nil
}

// writeError is a failed write, with the object that was to be written.
type writeError struct {
	action Action
	wanted *corev1.Endpoints
	err    error
}

// Error implements error.
func (e *writeError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *writeError) Unwrap() error { return e.err }

// announce reports a failure with an Event on the Endpoints (spec/endpoints.md §5.12).
func (c *Controller) announce(key reconcile.Key, err error) {
	var failed *writeError
	if !errors.As(err, &failed) || !reconcile.IsRefused(err) {
		c.reported.Unreported(key)
		return
	}
	reason, doing := "FailedToUpdateEndpoint", "update endpoint"
	if failed.action == Create {
		reason, doing = "FailedToCreateEndpoint", "create endpoint for service"
	}
	for _, text := range c.reported.Unreported(key, fmt.Sprintf("Failed to %s %s: %s", doing, key, reconcile.Text(err))) {
		c.o.Recorder.Event(&corev1.ObjectReference{
			APIVersion: "v1", Kind: "Endpoints", Namespace: key.Namespace, Name: key.Name,
			UID: failed.wanted.UID, ResourceVersion: failed.wanted.ResourceVersion,
		}, corev1.EventTypeWarning, reason, text)
	}
}

// contested reports another writer that keeps changing the Endpoints of a Service.
func (c *Controller) contested(key reconcile.Key) {
	if ep := c.of(key); ep != nil {
		c.o.Recorder.Event(&corev1.ObjectReference{
			APIVersion: "v1", Kind: "Endpoints", Namespace: key.Namespace, Name: key.Name, UID: ep.UID, ResourceVersion: ep.ResourceVersion,
		}, corev1.EventTypeWarning, reconcile.Contested, reconcile.ContestedMessage)
	}
}

func (c *Controller) refresh(ctx context.Context, key reconcile.Key) error {
	known := c.of(key) // before the request: Endpoints that the table gets later are not missing
	live, err := c.o.Client.Endpoints(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if err == nil {
		live.ManagedFields = nil
		c.overlay.Read(key, live)
		return nil
	}
	if !reconcile.IsMissing(err) {
		return fmt.Errorf("read Endpoints %s after a conflict: %w", key, err)
	}
	if known != nil {
		c.overlay.Begin(key, key.Name)
		c.overlay.Deleted(key, known)
	}
	return nil
}

// deleteLeftover deletes the Endpoints of a deleted Service. It first confirms the deletion with the API
// server, because the table of Services may lag behind that of Endpoints (spec/endpoints.md §8.1, §11 K11).
// If another writer has changed the Endpoints meanwhile, they are no longer a leftover, and stay.
func (c *Controller) deleteLeftover(ctx context.Context, key reconcile.Key) error {
	left := c.of(key)
	if left == nil || left.DeletionTimestamp != nil {
		return nil
	}
	_, err := c.o.Services.Services(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if err == nil {
		return nil // the Service's event will follow
	}
	if !reconcile.IsMissing(err) {
		return fmt.Errorf("confirm that service %s is deleted: %w", key, err)
	}
	c.overlay.Begin(key, key.Name)
	err = writeclient.Send(ctx, func(ctx context.Context) error {
		return c.o.Client.Endpoints(key.Namespace).Delete(ctx, key.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &left.UID, ResourceVersion: &left.ResourceVersion},
		})
	})
	if reconcile.IsMissing(err) {
		err = nil // another writer deleted them first
	}
	c.loop.Wrote(key, "delete", time.Time{}, err)
	switch {
	case err == nil:
		c.written(key, "delete", left, nil, time.Time{})
		if len(left.Finalizers) > 0 {
			c.overlay.Failed(key, key.Name) // they still exist, and a new Service of the name uses them
		} else {
			c.overlay.Deleted(key, left)
		}
		return nil
	case apierrors.IsConflict(err):
		c.overlay.Failed(key, key.Name)
		return nil // another writer has changed them
	default:
		c.overlay.Failed(key, key.Name)
		return fmt.Errorf("delete Endpoints %s, whose service is deleted: %w", key, err)
	}
}

// written passes a successful write to the log and the history, with the version before it, nil for none.
func (c *Controller) written(key reconcile.Key, operation string, before, after *corev1.Endpoints, cause time.Time) {
	if c.loop.WantsWritten() {
		c.loop.Written(reconcile.Written{Kind: "Endpoints", Service: key, Name: key.Name, Operation: operation, Before: readyByAddress(before), After: readyByAddress(after), Cause: cause})
	}
}

// readyByAddress returns the addresses of Endpoints as keys, with true for those that are ready.
func readyByAddress(ep *corev1.Endpoints) map[string]bool {
	if ep == nil {
		return nil
	}
	addresses := map[string]bool{}
	for i := range ep.Subsets {
		for _, a := range ep.Subsets[i].Addresses {
			addresses[a.IP] = true
		}
		for _, a := range ep.Subsets[i].NotReadyAddresses {
			if _, ready := addresses[a.IP]; !ready { // or it is ready at another port
				addresses[a.IP] = false
			}
		}
	}
	return addresses
}

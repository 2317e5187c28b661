package endpointslices

//lint:file-ignore SA1019 Endpoints are deprecated, and may take the place of a selector.

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/controllers/endpoints"
	"github.com/signpostd/signpost/controllers/reconcile"
)

// Mirrored must be called after the Endpoints of a Service have been mirrored, because they may replace a
// selector whose slices remain.
func (c *Controller) Mirrored(key reconcile.Key) {
	if len(c.store.Of(key)) > 0 {
		c.loop.Add(key)
	}
}

// deleteLeftovers deletes the slices of a removed selector if hand-written Endpoints replace it, because
// kube-proxy would keep sending traffic to both. Otherwise these slices stay, as in Kubernetes
// (spec/endpoints.md K3).
func (c *Controller) deleteLeftovers(ctx context.Context, key reconcile.Key, service *corev1.Service) error {
	if c.o.Mirrored == nil {
		return nil
	}
	left := slices.DeleteFunc(c.store.Of(key), func(s *discoveryv1.EndpointSlice) bool { return !metav1.IsControlledBy(s, service) })
	if len(left) == 0 {
		return nil
	}
	if mirrored := c.o.Mirrored(key); mirrored == nil || !isHandWritten(mirrored, left) {
		return nil
	}
	if gone, err := c.selectorIsRemoved(ctx, service); err != nil || !gone {
		return err
	}
	var failed []error
	for _, s := range left {
		failed = append(failed, c.store.Delete(ctx, key, s))
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	c.uncount(key)
	return nil
}

// isHandWritten reports whether Endpoints are hand-written, and not a controller's for the selector that left
// these slices. Programs that edit Endpoints, such as kubectl apply, keep the controller's label. Endpoints
// with that label count as hand-written if they have an address that the slices lack, unless the Endpoints
// are truncated.
func isHandWritten(e *corev1.Endpoints, left []*discoveryv1.EndpointSlice) bool {
	if e.Labels[endpoints.ManagedByLabel] != endpoints.ManagedBy {
		return true
	}
	if e.Annotations[endpoints.OverCapacityAnnotation] != "" {
		return false
	}
	selected := map[string]bool{}
	for _, s := range left {
		for i := range s.Endpoints {
			for _, address := range s.Endpoints[i].Addresses {
				selected[address] = true
			}
		}
	}
	return slices.ContainsFunc(e.Subsets, func(s corev1.EndpointSubset) bool {
		return slices.ContainsFunc(slices.Concat(s.Addresses, s.NotReadyAddresses), func(a corev1.EndpointAddress) bool { return !selected[a.IP] })
	})
}

// selectorIsRemoved asks the API server whether the Service exists and has no selector, because watches may
// lag.
func (c *Controller) selectorIsRemoved(ctx context.Context, service *corev1.Service) (bool, error) {
	live, err := c.o.Services.Services(service.Namespace).Get(ctx, service.Name, metav1.GetOptions{})
	switch {
	case reconcile.IsMissing(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read service %s/%s before the slices of its former selector are deleted: %w", service.Namespace, service.Name, err)
	}
	return live.UID == service.UID && live.Spec.Selector == nil, nil
}

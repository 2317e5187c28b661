package slices

import (
	"context"
	"errors"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/signpostd/signpost/controllers/reconcile"
)

// Plan is the writes that bring the slices of a Service into their desired state. Create, Update and Delete
// are carried out in this order, so that no endpoint is ever missing.
type Plan struct {
	// Create has slices with a generateName. The store chooses their names.
	Create []*discoveryv1.EndpointSlice
	// Update has full slices with the resource versions that they replace, so that a plan made from outdated
	// slices fails with a conflict.
	Update []*discoveryv1.EndpointSlice
	// Delete has existing slices, which must not be changed.
	Delete []*discoveryv1.EndpointSlice
}

// planAttempts is how many plans one sync may make.
const planAttempts = 3

// Apply carries out the plan that compute makes from the slices of a Service. If a write fails with a
// conflict, Apply reads the slices again and makes another plan. If that read fails, refreshed is false.
func (s *Store) Apply(
	ctx context.Context, service reconcile.Key, compute func(existing []*discoveryv1.EndpointSlice) Plan,
) (refreshed bool, err error) {
	for attempt := 1; ; attempt++ {
		outdated, err := s.carryOut(ctx, service, compute(s.Of(service)))
		if !outdated || attempt == planAttempts {
			return true, err
		}
		if err := s.Refresh(ctx, service); err != nil {
			return false, err
		}
	}
}

// carryOut carries out one plan. It reports whether the plan was made from outdated slices. After a failure,
// deletions of that address type are skipped, because the replacement of their endpoints may be missing.
func (s *Store) carryOut(ctx context.Context, service reconcile.Key, p Plan) (outdated bool, err error) {
	var all []error
	failed := map[discoveryv1.AddressType]bool{}
	each := func(operation string, list []*discoveryv1.EndpointSlice, write func(*discoveryv1.EndpointSlice) error) {
		for _, e := range list {
			if failed[e.AddressType] && (s.o.FailFast || operation == "delete") {
				continue
			}
			switch err := write(e); {
			case err == nil:
				s.o.Planned(operation)
			case reconcile.IsNamespaceTerminating(err):
				failed[e.AddressType] = s.o.FailFast || failed[e.AddressType]
			default:
				failed[e.AddressType] = true
				outdated = outdated || reconcile.IsConflict(err)
				all = append(all, err)
			}
		}
	}
	each("create", p.Create, func(e *discoveryv1.EndpointSlice) error { _, err := s.Create(ctx, service, e); return err })
	each("update", p.Update, func(e *discoveryv1.EndpointSlice) error { _, err := s.Update(ctx, service, e); return err })
	each("delete", p.Delete, func(e *discoveryv1.EndpointSlice) error { return s.Delete(ctx, service, e) })
	return outdated, errors.Join(all...)
}

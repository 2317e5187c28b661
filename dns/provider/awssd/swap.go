package awssd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/signpostd/signpost/dns/provider"
)

// A type change deletes the service of a name and creates another one, because the record types of a service
// can't change. Between the two, the name doesn't resolve.

// deletedService is a service that a type change deletes, in its former state.
type deletedService struct {
	service   *service
	instances []instance
}

// deleteForSwap deletes a service and its instances, so that one of another type can be created. It fails if
// Cloud Map has just refused this type change.
func (w *work) deleteForSwap(ctx context.Context, s *service, instances []instance) error {
	if len(instances) > 0 {
		if err := w.namespace.swaps.Paused(w.Subject, time.Now()); err != nil {
			return err
		}
	}
	if w.deletedService == nil {
		w.deletedService = &deletedService{service: s, instances: instances}
	}
	if err := w.clear(ctx, s, instances); err != nil {
		return err
	}
	if err := w.account.remove(ctx, s.id); err != nil {
		return err
	}
	w.gone(s.id)
	return nil
}

// noteSwapped notes that a type change was made.
func (w *work) noteSwapped() {
	if w.deletedService != nil {
		w.namespace.swaps.Made(w.Subject)
	}
}

// restore recreates the service that a type change has deleted, if Cloud Map refuses the new one. If the
// outcome is unknown or requests are throttled, it does nothing, because the change is then retried soon. It
// returns the error of the change.
func (w *work) restore(ctx context.Context, cause error) error {
	if w.deletedService == nil || len(w.deletedService.instances) == 0 || !isCertain(cause) || errors.Is(cause, provider.ErrThrottled) || ctx.Err() != nil {
		return cause
	}
	w.namespace.swaps.Refused(w.Subject, cause, time.Now())
	switch err := w.recreate(ctx); {
	case err == nil:
		return cause
	case isCertain(err):
		return fmt.Errorf("%w; the former records of the name can't be restored: %v", cause, err)
	default:
		return errors.Join(unknownOutcome{cause}, err)
	}
}

// recreate creates the deleted service again, if it is missing, and registers its missing instances.
func (w *work) recreate(ctx context.Context) error {
	s := w.deletedService.service
	id := s.id
	now, err := w.account.service(ctx, id)
	if err != nil {
		return err
	}
	if now == nil {
		var records []types.DnsRecord
		if s.config != nil {
			records = s.config.DnsRecords
		}
		if id, err = w.account.create(ctx, w.namespace.Zone, s.label, s.description, newRequestID(), &blueprint{records: records, routing: s.policy()}, w.tags); err != nil {
			return fmt.Errorf("create the service: %w", err)
		}
		w.found = id
	}
	w.changing(id, s.description)
	there, err := w.account.instances(ctx, id, nil)
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(slices.Clone(w.deletedService.instances), func(i instance) bool {
		return slices.ContainsFunc(there, func(o instance) bool { return o.id == i.id })
	})
	return w.register(ctx, id, missing)
}

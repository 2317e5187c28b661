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

// A type change deletes the service of a name and creates another one, because a service keeps the types of its records. Between
// the two the name has no answer.

// cleared is a service that a type change takes away, as it was before.
type cleared struct {
	service   *service
	instances []instance
}

// takeAway deletes a service with its instances, so that one of another type can be created. A type change that Cloud Map has just
// refused has to wait.
func (w *work) takeAway(ctx context.Context, s *service, instances []instance) error {
	if len(instances) > 0 {
		if err := w.namespace.swaps.Paused(w.Subject, time.Now()); err != nil {
			return err
		}
	}
	if w.cleared == nil {
		w.cleared = &cleared{service: s, instances: instances}
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

// replaced notes that a type change was made.
func (w *work) replaced() {
	if w.cleared != nil {
		w.namespace.swaps.Made(w.Subject)
	}
}

// restore gives the name the answers back that a type change has taken away, if Cloud Map refuses what was to come. It does nothing
// if the outcome is unknown, or if requests are throttled: the change is then tried again soon. It returns the error of the change.
func (w *work) restore(ctx context.Context, cause error) error {
	if w.cleared == nil || len(w.cleared.instances) == 0 || !isCertain(cause) || errors.Is(cause, provider.ErrThrottled) || ctx.Err() != nil {
		return cause
	}
	w.namespace.swaps.Refused(w.Subject, cause, time.Now())
	switch err := w.putBack(ctx); {
	case err == nil:
		return cause
	case isCertain(err):
		return fmt.Errorf("%w; the former records of the name can't be restored: %v", cause, err)
	default:
		return errors.Join(unknowable{cause}, err)
	}
}

// putBack creates the service again that was taken away, if it is gone, and registers its instances. Those that are still there
// stay as they are.
func (w *work) putBack(ctx context.Context) error {
	s := w.cleared.service
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
	there, err := w.account.instances(ctx, id)
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(slices.Clone(w.cleared.instances), func(i instance) bool {
		return slices.ContainsFunc(there, func(o instance) bool { return o.id == i.id })
	})
	return w.register(ctx, id, missing)
}

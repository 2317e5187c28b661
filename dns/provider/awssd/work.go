package awssd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/sanitize"
)

// errRetryNow means that the service has to be read again at once.
var errRetryNow = errors.New("look again")

// unownedDescription is the description of our services without an owner. A service without a description
// would count as another writer's.
const unownedDescription = "heritage=external-dns"

type work struct {
	*cloudMap
	*namespace
	*unit
	// request identifies the creation of the service, so that Cloud Map executes it once.
	request string
	// found is the ID of a service that Cloud Map has named, and created that of one that this call has
	// created.
	found, created string
	// lookups counts how often Cloud Map has named a service.
	lookups int
	// started is true if some steps may have been taken.
	started bool
	// deletedService is nil unless a type change deletes a service.
	deletedService *deletedService
}

func newRequestID() string { return rand.Text() }

// id returns the ID of the name's service, or "" if it is unknown.
func (w *work) id() string {
	if w.found != "" {
		return w.found
	}
	w.namespace.mu.Lock()
	defer w.namespace.mu.Unlock()
	if k := w.known[w.Subject]; k != nil {
		return k.id
	}
	return ""
}

// changing notes a change of a service, so that its instances are read again.
func (w *work) changing(id, description string) {
	w.namespace.mu.Lock()
	defer w.namespace.mu.Unlock()
	k := w.known[w.Subject]
	if k == nil || k.id != id {
		k = &knownService{id: id}
		w.known[w.Subject] = k
	}
	k.changedAt, k.hasRevision, k.instances = time.Now(), false, nil
	if description != "" {
		k.wrote = description
	}
}

// gone notes that the service doesn't exist any more.
func (w *work) gone(id string) {
	w.found = ""
	w.namespace.gone(w.Subject, id)
}

// gone notes that a service was deleted. Listings may show it for some time.
func (n *namespace) gone(name, id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if k := n.known[name]; k != nil && k.id == id {
		delete(n.known, name)
	}
	n.removed[id] = time.Now()
}

// step reads the service, and takes the steps to the wanted state.
func (w *work) step(ctx context.Context) error {
	s, instances, err := w.look(ctx)
	if err != nil {
		return err
	}
	var now []*dns.RecordSet
	if s != nil {
		now = s.sets(w.namespace.Zone, instances)
	}
	if err := w.compare(s, now); err != nil {
		return err
	}
	wanted := w.after(now)
	if len(wanted) == 0 {
		return w.empty(ctx, s, instances)
	}
	b, err := newBlueprint(wanted)
	if err != nil {
		return fmt.Errorf("%w: %w", provider.ErrRejected, err)
	}
	switch {
	case s == nil:
		return w.create(ctx, b, w.description(""))
	case !b.fits(s):
		if err := w.deleteForSwap(ctx, s, instances); err != nil {
			return err
		}
		return w.create(ctx, b, w.description(s.description))
	}
	return w.change(ctx, s, instances, b)
}

// look returns the service of the name and its instances, or nil if none is known.
func (w *work) look(ctx context.Context) (*service, []instance, error) {
	id := w.id()
	if id == "" {
		return nil, nil, nil
	}
	s, err := w.account.service(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if s == nil || fullName(w.namespace.Zone, s.label) != w.Subject {
		w.gone(id)
		return nil, nil, nil
	}
	instances, err := w.account.instances(ctx, id, nil)
	if errors.Is(err, errNoService) {
		w.gone(id)
		return nil, nil, nil
	}
	return s, instances, err
}

// compare returns an error if the name or the owner of its service has changed since the listing.
func (w *work) compare(s *service, now []*dns.RecordSet) error {
	if s != nil {
		if err := w.mayChange(s); err != nil {
			return err
		}
	}
	if !w.started {
		for _, err := range provider.Unchanged(w.Changes, now) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	// Some steps may have been taken, so the targets are old or new ones.
	for _, r := range now {
		for _, c := range w.Changes {
			if c.RecordSet().Key() != r.Key() {
				continue
			}
			for _, t := range r.Targets {
				if !hasTarget(c.Old, t) && !hasTarget(c.New, t) {
					return fmt.Errorf("%s %s: %w: there is %q now", r.Name, r.Type, provider.ErrStale, r.Targets)
				}
			}
		}
	}
	return nil
}

func hasTarget(r *dns.RecordSet, target string) bool {
	return r != nil && slices.ContainsFunc(r.Targets, func(t string) bool { return dns.SameTarget(t, target) })
}

// mayChange returns why the service of the name must not be changed, or nil.
func (w *work) mayChange(s *service) error {
	if s.description == "" {
		return fmt.Errorf("%w: the name has a service without a description, so this program didn't create it: delete that service, or use another name", provider.ErrRejected)
	}
	listed, owners := false, []string{}
	for _, c := range w.Changes {
		for _, r := range []*dns.RecordSet{c.Old, c.New} {
			if r == nil || r.Labels[dns.LabelDescription] == "" {
				continue
			}
			owners = append(owners, ownerOf(r.Labels[dns.LabelDescription]))
			listed = listed || r == c.Old
		}
	}
	if len(owners) == 0 || slices.Contains(owners, ownerOf(s.description)) {
		return nil
	}
	if listed {
		return fmt.Errorf("%w: the description of its service is %s now", provider.ErrStale, sanitize.Quote(s.description))
	}
	return fmt.Errorf("%w: the name has a service of another owner, with the description %s: delete that service, or use another name", provider.ErrRejected, sanitize.Quote(s.description))
}

// after returns the record sets of the name after the changes.
func (w *work) after(now []*dns.RecordSet) []*dns.RecordSet {
	sets := map[dns.Key]*dns.RecordSet{}
	for _, r := range now {
		sets[r.Key()] = r
	}
	for _, c := range w.Changes {
		delete(sets, c.RecordSet().Key())
		if c.New != nil {
			// The record set was checked before.
			if fit, err := adjusted(w.namespace.Zone, c.New); err == nil {
				sets[fit.Key()] = fit
			}
		}
	}
	return slices.Collect(maps.Values(sets))
}

// description returns the new description of the service; before is the current one.
func (w *work) description(before string) string {
	for _, c := range w.Changes {
		if c.New != nil && c.New.Labels[dns.LabelDescription] != "" {
			return c.New.Labels[dns.LabelDescription]
		}
	}
	if before != "" {
		return before
	}
	return unownedDescription
}

// create creates the service and registers its instances.
func (w *work) create(ctx context.Context, b *blueprint, description string) error {
	id, err := w.account.create(ctx, w.namespace.Zone, w.label, description, w.request, b, w.tags)
	if exists, ok := errors.AsType[*types.ServiceAlreadyExists](err); ok && aws.ToString(exists.ServiceId) != "" && w.lookups < tries {
		// The service was unknown, or a response was lost. The next look shows its owner.
		w.found, w.lookups = *exists.ServiceId, w.lookups+1
		if aws.ToString(exists.CreatorRequestId) == w.request {
			w.created = w.found
		}
		return errRetryNow
	}
	if err != nil {
		return fmt.Errorf("create the service: %w", err)
	}
	w.started, w.created, w.found = true, id, id
	w.changing(id, description)
	return w.register(ctx, id, slices.Collect(values(b.instances)))
}

func values(instances map[string]map[string]string) func(func(instance) bool) {
	return func(yield func(instance) bool) {
		for _, id := range slices.Sorted(maps.Keys(instances)) {
			if !yield(instance{id, instances[id]}) {
				return
			}
		}
	}
}

// change updates a fitting service. It adds new instances before it removes old ones, so that the name always
// resolves.
func (w *work) change(ctx context.Context, s *service, now []instance, b *blueprint) error {
	description := w.description(s.description)
	missing, surplus := b.difference(now)
	w.changing(s.id, description)
	if !b.sameTTLs(s) || s.description != description {
		w.started = true
		if err := w.account.update(ctx, s, description, b.records); err != nil {
			return fmt.Errorf("update the service: %w", err)
		}
	}
	if len(missing)+len(surplus) > 0 {
		w.started = true
	}
	if len(now)+len(missing) > maxTargets {
		// The service has no room for both.
		if err := w.deregister(ctx, s.id, surplus); err != nil {
			return err
		}
		surplus = nil
	}
	err := w.register(ctx, s.id, missing)
	hasOne := len(b.instances) == 1 && string(b.routing) == "WEIGHTED"
	full := errors.Is(err, errLimit) || errors.Is(err, provider.ErrRejected) && hasOne
	if full && len(surplus) > 0 {
		// The namespace is full, or the service has room for one instance only.
		if err := w.deregister(ctx, s.id, surplus); err != nil {
			return err
		}
		surplus, err = nil, w.register(ctx, s.id, missing)
	}
	if err != nil {
		return err
	}
	return w.deregister(ctx, s.id, surplus)
}

// empty removes all instances. It deletes the service only if the user wants that.
func (w *work) empty(ctx context.Context, s *service, instances []instance) error {
	if s == nil {
		return nil
	}
	if err := w.clear(ctx, s, instances); err != nil || !w.drop {
		return err
	}
	err := w.account.remove(ctx, s.id)
	if err == nil {
		w.gone(s.id)
	}
	return err
}

// clear removes all instances.
func (w *work) clear(ctx context.Context, s *service, instances []instance) error {
	w.started = true
	w.changing(s.id, "")
	var ids []string
	for _, i := range instances {
		ids = append(ids, i.id)
	}
	return w.deregister(ctx, s.id, ids)
}

// register registers instances, and waits for the end.
func (w *work) register(ctx context.Context, id string, instances []instance) error {
	return w.each(ctx, len(instances), func(i int) (string, error) {
		operation, err := w.account.register(ctx, id, instances[i])
		if err != nil {
			return "", fmt.Errorf("register %s: %w", sanitize.Name(instances[i].id), err)
		}
		return operation, nil
	})
}

// deregister removes instances, and waits for the end.
func (w *work) deregister(ctx context.Context, id string, ids []string) error {
	return w.each(ctx, len(ids), func(i int) (string, error) {
		operation, err := w.account.deregister(ctx, id, ids[i])
		if err != nil {
			return "", fmt.Errorf("deregister %s: %w", sanitize.Name(ids[i]), err)
		}
		return operation, nil
	})
}

// each starts operations, and waits for all that were started, even if one can't be started.
func (w *work) each(ctx context.Context, n int, begin func(i int) (operation string, err error)) error {
	var operations []string
	var failed error
	for i := range n {
		operation, err := begin(i)
		if err != nil {
			failed = err
			break
		}
		if operation != "" {
			operations = append(operations, operation)
		}
	}
	err := w.account.awaitAll(ctx, operations)
	if err != nil && (failed == nil || !isCertain(err)) {
		return err
	}
	return failed
}

// undo deletes a service that this call has created and can't complete. If that fails, the next attempt
// completes it.
func (w *work) undo(ctx context.Context, cause error) error {
	if w.created == "" || !isCertain(cause) || errors.Is(cause, provider.ErrThrottled) || ctx.Err() != nil {
		return cause
	}
	instances, err := w.account.instances(ctx, w.created, nil)
	if err == nil {
		err = w.clear(ctx, &service{id: w.created}, instances)
	}
	if err == nil {
		err = w.account.remove(ctx, w.created)
	}
	if err == nil {
		w.gone(w.created)
	}
	if err != nil && !isCertain(err) {
		return errors.Join(unknownOutcome{cause}, err)
	}
	return cause
}

package awssd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/sanitize"
)

// errAgain says that a unit has to be looked at again at once.
var errAgain = errors.New("look again")

// plain is the description of services that nobody owns. Without any, they would be nobody's.
const plain = "heritage=external-dns"

// work is one call for one unit.
type work struct {
	*cloudMap
	*namespace
	*unit
	// request identifies the creation of the service, so that it happens once.
	request string
	// found is the ID of a service that Cloud Map has named, and created that of one that was
	// created here.
	found, created string
	// looked is how often Cloud Map has named a service.
	looked int
	// begun is true when some of the steps may have been taken.
	begun bool
	// cleared is the service that a type change takes away; nil for other changes.
	cleared *cleared
}

func newRequestID() string { return rand.Text() }

// id returns the ID of the service of the name, as far as it is known.
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

// changing notes that a service is being changed, so that its instances are read again.
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

// gone notes that there is no service any more.
func (w *work) gone(id string) {
	w.found = ""
	w.namespace.gone(w.Subject, id)
}

// gone notes that a service was deleted. Listings may still show it for a while.
func (n *namespace) gone(name, id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if k := n.known[name]; k != nil && k.id == id {
		delete(n.known, name)
	}
	n.removed[id] = time.Now()
}

// step looks at the service, and takes the steps from there to what is wanted.
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
	b, err := draw(wanted)
	if err != nil {
		return fmt.Errorf("%w: %w", provider.ErrRejected, err)
	}
	switch {
	case s == nil:
		return w.create(ctx, b, w.description(""))
	case !b.fits(s):
		if err := w.takeAway(ctx, s, instances); err != nil {
			return err
		}
		return w.create(ctx, b, w.description(s.description))
	}
	return w.change(ctx, s, instances, b)
}

// look returns the service of the name and its instances; nil if there is none, as far as that is
// known.
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
	instances, err := w.account.instances(ctx, id)
	if errors.Is(err, errNoService) {
		w.gone(id)
		return nil, nil, nil
	}
	return s, instances, err
}

// compare checks that the name is still as it was listed, and that its service has the same owner.
func (w *work) compare(s *service, now []*dns.RecordSet) error {
	if s != nil {
		if err := w.mayChange(s); err != nil {
			return err
		}
	}
	if !w.begun {
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
		return fmt.Errorf("%w: the name has a service without a description, so somebody else has made it: delete that service, or use another name", provider.ErrRejected)
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
	return fmt.Errorf("%w: the name has a service of somebody else, whose description is %s: delete that service, or use another name", provider.ErrRejected, sanitize.Quote(s.description))
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
			// It was checked before.
			if fit, err := adjusted(w.namespace.Zone, c.New); err == nil {
				sets[fit.Key()] = fit
			}
		}
	}
	return slices.Collect(maps.Values(sets))
}

// description returns the one that the service is to have; before is the one that it has.
func (w *work) description(before string) string {
	for _, c := range w.Changes {
		if c.New != nil && c.New.Labels[dns.LabelDescription] != "" {
			return c.New.Labels[dns.LabelDescription]
		}
	}
	if before != "" {
		return before
	}
	return plain
}

// create creates the service and registers its instances.
func (w *work) create(ctx context.Context, b *blueprint, description string) error {
	id, err := w.account.create(ctx, w.namespace.Zone, w.label, description, w.request, b, w.tags)
	if exists, ok := errors.AsType[*existsError](err); ok && exists.id != "" && w.looked < tries {
		// It wasn't known, or an answer was lost. Whose it is will show.
		w.found, w.looked = exists.id, w.looked+1
		if exists.request == w.request {
			w.created = exists.id
		}
		return errAgain
	}
	if err != nil {
		return fmt.Errorf("create the service: %w", err)
	}
	w.begun, w.created, w.found = true, id, id
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

// change makes a service that fits as it should be. New instances come before old ones go, so
// that the name is never gone.
func (w *work) change(ctx context.Context, s *service, now []instance, b *blueprint) error {
	description := w.description(s.description)
	missing, surplus := b.differing(now)
	w.changing(s.id, description)
	if !b.sameTTLs(s) || s.description != description {
		w.begun = true
		if err := w.account.update(ctx, s, description, b.records); err != nil {
			return fmt.Errorf("update the service: %w", err)
		}
	}
	if len(missing)+len(surplus) > 0 {
		w.begun = true
	}
	if len(now)+len(missing) > mostTargets {
		// There isn't room for both.
		if err := w.deregister(ctx, s.id, surplus); err != nil {
			return err
		}
		surplus = nil
	}
	err := w.register(ctx, s.id, missing)
	full := errors.Is(err, errLimit) || errors.Is(err, provider.ErrRejected) && b.single()
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

// single reports whether the service has one target.
func (b *blueprint) single() bool { return len(b.instances) == 1 && string(b.routing) == "WEIGHTED" }

// empty takes all instances away. The service stays unless the user wants it deleted.
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

// clear takes all instances away.
func (w *work) clear(ctx context.Context, s *service, instances []instance) error {
	w.begun = true
	w.changing(s.id, "")
	var ids []string
	for _, i := range instances {
		ids = append(ids, i.id)
	}
	return w.deregister(ctx, s.id, ids)
}

// register registers instances, and waits until all are there.
func (w *work) register(ctx context.Context, id string, instances []instance) error {
	return w.each(ctx, len(instances), func(i int) (string, error) {
		operation, err := w.account.register(ctx, id, instances[i])
		if err != nil {
			return "", fmt.Errorf("register %s: %w", sanitize.Name(instances[i].id), err)
		}
		return operation, nil
	})
}

// deregister takes instances away, and waits until all are gone.
func (w *work) deregister(ctx context.Context, id string, ids []string) error {
	return w.each(ctx, len(ids), func(i int) (string, error) {
		operation, err := w.account.deregister(ctx, id, ids[i])
		if err != nil {
			return "", fmt.Errorf("deregister %s: %w", sanitize.Name(ids[i]), err)
		}
		return operation, nil
	})
}

// each begins operations, and waits for all that were begun, also if one can't be.
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

// undo deletes a service that was created here and can't be completed. If that fails, the next try completes the service.
func (w *work) undo(ctx context.Context, cause error) error {
	if w.created == "" || !isCertain(cause) || errors.Is(cause, provider.ErrThrottled) || ctx.Err() != nil {
		return cause
	}
	instances, err := w.account.instances(ctx, w.created)
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
		return errors.Join(unknowable{cause}, err)
	}
	return cause
}

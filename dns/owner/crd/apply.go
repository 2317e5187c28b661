package crd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/api/externaldns"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/provider"
)

// Before implements [owner.Owner]. It writes an object for each record set that is created or
// updated, and refuses the change if the object belongs to somebody else. For changes of
// labels only, that is all there is to do.
func (o *Owner) Before(ctx context.Context, _ owner.Lookup, changes []dns.Change) (apply, refused []dns.Change, err error) {
	o.calls.Lock()
	defer o.calls.Unlock()
	if err := o.deleteObjects(ctx); err != nil {
		o.log.Warn("Can't delete the objects of deleted records; trying again later", "err", err)
	}
	foreign := make([]bool, len(changes))
	objects := make([]*externaldns.DNSRecord, len(changes))
	errs := make([]error, len(changes))
	inParallel(len(changes), func(i int) {
		if changes[i].New != nil {
			objects[i], errs[i] = o.announce(ctx, changes[i])
		}
		if foreign[i] = errors.Is(errs[i], errForeign); foreign[i] {
			errs[i] = nil
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	for i, c := range changes {
		switch {
		case foreign[i]:
			refused = append(refused, c)
			continue
		case c.New == nil:
			apply = append(apply, c)
			continue
		case labelsOnly(c):
			o.touch(c.New.Key())
		default:
			apply = append(apply, c)
			o.pending[c.New.Key()] = objects[i]
		}
		delete(o.toDelete, string(objects[i].UID))
		o.keep(c.New.Key(), objects[i])
	}
	return apply, refused, nil
}

// announce writes the object of a record set as it is going to be. The conditions say that the
// record isn't written yet, or that it is if only labels change.
func (o *Owner) announce(ctx context.Context, c dns.Change) (*externaldns.DNSRecord, error) {
	key, known, ours := c.New.Key(), absent, metav1.ConditionUnknown
	want := newObject(c.New, o.id)
	if e := o.entry(key); e != nil {
		known = present
		// An object that a user has created under another name keeps it.
		want.Name = e.name
		if c.Old != nil && e.owns(c.Old, o.now()) {
			ours = metav1.ConditionTrue
		}
	}
	object, err := o.client.put(ctx, want, known, o.owners())
	if err != nil {
		return nil, fmt.Errorf("write DNSRecord %s/%s: %w", o.namespace, want.Name, err)
	}
	reason := externaldns.ReasonAccepted
	if labelsOnly(c) {
		ours, reason = metav1.ConditionTrue, externaldns.ReasonProgrammed
	}
	return o.report(ctx, object, finding{owned: ours, reason: reason}), nil
}

// labelsOnly reports whether the provider has nothing to do for a change.
func labelsOnly(c dns.Change) bool {
	return c.Old != nil && c.New != nil && c.Old.Name == c.New.Name && c.Old.TTL == c.New.TTL &&
		slices.Equal(c.Old.Targets, c.New.Targets) && slices.Equal(c.Old.Properties, c.New.Properties)
}

// report writes the conditions of an object, and returns the object with them. A failure to
// write them doesn't make the change fail: the next process finds the object as after a crash.
func (o *Owner) report(ctx context.Context, object *externaldns.DNSRecord, f finding) *externaldns.DNSRecord {
	set := func(live *externaldns.DNSRecord) { setConditions(live, f, o.now()) }
	made, err := o.client.setStatus(ctx, object, set)
	if err == nil {
		return made
	}
	if !apierrors.IsNotFound(err) {
		o.log.Warn("Can't write the status of a DNSRecord", "object", o.namespace+"/"+object.Name, "reason", f.reason, "err", err)
	}
	set(object)
	return object
}

// After implements [owner.Owner]. It updates the objects of record sets that were created or
// updated, and deletes those of record sets that were deleted.
func (o *Owner) After(ctx context.Context, applied []dns.Change) error {
	o.calls.Lock()
	defer o.calls.Unlock()
	objects := make([]*externaldns.DNSRecord, len(applied))
	inParallel(len(applied), func(i int) {
		if r := applied[i].New; r != nil {
			objects[i] = o.report(ctx, o.objectOf(r), finding{owned: metav1.ConditionTrue, reason: externaldns.ReasonProgrammed})
		}
	})
	for i, c := range applied {
		key := c.RecordSet().Key()
		if e := o.entry(key); c.New == nil && e != nil {
			o.toDelete[e.uid] = e.name
		}
		delete(o.pending, key)
		o.keep(key, objects[i])
	}
	o.dropAbandoned()
	return o.deleteObjects(ctx)
}

// objectOf returns the object that Before wrote for a record set.
func (o *Owner) objectOf(r *dns.RecordSet) *externaldns.DNSRecord {
	if object := o.pending[r.Key()]; object != nil {
		return object
	}
	return newObject(r, o.id)
}

// Failed implements [owner.Told]. It writes the error into the objects of record sets that
// were to be created or updated. Objects of record sets that were to be deleted stay as they
// are.
func (o *Owner) Failed(ctx context.Context, changes []dns.Change, cause error) {
	o.calls.Lock()
	defer o.calls.Unlock()
	var each *provider.ApplyError
	certain := errors.Is(cause, provider.ErrRejected) || errors.Is(cause, provider.ErrCredentials)
	if errors.As(cause, &each) && len(each.Errs) == len(changes) {
		certain = true
	} else {
		each = nil
	}
	notOurs := metav1.ConditionUnknown
	if certain {
		notOurs = metav1.ConditionFalse
	}
	objects := make([]*externaldns.DNSRecord, len(changes))
	inParallel(len(changes), func(i int) {
		err := cause
		if each != nil {
			err = each.Errs[i]
		}
		if r := changes[i].New; r != nil && err != nil {
			objects[i] = o.report(ctx, o.objectOf(r), finding{
				owned: o.ownedOr(r.Key(), notOurs), reason: externaldns.ReasonFailed, message: shorten(err.Error()),
			})
		}
	})
	for i, object := range objects {
		if object != nil {
			key := changes[i].New.Key()
			delete(o.pending, key)
			o.keep(key, object)
		}
	}
}

// ownedOr returns whether a record is ours after a failure to write it: True if it was ours
// before, and otherwise the given status.
func (o *Owner) ownedOr(key dns.Key, otherwise metav1.ConditionStatus) metav1.ConditionStatus {
	if e := o.entry(key); e != nil && (e.claim == programmed || e.claim == unsettled) {
		return metav1.ConditionTrue
	}
	return otherwise
}

// shorten cuts a message to what a condition can hold.
func shorten(message string) string {
	const longest = 1024
	return strings.ToValidUTF8(message[:min(len(message), longest)], "")
}

// dropAbandoned has abandoned objects deleted.
func (o *Owner) dropAbandoned() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, e := range o.entries {
		if o.pending[key] == nil && e.abandoned(o.now()) {
			o.toDelete[e.uid] = e.name
			delete(o.entries, key)
		}
	}
}

// deleteObjects deletes the objects in o.toDelete. Those that fail are tried again.
func (o *Owner) deleteObjects(ctx context.Context) error {
	uids := slices.Sorted(maps.Keys(o.toDelete))
	errs := make([]error, len(uids))
	inParallel(len(uids), func(i int) {
		name := o.toDelete[uids[i]]
		if err := o.client.remove(ctx, name, uids[i]); err != nil {
			errs[i] = fmt.Errorf("delete DNSRecord %s/%s: %w", o.namespace, name, err)
		}
	})
	for i, uid := range uids {
		if errs[i] == nil {
			delete(o.toDelete, uid)
		}
	}
	return errors.Join(errs...)
}

// atOnce is the number of requests that are sent at the same time.
const atOnce = 8

// inParallel calls f with each index below n, and returns when all calls have returned.
func inParallel(n int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, atOnce) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
}

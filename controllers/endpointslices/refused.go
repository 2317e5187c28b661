package endpointslices

import (
	"cmp"
	"maps"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/signpostd/signpost/controllers/reconcile"
)

// refusedLimit is the number of refused creates after which a plan sends no more creates. A quota would
// refuse them too.
const refusedLimit = 3

// refused has the writes of a plan whose creates the API server refuses, such as because of a ResourceQuota.
// The updates and deletes are held until the plan is complete, because only then is it known which of them
// would remove an endpoint that no other slice has.
type refused struct {
	// err is the first refusal.
	err error
	// sent is the number of refused creates.
	sent int
	// missing are the slices that were not created.
	missing []*discoveryv1.EndpointSlice
	held    []heldWrite
}

// heldWrite is an update of a slice, or a delete if next is nil.
type heldWrite struct {
	name string
	next *discoveryv1.EndpointSlice
}

// failure returns the error of the sync. A refused create is reported before other refusals, because it comes
// first. Conflicts and connection failures are handled before it.
func (s *underway) failure() error {
	if s.failed == nil || s.refused.err != nil && reconcile.IsRefused(s.failed) {
		return s.refused.err
	}
	return s.failed
}

// skipsCreate reports whether a create is not sent, because others were refused. It records the slice then.
func (r *refused) skipsCreate(e *discoveryv1.EndpointSlice) bool {
	if r.sent < refusedLimit {
		return false
	}
	r.missing = append(r.missing, e)
	return true
}

// add records a refused create.
func (r *refused) add(e *discoveryv1.EndpointSlice, err error) {
	r.err = cmp.Or(r.err, err)
	r.sent++
	r.missing = append(r.missing, e)
}

// hold keeps a write for [underway.sendHeld] if a create was refused. It returns false if none was.
func (r *refused) hold(h heldWrite) bool {
	if r.err == nil {
		return false
	}
	r.held = append(r.held, h)
	return true
}

// sendHeld sends the held writes that remove no needed endpoint, until one fails. After another failure it
// sends none, because the plan may be incomplete or outdated.
func (s *underway) sendHeld() {
	if s.failed != nil {
		return
	}
	for _, h := range safeWrites(s.current, s.refused.missing, s.refused.held) {
		var err error
		if h.next == nil {
			err = s.delete(s.current[h.name])
		} else {
			_, err = s.update(h.next)
		}
		if err != nil {
			return
		}
	}
}

// safeWrites returns the writes that can be sent without the missing slices. A write is left out if it takes
// away an address that would then be missing from all slices, although a missing slice or the update of
// another write that is left out has it ready or serving.
func safeWrites(current map[string]*discoveryv1.EndpointSlice, missing []*discoveryv1.EndpointSlice, writes []heldWrite) []heldWrite {
	unwritten := addressesOf(missing...)
	for {
		result := maps.Clone(current)
		for _, h := range writes {
			result[h.name] = h.next
		}
		left := addressesOf(slices.Collect(maps.Values(result))...)
		removes := func(h heldWrite) bool {
			for address := range addressesOf(current[h.name]) {
				if unwritten[address] && !left[address] {
					return true
				}
			}
			return false
		}
		safe := slices.DeleteFunc(slices.Clone(writes), removes)
		if len(safe) == len(writes) {
			return safe
		}
		for _, h := range writes {
			if removes(h) {
				maps.Copy(unwritten, addressesOf(h.next))
			}
		}
		writes = safe
	}
}

// addressesOf returns the addresses of slices that are ready or serving. A nil slice has none.
func addressesOf(list ...*discoveryv1.EndpointSlice) map[string]bool {
	addresses := map[string]bool{}
	for _, e := range list {
		if e == nil {
			continue
		}
		for i := range e.Endpoints {
			// Without a ready condition, the endpoint counts as ready.
			if c := e.Endpoints[i].Conditions; ptr.Deref(c.Ready, true) || ptr.Deref(c.Serving, false) {
				for _, a := range e.Endpoints[i].Addresses {
					addresses[a] = true
				}
			}
		}
	}
	return addresses
}

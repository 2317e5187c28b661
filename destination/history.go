package destination

import (
	"bytes"
	"net/netip"
	"slices"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/history"
)

// maxSentChanges limits the different changes of one step in the history. Further changes count for the last
// one.
const maxSentChanges = 8

// sentChange is a change that the views of one or more nodes and zones publish in the same step.
type sentChange struct {
	difference
	exists  bool
	entries int
	filter  catalog.Filter // of the first view
	streams int
	places  int
}

type sentChanges []sentChange

// add adds the change that a view publishes. Equal changes of several views become one.
func (all *sentChanges) add(v *view, next *response, d difference) {
	if len(d.added)+len(d.removed) == 0 && len(next.entries) > 0 {
		return // the kind of filter has changed, and nothing is sent
	}
	c := sentChange{difference: d, exists: next.exists, entries: len(next.entries), filter: v.filter, streams: v.streams, places: 1}
	for i := range *all {
		same := &(*all)[i]
		if same.equal(&c) || i == maxSentChanges-1 {
			same.streams += c.streams
			same.places++
			return
		}
	}
	*all = append(*all, c)
}

// equal reports whether two changes have the same endpoints.
func (c *sentChange) equal(other *sentChange) bool {
	sameList := func(a, b []*entry) bool {
		return slices.EqualFunc(a, b, func(x, y *entry) bool { return x.endpoint.Addr == y.endpoint.Addr && bytes.Equal(x.wire, y.wire) })
	}
	return c.exists == other.exists && c.entries == other.entries && sameList(c.added, other.added) && sameList(c.removed, other.removed)
}

// newEntries returns the added entries whose addresses are new. The entries in replaced have the order of
// added.
func (d difference) newEntries() []*entry {
	if len(d.replaced) == 0 {
		return d.added
	}
	var list []*entry
	at := 0
	for _, e := range d.added {
		if at < len(d.replaced) && d.replaced[at] == e {
			at++
			continue
		}
		list = append(list, e)
	}
	return list
}

// remember adds changes to the history. The caller holds the lock.
func (s *topic) remember(all sentChanges) {
	service := s.query.service
	key := history.Key{Cluster: service.LinkedCluster(), Namespace: service.Namespace, Name: service.Name}
	for i := range all {
		c := &all[i]
		e := history.Entry{
			Kind: history.Sent, Action: history.Updated, Source: "destination", Port: int(s.query.port), Hostname: s.query.hostname,
			Streams: c.streams, Places: c.places, Endpoints: c.entries,
		}
		if !c.exists {
			e.Action = history.Deleted
		}
		if c.places == 1 {
			e.ClientZone, e.ClientNode = c.filter.Zone, c.filter.Node
		}
		e.Added, e.MoreAdded = addressesOf(c.newEntries())
		e.Changed, e.MoreChanged = addressesOf(c.replaced)
		e.Removed, e.MoreRemoved = addressesOf(c.removed)
		s.config.History.Add(key, key.Namespace, &e)
	}
}

// addressesOf returns the first addresses of entries, and how many more there are.
func addressesOf(list []*entry) (addresses []netip.AddrPort, more int) {
	for _, e := range list[:min(len(list), history.MaxAddresses)] {
		addresses = append(addresses, e.endpoint.Addr)
	}
	return addresses, len(list) - len(addresses)
}

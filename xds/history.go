package xds

import (
	"net/netip"

	"github.com/signpostd/signpost/internal/history"
)

// remember adds to the history that the clients of a view are sent another version. The caller
// holds the lock of the topic.
func (t *topic) remember(v *view, before, after *frame) {
	if t.server.config.History == nil || before == nil || len(v.subscribers) == 0 {
		return
	}
	e := history.Entry{
		Kind: history.Sent, Action: history.Updated, Source: "xds", Type: v.typ.String(), Object: t.query.name, Hostname: t.name.Hostname,
		Streams: len(v.subscribers), Places: 1, ClientZone: v.filter.Zone, ClientNode: v.filter.Node, Endpoints: len(after.usable),
	}
	if v.typ == endpoints {
		e.Added, e.MoreAdded = without(after.usable, before.usable)
		e.Removed, e.MoreRemoved = without(before.usable, after.usable)
	}
	if after.missing {
		e.Action = history.Deleted
	}
	service := t.name.Service
	key := history.Key{Cluster: service.LinkedCluster(), Namespace: service.Namespace, Name: service.Name}
	t.server.config.History.Add(key, key.Namespace, &e)
}

// without returns the addresses of a list that another one lacks: the first ones, and how many more
// there are. Both are sorted.
func without(list, other []netip.AddrPort) (lacking []netip.AddrPort, more int) {
	for _, a := range list {
		for len(other) > 0 && other[0].Compare(a) < 0 {
			other = other[1:]
		}
		switch {
		case len(other) > 0 && other[0] == a:
		case len(lacking) == history.MaxAddresses:
			more++
		default:
			lacking = append(lacking, a)
		}
	}
	return lacking, more
}

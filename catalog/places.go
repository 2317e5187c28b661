package catalog

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Places returns the places that answers about a Service may distinguish: first an unknown one. They
// are those of all endpoints in slices, because endpoints that an answer lacks at one place can be in that
// of another place.
func (c *Catalog) Places(key ServiceKey, kind FilterKind) []Client {
	places := map[Client]struct{}{}
	for _, m := range c.Explain(key, Query{}).Members {
		for _, slice := range m.Slices {
			for _, e := range slice.Endpoints {
				switch kind {
				case FilterNode:
					if w, _ := c.FindWorkload(e.Endpoint.Target); w != nil {
						places[Client{Node: w.Node}] = struct{}{}
					}
				case FilterZone:
					addZones(places, e.Endpoint.HintZones)
				case FilterHints:
					addZones(places, e.Endpoint.HintZones)
					for _, node := range e.Endpoint.HintNodes {
						places[Client{Node: node}] = struct{}{}
					}
				}
			}
		}
	}
	unknown := Client{}
	delete(places, unknown)
	sorted := slices.SortedFunc(maps.Keys(places), func(a, b Client) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(a.Zone, b.Zone))
	})
	return append([]Client{unknown}, sorted...)
}

func addZones(places map[Client]struct{}, zones []string) {
	for _, zone := range zones {
		places[Client{Zone: zone}] = struct{}{}
	}
}

package catalog

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// maxPlaces limits the result of [Catalog.Places].
const maxPlaces = 200

// Places returns the nodes and zones whose clients may get different responses about a Service, first the
// unknown place, and how many more than maxPlaces there are. All endpoints in slices count, because an
// endpoint that one response lacks can be in another response.
func (c *Catalog) Places(key ServiceKey, kind FilterKind) (list []Client, more int) {
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
	list = append([]Client{unknown}, sorted...)
	n := min(len(list), maxPlaces)
	return list[:n], len(list) - n
}

func addZones(places map[Client]struct{}, zones []string) {
	for _, zone := range zones {
		places[Client{Zone: zone}] = struct{}{}
	}
}

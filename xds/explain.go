package xds

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/xds/resource"
)

// FirstResponse describes the resources that clients of a port of a Service get.
type FirstResponse struct {
	// Refusal is the reason why the name doesn't exist; nil if the port is served.
	Refusal error
	// Cluster is the name of the Cluster, and Problems what of the ServiceProfile its routes lack.
	Cluster  string
	Problems []string
	// VisibleTo are the namespaces whose clients may see the Service; empty for all.
	VisibleTo string
	// Pending is true while endpoints in a linked cluster may be unknown.
	Pending bool
	// Places are the endpoints by the place of the client, the first one for a client whose place
	// is unknown. MorePlaces is the number of places that are left out.
	Places     []PlaceResponse
	MorePlaces int
}

// PlaceResponse counts the endpoints of clients at one place.
type PlaceResponse struct {
	Filter catalog.Filter
	// Usable are the numbers of endpoints for new requests, by priority, and Draining that of the
	// others.
	Usable   []int
	Draining int
}

// Explain describes the resources that clients of a port get. They are made as for streams.
func (s *Server) Explain(key catalog.ServiceKey, hostname string, port uint16) FirstResponse {
	t := s.newTopic(newQuery(listeners, s.config.ClusterName(resource.Name{Service: key, Hostname: hostname}, port), ""))
	t.look()
	defer t.state.release()
	input, err := t.input(false)
	if err != nil {
		return FirstResponse{Refusal: err}
	}
	r := FirstResponse{Cluster: s.config.ClusterName(input.Name, input.Port), VisibleTo: t.visibleTo}
	_, r.Problems = s.config.Routes(resource.Listener, t.query.name, input, resource.GRPC)
	filters := t.state.snapshot.PriorityFilters()
	places, more := s.catalog.Places(key, filters.Kind)
	r.MorePlaces = more
	for _, place := range places {
		filter := filters.For(place)
		set := catalog.ResolveAll(t.state.snapshot, t.endpointQuery(input, filter))
		r.Pending = set.Pending
		r.Places = append(r.Places, placeResponse(filter, set))
	}
	return r
}

func placeResponse(filter catalog.Filter, set catalog.PlacedSet) PlaceResponse {
	response := PlaceResponse{Filter: filter}
	for i := range set.Endpoints {
		e := &set.Endpoints[i]
		if e.Draining {
			response.Draining++
			continue
		}
		for len(response.Usable) <= int(e.Priority) {
			response.Usable = append(response.Usable, 0)
		}
		response.Usable[e.Priority]++
	}
	return response
}

// Subscribers returns how many streams are subscribed to a Service, and which of its resources they
// have rejected: a line for each resource and kind of client, sorted.
func (s *Server) Subscribers(key catalog.ServiceKey) (streams int, rejected []string) {
	lines := map[string]int{}
	for _, st := range s.streams.All() {
		all, _ := st.all()
		all = slices.DeleteFunc(all, func(sub *subscription) bool { return sub.topic.name.Service != key })
		if len(all) > 0 {
			streams++
		}
		for _, sub := range all {
			if sub.refused.Load() {
				lines[fmt.Sprintf("%s %s, by clients of the kind %s", sub.typ.Kind(), sub.name, st.kind())]++
			}
		}
	}
	for line, n := range lines {
		rejected = append(rejected, fmt.Sprintf("%s: %d", strings.ToValidUTF8(line, "?"), n))
	}
	slices.Sort(rejected)
	return streams, rejected
}

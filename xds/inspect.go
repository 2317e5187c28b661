package xds

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/xds/resource"
)

// OpenStream is the state of an open stream.
type OpenStream struct {
	// ID is unique in the process. Variant is sotw or delta.
	ID      uint64
	Variant string
	// Client is the user agent, and Peer the address; each may be unknown. Pod, Namespace, Node and
	// Zone are what the client says, or those of the pod that has its address.
	Client                     string
	Peer                       netip.AddrPort
	Pod, Namespace, Node, Zone string
	// Names are what it is subscribed to, sorted: of all types together, each once. "*" is among
	// them for a wildcard for Clusters, and its Clusters are, too. Service is that of the first of
	// them that is the name of one.
	Names   []string
	Service catalog.ServiceKey
	// LeftOut is how many Clusters the wildcard lacks, because there are too many.
	LeftOut int
	// Unknown are those of the names that no Service has
	Unknown []string
	// Rejected are those whose last version the client has rejected.
	Rejected []string
	// Endpoints are how many can be used, of all ClusterLoadAssignments together.
	Endpoints int
	// Responses counts what was sent, and Waiting the resources that have changed since.
	Responses uint64
	Waiting   int
	// Lag is for how long the change that is being sent has been known.
	Lag    time.Duration
	Opened time.Time
}

// OpenStreams returns all open streams, in any order.
func (s *Server) OpenStreams() []OpenStream {
	now := time.Now()
	open := s.streams.All()
	list := make([]OpenStream, 0, len(open))
	for _, st := range open {
		list = append(list, st.inspect(now))
	}
	return list
}

// CountStreams returns how many streams are open, and for how many of them a change has been known
// for longer than a time without having been sent.
func (s *Server) CountStreams(than time.Duration) (open, behind int) {
	now := time.Now()
	for _, st := range s.streams.All() {
		open++
		if st.lag.At(now) > than {
			behind++
		}
	}
	return open, behind
}

func (s *stream) inspect(now time.Time) OpenStream {
	o := OpenStream{ID: s.id, Variant: s.variant, Responses: s.responses.Load(), Lag: s.lag.At(now), Opened: s.opened}
	if !channel.IsClosed(s.identified) {
		return o // the client isn't known yet
	}
	c := &s.client
	o.Client, o.Peer, o.Pod, o.Namespace, o.Node, o.Zone = c.userAgent, c.peer, c.pod, c.namespace, c.node, c.zoneSet
	all, waiting := s.all()
	o.Waiting = waiting
	slices.SortFunc(all, byName)
	if l := s.listing.Load(); l != nil {
		o.Names, o.LeftOut = []string{wildcard}, l.leftOut
	}
	for _, sub := range all {
		o.Names = append(o.Names, sub.name)
		key, usable := sub.topic.inspect(sub)
		if key.Name == "" {
			o.Unknown = append(o.Unknown, sub.name)
		} else if o.Service.Name == "" {
			o.Service = key
		}
		o.Endpoints += usable
		if sub.refused.Load() {
			o.Rejected = append(o.Rejected, sub.name)
		}
	}
	o.Names, o.Unknown = slices.Compact(o.Names), slices.Compact(o.Unknown)
	return o
}

// all returns the subscriptions, and how many of them have changed since the stream sent something.
// The locks of topics are taken after that of the stream is released: topics take them the other
// way round.
func (s *stream) all() (list []*subscription, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for typ := range s.types {
		list = slices.AppendSeq(list, maps.Values(s.types[typ].subscriptions))
		waiting += len(s.types[typ].dirty)
	}
	return list, waiting
}

// inspect returns the Service that a subscription asks for, and how many endpoints the client can
// use. The key is zero if the Service is missing, or hidden from the client.
func (t *topic) inspect(sub *subscription) (key catalog.ServiceKey, usable int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v := sub.view; v != nil {
		usable = len(v.current.Load().usable)
	}
	if s := t.state.snapshot; s != nil && s.Service != nil && !t.hides(t.visibleTo, sub.stream) {
		key = t.name.Service
	}
	return key, usable
}

// kind returns the kind of the client, as far as it is known.
func (s *stream) kind() string {
	if !channel.IsClosed(s.identified) {
		return clientOther
	}
	return s.client.kind
}

// FirstResponse describes the resources that clients of a port of a Service get.
type FirstResponse struct {
	// Refusal is the reason why the name doesn't exist; nil if the port is served.
	Refusal error
	// Cluster is the name of the Cluster. Overrides are those that the ServiceProfile sends all calls
	// to, if any, and Problems what of the ServiceProfile the routes lack.
	Cluster             string
	Overrides, Problems []string
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
	routes, problems := s.config.Routes(resource.Listener, t.query.name, input, resource.GRPC)
	r.Overrides, r.Problems = routes.References[1:], problems
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

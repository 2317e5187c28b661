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
	ID      uint64
	Variant string // sotw or delta
	// Client is the user agent, and Peer the address; each may be unknown. Pod, Namespace, Node and
	// Zone are what the client says, or those of the pod that has its address.
	Client                     string
	Peer                       netip.AddrPort
	Pod, Namespace, Node, Zone string
	// Names are the subscribed names of all types, sorted, with "*" and its Clusters for a wildcard.
	// Unknown are those without a Service, and Rejected those whose last version the client has
	// rejected. Service is that of the first name that has one.
	Names, Unknown, Rejected []string
	Service                  catalog.ServiceKey
	// LeftOut is how many Clusters the wildcard lacks, because there are too many.
	LeftOut int
	// Endpoints is the number of usable endpoints in all ClusterLoadAssignments.
	Endpoints int
	// Responses counts what was sent, and Waiting the resources that have changed since.
	Responses uint64
	Waiting   int
	Lag       time.Duration // for how long the change that is being sent has been known
	Opened    time.Time
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

// CountStreams returns how many streams are open, and how many of them have a lag above than.
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
	s.mu.Lock()
	c := &s.client
	o.Client, o.Peer, o.Pod, o.Namespace, o.Node, o.Zone = c.userAgent, c.peer, c.pod, c.namespace, c.node, c.zoneSet
	s.mu.Unlock()
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
// It makes a copy, because topics take the lock of a stream under theirs.
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

func (s *stream) kind() string {
	if !channel.IsClosed(s.identified) {
		return clientOther
	}
	return s.client.kind
}

// FirstResponse describes the resources that clients of a port of a Service get.
type FirstResponse struct {
	Refusal error // why the name doesn't exist; nil if the port is served
	// Cluster is the name of the Cluster. Overrides are the Clusters to which the ServiceProfile
	// sends all calls, if any. Problems are the parts of the ServiceProfile that the routes lack.
	Cluster             string
	Overrides, Problems []string
	VisibleTo           string // as in [catalog.TrafficPolicy]
	Pending             bool   // endpoints in a linked cluster may be unknown
	// Places are the endpoints by the place of the client, the first one for a client whose place
	// is unknown. MorePlaces is the number of places that are left out.
	Places     []PlaceResponse
	MorePlaces int
}

// PlaceResponse counts the endpoints of clients at one place.
type PlaceResponse struct {
	Filter   catalog.Filter
	Usable   []int // for new requests, by priority
	Draining int
}

// Explain describes the resources that clients of a port get.
func (s *Server) Explain(key catalog.ServiceKey, hostname string, port uint16) FirstResponse {
	t := s.newTopic(listeners, s.config.ClusterName(resource.Name{Service: key, Hostname: hostname}, port), "")
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

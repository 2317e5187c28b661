package destination

import (
	"slices"
	"strings"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/protobuf/proto"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// FirstResponse is the first response of a Get call, for explanations. The code that serves calls computes
// it.
type FirstResponse struct {
	// Refusal is the status error of the call; nil if the call gets a response. With an error, no
	// other field is set.
	Refusal error
	// Kind is the property of the client that the response depends on.
	Kind catalog.FilterKind
	// Places are the responses by node and zone of the client. The first one is for a client whose node and
	// zone are unknown. With [catalog.FilterNone] it is the only one.
	Places []PlaceResponse
	// MorePlaces is the number of nodes and zones above the limit, whose responses are left out.
	MorePlaces int
}

// PlaceResponse is the response to clients of one node or zone.
type PlaceResponse struct {
	Filter catalog.Filter
	// Endpoints are sorted by address.
	Endpoints []ResponseEndpoint
	// LeftOut has the problems that keep endpoints out of the response.
	LeftOut []objectmeta.Problem
}

// ResponseEndpoint is an endpoint and its encoding.
type ResponseEndpoint struct {
	catalog.Endpoint
	// Wire is the message that clients get.
	Wire *pb.WeightedAddr
}

// FirstResponse returns the first response of a Get call for a port of a Service. The hostname may be empty.
func (s *Server) FirstResponse(key catalog.ServiceKey, hostname string, port uint16) FirstResponse {
	q := query{service: key, hostname: hostname, port: port}
	if _, err := s.servable(key, s.config.targetOf(q)); err != nil {
		return FirstResponse{Refusal: err}
	}
	snapshot := s.catalog.Service(key)
	defer snapshot.Release()
	filters := snapshot.Filters()
	t := FirstResponse{Kind: filters.Kind}
	places, more := s.catalog.Places(key, t.Kind)
	t.MorePlaces = more
	for _, place := range places {
		t.Places = append(t.Places, s.responseAt(snapshot, q, filters.For(place)))
	}
	return t
}

// responseAt returns the response for one filter, with its left-out endpoints.
func (s *Server) responseAt(snapshot *catalog.Snapshot, q query, f catalog.Filter) PlaceResponse {
	r := PlaceResponse{Filter: f}
	t := &topic{query: q, config: s.config.reporting(&r.LeftOut), snapshot: snapshot}
	for _, e := range t.resolve(&view{filter: f}).entries {
		wire := &pb.WeightedAddr{}
		if proto.Unmarshal(e.wire, wire) == nil {
			r.Endpoints = append(r.Endpoints, ResponseEndpoint{e.endpoint, wire})
		}
	}
	return r
}

// reporting returns a copy of the config that collects problems, without conflicts.
func (c *Config) reporting(problems *[]objectmeta.Problem) *Config {
	collecting := *c
	collecting.conflicts = nil
	collecting.Report = func(p objectmeta.Problem) { *problems = append(*problems, p) }
	return &collecting
}

// FirstProfile is the first response of a GetProfile call.
type FirstProfile struct {
	// Refusal is the status error of the call; nil if the call gets a response.
	Refusal error
	// Snapshot is the source of the response. It is already released, so it may be out of date.
	Snapshot *catalog.ProfileSnapshot
	// Wire is the message that the client gets; nil with a Refusal.
	Wire *pb.DestinationProfile
	// LeftOut has the problems of objects that can't be encoded.
	LeftOut []objectmeta.Problem
}

// FirstProfile returns the first response of a GetProfile call. It sets the cluster and the cluster domain of
// the query.
func (s *Server) FirstProfile(q catalog.ProfileQuery) FirstProfile {
	q.Cluster, q.ClusterDomain = catalog.LocalCluster, s.config.ClusterDomain
	var first FirstProfile
	view := &profileView{query: q, catalog: s.catalog, config: s.config.reporting(&first.LeftOut), descriptions: new(descriptions)}
	a := view.latest()
	a.snapshot.Release()
	first.Snapshot, first.Refusal = a.snapshot, a.refusal(q)
	if first.Refusal != nil {
		return first
	}
	first.Wire = &pb.DestinationProfile{}
	if err := proto.Unmarshal(slices.Concat(a.own, a.shared), first.Wire); err != nil {
		first.Wire = &pb.DestinationProfile{} // what is encoded here can always be decoded
	}
	return first
}

// Override is a destination to which a ServiceProfile sends traffic.
type Override struct {
	// Authority is the authority in the response, with a port. A destination with weight 0 gets no traffic.
	Authority string
	Weight    uint32
	// Service, Hostname and Port are parsed from the authority.
	Service  catalog.ServiceKey
	Hostname string
	Port     uint16
	// Err is the reason why proxies can't look up the authority.
	Err error
}

// Overrides returns the destinations to which a profile sends traffic instead of its Service.
func (s *Server) Overrides(p *pb.DestinationProfile) []Override {
	var all []Override
	for _, d := range p.GetDstOverrides() {
		o := Override{Authority: d.GetAuthority(), Weight: d.GetWeight()}
		a, err := parseAuthority(strings.TrimSuffix(o.Authority, "."), s.config.ClusterDomain)
		o.Service, o.Hostname, o.Port, o.Err = a.serviceKey(), a.hostname, a.port, err
		all = append(all, o)
	}
	return all
}

// ServiceOfProfile returns the Service of a ServiceProfile of this name; ok is false for none.
func (s *Server) ServiceOfProfile(name string) (key catalog.ServiceKey, ok bool) {
	a, ok := parseServiceName(name, s.config.ClusterDomain)
	return a.serviceKey(), ok && a.hostname == ""
}

package destination

import (
	"strings"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/protobuf/proto"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// maxPlaces bounds the places of clients for which [Server.Told] makes answers.
const maxPlaces = 200

// Told is the first answer of a Get call. The code that answers calls makes it, so that an
// explanation can't disagree with the calls.
type Told struct {
	// Refusal is the status error of the call; nil if the call is answered. Nothing else is set then.
	Refusal error
	// Kind says which property of the client the answer depends on.
	Kind catalog.FilterKind
	// Places are the answers by the place of the client. The first one is for a client whose place
	// is not known. With [catalog.FilterNone] there is no other.
	Places []PlaceTold
	// MorePlaces is how many places have no answer here, because there are too many.
	MorePlaces int
}

// PlaceTold is what clients at one place are told.
type PlaceTold struct {
	Filter catalog.Filter
	// Endpoints are sorted by address.
	Endpoints []ToldEndpoint
	// LeftOut says which parts of objects keep endpoints out of the answer.
	LeftOut []objectmeta.Problem
}

// ToldEndpoint is an endpoint and its encoding.
type ToldEndpoint struct {
	catalog.Endpoint
	// Wire is the message that clients get.
	Wire *pb.WeightedAddr
}

// Told returns what a Get call for a port of a Service is told first. The hostname may be empty.
func (s *Server) Told(key catalog.ServiceKey, hostname string, port uint16) Told {
	q := query{service: key, hostname: hostname, port: port}
	if _, err := s.servable(key, s.config.targetOf(q)); err != nil {
		return Told{Refusal: err}
	}
	snapshot := s.catalog.Service(key)
	defer snapshot.Release()
	t := Told{Kind: snapshot.FilterKind()}
	places := s.catalog.Places(key, t.Kind)
	if t.MorePlaces = max(0, len(places)-maxPlaces); t.MorePlaces > 0 {
		places = places[:maxPlaces]
	}
	for _, place := range places {
		t.Places = append(t.Places, s.toldAt(snapshot, q, t.Kind.For(place)))
	}
	return t
}

// toldAt makes the answer for one place as a subject does, with what is left out of it.
func (s *Server) toldAt(snapshot *catalog.Snapshot, q query, f catalog.Filter) PlaceTold {
	told := PlaceTold{Filter: f}
	asked := &topic{query: q, config: s.config.reporting(&told.LeftOut), snapshot: snapshot}
	for _, e := range asked.answer(&view{filter: f}).entries {
		wire := &pb.WeightedAddr{}
		if proto.Unmarshal(e.wire, wire) == nil {
			told.Endpoints = append(told.Endpoints, ToldEndpoint{e.endpoint, wire})
		}
	}
	return told
}

// reporting returns the config with a Report that collects. Rivals are not among the problems: no client is
// answered.
func (c *Config) reporting(problems *[]objectmeta.Problem) *Config {
	collecting := *c
	collecting.conflict = nil
	collecting.Report = func(p objectmeta.Problem) { *problems = append(*problems, p) }
	return &collecting
}

// ToldProfile is the first answer of a GetProfile call.
type ToldProfile struct {
	// Refusal is the status error of the call; nil if the call is answered.
	Refusal error
	// Snapshot is what the answer is made of. It is released already, so it may be out of date.
	Snapshot *catalog.ProfileSnapshot
	// Wire is the message that the client gets; nil with a Refusal.
	Wire *pb.DestinationProfile
	// LeftOut says which parts of objects can't be encoded.
	LeftOut []objectmeta.Problem
}

// ToldProfile returns what a GetProfile call is told first. It completes the query with the cluster
// and the domain.
func (s *Server) ToldProfile(q catalog.ProfileQuery) ToldProfile {
	q.Cluster, q.ClusterDomain = catalog.LocalCluster, s.config.ClusterDomain
	var told ToldProfile
	view := &profileView{query: q, catalog: s.catalog, config: s.config.reporting(&told.LeftOut)}
	a := view.latest()
	a.snapshot.Release()
	told.Snapshot, told.Refusal = a.snapshot, a.refusal(q)
	if told.Refusal != nil {
		return told
	}
	told.Wire = &pb.DestinationProfile{}
	if err := proto.Unmarshal(a.wire, told.Wire); err != nil {
		// The encoder makes numbers only if the text can't be encoded, which any reader takes.
		told.Wire = &pb.DestinationProfile{}
	}
	return told
}

// Override is a destination that a ServiceProfile sends traffic to.
type Override struct {
	// Authority is as in the answer, with a port. Weight 0 gets no traffic.
	Authority string
	Weight    uint32
	// Service, Hostname and Port are what the authority asks for.
	Service  catalog.ServiceKey
	Hostname string
	Port     uint16
	// Err says why no proxy can look the authority up.
	Err error
}

// Overrides returns where a profile sends traffic instead of its Service.
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

// ServiceOfProfile returns the Service that a ServiceProfile of this name is for; ok is false if it is for
// none.
func (s *Server) ServiceOfProfile(name string) (key catalog.ServiceKey, ok bool) {
	a, ok := parseServiceName(name, s.config.ClusterDomain)
	return a.serviceKey(), ok && a.hostname == ""
}

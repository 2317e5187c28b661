package destination

import (
	"fmt"
	"math"
	"net"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	metapb "github.com/linkerd/linkerd2-proxy-api/go/meta"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// The default retry budget (§3.5).
const (
	defaultRetryRatio          = 0.2
	defaultMinRetriesPerSecond = 10
	defaultRetryTTL            = 10 * time.Second
)

// weightScale converts thousandths to the unit of WeightedDst, a ten-thousandth.
const weightScale = 10

// profileParts encodes the profile of a snapshot in two parts: the fields of the query, and those
// of its ServiceProfile, which other queries share; nil for none. If the ServiceProfile can't be
// encoded, the problem is reported, and the default profile is sent.
func (c *Config) profileParts(q catalog.ProfileQuery, s *catalog.ProfileSnapshot, described *description) (own, shared []byte) {
	if described == nil {
		return c.profileBytes(q, s), nil
	}
	shared, err := described.encoded()
	if err == nil {
		if own, err = marshal(c.serviceFields(q, s)); err == nil {
			return own, shared
		}
	}
	c.reportProfile(s.Profile, "spec", err.Error()+"; the default profile is served instead")
	return c.profileBytes(q, s), nil
}

// profileBytes encodes the profile of a snapshot without its ServiceProfile. If a text can't be encoded, the
// problem is reported, and the profile is sent without the fields of its workload.
func (c *Config) profileBytes(q catalog.ProfileQuery, s *catalog.ProfileSnapshot) []byte {
	wire, err := marshal(c.profile(q, s))
	if err == nil {
		return wire
	}
	c.reportUnencodable(s, err)
	if wire, err = marshal(c.plainProfile(q, s)); err == nil {
		return wire
	}
	// Not even the name can be encoded.
	return marshalNumbers(&pb.DestinationProfile{})
}

// reportUnencodable reports that the profile of a snapshot can't be encoded, as a problem of the most likely
// object.
func (c *Config) reportUnencodable(s *catalog.ProfileSnapshot, err error) {
	switch {
	case s.Result == catalog.EndpointFound && s.Target != nil:
		c.report(s.Target.Key.Problem("address "+s.Endpoint.Addr().String(), err.Error()))
	default:
		c.report(sourceProblem(&catalog.Source{Service: s.Service}, "metadata.name", err))
	}
}

// plainProfile describes a snapshot without its ServiceProfile or workload.
func (c *Config) plainProfile(q catalog.ProfileQuery, s *catalog.ProfileSnapshot) *pb.DestinationProfile {
	if s.Result == catalog.EndpointFound {
		return &pb.DestinationProfile{RetryBudget: defaultRetryBudget(), OpaqueProtocol: s.Opaque, Endpoint: bareAddress(s)}
	}
	return c.defaultProfile(q, s)
}

// bareAddress describes the address of a snapshot without its workload.
func bareAddress(s *catalog.ProfileSnapshot) *pb.WeightedAddr {
	return &pb.WeightedAddr{Addr: tcpAddress(s.Endpoint), Weight: baseWeight}
}

// profile returns the profile of a snapshot, without its ServiceProfile (§3.5, §3.6). Parts that can't be
// encoded are reported and left out.
func (c *Config) profile(q catalog.ProfileQuery, s *catalog.ProfileSnapshot) *pb.DestinationProfile {
	switch s.Result {
	case catalog.EndpointFound:
		return c.endpointProfile(s)
	case catalog.PortNotDeclared:
		// After an empty profile the proxy asks the policy controller, which may deny the traffic.
		return &pb.DestinationProfile{}
	default:
		return c.defaultProfile(q, s)
	}
}

// defaultProfile returns the profile of a Service without a ServiceProfile.
func (c *Config) defaultProfile(q catalog.ProfileQuery, s *catalog.ProfileSnapshot) *pb.DestinationProfile {
	p := c.serviceFields(q, s)
	p.RetryBudget, p.ProfileRef = defaultRetryBudget(), resource(&metapb.Resource{Group: "linkerd.io"})
	return p
}

func (c *Config) serviceFields(q catalog.ProfileQuery, s *catalog.ProfileSnapshot) *pb.DestinationProfile {
	return &pb.DestinationProfile{
		FullyQualifiedName: profileName(s.Service, c.ClusterDomain),
		OpaqueProtocol:     s.Opaque,
		ParentRef:          resource(&metapb.Resource{Group: "core", Kind: "Service", Name: s.Service.Name, Namespace: s.Service.Namespace, Port: uint32(q.Port)}),
	}
}

func (c *Config) reportProfile(sp *catalog.ServiceProfile, field, reason string) {
	c.report(objectmeta.Problem{Kind: "ServiceProfile", Namespace: sp.Namespace, Name: sp.Name, Field: field, Reason: reason})
}

func resource(r *metapb.Resource) *metapb.Metadata {
	return &metapb.Metadata{Kind: &metapb.Metadata_Resource{Resource: r}}
}

func defaultRetryBudget() *pb.RetryBudget {
	return &pb.RetryBudget{RetryRatio: defaultRetryRatio, MinRetriesPerSecond: defaultMinRetriesPerSecond, Ttl: durationpb.New(defaultRetryTTL)}
}

// describeProfile returns the fields of a ServiceProfile, for a port. A number that is out of range
// is clamped.
func describeProfile(sp *catalog.ServiceProfile, port uint16) (*pb.DestinationProfile, error) {
	p := &pb.DestinationProfile{
		RetryBudget: defaultRetryBudget(), ProfileRef: resource(&metapb.Resource{Group: "linkerd.io", Name: sp.Name, Namespace: sp.Namespace}),
	}
	if b := sp.RetryBudget; b != nil {
		p.RetryBudget = &pb.RetryBudget{RetryRatio: float32(b.Ratio), MinRetriesPerSecond: clamp(b.MinRetriesPerSecond, math.MaxInt32), Ttl: durationpb.New(b.TTL)}
	}
	for i := range sp.Routes {
		r, err := route(&sp.Routes[i])
		if err != nil {
			return nil, fmt.Errorf("routes[%d]%w", i, err)
		}
		p.Routes = append(p.Routes, r)
	}
	for _, d := range sp.DstOverrides {
		p.DstOverrides = append(p.DstOverrides, &pb.WeightedDst{
			Authority: withPort(d.Authority, port), Weight: clamp(d.MilliWeight, math.MaxUint32/weightScale) * weightScale,
		})
	}
	return p, nil
}

// clamp returns the number between 0 and top that is nearest to n.
func clamp(n, top int64) uint32 { return uint32(min(max(n, 0), top)) }

// withPort adds a port to an authority without one.
func withPort(authority string, port uint16) string {
	if hasPort(authority) {
		return authority
	}
	return fmt.Sprintf("%s:%d", authority, port)
}

func hasPort(authority string) bool {
	_, _, err := net.SplitHostPort(authority)
	return err == nil
}

// route encodes one route. Errors begin with the path of the field.
func route(r *catalog.Route) (*pb.Route, error) {
	condition, err := requestMatch(r.Condition)
	if err != nil {
		return nil, fmt.Errorf(".condition%w", err)
	}
	out := &pb.Route{Condition: condition, MetricsLabels: map[string]string{"route": r.Name}, IsRetryable: r.Retryable}
	if r.Timeout != 0 {
		out.Timeout = durationpb.New(r.Timeout)
	}
	for i, class := range r.ResponseClasses {
		condition, err := responseMatch(class.Condition)
		if err != nil {
			return nil, fmt.Errorf(".responseClasses[%d].condition%w", i, err)
		}
		out.ResponseClasses = append(out.ResponseClasses, &pb.ResponseClass{Condition: condition, IsFailure: class.Failure})
	}
	return out, nil
}

// endpointProfile returns the profile of an address (§3.6). If the workload can't be encoded, the problem is
// reported, and the profile is that of the bare address.
func (c *Config) endpointProfile(s *catalog.ProfileSnapshot) *pb.DestinationProfile {
	p := &pb.DestinationProfile{RetryBudget: defaultRetryBudget(), OpaqueProtocol: s.Opaque}
	if s.Target == nil {
		p.Endpoint = bareAddress(s)
		return p
	}
	described, err := c.describeWorkload(s)
	if err != nil {
		c.report(s.Target.Key.Problem("address "+s.Endpoint.Addr().String(), err.Error()))
		described = bareAddress(s)
	}
	p.Endpoint = described
	return p
}

func (c *Config) describeWorkload(s *catalog.ProfileSnapshot) (*pb.WeightedAddr, error) {
	b := newAddrBuilder(c) // for one message, which keeps its memory
	w := b.begin(s.Endpoint)
	var err error
	if s.Target.Key.Kind == catalog.Pod {
		err = b.describePod(w, podPort{s.Target, &catalog.Source{Service: s.Service, Cluster: s.Cluster}, s.Port, s.Mapped})
	} else {
		b.describeExternalWorkload(w, s.Target, s.Port)
		// GetProfile spells the owner's kind as Kubernetes does; Get in lower case.
		if t := s.Target; t.OwnerKind != "" {
			delete(w.MetricLabels, t.OwnerKind)
			w.MetricLabels[t.Owner.Kind] = t.OwnerName
		}
	}
	w.MetricLabels["zone"] = ""
	w.MetricLabels["namespace"] = s.Target.Key.Namespace
	return w, err
}

package destination

import (
	"net/netip"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	httppb "github.com/linkerd/linkerd2-proxy-api/go/http_types"
)

// wantAddress is the profile of an address without a workload.
func wantAddress(at string, edits ...func(*pb.DestinationProfile)) *pb.DestinationProfile {
	p := &pb.DestinationProfile{
		RetryBudget: wantService("").RetryBudget,
		Endpoint:    &pb.WeightedAddr{Addr: tcpAddress(netip.MustParseAddrPort(at)), Weight: 10000},
	}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

func wantOpaque(p *pb.DestinationProfile) { p.OpaqueProtocol = true }

// wantPod expects the address of a pod.
func wantPod(name string) func(*pb.DestinationProfile) {
	return func(p *pb.DestinationProfile) {
		p.Endpoint.MetricLabels = map[string]string{"pod": name, "serviceaccount": "default", "zone": "", "namespace": "ns"}
	}
}

// wantMeshed expects a pod with a proxy.
func wantMeshed(p *pb.DestinationProfile) {
	p.Endpoint.MetricLabels["control_plane_ns"] = "linkerd"
	p.Endpoint.Http2 = profileHTTP2
	p.Endpoint.ProtocolHint = &pb.ProtocolHint{Protocol: &pb.ProtocolHint_H2_{H2: &pb.ProtocolHint_H2{}}}
	name := &pb.TlsIdentity_DnsLikeIdentity{Name: "default.ns.serviceaccount.identity.linkerd.trust.domain"}
	p.Endpoint.TlsIdentity = &pb.TlsIdentity{Strategy: &pb.TlsIdentity_DnsLikeIdentity_{DnsLikeIdentity: name}, ServerName: name}
}

// wantVM expects the address of an ExternalWorkload.
func wantVM(name string) func(*pb.DestinationProfile) {
	return func(p *pb.DestinationProfile) {
		p.Endpoint.MetricLabels = map[string]string{"external_workload": name, "zone": "", "namespace": "ns"}
		p.Endpoint.Http2 = profileHTTP2
		p.Endpoint.ProtocolHint = &pb.ProtocolHint{Protocol: &pb.ProtocolHint_H2_{H2: &pb.ProtocolHint_H2{}}}
		p.Endpoint.TlsIdentity = &pb.TlsIdentity{
			Strategy:   &pb.TlsIdentity_UriLikeIdentity_{UriLikeIdentity: &pb.TlsIdentity_UriLikeIdentity{Uri: "spiffe://vm"}},
			ServerName: &pb.TlsIdentity_DnsLikeIdentity{Name: "vm.server"},
		}
	}
}

// wantTransport expects opaque traffic through the proxy's inbound port.
func wantTransport(p *pb.DestinationProfile) {
	p.OpaqueProtocol = true
	p.Endpoint.ProtocolHint = &pb.ProtocolHint{
		Protocol:        &pb.ProtocolHint_Opaque_{Opaque: &pb.ProtocolHint_Opaque{}},
		OpaqueTransport: &pb.ProtocolHint_OpaqueTransport{InboundPort: 4143},
	}
}

func wantLabel(key, value string) func(*pb.DestinationProfile) {
	return func(p *pb.DestinationProfile) { p.Endpoint.MetricLabels[key] = value }
}

// wantProfileOn is the profile of ns/web with the ServiceProfile of profileOn.
func wantProfileOn(namespace, route string) *pb.DestinationProfile {
	return wantService("web", fromProfile(namespace, "web.ns.svc.cluster.local"), func(p *pb.DestinationProfile) {
		p.Routes = []*pb.Route{wantRoute(route, wantMethod(httppb.HttpMethod_GET), func(r *pb.Route) { r.IsRetryable = true })}
	})
}

package resource

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/xds/bootstrap"
)

const (
	// maxIdentities limits the identities in a Cluster. With more, every identity of the trust
	// domain is accepted (§3.4).
	maxIdentities = 64
	// noIdentity is the only accepted identity while no identity of an endpoint is known: without
	// any, clients would accept every certificate. No certificate can have this name (RFC 6761
	// §6.4).
	noIdentity = "no-identity.invalid"
	tlsTypes   = "envoy.extensions.transport_sockets.tls.v3."
)

// identity returns the identity of an endpoint; empty for none.
func (n Namer) identity(tls catalog.EndpointTLS, e catalog.Endpoint) string {
	if e.Target == nil {
		return ""
	}
	form := catalog.URIIdentity
	if tls == catalog.LinkerdTLS {
		form = catalog.DNSIdentity
	}
	if id := e.Target.MeshTLS.Identity; id.Form != 0 {
		if id.Form != form {
			return ""
		}
		return id.Name
	}
	trust := e.Source.TrustDomain(n.TrustDomain)
	controlPlane, _ := e.Target.Labels.Get(catalog.ControlPlaneLabel)
	switch {
	case trust == "" || e.Target.Key.Kind != catalog.Pod:
		return ""
	case tls == catalog.SPIFFE:
		return fmt.Sprintf("spiffe://%s/ns/%s/sa/%s", trust, e.Target.Key.Namespace, e.Target.ServiceAccountName())
	case controlPlane == "":
		return ""
	default:
		return e.Target.LinkerdIdentity(controlPlane, trust)
	}
}

// upstreamTLS appends the transport socket of a Cluster whose endpoints have TLS (gRFC A29).
func (n Namer) upstreamTLS(m message, s Input) message {
	tls := s.Service.TrafficPolicy().TLS
	if tls == catalog.NoTLS {
		return m
	}
	validation := n.identityMatchers(tls, s.Endpoints).nested(13, provider)
	common := message{}.nested(3, validation).nested(14, provider)
	return m.nested(24, message{}.text(1, "envoy.transport_sockets.tls").any(3, tlsTypes+"UpstreamTlsContext", message{}.nested(1, common)))
}

// provider is the CertificateProviderPluginInstance of every Cluster with TLS.
var provider = message{}.text(1, bootstrap.CertificateProvider).text(2, bootstrap.CertificateProvider)

// identityMatchers returns the StringMatchers of a CertificateValidationContext (§3.4), sorted.
// Endpoints without an identity add nothing: clients refuse them.
func (n Namer) identityMatchers(tls catalog.EndpointTLS, set []catalog.PlacedEndpoint) (m message) {
	match := func(field protowire.Number, text string) { m = m.nested(9, message{}.text(field, text)) }
	ids := map[string]struct{}{}
	for i := range set {
		ids[n.identity(tls, set[i].Endpoint)] = struct{}{}
	}
	delete(ids, "")
	switch {
	case len(ids) == 0:
		match(1, noIdentity)
	case len(ids) <= maxIdentities:
		for _, id := range slices.Sorted(maps.Keys(ids)) {
			match(1, id)
		}
	case tls == catalog.SPIFFE:
		match(2, "spiffe://"+n.TrustDomain+"/")
	default:
		match(3, "."+n.TrustDomain)
	}
	return m
}

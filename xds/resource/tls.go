package resource

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/xds/bootstrap"
)

const (
	// maxIdentities limits the identities in a Cluster. With more, every identity of the trust
	// domain is accepted (§3.4).
	maxIdentities = 64
	// certificateProvider is the instance in the bootstrap file of a client that has its
	// certificates.
	certificateProvider = bootstrap.CertificateProvider
	// noIdentity is accepted while no identity of an endpoint is known, because clients accept any
	// certificate if they are told none. No certificate has it (RFC 6761 §6.4).
	noIdentity = "no-identity.invalid"
	tlsTypes   = "envoy.extensions.transport_sockets.tls.v3."
)

// Identities are the names that the certificates of the endpoints of a Service may have.
type Identities struct {
	// Exact are whole identities, sorted, each once.
	Exact []string
	// Prefix or Suffix matches all identities of the trust domain, if there are more than
	// maxIdentities.
	Prefix, Suffix string
}

// Identities returns the identities of endpoints (§3.4). Endpoints that have none, because their
// pod isn't known or they have no pod, add nothing: clients refuse them.
func (n Namer) Identities(tls catalog.EndpointTLS, set []catalog.PlacedEndpoint) (ids Identities) {
	for i := range set {
		if id := n.identity(tls, set[i].Endpoint); id != "" {
			ids.Exact = append(ids.Exact, id)
		}
	}
	slices.Sort(ids.Exact)
	ids.Exact = slices.Compact(ids.Exact)
	switch {
	case len(ids.Exact) <= maxIdentities:
		return ids
	case tls == catalog.SPIFFE:
		return Identities{Prefix: "spiffe://" + n.TrustDomain + "/"}
	default:
		return Identities{Suffix: "." + n.TrustDomain}
	}
}

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
func (m message) upstreamTLS(s Input) message {
	if s.policy().TLS == catalog.NoTLS {
		return m
	}
	validation := identityMatchers(s.Identities).nested(13, provider)
	common := message{}.nested(3, validation).nested(14, provider)
	return m.nested(24, message{}.text(1, "envoy.transport_sockets.tls").any(3, tlsTypes+"UpstreamTlsContext", message{}.nested(1, common)))
}

// provider is the CertificateProviderPluginInstance of every Cluster with TLS.
var provider = message{}.text(1, certificateProvider).text(2, certificateProvider)

// identityMatchers returns the StringMatchers of the identities in a CertificateValidationContext.
func identityMatchers(ids Identities) (m message) {
	match := func(field protowire.Number, text string) { m = m.nested(9, message{}.text(field, text)) }
	switch {
	case ids.Prefix != "":
		match(2, ids.Prefix)
	case ids.Suffix != "":
		match(3, ids.Suffix)
	case len(ids.Exact) == 0:
		match(1, noIdentity)
	}
	for _, id := range ids.Exact {
		match(1, id)
	}
	return m
}

package settings

import (
	"cmp"
	"regexp"
	"slices"
	"time"

	"github.com/signpostd/signpost/internal/clientlimits"
	"github.com/signpostd/signpost/xds"
)

// XDS is the settings of the xds role (docs/spec/xds.md), as given. [XDS.Settled] sets the
// defaults.
type XDS struct {
	// Addr is the address of the gRPC server.
	Addr          string
	ClusterDomain string
	// IdentityTrustDomain is the trust domain of the identities of pods.
	IdentityTrustDomain string
	EnableIPv6          bool
	// LinkNamespace is the namespace of the Secrets that link clusters.
	LinkNamespace string
	// LinkedClustersThroughProxies is as in [Destination].
	LinkedClustersThroughProxies bool
	// Authorities are the served authorities of xdstp names.
	Authorities []string
	// EgressBudget is the limit of responses in bytes per second.
	EgressBudget     int
	MaxConnectionAge time.Duration
	// Auth is the authentication of clients: one of [XDSAuths].
	Auth string
	// TLSCert, TLSKey and ClientCA are the paths of PEM files; without a certificate there is no TLS.
	TLSCert, TLSKey, ClientCA string
	// ClientTrustDomains are the accepted trust domains of client certificates.
	ClientTrustDomains []string
	// Limits limit the memory that clients can use in the server.
	Limits clientlimits.Limits
}

// The values of [XDS.Auth].
const (
	XDSAuthNone  = "none"
	XDSAuthToken = "token"
	XDSAuthMTLS  = "mtls"
)

// XDSAuths returns the values of [XDS.Auth].
func XDSAuths() []string { return []string{XDSAuthNone, XDSAuthToken, XDSAuthMTLS} }

func defaultXDS() XDS {
	return XDS{
		Addr:             ":8087",
		EnableIPv6:       true,
		LinkNamespace:    defaultControllerNamespace,
		EgressBudget:     xds.DefaultEgressBudget,
		MaxConnectionAge: xds.DefaultMaxConnectionAge,
		Auth:             XDSAuthNone,
		Limits:           xds.DefaultLimits(),
	}
}

// Settings implements [Section].
func (o *XDS) Settings() []Setting {
	limits := slices.DeleteFunc(limitSettings(&o.Limits, XDSSection), func(s Setting) bool { return s.Flag == "grpc-max-undeclared-ports" })
	return append(o.ownSettings(), limits...)
}

// ownSettings returns the settings without the limits.
func (o *XDS) ownSettings() []Setting {
	return []Setting{
		{Flag: "xds-addr", Path: XDSAddress, Value: textValue{&o.Addr}, Usage: "`address` to serve xDS on, with TLS if --xds-tls-cert is set"},
		{Flag: "cluster-domain", Path: "xds.clusterDomain", Value: textValue{&o.ClusterDomain}, Usage: "`domain` that the names of Services end in; empty for " + defaultDomain},
		{Flag: "identity-trust-domain", Path: "xds.identityTrustDomain", Value: textValue{&o.IdentityTrustDomain}, Usage: "`domain` of the TLS identities of pods, for Services with the annotation signpost.dev/tls; empty for " + defaultDomain},
		{Flag: "enable-ipv6", Path: "xds.enableIPv6", Value: boolValue(&o.EnableIPv6), Usage: "serve IPv6 addresses"},
		{Flag: "link-namespace", Path: "xds.linkNamespace", Value: textValue{&o.LinkNamespace}, Usage: "`namespace` of the Secrets that link clusters, all of which this process may read; with the destination role in the same process, that of destination counts", pattern: namespacePattern},
		{Flag: "linked-clusters-through-proxies", Path: "xds.linkedClustersThroughProxies", Value: boolValue(&o.LinkedClustersThroughProxies), Usage: "accept kubeconfigs of linked clusters that name a proxy (proxy-url) or a server with a path in its URL; whoever may write these Secrets can then make this process send requests to any URL that it can reach"},
		{Flag: "xds-authorities", Path: "xds.authorities", Value: &listValue{target: &o.Authorities}, Usage: "authorities of xdstp:// names that are answered, beside the empty one"},
		{Flag: "xds-egress-budget", Path: "xds.egressBudget", Value: intValue(&o.EgressBudget), Usage: "bytes a second that the changes of one resource may cost; more frequent changes are merged and delayed, by 2s at most", bounds: atLeast(1 << 20)},
		{Flag: "xds-max-connection-age", Path: "xds.maxConnectionAge", Value: durationValue(&o.MaxConnectionAge), Usage: "how long a connection is kept, so that clients spread over replicas again; the time varies by 10 %"},
		{Flag: "xds-auth", Path: "xds.auth", Value: textValue{&o.Auth}, Usage: "how clients prove who they are: none, token (a service account token with the audience signpost-xds) or mtls (a client certificate with a SPIFFE ID)"},
		{Flag: "xds-tls-cert", Path: "xds.tls.cert", Value: textValue{&o.TLSCert}, Usage: "`path` of the certificate chain of the server, in PEM; it is read again when it changes; empty for no TLS"},
		{Flag: "xds-tls-key", Path: "xds.tls.key", Value: textValue{&o.TLSKey}, Usage: "`path` of the private key for --xds-tls-cert, in PEM"},
		{Flag: "xds-client-ca", Path: "xds.tls.clientCA", Value: textValue{&o.ClientCA}, Usage: "`path` of the certificates of the authorities that sign those of clients, in PEM; for --xds-auth=mtls"},
		{Flag: "xds-client-trust-domains", Path: "xds.tls.clientTrustDomains", Value: &listValue{target: &o.ClientTrustDomains}, Usage: "SPIFFE trust domains of client certificates that are accepted, for --xds-auth=mtls; empty for that of --identity-trust-domain"},
	}
}

// Settled returns the settings with defaults in place of empty values.
func (o XDS) Settled() XDS {
	o.ClusterDomain = cmp.Or(o.ClusterDomain, defaultDomain)
	o.IdentityTrustDomain = cmp.Or(o.IdentityTrustDomain, defaultDomain)
	if o.Auth == XDSAuthMTLS && len(o.ClientTrustDomains) == 0 {
		o.ClientTrustDomains = []string{o.IdentityTrustDomain}
	}
	return o
}

// validate implements [Section].
func (o *XDS) validate() []problem {
	found := checkAddress("xds-addr", o.Addr)
	found = append(found, checkNamespace("link-namespace", o.LinkNamespace)...)
	found = append(found, checkDomain(refused, "cluster-domain", o.ClusterDomain)...)
	found = append(found, checkDomain(refused, "identity-trust-domain", o.IdentityTrustDomain)...)
	found = append(found, checkBounds(o.ownSettings(), ", 1 MiB a second")...)
	if o.MaxConnectionAge < time.Minute {
		found = append(found, problem{flags: []string{"xds-max-connection-age"}, reason: "must be at least 1m"})
	}
	found = append(found, o.checkAuth()...)
	return append(found, checkLimits(o.Limits)...)
}

// checkAuth refuses inconsistent settings of authentication and TLS.
func (o *XDS) checkAuth() []problem {
	wrong := func(reason string, flags ...string) []problem { return []problem{{flags: flags, reason: reason}} }
	switch {
	case !slices.Contains(XDSAuths(), o.Auth):
		return wrong("must be none, token or mtls", "xds-auth")
	case (o.TLSCert == "") != (o.TLSKey == ""):
		return wrong("one is missing: give both or neither", "xds-tls-cert", "xds-tls-key")
	case o.Auth == XDSAuthToken && o.TLSCert == "":
		return wrong("token needs {xds-tls-cert}, because a token that is sent without TLS can be read on the way", "xds-auth")
	case o.Auth == XDSAuthMTLS && (o.TLSCert == "" || o.ClientCA == ""):
		return wrong("mtls needs {xds-tls-cert} and {xds-client-ca}", "xds-auth")
	case o.Auth != XDSAuthMTLS && o.ClientCA != "":
		return wrong("is only used with {xds-auth}=mtls", "xds-client-ca")
	case o.Auth != XDSAuthMTLS && len(o.ClientTrustDomains) > 0:
		return wrong("is only used with {xds-auth}=mtls", "xds-client-trust-domains")
	case slices.ContainsFunc(o.ClientTrustDomains, func(d string) bool { return !trustDomain.MatchString(d) }):
		return wrong("must be trust domains, such as cluster.local: lower-case letters, digits, dots, dashes and underscores", "xds-client-trust-domains")
	default:
		return nil
	}
}

// trustDomain matches the name of a SPIFFE trust domain.
var trustDomain = regexp.MustCompile(`^[a-z0-9._-]{1,255}$`)

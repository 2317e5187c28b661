package destination

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	netpb "github.com/linkerd/linkerd2-proxy-api/go/net"

	"github.com/signpostd/signpost/catalog"
)

// The weights of §2.8 and §C.
const (
	baseWeight      = 10000
	localMultiplier = 10
)

// defaultInboundPort is the proxy port of an ExternalWorkload without a port named linkerd-proxy.
const defaultInboundPort = 4143

// locality is a value of the metric label zone_locality.
type locality string

const (
	localZone       locality = "local"
	remoteZone      locality = "remote"
	unknownLocality locality = "unknown"
)

func localityOf(clientZone, endpointZone string) locality {
	switch {
	case clientZone == "" || endpointZone == "":
		return unknownLocality
	case clientZone == endpointZone:
		return localZone
	default:
		return remoteZone
	}
}

// addressQuery is the part of a query that the encoding of each address depends on.
type addressQuery struct {
	port uint16
	zone string
}

// addrBuilder makes messages of addresses, one after another, in the same memory. Otherwise the parts of a
// message take three times as much memory as its encoding, which is most of the garbage of a reconnect storm
// (decision 0055).
type addrBuilder struct {
	*Config
	message pb.WeightedAddr
	address tcpAddressParts
	labels  map[string]string
	// identity is the identity of the last meshed pod. The pods of a Service mostly share one.
	identity *pb.TlsIdentity
}

func newAddrBuilder(c *Config) *addrBuilder {
	return &addrBuilder{Config: c, labels: make(map[string]string, maxAddrLabels)}
}

// begin returns a message with an address and a weight, and without labels. It is valid until the next call.
func (b *addrBuilder) begin(at netip.AddrPort) *pb.WeightedAddr {
	clear(b.labels)
	b.message.Reset()
	b.message.Addr, b.message.Weight, b.message.MetricLabels = b.address.set(at), baseWeight, b.labels
	return &b.message
}

// weightedAddr returns the message of one endpoint (§2.8), valid until the next call. If it returns an error,
// the endpoint must be left out.
func (b *addrBuilder) weightedAddr(e catalog.Endpoint, q addressQuery) (*pb.WeightedAddr, error) {
	where := unknownLocality
	w := b.begin(e.Addr)
	var err error
	switch {
	case e.Target == nil:
		b.describeBare(w, e, q)
	case e.Target.Key.Kind == catalog.Pod:
		err = b.describePod(w, podPort{e.Target, e.Source, e.Addr.Port(), false})
	default:
		b.describeExternalWorkload(w, e.Target, e.Addr.Port())
	}
	if e.Target != nil { // Linkerd's controller gives a bare address no zone
		where = localityOf(q.zone, e.Zone)
		w.MetricLabels["zone"] = e.Zone
		if b.ZoneWeights && where == localZone {
			w.Weight *= localMultiplier
		}
	}
	w.MetricLabels["zone_locality"] = string(where)
	return w, err
}

// describeBare describes an endpoint without targetRef: the gateway of another cluster, or an address in a
// slice of a user.
func (c *Config) describeBare(w *pb.WeightedAddr, e catalog.Endpoint, q addressQuery) {
	if e.RemoteName != "" {
		w.AuthorityOverride = &pb.AuthorityOverride{AuthorityOverride: fmt.Sprintf("%s:%d", e.RemoteName, q.port)}
	}
	if e.GatewayIdentity == "" {
		return
	}
	w.TlsIdentity = &pb.TlsIdentity{Strategy: dnsLike(e.GatewayIdentity)}
	w.Http2 = c.HTTP2
	if c.EnableH2Upgrade {
		w.ProtocolHint = hintH2
	}
}

func (c *Config) describeExternalWorkload(w *pb.WeightedAddr, t *catalog.Target, port uint16) {
	opaque := t.Opaque(port)
	w.MetricLabels["external_workload"] = t.Key.Name
	if t.OwnerKind != "" {
		w.MetricLabels[t.OwnerKind] = t.OwnerName
	}
	w.ProtocolHint = hintH2
	if opaque {
		w.ProtocolHint = hintOpaque
	}
	if opaque || c.ForceOpaqueTransport {
		w.ProtocolHint = overProxy(w.ProtocolHint, inboundPortOf(t))
	}
	w.Http2 = c.HTTP2
	w.TlsIdentity = externalIdentity(t.MeshTLS)
}

// externalIdentity returns the identity of an ExternalWorkload. A DNS name is sent as DNS-like identity, as
// for a pod: as a URI the proxy could not parse it, and would send plaintext.
func externalIdentity(m catalog.MeshTLS) *pb.TlsIdentity {
	id := &pb.TlsIdentity{ServerName: &pb.TlsIdentity_DnsLikeIdentity{Name: m.ServerName}}
	if m.Identity.Form == catalog.URIIdentity {
		id.Strategy = &pb.TlsIdentity_UriLikeIdentity_{UriLikeIdentity: &pb.TlsIdentity_UriLikeIdentity{Uri: m.Identity.Name}}
	} else {
		id.Strategy = dnsLike(m.Identity.Name)
	}
	return id
}

func inboundPortOf(t *catalog.Target) uint32 {
	for _, p := range t.Ports {
		if p.Name == "linkerd-proxy" {
			return uint32(p.Port)
		}
	}
	return defaultInboundPort
}

type podPort struct {
	target *catalog.Target
	source *catalog.Source
	port   uint16
	// mapped is true if the address is that of the node of the pod. Only this port of the pod can be reached
	// there.
	mapped bool
}

func (b *addrBuilder) describePod(w *pb.WeightedAddr, p podPort) error {
	t := p.target
	addPodLabels(w.MetricLabels, t)
	controlPlane, _ := t.Labels.Get(catalog.ControlPlaneLabel)
	if controlPlane == "" || t.Skipped(p.port) {
		return nil
	}
	w.Http2 = b.HTTP2
	if trust := p.source.TrustDomain(b.TrustDomain); trust != "" && controlPlane == b.ControllerNamespace {
		w.TlsIdentity = b.podIdentity(t.LinkerdIdentity(controlPlane, trust))
	}
	hint, err := b.podHint(p)
	w.ProtocolHint = hint
	return err
}

func (b *addrBuilder) podIdentity(name string) *pb.TlsIdentity {
	if b.identity == nil || b.identity.GetDnsLikeIdentity().Name != name {
		identity := dnsLike(name)
		b.identity = &pb.TlsIdentity{Strategy: identity, ServerName: identity.DnsLikeIdentity}
	}
	return b.identity
}

// The protocol hints without an inbound port. They are shared, and not changed.
var (
	hintNone   = &pb.ProtocolHint{}
	hintH2     = &pb.ProtocolHint{Protocol: &pb.ProtocolHint_H2_{H2: &pb.ProtocolHint_H2{}}}
	hintOpaque = &pb.ProtocolHint{Protocol: &pb.ProtocolHint_Opaque_{Opaque: &pb.ProtocolHint_Opaque{}}}
)

// overProxy returns a hint with the inbound port of a proxy.
func overProxy(hint *pb.ProtocolHint, inbound uint32) *pb.ProtocolHint {
	return &pb.ProtocolHint{Protocol: hint.Protocol, OpaqueTransport: &pb.ProtocolHint_OpaqueTransport{InboundPort: inbound}}
}

// podHint returns the protocol hint of a meshed pod for a port that doesn't bypass its proxy.
func (c *Config) podHint(b podPort) (*pb.ProtocolHint, error) {
	hint := hintNone
	t, port := b.target, b.port
	opaque := t.Opaque(port)
	switch {
	case opaque:
		hint = hintOpaque
	case c.EnableH2Upgrade:
		hint = hintH2
	}
	if t.Proxy == nil {
		return nil, errors.New("the pod is labelled as meshed but has no container named linkerd-proxy; inject the proxy or remove the label linkerd.io/control-plane-ns")
	}
	admin, control, inbound := t.Proxy.Admin, t.Proxy.Control, t.Proxy.Inbound
	switch {
	case !admin.Known:
		return nil, noListener("LINKERD2_PROXY_ADMIN_LISTEN_ADDR")
	case !control.Known:
		return nil, noListener("LINKERD2_PROXY_CONTROL_LISTEN_ADDR")
	case port == admin.Port || port == control.Port || !opaque && !c.ForceOpaqueTransport:
		return hint, nil
	case b.mapped:
		// The proxy of the client would connect to the inbound port of the node, which is not mapped.
		return hint, nil
	case !inbound.Known:
		return nil, noListener("LINKERD2_PROXY_INBOUND_LISTEN_ADDR")
	case inbound.Port == 0:
		return nil, errors.New("LINKERD2_PROXY_INBOUND_LISTEN_ADDR has port 0, which nobody can connect to; inject the proxy again")
	}
	return overProxy(hint, uint32(inbound.Port)), nil
}

func noListener(variable string) error {
	return fmt.Errorf("%s of the container linkerd-proxy is missing or no IP:PORT; inject the proxy again", variable)
}

func addPodLabels(m map[string]string, t *catalog.Target) {
	owner := t.OwnerKind
	if owner == "job" {
		// Prometheus would overwrite a label named job.
		owner = "k8s_job"
	}
	m["pod"], m[owner], m["serviceaccount"] = t.Key.Name, t.OwnerName, t.ServiceAccountName()
	if ns, ok := t.Labels.Get(catalog.ControlPlaneLabel); ok {
		m["control_plane_ns"] = ns
	}
	if hash, ok := t.Labels.Get("pod-template-hash"); ok {
		m["pod_template_hash"] = hash
	}
}

func dnsLike(name string) *pb.TlsIdentity_DnsLikeIdentity_ {
	return &pb.TlsIdentity_DnsLikeIdentity_{DnsLikeIdentity: &pb.TlsIdentity_DnsLikeIdentity{Name: name}}
}

func tcpAddress(a netip.AddrPort) *netpb.TcpAddress { return new(tcpAddressParts).set(a) }

// tcpAddressParts is the memory of an address and its parts.
type tcpAddressParts struct {
	address netpb.TcpAddress
	ip      netpb.IPAddress
	ipv4    netpb.IPAddress_Ipv4
	ipv6    netpb.IPAddress_Ipv6
}

// set returns the message of an address, valid until the next call.
func (p *tcpAddressParts) set(a netip.AddrPort) *netpb.TcpAddress {
	if a.Addr().Is4() {
		b := a.Addr().As4()
		p.ipv4.Ipv4 = binary.BigEndian.Uint32(b[:])
		p.ip.Ip = &p.ipv4
	} else {
		b := a.Addr().As16()
		p.ipv6.Ipv6 = &netpb.IPv6{First: binary.BigEndian.Uint64(b[:8]), Last: binary.BigEndian.Uint64(b[8:])}
		p.ip.Ip = &p.ipv6
	}
	p.address.Ip, p.address.Port = &p.ip, uint32(a.Port())
	return &p.address
}

// setLabels returns the metric labels of a set of endpoints (§2.4).
func setLabels(service catalog.ServiceKey, m catalog.Mirror) map[string]string {
	labels := map[string]string{"service": service.Name, "namespace": service.Namespace}
	if m.Cluster != "" {
		labels["target_cluster"] = m.Cluster
	}
	if m.Name != "" {
		labels["target_service"] = m.Name
		labels["target_service_namespace"] = m.Namespace
	}
	return labels
}

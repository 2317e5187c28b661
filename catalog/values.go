package catalog

import (
	"net/netip"
	"time"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// LocalCluster is the name of the cluster that Signpost itself serves, as the
// `cluster` label of the endpoint metrics gives it (spec/destination.md §7.1).
const LocalCluster = "local"

// Kind says which kind of object an [ID] names.
type Kind uint8

// The kinds of object that the catalog is made of.
const (
	KindService Kind = iota + 1
	KindEndpointSlice
	KindWorkload
	KindNode
	KindOwner
	KindServer
	KindServiceProfile
	KindCluster
)

// ID names one object of the catalog. Objects that share a namespace and a name differ in their
// Qualifier: the [WorkloadKind] of a workload, the kind of an owner. Others have none.
type ID struct {
	Kind                                Kind
	Cluster, Namespace, Name, Qualifier string
}

// Object is a value that can be put into a [Catalog]: one of *Service,
// *EndpointSlice, *Workload, *Node, *Owner, *Server, *ServiceProfile and *Cluster.
type Object interface {
	// ID names the object; two values with the same ID are versions of one object.
	ID() ID
}

// ServiceKey names a Service of a cluster.
type ServiceKey struct {
	Cluster, Namespace, Name string
}

// WorkloadKind says what a workload is in Kubernetes.
type WorkloadKind string

// The kinds of workload, spelled as in the kind of a targetRef.
const (
	Pod              WorkloadKind = "Pod"
	ExternalWorkload WorkloadKind = "ExternalWorkload"
)

// WorkloadKey names a Pod or an ExternalWorkload of a cluster.
type WorkloadKey struct {
	Kind                     WorkloadKind
	Cluster, Namespace, Name string
}

// Protocol is the transport protocol of a port, spelled as in Kubernetes. An
// object that leaves it out has TCP.
type Protocol string

// The protocols that are told apart: of two Service ports with one number, that of TCP counts.
const (
	TCP Protocol = "TCP"
	UDP Protocol = "UDP"
)

// Service is what the catalog keeps of a core/v1 Service.
type Service struct {
	Key ServiceKey
	// ExternalName is true for spec.type ExternalName.
	ExternalName bool
	// LocalTraffic is true for spec.internalTrafficPolicy Local.
	LocalTraffic bool
	Ports        []ServicePort
	// ClusterIPs are the virtual addresses; none for a headless Service.
	ClusterIPs []netip.Addr
	// OpaquePorts is what the annotation config.linkerd.io/opaque-ports says; nil when it is
	// absent, which is not the same as empty.
	OpaquePorts *PortSet
	// OpaqueProtocol has the ports whose appProtocol says that they are opaque, and GRPCProtocol those
	// whose appProtocol says that they serve gRPC or HTTP/2.
	OpaqueProtocol, GRPCProtocol PortSet
	// IPv6First is true if IPv6 is the first of spec.ipFamilies.
	IPv6First bool
	// Policy is what annotations ask of xDS clients; nil if there are none.
	Policy *TrafficPolicy
	// RemoteCluster and RemoteService are the labels
	// multicluster.linkerd.io/remote-discovery and …/remote-service; each is nil when the
	// label is absent.
	RemoteCluster, RemoteService *string
	// Federation is what the annotations multicluster.linkerd.io/remote-discovery and
	// …/local-discovery say; nil when neither is present.
	Federation *Federation
}

// ServicePort is one entry of a Service's spec.ports.
type ServicePort struct {
	// Name is empty for an unnamed port.
	Name     string
	Port     uint16
	Protocol Protocol
}

// AddressType is the addressType of an EndpointSlice. It is empty for the
// subsets of an Endpoints object, which carry no family.
type AddressType string

// The address types that carry IP addresses.
const (
	IPv4 AddressType = "IPv4"
	IPv6 AddressType = "IPv6"
)

// EndpointSlice is what the catalog keeps of a discovery.k8s.io/v1
// EndpointSlice, or of a core/v1 Endpoints object when Signpost runs without
// slices. A slice has one subset; an Endpoints object has any number.
type EndpointSlice struct {
	Cluster, Namespace, Name string
	// Service is the Service of the slice: by the label kubernetes.io/service-name, else by the
	// first ownerReference of kind Service. That of an Endpoints object has its name.
	Service     ServiceKey
	AddressType AddressType
	Subsets     []Subset
	// GatewayIdentity is the annotation mirror.linkerd.io/remote-gateway-identity.
	GatewayIdentity string
	// RemoteName is the annotation mirror.linkerd.io/remote-svc-fq-name.
	RemoteName string
	// Mirror is the Service that the slice mirrors: the label mirror.linkerd.io/cluster-name,
	// and the name and namespace in RemoteName. Its Cluster is empty when there is no label.
	Mirror Mirror
}

// Mirror is the Service of another cluster that a mirrored Service stands for. Name and Namespace
// are empty when the slice doesn't have them.
type Mirror struct {
	Cluster, Namespace, Name string
}

// Subset is a set of addresses that serve the same ports.
type Subset struct {
	Ports     []SubsetPort
	Endpoints []SliceEndpoint
}

// SubsetPort is one port of a slice or subset. Ports without a number never
// reach the catalog.
type SubsetPort struct {
	// Name is that of the Service port; empty for an unnamed one.
	Name string
	Port uint16
}

// SliceEndpoint is one endpoint of a slice.
type SliceEndpoint struct {
	// NotReady is true when the condition ready is false. Such an endpoint gets no traffic, but
	// its hostname can be looked up.
	NotReady bool
	// Draining is true if the endpoint is not ready, serving and terminating: it completes the requests
	// that it has.
	Draining  bool
	Addresses []netip.Addr
	Hostname  string
	Zone      string
	// HintZones and HintNodes are the names in hints.forZones and hints.forNodes, sorted, without
	// repeats.
	HintZones, HintNodes []string
	// Target is the workload behind the endpoint; its Kind is empty when the endpoint has no
	// targetRef. TargetUID is the UID of the workload; zero when the targetRef has none.
	Target    WorkloadKey
	TargetUID UID
}

// UID is a hash of metadata.uid, zero when that is unknown. It tells apart objects that had the
// same name one after the other. The text itself would be most of the memory of an endpoint.
type UID uint64

// Workload is what the catalog keeps of a Pod or of an ExternalWorkload.
type Workload struct {
	Key     WorkloadKey
	UID     UID
	Labels  objectmeta.Labels
	Created time.Time
	// OpaquePorts is what the annotation config.linkerd.io/opaque-ports says; nil when it is
	// absent, which is not the same as empty.
	OpaquePorts *PortSet
	// Ports are the declared ports: those of all containers and init containers of a
	// pod, or spec.ports of an ExternalWorkload.
	Ports []WorkloadPort
	// Owner is the only ownerReference; zero when there is none or more than one.
	Owner OwnerRef
	// IPs are status.podIPs of a pod, or spec.workloadIPs of an ExternalWorkload.
	IPs []netip.Addr

	// HostIPs are status.hostIPs of a pod that maps a port to its host; other pods have none
	// here. HostNetwork pods share the IPs of their host.
	HostIPs     []netip.Addr
	HostNetwork bool
	// Running is true in the phase Running, ready or not; Finished in the phases Succeeded
	// and Failed; Terminating while the pod is being deleted; Ready as its condition says.
	Running, Finished, Terminating, Ready bool

	// Node, ServiceAccount, SkipInboundPorts (the annotation
	// config.linkerd.io/skip-inbound-ports, nil for none) and Proxy belong to pods. Proxy is nil
	// when no container, regular or init, is named linkerd-proxy.
	Node             string
	ServiceAccount   string
	SkipInboundPorts *PortSet
	Proxy            *ProxyListeners

	// MeshTLS belongs to ExternalWorkloads.
	MeshTLS MeshTLS
}

// WorkloadPort is a port that a workload declares.
type WorkloadPort struct {
	Name string
	Port uint16
	// HostPort is zero unless a container maps the port to its host for TCP. HostIP is the only
	// address of the host that it is mapped at: an unspecified address stands for all addresses of
	// its family, and the zero Addr for all addresses.
	HostPort uint16
	HostIP   netip.Addr
}

// OwnerRef names the owner of a workload, or of an owner. Kind is spelled as in
// the ownerReference.
type OwnerRef struct {
	Kind, Name string
}

// ProxyListeners are the ports in the environment variables
// LINKERD2_PROXY_INBOUND_LISTEN_ADDR, …_ADMIN_LISTEN_ADDR and …_CONTROL_LISTEN_ADDR of the container
// linkerd-proxy.
type ProxyListeners struct {
	Inbound, Admin, Control Listener
}

// Listener is the port of a listener. Known is false when the variable is absent or is no IP:PORT.
type Listener struct {
	Port  uint16
	Known bool
}

// MeshTLS is spec.meshTLS of an ExternalWorkload. ServerName is a DNS name.
type MeshTLS struct {
	Identity   Identity
	ServerName string
}

// Identity is a TLS identity. The zero Identity is none.
type Identity struct {
	Name string
	Form IdentityForm
}

// IdentityForm says how the name of an [Identity] is written, which decides how proxies compare it
// with a certificate.
type IdentityForm uint8

// The forms of identities.
const (
	// DNSIdentity is a DNS name, such as that of a pod.
	DNSIdentity IdentityForm = iota + 1
	// URIIdentity is a URI, such as spiffe://example.org/vm.
	URIIdentity
)

// Node is what the catalog keeps of a core/v1 Node.
type Node struct {
	Cluster, Name string
	// Zone and Region are the labels topology.kubernetes.io/zone and …/region; each is empty when it is
	// absent.
	Zone, Region string
}

// Owner is what the catalog keeps of a ReplicaSet or Job: its own owner.
type Owner struct {
	Cluster, Namespace string
	OwnerRef
	// Parent is the only ownerReference; zero when there is none or more than one.
	Parent OwnerRef
}

// Server is what the catalog keeps of a policy.linkerd.io/v1beta3 Server.
type Server struct {
	Cluster, Namespace, Name string
	// Pods and ExternalWorkloads are the selectors; a nil selector selects nothing.
	Pods, ExternalWorkloads *Selector
	// PortNumber is zero when the Server names its port instead.
	PortNumber uint16
	PortName   string
	// Opaque is true for spec.proxyProtocol "opaque".
	Opaque bool
}

// ID implements [Object].
func (s *Service) ID() ID {
	return ID{Kind: KindService, Cluster: s.Key.Cluster, Namespace: s.Key.Namespace, Name: s.Key.Name}
}

// ID implements [Object].
func (s *EndpointSlice) ID() ID {
	return ID{Kind: KindEndpointSlice, Cluster: s.Cluster, Namespace: s.Namespace, Name: s.Name}
}

// ID implements [Object].
func (w *Workload) ID() ID { return w.Key.ID() }

// ID names the workload as an object of the catalog.
func (k WorkloadKey) ID() ID {
	return ID{Kind: KindWorkload, Cluster: k.Cluster, Namespace: k.Namespace, Name: k.Name, Qualifier: string(k.Kind)}
}

// ID implements [Object].
func (n *Node) ID() ID { return ID{Kind: KindNode, Cluster: n.Cluster, Name: n.Name} }

// ID implements [Object].
func (o *Owner) ID() ID {
	return ID{Kind: KindOwner, Cluster: o.Cluster, Namespace: o.Namespace, Name: o.Name, Qualifier: o.Kind}
}

// ID implements [Object].
func (s *Server) ID() ID {
	return ID{Kind: KindServer, Cluster: s.Cluster, Namespace: s.Namespace, Name: s.Name}
}

package catalog

import (
	"net/netip"
	"time"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// LocalCluster is the name of our own cluster, as in the label `cluster` of the endpoint metrics
// (spec/destination.md §7.1).
const LocalCluster = "local"

// Kind is the kind of object that an [ID] names.
type Kind uint8

// The kinds of objects.
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

// Object is a value that can be put into a [Catalog]: a *Service, *EndpointSlice, *Workload, *Node, *Owner,
// *Server, *ServiceProfile or *Cluster.
type Object interface {
	// ID names the object. Values with the same ID are versions of one object.
	ID() ID
}

// ServiceKey names a Service of a cluster.
type ServiceKey struct {
	Cluster, Namespace, Name string
}

// DNSName returns the name of the Service in DNS, or that of its endpoint with a hostname, unless
// that is empty.
func (k ServiceKey) DNSName(hostname, clusterDomain string) string {
	name := k.Name + "." + k.Namespace + ".svc." + clusterDomain
	if hostname != "" {
		name = hostname + "." + name
	}
	return name
}

// LinkedCluster returns the name of the linked cluster of the Service; empty for our own cluster.
func (k ServiceKey) LinkedCluster() string {
	if k.Cluster == LocalCluster {
		return ""
	}
	return k.Cluster
}

// WorkloadKind is the Kubernetes kind of a workload.
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

// Protocol is the transport protocol of a port, spelled as in Kubernetes. The default is TCP.
type Protocol string

// The protocols. If two ports of a Service have one number, the TCP port is used.
const (
	TCP Protocol = "TCP"
	UDP Protocol = "UDP"
)

// Service has the fields of a core/v1 Service that are used.
type Service struct {
	Key ServiceKey
	// ExternalName is true for spec.type ExternalName.
	ExternalName bool
	// LocalTraffic is true for spec.internalTrafficPolicy Local.
	LocalTraffic bool
	Ports        []ServicePort
	// ClusterIPs are the virtual addresses; none for a headless Service.
	ClusterIPs []netip.Addr
	// OpaquePorts has the ports in the annotation config.linkerd.io/opaque-ports. It is nil without the
	// annotation, and empty for an empty annotation.
	OpaquePorts *PortSet
	// OpaqueProtocol has the ports with an opaque appProtocol, GRPCProtocol those with an appProtocol of gRPC
	// or HTTP/2.
	OpaqueProtocol, GRPCProtocol PortSet
	// IPv6First is true if IPv6 is the first of spec.ipFamilies.
	IPv6First bool
	// Policy has the settings for xDS clients from annotations; nil for none.
	Policy *TrafficPolicy
	// RemoteCluster and RemoteService are the labels multicluster.linkerd.io/remote-discovery and
	// …/remote-service; nil without the label.
	RemoteCluster, RemoteService *string
	// Federation has the members in the annotations multicluster.linkerd.io/remote-discovery and
	// …/local-discovery; nil without both.
	Federation *Federation
}

// ServicePort is one entry of a Service's spec.ports.
type ServicePort struct {
	// Name is empty for an unnamed port.
	Name     string
	Port     uint16
	Protocol Protocol
}

// AddressType is the addressType of an EndpointSlice. It is empty for an Endpoints object, whose subsets have
// no IP family.
type AddressType string

// The address types of IP addresses.
const (
	IPv4 AddressType = "IPv4"
	IPv6 AddressType = "IPv6"
)

// EndpointSlice has the fields of a discovery.k8s.io/v1 EndpointSlice that are used, or of a core/v1
// Endpoints object if Signpost runs without slices. A slice has one subset, an Endpoints object any number.
type EndpointSlice struct {
	Cluster, Namespace, Name string
	// Service is the Service in the label kubernetes.io/service-name, else in the first ownerReference of
	// kind Service. The Service of an Endpoints object has its name.
	Service     ServiceKey
	AddressType AddressType
	Subsets     []Subset
	// GatewayIdentity is the annotation mirror.linkerd.io/remote-gateway-identity.
	GatewayIdentity string
	// RemoteName is the annotation mirror.linkerd.io/remote-svc-fq-name.
	RemoteName string
	// Mirror is the Service that the slice mirrors: the label mirror.linkerd.io/cluster-name, and the name
	// and namespace in RemoteName. Its Cluster is empty without the label.
	Mirror Mirror
}

// Mirror is the Service of another cluster that a mirror Service stands for. Name and Namespace are empty if
// the slice does not have them.
type Mirror struct {
	Cluster, Namespace, Name string
}

// Subset is a set of endpoints with the same ports.
type Subset struct {
	Ports     []SubsetPort
	Endpoints []SliceEndpoint
}

// SubsetPort is one port of a slice or subset. Package kube/kinds drops ports without a number.
type SubsetPort struct {
	// Name is that of the Service port; empty for an unnamed one.
	Name string
	Port uint16
}

// SliceEndpoint is one endpoint of a slice.
type SliceEndpoint struct {
	// NotReady is true if the condition ready is false. Such an endpoint gets no traffic, but its hostname
	// can be looked up.
	NotReady bool
	// Draining is true if the endpoint is not ready, but serving and terminating: it completes its requests.
	Draining  bool
	Addresses []netip.Addr
	Hostname  string
	Zone      string
	// HintZones and HintNodes are the names in hints.forZones and hints.forNodes, sorted, without repeats.
	HintZones, HintNodes []string
	// Target is the workload of the targetRef; its Kind is empty without targetRef. TargetUID is the UID in
	// the targetRef; zero for none.
	Target    WorkloadKey
	TargetUID UID
}

// UID is a hash of metadata.uid, zero if unknown. It distinguishes an object from a deleted one of the same
// name. The text itself would be most of the memory of an endpoint.
type UID uint64

// Workload has the fields of a Pod or of an ExternalWorkload that are used.
type Workload struct {
	Key     WorkloadKey
	UID     UID
	Labels  objectmeta.Labels
	Created time.Time
	// OpaquePorts has the ports in the annotation config.linkerd.io/opaque-ports. It is nil without the
	// annotation, and empty for an empty annotation.
	OpaquePorts *PortSet
	// Ports are the ports of all containers and init containers of a pod, or spec.ports of an
	// ExternalWorkload.
	Ports []WorkloadPort
	// Owner is the only ownerReference; zero without one, or with several.
	Owner OwnerRef
	// IPs are status.podIPs of a pod, or spec.workloadIPs of an ExternalWorkload.
	IPs []netip.Addr

	// HostIPs are status.hostIPs of a pod with a hostPort; empty for other pods. HostNetwork pods
	// have the IPs of their host.
	HostIPs     []netip.Addr
	HostNetwork bool
	// Running is true in the phase Running. Finished is true in the phases Succeeded and Failed. Terminating
	// is true while the pod is being deleted. Ready is the condition Ready.
	Running, Finished, Terminating, Ready bool

	// Node, ServiceAccount, SkipInboundPorts and Proxy are those of pods. SkipInboundPorts has the ports in
	// the annotation config.linkerd.io/skip-inbound-ports; nil without it. Proxy is nil if no container or
	// init container is named linkerd-proxy.
	Node             string
	ServiceAccount   string
	SkipInboundPorts *PortSet
	Proxy            *ProxyListeners

	// MeshTLS is that of ExternalWorkloads.
	MeshTLS MeshTLS
}

// ControlPlaneLabel is the label of a meshed pod with the namespace of its control plane.
const ControlPlaneLabel = "linkerd.io/control-plane-ns"

// LinkerdIdentity returns the identity of a pod from Linkerd's control plane in a namespace: a DNS name below
// the trust domain (spec/destination.md).
func (w *Workload) LinkerdIdentity(controlPlane, trustDomain string) string {
	return w.ServiceAccountName() + "." + w.Key.Namespace + ".serviceaccount.identity." + controlPlane + "." + trustDomain
}

// ServiceAccountName returns the service account of a pod. A pod that names none has the default one.
func (w *Workload) ServiceAccountName() string {
	if w.ServiceAccount == "" {
		return "default"
	}
	return w.ServiceAccount
}

// WorkloadPort is a port that a workload declares.
type WorkloadPort struct {
	Name string
	Port uint16
	// HostPort is the TCP port of the host that is mapped to the port; zero for none. HostIP is the
	// address of the host. An unspecified address stands for all addresses of its family, the zero
	// Addr for all addresses.
	HostPort uint16
	HostIP   netip.Addr
}

// OwnerRef names the owner of a workload, or of an owner. Kind is spelled as in the ownerReference.
type OwnerRef struct {
	Kind, Name string
}

// ProxyListeners are the ports in the environment variables LINKERD2_PROXY_INBOUND_LISTEN_ADDR,
// …_ADMIN_LISTEN_ADDR and …_CONTROL_LISTEN_ADDR of the container linkerd-proxy.
type ProxyListeners struct {
	Inbound, Admin, Control Listener
}

// Listener is the port of a listener. Known is false if the variable is missing or isn't of the form IP:PORT.
type Listener struct {
	Port  uint16
	Known bool
}

// MeshTLS is spec.meshTLS of an ExternalWorkload. ServerName is a DNS name.
type MeshTLS struct {
	Identity   Identity
	ServerName string
}

// Identity is a TLS identity; the zero Identity for none.
type Identity struct {
	Name string
	Form IdentityForm
}

// IdentityForm is the form of the name of an [Identity]. It decides how proxies compare it with a
// certificate.
type IdentityForm uint8

// The forms of identities.
const (
	// DNSIdentity is a DNS name, such as that of a pod.
	DNSIdentity IdentityForm = iota + 1
	// URIIdentity is a URI, such as spiffe://example.org/vm.
	URIIdentity
)

// Node has the fields of a core/v1 Node that are used.
type Node struct {
	Cluster, Name string
	// Zone and Region are the labels topology.kubernetes.io/zone and …/region; empty without the label.
	Zone, Region string
}

// Owner has the owner of a ReplicaSet or Job.
type Owner struct {
	Cluster, Namespace string
	OwnerRef
	// Parent is the only ownerReference; zero without one, or with several.
	Parent OwnerRef
}

// Server has the fields of a policy.linkerd.io/v1beta3 Server that are used.
type Server struct {
	Cluster, Namespace, Name string
	// Pods and ExternalWorkloads are the selectors for each kind; a nil selector selects nothing.
	Pods, ExternalWorkloads *Selector
	// PortNumber is zero if PortName is set.
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

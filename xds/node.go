package xds

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/clientlimits"
	"github.com/signpostd/signpost/internal/sanitize"
	"github.com/signpostd/signpost/xds/auth"
	"github.com/signpostd/signpost/xds/resource"
)

const clientOther = "other"

// clientKinds are the kinds of client by the beginning of their user agents in lower case. C-core is
// behind Python, PHP, Ruby and C++.
var clientKinds = []struct {
	prefix, kind string
	variant      resource.Client
}{
	{"grpc go", "go", resource.GRPCGo},
	{"grpc c-core", "cpp", resource.GRPC},
	{"grpc java", "java", resource.GRPC},
	{"grpc node", "node", resource.GRPC},
	{"grpc", clientOther, resource.GRPC},
	{"envoy", "envoy", resource.Envoy},
	{"", clientOther, resource.Envoy},
}

// client is the client of a stream, by its first request and its connection (§7.1).
type client struct {
	id   clientlimits.ClientID
	peer netip.AddrPort
	// kind is that of metrics, and variant that of resources. grpc is true for any but Envoy.
	kind                          string
	variant                       resource.Client
	grpc                          bool
	userAgent                     string
	pod, namespace, node, zoneSet string
	// namespaces are those whose Clusters a wildcard is for, sorted and separated by commas.
	namespaces string
	identity   auth.Identity // zero without authentication
}

// identify reads the node of a first request (§7.2). Texts that are too long are ignored, except
// the namespaces of a wildcard: without them, the client would lack Clusters. The error is a
// status.
func (s *stream) identify(n *corepb.Node) error {
	c := &s.client
	agent := n.GetUserAgentName()
	for _, k := range clientKinds {
		if strings.HasPrefix(strings.ToLower(agent[:min(len(agent), maxNodeText)]), k.prefix) {
			c.kind, c.variant, c.grpc = k.kind, k.variant, k.variant != resource.Envoy
			break
		}
	}
	c.userAgent = sanitize.Cut(strings.TrimSpace(agent + " " + n.GetUserAgentVersion()))
	fields := n.GetMetadata().GetFields()
	if len(fields) > maxNodeMetadata {
		s.server.refused(refusedNode)
		fields = nil
	}
	// The authenticated identity has precedence over the node.
	c.namespace = cmp.Or(c.identity.Namespace, s.nodeText(fields["NAMESPACE"].GetStringValue()))
	c.pod = cmp.Or(c.identity.Pod, s.nodeText(fields["POD_NAME"].GetStringValue()))
	c.node = cmp.Or(c.identity.Node, s.nodeText(fields["NODE_NAME"].GetStringValue()))
	if c.identity.Node == "" {
		c.zoneSet = s.nodeText(n.GetLocality().GetZone())
	}
	s.locatePeer()
	if c.grpc {
		return nil
	}
	return s.nameNamespaces(fields[namespacesKey])
}

// namespacesKey is the entry of metadata with the namespaces of a wildcard (§8.3).
const namespacesKey = "signpost.dev/namespaces"

// nameNamespaces sets the namespaces of a wildcard from a list, or from a text with commas or spaces.
func (s *stream) nameNamespaces(v *structpb.Value) error {
	texts := []string{v.GetStringValue()}
	for _, each := range v.GetListValue().GetValues() {
		texts = append(texts, each.GetStringValue())
	}
	var list []string
	for name := range strings.FieldsFuncSeq(strings.Join(texts, ","), func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		if len(list) == maxNamespaces || len(name) > maxNamespace {
			s.server.refusedClient(refusedNamespaces, s.client.id)
			return status.Errorf(codes.InvalidArgument, "%s in the metadata of the node has more than %d namespaces, or a name of more than %d bytes: name fewer, or * for all",
				namespacesKey, maxNamespaces, maxNamespace)
		}
		list = append(list, name)
	}
	slices.Sort(list)
	switch {
	case slices.Contains(list, wildcard):
		s.client.namespaces = wildcard
	case list == nil:
		s.client.namespaces = s.client.namespace
	default:
		s.client.namespaces = strings.Clone(strings.Join(slices.Compact(list), ",")) // not the memory of the request
	}
	return nil
}

// nodeText returns a copy of a text of the node, and counts one that is too long.
func (s *stream) nodeText(text string) string {
	if len(text) > maxNodeText {
		s.server.refused(refusedNode)
	}
	return cloneText(text)
}

// cloneText returns a copy of a text of a request, which doesn't keep the memory of the request; ""
// for one that is too long.
func cloneText(text string) string {
	if len(text) > maxNodeText {
		return ""
	}
	return strings.Clone(text)
}

// locatePeer sets the missing node, namespace and pod to those of the running pod that has the
// address of the peer for itself (§7.2). The node of the request has precedence, so it is read before.
// A container may open a stream before the API server knows that its pod runs.
func (s *stream) locatePeer() {
	s.forgetPod()
	c := &s.client
	if !c.peer.IsValid() || c.node != "" && c.namespace != "" {
		return
	}
	found := s.server.catalog.Profile(catalog.ProfileQuery{Cluster: catalog.LocalCluster, IP: c.peer.Addr(), Port: 1, ClusterDomain: s.server.config.ClusterDomain})
	if found.Result != catalog.EndpointFound || found.Target == nil || found.Target.Key.Kind != catalog.Pod || found.Mapped {
		s.unknownPod = found
		return
	}
	found.Release()
	pod := found.Target.Workload
	s.mu.Lock()
	defer s.mu.Unlock()
	c.node, c.namespace, c.pod = cmp.Or(c.node, pod.Node), cmp.Or(c.namespace, pod.Key.Namespace), cmp.Or(c.pod, pod.Key.Name)
}

// forgetPod ends the use of the lookup that found no pod.
func (s *stream) forgetPod() {
	if s.unknownPod != nil {
		s.unknownPod.Release()
		s.unknownPod = nil
	}
}

// placeChanges has the channels that close when the place of a client may have changed: its node has
// another zone, or a pod may have the address that none had. A nil channel never closes.
type placeChanges struct{ node, pod <-chan struct{} }

// locate sets the place of the client, and returns its changes.
func (s *stream) locate() (changes placeChanges) {
	node := s.server.catalog.Node(catalog.LocalCluster, s.client.node)
	s.place = catalog.Client{Node: s.client.node, Zone: cmp.Or(s.client.zoneSet, node.Zone)}
	changes.node = node.Stale()
	if s.unknownPod != nil {
		changes.pod = s.unknownPod.Stale()
	}
	return changes
}

// enterNamespace makes the subscriptions those of a client in its namespace, which has become known: names
// without a namespace, ServiceProfiles of the namespace, and a wildcard for which the client has named no
// namespaces. The error is a status.
func (s *stream) enterNamespace() error {
	s.enters = false
	for _, typ := range [...]resourceType{listeners, routes} {
		for name, sub := range maps.Clone(s.types[typ].subscriptions) {
			if s.server.newTopic(typ, name, s.client.namespace).query == sub.topic.query {
				continue
			}
			if err := s.subscribeAnew(sub); err != nil {
				return err
			}
		}
	}
	if s.client.grpc || s.client.namespaces != "" {
		return nil
	}
	s.client.namespaces = s.client.namespace
	if s.shared == nil {
		return nil
	}
	s.leaveListing()
	return s.joinListing()
}

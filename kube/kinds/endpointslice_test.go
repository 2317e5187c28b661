package kinds

import (
	"net/netip"
	"testing"

	"github.com/signpostd/signpost/catalog"
)

func addrs(texts ...string) []netip.Addr {
	var all []netip.Addr
	for _, s := range texts {
		all = append(all, netip.MustParseAddr(s))
	}
	return all
}

// slice returns the slice x of the Service web after a change.
func slice(change func(*catalog.EndpointSlice)) *catalog.EndpointSlice {
	s := &catalog.EndpointSlice{
		Cluster: "east", Namespace: "ns", Name: "x",
		Service:     catalog.ServiceKey{Cluster: "east", Namespace: "ns", Name: "web"},
		AddressType: catalog.IPv4, Subsets: []catalog.Subset{{}},
	}
	change(s)
	return s
}

func TestTrimEndpointSlice(t *testing.T) {
	runTrim(t, trimEndpointSlice, []trimCase[catalog.EndpointSlice]{
		{
			name: "readiness, targets and hints", yaml: `
metadata: {name: x, namespace: ns, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 80}, {port: 81}]
endpoints:
- {addresses: [10.0.0.1], hostname: h, zone: z1, hints: {forZones: [{name: z2}, {name: z1}, {name: z2}], forNodes: [{name: n2}, {name: n1}]}}
- {addresses: [10.0.0.2], conditions: {ready: false}}
- {addresses: [10.0.0.3, 10.0.0.4], conditions: {ready: true, serving: false}, targetRef: {kind: Pod, namespace: other, name: p}}
- {addresses: [10.0.0.5], targetRef: {kind: Pod, name: q}, hints: {}}
- {addresses: [10.0.0.6], targetRef: {kind: ExternalWorkload, namespace: other, name: w}}
`,
			want: slice(func(s *catalog.EndpointSlice) {
				s.Subsets[0].Ports = []catalog.SubsetPort{{Name: "http", Port: 80}, {Port: 81}}
				s.Subsets[0].Endpoints = []catalog.SliceEndpoint{
					{Addresses: addrs("10.0.0.1"), Hostname: "h", Zone: "z1", HintZones: []string{"z1", "z2"}, HintNodes: []string{"n1", "n2"}},
					{NotReady: true, Addresses: addrs("10.0.0.2")},
					{Addresses: addrs("10.0.0.3", "10.0.0.4"), Target: key1(catalog.Pod, "other", "p")},
					{Addresses: addrs("10.0.0.5"), Target: key1(catalog.Pod, "ns", "q")},
					{Addresses: addrs("10.0.0.6"), Target: key1(catalog.ExternalWorkload, "ns", "w")},
				}
			}),
		},
		{
			// Each port of a name is served with every endpoint.
			name: "many ports of one name", yaml: `
metadata: {name: x, namespace: ns, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 80}, {name: http, port: 81}, {name: http, port: 82}, {name: http, port: 83}, {name: http, port: 84}, {name: admin, port: 85}]
`,
			want: slice(func(s *catalog.EndpointSlice) {
				for i := range uint16(4) {
					s.Subsets[0].Ports = append(s.Subsets[0].Ports, catalog.SubsetPort{Name: "http", Port: 80 + i})
				}
				s.Subsets[0].Ports = append(s.Subsets[0].Ports, catalog.SubsetPort{Name: "admin", Port: 85})
			}),
			problems: []string{"ports[4].name"},
		},
		{
			name: "what can't be used", yaml: `
metadata: {name: x, namespace: ns, labels: {kubernetes.io/service-name: web}}
addressType: IPv6
ports: [{name: none}, {port: 0}, {port: 80}]
endpoints:
- {addresses: [nonsense, "2001:db8::1"]}
- {addresses: ["fe80::1%eth0"]}
- {addresses: ["2001:db8::2"], targetRef: {kind: VirtualMachine, name: v}}
- {addresses: ["2001:db8::3"], targetRef: {kind: Pod}}
- {addresses: []}
`,
			want: slice(func(s *catalog.EndpointSlice) {
				s.AddressType = catalog.IPv6
				s.Subsets[0].Ports = []catalog.SubsetPort{{Port: 80}}
				s.Subsets[0].Endpoints = []catalog.SliceEndpoint{{Addresses: addrs("2001:db8::1")}}
			}),
			problems: []string{
				"ports[0].port", "ports[1].port", "endpoints[0].addresses[0]", "endpoints[1].addresses[0]",
				"endpoints[2].targetRef", "endpoints[3].targetRef",
			},
		},
	})
}

func TestTrimEndpointSliceService(t *testing.T) {
	runTrim(t, trimEndpointSlice, []trimCase[catalog.EndpointSlice]{
		{
			name: "mirrored, owned", yaml: `
metadata:
  name: x
  namespace: ns
  labels: {mirror.linkerd.io/cluster-name: west}
  annotations: {mirror.linkerd.io/remote-gateway-identity: gw, mirror.linkerd.io/remote-svc-fq-name: web.n.svc}
  ownerReferences: [{kind: Other, name: o}, {kind: Service, name: web}]
addressType: IPv4
`,
			want: slice(func(s *catalog.EndpointSlice) {
				s.GatewayIdentity, s.RemoteName, s.Mirror = "gw", "web.n.svc", catalog.Mirror{Cluster: "west", Namespace: "n", Name: "web"}
			}),
		},
		{
			name: "nobody's", yaml: `{metadata: {name: x, namespace: ns, labels: {kubernetes.io/service-name: ""}}, addressType: IPv4}`,
			want: slice(func(s *catalog.EndpointSlice) {
				s.Service = catalog.ServiceKey{}
			}),
			problems: []string{"metadata.labels"},
		},
		{
			name: "names", yaml: `
metadata: {name: x, namespace: ns, labels: {kubernetes.io/service-name: web}}
addressType: FQDN
endpoints: [{addresses: [example.com]}]
`,
			want: slice(func(s *catalog.EndpointSlice) { s.AddressType, s.Subsets = "FQDN", nil }),
			// The slice isn't used, and that is reported (mesh finding 17).
			problems: []string{"addressType"},
		},
	})
}

func TestTrimEndpoints(t *testing.T) {
	runTrim(t, trimEndpoints, []trimCase[catalog.EndpointSlice]{{
		name: "subsets", yaml: `
metadata: {name: x, namespace: ns, annotations: {mirror.linkerd.io/remote-gateway-identity: gw}}
subsets:
- addresses: [{ip: 10.0.0.1, hostname: h, targetRef: {kind: Pod, namespace: ns, name: p}}, {ip: 10.0.0.2}]
  notReadyAddresses: [{ip: 10.0.0.3}]
  ports: [{name: http, port: 80}, {port: 0}]
- addresses: [{ip: bad}, {ip: 10.0.0.4, targetRef: {kind: ExternalWorkload, name: w}}]
`,
		want: &catalog.EndpointSlice{
			Cluster: "east", Namespace: "ns", Name: "x",
			Service:         catalog.ServiceKey{Cluster: "east", Namespace: "ns", Name: "x"},
			GatewayIdentity: "gw",
			Subsets: []catalog.Subset{{
				Ports: []catalog.SubsetPort{{Name: "http", Port: 80}},
				Endpoints: []catalog.SliceEndpoint{
					{Addresses: addrs("10.0.0.1"), Hostname: "h", Target: key1(catalog.Pod, "ns", "p")},
					{Addresses: addrs("10.0.0.2")},
					{NotReady: true, Addresses: addrs("10.0.0.3")},
				},
			}, {Endpoints: []catalog.SliceEndpoint{}}},
		},
		problems: []string{"subsets[0].ports[1].port", "subsets[1].addresses[0].ip", "subsets[1].addresses[1].targetRef"},
	}})
}

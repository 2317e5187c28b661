package destination

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	netpb "github.com/linkerd/linkerd2-proxy-api/go/net"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/signpostd/signpost/catalog"
)

func TestTCPAddress(t *testing.T) {
	v6 := func(first, last uint64) *netpb.IPAddress {
		return &netpb.IPAddress{Ip: &netpb.IPAddress_Ipv6{Ipv6: &netpb.IPv6{First: first, Last: last}}}
	}
	for in, want := range map[string]*netpb.TcpAddress{
		"1.2.3.4:8080":           {Ip: &netpb.IPAddress{Ip: &netpb.IPAddress_Ipv4{Ipv4: 0x01020304}}, Port: 8080},
		"255.0.0.254:65535":      {Ip: &netpb.IPAddress{Ip: &netpb.IPAddress_Ipv4{Ipv4: 0xff0000fe}}, Port: 65535},
		"[2001:db8::94]:1":       {Ip: v6(0x20010db800000000, 0x94), Port: 1},
		"[1:2:3:4:5:6:7:8]:80":   {Ip: v6(0x0001000200030004, 0x0005000600070008), Port: 80},
		"[::ffff:10.0.0.1]:8080": {Ip: v6(0, 0xffff0a000001), Port: 8080},
	} {
		if diff := cmp.Diff(want, tcpAddress(addrPort(in)), protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	}
}

// encodeCase is the endpoint 10.0.0.1:8080 of a pod, of an ExternalWorkload or without a workload, and its
// encoding.
type encodeCase struct {
	config  func(*Config)
	behind  *catalog.Workload      // nil for no targetRef
	slice   *catalog.EndpointSlice // unless the usual one
	objects []catalog.Object       // beside the usual ones
	zone    string                 // the client's
	want    *pb.WeightedAddr       // nil: left out
}

func runEncode(t *testing.T, cases map[string]encodeCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config := testConfig()
			if tc.config != nil {
				tc.config(&config)
			}
			objects := append(tc.objects, service("web"))
			var key catalog.WorkloadKey
			if tc.behind != nil {
				objects, key = append(objects, tc.behind), tc.behind.Key
			}
			if tc.slice == nil {
				tc.slice = slice("s", at("10.0.0.1", key))
			}
			endpoints := resolve(t, catalog.Query{Port: 80, IPv6: true}, append(objects, tc.slice)...)
			if len(endpoints) != 1 {
				t.Fatalf("%d endpoints, want 1", len(endpoints))
			}
			got, err := newAddrBuilder(&config).weightedAddr(endpoints[0], addressQuery{port: 80, zone: tc.zone})
			if (err != nil) != (tc.want == nil) {
				t.Fatalf("error %v, want one: %v", err, tc.want == nil)
			}
			if tc.want == nil {
				return
			}
			if diff := cmp.Diff(tc.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// wantAddr returns the encoding of 10.0.0.1:8080 with the given metric labels.
func wantAddr(labels map[string]string, edits ...func(*pb.WeightedAddr)) *pb.WeightedAddr {
	w := &pb.WeightedAddr{
		Addr:   &netpb.TcpAddress{Ip: &netpb.IPAddress{Ip: &netpb.IPAddress_Ipv4{Ipv4: 0x0a000001}}, Port: 8080},
		Weight: 10000, MetricLabels: labels,
	}
	return edited(w, edits)
}

func with(labels map[string]string, more ...string) map[string]string {
	out := map[string]string{}
	for k, v := range labels {
		out[k] = v
	}
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}

func onPort(port uint32) func(*pb.WeightedAddr) {
	return func(w *pb.WeightedAddr) { w.Addr.Port = port }
}

func weighing(n uint32) func(*pb.WeightedAddr) {
	return func(w *pb.WeightedAddr) { w.Weight = n }
}

// hinting sets the hint, with the port of the transport; zero for none.
func hinting(h *pb.ProtocolHint, transport uint32) func(*pb.WeightedAddr) {
	if transport != 0 {
		h.OpaqueTransport = &pb.ProtocolHint_OpaqueTransport{InboundPort: transport}
	}
	return func(w *pb.WeightedAddr) { w.ProtocolHint = h }
}

func h2() *pb.ProtocolHint {
	return &pb.ProtocolHint{Protocol: &pb.ProtocolHint_H2_{H2: &pb.ProtocolHint_H2{}}}
}

func opaque() *pb.ProtocolHint {
	return &pb.ProtocolHint{Protocol: &pb.ProtocolHint_Opaque_{Opaque: &pb.ProtocolHint_Opaque{}}}
}

func identified(name, server string) func(*pb.WeightedAddr) {
	return func(w *pb.WeightedAddr) {
		w.TlsIdentity = &pb.TlsIdentity{Strategy: &pb.TlsIdentity_DnsLikeIdentity_{DnsLikeIdentity: &pb.TlsIdentity_DnsLikeIdentity{Name: name}}}
		if server != "" {
			w.TlsIdentity.ServerName = &pb.TlsIdentity_DnsLikeIdentity{Name: server}
		}
	}
}

func speaking(p *pb.Http2ClientParams) func(*pb.WeightedAddr) {
	return func(w *pb.WeightedAddr) { w.Http2 = p }
}

func overriding(authority string) func(*pb.WeightedAddr) {
	return func(w *pb.WeightedAddr) {
		w.AuthorityOverride = &pb.AuthorityOverride{AuthorityOverride: authority}
	}
}

var http2Params = &pb.Http2ClientParams{KeepAlive: &pb.Http2ClientParams_KeepAlive{WhileIdle: true}}

// Edits of the configuration.
func force(c *Config)       { c.ForceOpaqueTransport = true }
func noH2(c *Config)        { c.EnableH2Upgrade = false }
func zoneWeights(c *Config) { c.ZoneWeights = true }
func withHTTP2(c *Config)   { c.HTTP2 = http2Params }

var gatewayLabels = map[string]string{"zone_locality": "unknown"}

// Addresses without targetRef (§2.8): E3, E4, E5.
func TestEncodeGateway(t *testing.T) {
	of := func(identity, remote string) *catalog.EndpointSlice {
		return gateway(identity, remote, slice("s", at("10.0.0.1", catalog.WorkloadKey{}, inZone("east"))))
	}
	const name = "gateway.identity"
	runEncode(t, map[string]encodeCase{
		"E3 identity":                         {slice: of(name, ""), want: wantAddr(gatewayLabels, identified(name, ""), hinting(h2(), 0))},
		"E4 identity and override":            {slice: of(name, "web.ns.svc.remote"), want: wantAddr(gatewayLabels, identified(name, ""), hinting(h2(), 0), overriding("web.ns.svc.remote:80"))},
		"E5 neither":                          {slice: of("", ""), want: wantAddr(gatewayLabels)},
		"W14 override without identity":       {slice: of("", "web.ns.svc.remote"), want: wantAddr(gatewayLabels, overriding("web.ns.svc.remote:80"))},
		"W15 the override has the asked port": {slice: serving(9999, of("", "remote")), want: wantAddr(gatewayLabels, onPort(9999), overriding("remote:80"))},
		"E3 without H2 upgrade":               {slice: of(name, ""), config: noH2, want: wantAddr(gatewayLabels, identified(name, ""))},
		"HTTP/2 parameters":                   {slice: of(name, ""), config: withHTTP2, want: wantAddr(gatewayLabels, identified(name, ""), hinting(h2(), 0), speaking(http2Params))},
		"HTTP/2 parameters, no identity":      {slice: of("", ""), config: withHTTP2, want: wantAddr(gatewayLabels)},
		"force doesn't matter":                {slice: of(name, ""), config: force, want: wantAddr(gatewayLabels, identified(name, ""), hinting(h2(), 0))},
		"E19 its zone isn't known":            {slice: of("", ""), config: zoneWeights, zone: "east", want: wantAddr(gatewayLabels)},
	})
}

var externalLabels = map[string]string{"external_workload": "vm", "zone": "", "zone_locality": "unknown", "workloadgroup": "group"}

func identifiedExternal(w *pb.WeightedAddr) {
	w.TlsIdentity = &pb.TlsIdentity{
		Strategy:   &pb.TlsIdentity_UriLikeIdentity_{UriLikeIdentity: &pb.TlsIdentity_UriLikeIdentity{Uri: "spiffe://vm"}},
		ServerName: &pb.TlsIdentity_DnsLikeIdentity{Name: "vm.local"},
	}
}

// ExternalWorkloads (§2.8): E13 to E19.
func TestEncodeExternalWorkload(t *testing.T) {
	inbound := func(w *catalog.Workload) {
		w.Ports = append(w.Ports, catalog.WorkloadPort{Name: "linkerd-proxy", Port: 1111})
	}
	orphan := func(w *catalog.Workload) { w.Owner = catalog.OwnerRef{} }
	named := func(w *catalog.Workload) {
		w.MeshTLS.Identity = catalog.Identity{Name: "vm.shop.serviceaccount.identity.linkerd.cluster.local", Form: catalog.DNSIdentity}
	}
	orphanLabels := map[string]string{"external_workload": "vm", "zone": "", "zone_locality": "unknown"}
	server := &catalog.Server{Cluster: catalog.LocalCluster, Namespace: "ns", Name: "s", ExternalWorkloads: &catalog.Selector{}, PortName: "http", Opaque: true}
	east := slice("s", at("10.0.0.1", externalKey("vm"), inZone("east")))
	runEncode(t, map[string]encodeCase{
		"E13 E14 E15":                 {behind: external("vm"), want: wantAddr(externalLabels, identifiedExternal, hinting(h2(), 0))},
		"H2 even without the upgrade": {behind: external("vm"), config: noH2, want: wantAddr(externalLabels, identifiedExternal, hinting(h2(), 0))},
		"no owner":                    {behind: external("vm", orphan), want: wantAddr(orphanLabels, identifiedExternal, hinting(h2(), 0))},
		// An identity that is a DNS name is sent as one. It was sent as a URI, which the proxy couldn't
		// parse, so that it sent plaintext.
		"R1 a DNS name": {
			behind: external("vm", named),
			want:   wantAddr(externalLabels, hinting(h2(), 0), identified("vm.shop.serviceaccount.identity.linkerd.cluster.local", "vm.local")),
		},
		"E16 opaque by annotation":     {behind: external("vm", opaqueOn("8080")), want: wantAddr(externalLabels, identifiedExternal, hinting(opaque(), 4143))},
		"E16 opaque by name":           {behind: external("vm", opaqueOn("http")), want: wantAddr(externalLabels, identifiedExternal, hinting(opaque(), 4143))},
		"opaque by a Server":           {behind: external("vm"), objects: []catalog.Object{server}, want: wantAddr(externalLabels, identifiedExternal, hinting(opaque(), 4143))},
		"opaque, the proxy's own port": {behind: external("vm", inbound, opaqueOn("8080")), want: wantAddr(externalLabels, identifiedExternal, hinting(opaque(), 1111))},
		"E17 force":                    {behind: external("vm"), config: force, want: wantAddr(externalLabels, identifiedExternal, hinting(h2(), 4143))},
		"E18 force, the proxy's port":  {behind: external("vm", inbound), config: force, want: wantAddr(externalLabels, identifiedExternal, hinting(h2(), 1111))},
		"HTTP/2 parameters":            {behind: external("vm"), config: withHTTP2, want: wantAddr(externalLabels, identifiedExternal, hinting(h2(), 0), speaking(http2Params))},
		"E19 of the client's zone (§15)": {
			behind: external("vm"), slice: east, config: zoneWeights, zone: "east",
			want: wantAddr(with(externalLabels, "zone", "east", "zone_locality", "local"), identifiedExternal, hinting(h2(), 0), weighing(100000)),
		},
		"E19 of another zone": {
			behind: external("vm"), slice: east, config: zoneWeights, zone: "west",
			want: wantAddr(with(externalLabels, "zone", "east", "zone_locality", "remote"), identifiedExternal, hinting(h2(), 0)),
		},
	})
}

// The HTTP/2 parameters are given in JSON with the names of the Go struct (§1.1).
func TestHTTP2ParamsKeepTheirForm(t *testing.T) {
	var p pb.Http2ClientParams
	if err := json.Unmarshal([]byte(`{"keep_alive":{"interval":{"seconds":10},"timeout":{"seconds":3},"while_idle":true}}`), &p); err != nil {
		t.Fatal(err)
	}
	config := Config{HTTP2: &p}
	w, err := newAddrBuilder(&config).weightedAddr(catalog.Endpoint{
		Addr: netip.MustParseAddrPort("10.0.0.1:80"), Address: &catalog.Address{GatewayIdentity: "g"},
	}, addressQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&p, w.GetHttp2(), protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

package resource

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcm "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/signpostd/signpost/catalog"
)

var namer = Namer{ClusterDomain: "cluster.local", Authorities: []string{"a"}}

// body returns the message of a resource.
func body(t *testing.T, r Resource) []byte {
	t.Helper()
	var response discovery.DiscoveryResponse
	if err := proto.Unmarshal(r.Wire, &response); err != nil {
		t.Fatal(err)
	}
	return response.GetResources()[0].GetValue()
}

func clusterOf(name string, s Input, c Client) Resource {
	full, _ := namer.Cluster(name, s, c)
	return full
}

const webCluster = "web.shop.svc.cluster.local:80"

type valid interface {
	proto.Message
	ValidateAll() error
}

func decode[M valid](t *testing.T, body []byte, m M) M {
	t.Helper()
	if err := proto.Unmarshal(body, m); err != nil {
		t.Fatalf("%T: %v", m, err)
	}
	if err := m.ValidateAll(); err != nil {
		t.Errorf("%T: %v", m, err)
	}
	if n := len(m.ProtoReflect().GetUnknown()); n > 0 {
		t.Errorf("%T has %d unknown bytes", m, n)
	}
	return m
}

func virtualHosts(t *testing.T, r Resource) []*route.VirtualHost {
	t.Helper()
	l := decode(t, body(t, r), &listenerv3.Listener{})
	if l.Name != r.Name {
		t.Errorf("the Listener has the name %q, not %q", l.Name, r.Name)
	}
	return decode(t, l.ApiListener.ApiListener.Value, &hcm.HttpConnectionManager{}).GetRouteConfig().GetVirtualHosts()
}

func web() Input {
	return Input{
		Name: Name{Service: catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: "shop", Name: "web"}}, Port: 80,
		Service: &catalog.Service{Ports: []catalog.ServicePort{{Name: "http", Port: 80, Protocol: catalog.TCP}}},
	}
}

func TestNames(t *testing.T) { // cases 2 and 8
	const structured = "xdstp://a/envoy.config.listener.v3.Listener/"
	for name, want := range map[string]string{
		"web.shop:80": webCluster, "web.shop.svc:80": webCluster, webCluster: webCluster, "web:80": webCluster,
		"web-0.web.shop.svc.cluster.local:80":                          "web-0." + webCluster,
		structured + "web.shop:80":                                     "xdstp://a/envoy.config.cluster.v3.Cluster/" + webCluster,
		structured + "web.shop%3A80?x=y":                               "xdstp://a/envoy.config.cluster.v3.Cluster/" + webCluster,
		strings.Replace(structured, "//a/", "//b/", 1) + "web.shop:80": "", structured + "web%zz": "",
		"": "", ":80": "", "web.shop:": "", "a b": "", "a.b.c": "", "web\x00.shop": "", "web.shop:8\x1b": "",
		strings.Repeat("a", 64) + ".shop": "", strings.Repeat("a.", 300): "",
	} {
		parsed, err := namer.Parse(Listener, name, "shop")
		got := ""
		if err == nil {
			got = namer.ClusterName(parsed, 80)
		}
		if got != want {
			t.Errorf("%q has the Cluster %q (%v), want %q", name, got, err, want)
		}
	}
}

func TestPortWithoutOne(t *testing.T) { // case 3
	port := func(name string, n uint16) catalog.ServicePort {
		return catalog.ServicePort{Name: name, Port: n, Protocol: catalog.TCP}
	}
	for _, c := range []struct {
		ports  []catalog.ServicePort
		want   uint16
		reason string
	}{
		{ports: []catalog.ServicePort{port("x", 7)}, want: 7},
		{ports: []catalog.ServicePort{port("http", 80), port("grpc", 50051)}, want: 50051},
		{ports: []catalog.ServicePort{port("http", 80), port("admin", 8081)}, want: 80},
		{ports: []catalog.ServicePort{port("http", 81), port("", 8081)}, reason: "say which port: 81 (http), 8081"},
	} {
		got, err := web().Name.ChoosePort(&catalog.Service{Ports: c.ports})
		if got != c.want || c.reason != "" && (err == nil || err.Error() != c.reason) {
			t.Errorf("%v: port %d, %v", c.ports, got, err)
		}
	}
}

func TestPlainCluster(t *testing.T) { // case 31
	r := clusterOf(webCluster, web(), GRPC)
	c := decode(t, body(t, r), &cluster.Cluster{})
	if len(body(t, r)) > 200 || c.LoadBalancingPolicy != nil || c.LbPolicy != cluster.Cluster_ROUND_ROBIN || c.Name != webCluster {
		t.Errorf("%d bytes: %v", len(body(t, r)), c)
	}
}

func TestPoliciesAreValid(t *testing.T) {
	for kind := catalog.RoundRobin; kind <= catalog.PickFirst; kind++ {
		s := web()
		s.Service.Policy = &catalog.TrafficPolicy{
			Balancer: catalog.Balancer{Kind: kind, Size: 3, Header: "x"}, MaxRequests: 5,
			Outliers: &catalog.OutlierDetection{Interval: time.Second, SuccessRate: 1900},
		}
		for _, client := range []Client{GRPC, Envoy} {
			c := decode(t, body(t, clusterOf("x", s, client)), &cluster.Cluster{})
			if (c.LoadBalancingPolicy == nil) != (kind == catalog.RoundRobin) || c.OutlierDetection == nil {
				t.Errorf("balancer %d: %v", kind, c)
			}
			policies := c.GetLoadBalancingPolicy().GetPolicies()
			if kind == catalog.RoundRobin {
				continue
			}
			last := policies[len(policies)-1].GetTypedExtensionConfig().GetName()
			if zones := strings.HasSuffix(last, ".WrrLocality"); zones != (client == GRPC) || !zones && !strings.HasSuffix(last, ".RoundRobin") {
				t.Errorf("balancer %d, client %d: the last policy is %s", kind, client, last)
			}
		}
	}
}

// Case 34: gRPC clients and Envoy eject by the same errors, and both one endpoint at least. Envoy
// detects nothing else.
func TestOutlierDetection(t *testing.T) {
	n, off := wrapperspb.UInt32, wrapperspb.UInt32(0)
	for name, tt := range map[string]struct {
		policy catalog.OutlierDetection
		want   *cluster.OutlierDetection
	}{
		"failure percentage": {
			catalog.OutlierDetection{FailurePercentage: 50, Interval: time.Second, MinHosts: 1, MinRequests: 5, MaxEjected: 20},
			&cluster.OutlierDetection{
				Interval: durationpb.New(time.Second), MaxEjectionPercent: n(20), EnforcingSuccessRate: off,
				FailurePercentageThreshold: n(50), EnforcingFailurePercentage: n(100), FailurePercentageMinimumHosts: n(1), FailurePercentageRequestVolume: n(5),
			},
		},
		"success rate": {
			catalog.OutlierDetection{SuccessRate: 1900, EjectionTime: time.Minute, MaxEjectionTime: time.Hour, MinHosts: 3, MinRequests: 7},
			&cluster.OutlierDetection{
				BaseEjectionTime: durationpb.New(time.Minute), MaxEjectionTime: durationpb.New(time.Hour), EnforcingFailurePercentage: off,
				EnforcingSuccessRate: n(100), SuccessRateMinimumHosts: n(3), SuccessRateRequestVolume: n(7), SuccessRateStdevFactor: n(1900),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tt.want.EnforcingConsecutive_5Xx, tt.want.EnforcingConsecutiveGatewayFailure, tt.want.EnforcingConsecutiveLocalOriginFailure = off, off, off
			tt.want.AlwaysEjectOneHost = wrapperspb.Bool(true)
			s := web()
			s.Service.Policy = &catalog.TrafficPolicy{Outliers: &tt.policy}
			for _, client := range []Client{GRPC, Envoy} {
				if got := decode(t, body(t, clusterOf("x", s, client)), &cluster.Cluster{}).GetOutlierDetection(); !proto.Equal(got, tt.want) {
					t.Errorf("client %d: %v, want %v", client, got, tt.want)
				}
			}
		})
	}
}

func TestMissingListener(t *testing.T) { // case 6
	reason := errors.New("no Service " + strings.Repeat("ä€", 300))
	if hosts := virtualHosts(t, MissingListener("x", reason, GRPCGo)); len(hosts) != 0 {
		t.Errorf("gRPC Go gets %v", hosts)
	}
	for _, c := range []Client{GRPC, Envoy} {
		name := virtualHosts(t, MissingListener("x", reason, c))[0].Routes[0].GetRoute().GetCluster()
		if !utf8.ValidString(name) || len(name) > maxName || !IsReason(name) {
			t.Errorf("client %d: %d bytes: %q", c, len(name), name)
		}
	}
}

func TestProfileRoutes(t *testing.T) { // cases 36 to 38
	s := web()
	s.Profile = &catalog.ServiceProfile{Routes: []catalog.Route{
		{Condition: &catalog.RequestMatch{PathRegex: `/shop\.Cart/Add`}, Timeout: 100 * time.Millisecond},
		{Condition: &catalog.RequestMatch{PathRegex: "/a/.*"}, Retryable: true},
		{Condition: &catalog.RequestMatch{Not: &catalog.RequestMatch{PathRegex: "x"}}},
	}, DstOverrides: []catalog.WeightedDst{{Authority: "web-v2.shop.svc.cluster.local", MilliWeight: 100}, {Authority: webCluster, MilliWeight: 900}}}
	r, problems := namer.Routes(Listener, "web.shop:80", s, GRPC)
	if len(problems) != 1 || !strings.Contains(problems[0], "spec.routes[2]") {
		t.Errorf("problems: %q", problems)
	}
	routes := virtualHosts(t, r)[0].Routes
	if len(routes) != 3 {
		t.Fatalf("routes: %v", routes)
	}
	if d := routes[0].GetRoute().GetMaxStreamDuration().GetMaxStreamDuration().AsDuration(); d != 100*time.Millisecond {
		t.Errorf("timeout %s", d)
	}
	if routes[0].GetMatch().GetPath() != "/shop.Cart/Add" || routes[1].GetRoute().GetRetryPolicy() == nil || routes[2].GetRoute().GetRetryPolicy() != nil {
		t.Errorf("routes: %v", routes)
	}
	weights := routes[2].GetRoute().GetWeightedClusters().GetClusters()
	if len(weights) != 2 || weights[0].Weight.Value != 100 || weights[1].Weight.Value != 900 || weights[1].Name != webCluster {
		t.Errorf("weights: %v", weights)
	}
}

// matchText returns the path of a RouteMatch, or ~ and its regular expression, then the methods that it
// requires or, with !, excludes.
func matchText(t *testing.T, m message) string {
	t.Helper()
	match := decode(t, m, &route.RouteMatch{})
	parts := []string{match.GetPrefix() + match.GetPath()}
	if re := match.GetSafeRegex(); re != nil {
		parts[0] = "~" + re.GetRegex()
	}
	for _, h := range match.GetHeaders() {
		not := ""
		if h.GetInvertMatch() {
			not = "!"
		}
		parts = append(parts, strings.TrimPrefix(h.GetName(), ":method")+not+h.GetStringMatch().GetExact())
	}
	return strings.Join(parts, " ")
}

// A condition becomes a route for each of its alternatives. One that gRPC clients can't meet, because all
// their requests have the method POST, is left out for them.
func TestConditions(t *testing.T) { // case 36
	type condition = catalog.RequestMatch
	path := func(path string) *condition { return &condition{PathRegex: path} }
	method := func(method string) *condition { return &condition{Method: method} }
	paths := func(n int) (list []*condition) {
		for range n {
			list = append(list, path(fmt.Sprint("/", len(list)+1)))
		}
		return list
	}
	methods := func(n int) *condition { return &condition{Any: slices.Repeat([]*condition{method("POST")}, n)} }
	for name, tt := range map[string]struct {
		condition   *condition
		grpc, envoy []string
		problem     string
	}{
		"a method":            {condition: method("GET"), envoy: []string{" GET"}},
		"POST in lower case":  {condition: method("post"), grpc: []string{""}, envoy: []string{" POST"}},
		"not a method":        {condition: &condition{Not: method("GET")}, grpc: []string{""}, envoy: []string{" !GET"}},
		"not POST":            {condition: &condition{Not: method("POST")}, envoy: []string{" !POST"}},
		"a path and a method": {condition: &condition{PathRegex: "/a.*", Method: "POST"}, grpc: []string{"~/a.*"}, envoy: []string{"~/a.* POST"}},
		"all": {
			condition: &condition{All: []*condition{path("/a"), {Any: []*condition{method("GET"), method("POST")}}, {Not: method("PUT")}}},
			grpc:      []string{"/a"}, envoy: []string{"/a GET !PUT", "/a POST !PUT"},
		},
		"not a whole path": {
			condition: &condition{Any: []*condition{path("(?i)/a"), path("/a\\?b"), path("a")}},
			grpc:      []string{"~(?i)/a", "~/a\\?b", "~a"}, envoy: []string{"~(?i)/a", "~/a\\?b", "~a"},
		},
		"any beside a method":   {condition: &condition{Method: "POST", Any: paths(2)}, grpc: []string{"/1", "/2"}, envoy: []string{"/1 POST", "/2 POST"}},
		"one path twice":        {condition: &condition{PathRegex: "/a", All: []*condition{path("/a")}}, grpc: []string{"/a"}, envoy: []string{"/a"}},
		"two paths at once":     {condition: &condition{All: paths(2)}, problem: "two pathRegex"},
		"not a path":            {condition: &condition{Not: path("/a")}, problem: "not for a method"},
		"not any":               {condition: &condition{Not: &condition{Method: "GET", Any: paths(1)}}, problem: "not for a method"},
		"not nothing":           {condition: &condition{Not: &condition{}}, problem: "not for a method"},
		"an empty part":         {condition: &condition{All: []*condition{path("/a"), {}}}, problem: "empty"},
		"a bad path in one of":  {condition: &condition{Any: []*condition{method("GET"), path("(")}}, problem: "no regular expression"},
		"too many alternatives": {condition: &condition{All: []*condition{methods(13), methods(5)}}, problem: "too many"},
	} {
		for c, want := range map[Client][]string{GRPC: tt.grpc, Envoy: tt.envoy} {
			list, err := alternatives(tt.condition, c)
			var got []string
			for _, each := range list {
				got = append(got, matchText(t, each.encode()))
			}
			if !slices.Equal(got, want) || (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%s, client %d: %q, %v, want %q, %q", name, c, got, err, want, tt.problem)
			}
		}
	}
	if list, err := alternatives(&condition{All: []*condition{methods(8), methods(8)}}, Envoy); len(list) != maxAlternatives || err != nil {
		t.Errorf("%d alternatives, %v, want %d", len(list), err, maxAlternatives)
	}
}

func placed(i int) catalog.PlacedEndpoint {
	return catalog.PlacedEndpoint{Endpoint: catalog.Endpoint{
		Addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 8080), Address: &catalog.Address{Zone: fmt.Sprint("z", i%3)},
	}}
}

// Pods of several clusters that have one name have places of their own on the ring.
func TestHashKeys(t *testing.T) {
	s := web()
	s.Service.Policy = &catalog.TrafficPolicy{Balancer: catalog.Balancer{Kind: catalog.RingHash, Stable: true}}
	local, linked := placed(1), placed(2)
	for _, e := range []*catalog.PlacedEndpoint{&local, &linked} {
		of := *e.Address
		of.Target = &catalog.Target{Workload: &catalog.Workload{Key: catalog.WorkloadKey{Kind: catalog.Pod, Namespace: "ns", Name: "web-0"}}}
		e.Address = &of
	}
	linked.Source = &catalog.Source{Cluster: &catalog.Cluster{Name: "east"}}
	got := decode(t, body(t, namer.Assignment("web", s, catalog.PlacedSet{Endpoints: []catalog.PlacedEndpoint{local, linked}})), &endpoint.ClusterLoadAssignment{})
	var keys []string
	for _, l := range got.Endpoints {
		for _, e := range l.LbEndpoints {
			keys = append(keys, e.GetMetadata().GetFilterMetadata()["envoy.lb"].GetFields()["hash_key"].GetStringValue())
		}
	}
	if !slices.Equal(keys, []string{"web-0", "east/web-0"}) {
		t.Errorf("the keys are %q", keys)
	}
}

func TestAssignment(t *testing.T) {
	got := decode(t, body(t, namer.Assignment("web", web(), catalog.PlacedSet{Endpoints: []catalog.PlacedEndpoint{placed(1)}})), &endpoint.ClusterLoadAssignment{})
	want := &endpoint.ClusterLoadAssignment{ClusterName: "web", Endpoints: []*endpoint.LocalityLbEndpoints{{
		Locality: &core.Locality{Zone: "z1"}, LoadBalancingWeight: wrapperspb.UInt32(1),
		LbEndpoints: []*endpoint.LbEndpoint{{HostIdentifier: &endpoint.LbEndpoint_Endpoint{Endpoint: &endpoint.Endpoint{
			Address: &core.Address{Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{
				Address: "10.0.0.1", PortSpecifier: &core.SocketAddress_PortValue{PortValue: 8080},
			}}},
		}}}},
	}}}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The sets are those of catalog.ResolveAll: its endpoints have different addresses. None may be
// lost or repeated.
func TestRandomAssignments(t *testing.T) { // case 25
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		var set catalog.PlacedSet
		for i := range r.IntN(20) {
			e := placed(i)
			e.Priority, e.Draining = uint8(r.IntN(2)), r.IntN(4) == 0
			set.Endpoints = append(set.Endpoints, e)
		}
		seen := map[string]bool{}
		for _, l := range decode(t, body(t, namer.Assignment("web", web(), set)), &endpoint.ClusterLoadAssignment{}).Endpoints {
			for _, e := range l.LbEndpoints {
				address := e.GetEndpoint().GetAddress().GetSocketAddress().GetAddress()
				if seen[address] {
					t.Fatalf("%s is there twice", address)
				}
				seen[address] = true
			}
		}
		if len(seen) != len(set.Endpoints) {
			t.Fatalf("%d endpoints of %d", len(seen), len(set.Endpoints))
		}
	}
}

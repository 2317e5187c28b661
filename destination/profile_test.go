package destination

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	httppb "github.com/linkerd/linkerd2-proxy-api/go/http_types"
	metapb "github.com/linkerd/linkerd2-proxy-api/go/meta"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// profiled returns the profile of the Service ns/web on port 80 with a ServiceProfile, and the reported
// problems.
func profiled(sp *catalog.ServiceProfile) (*pb.DestinationProfile, []objectmeta.Problem) {
	var problems []objectmeta.Problem
	config := &Config{ClusterDomain: "cluster.local", Report: func(p objectmeta.Problem) { problems = append(problems, p) }}
	key := catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: "ns", Name: "web"}
	p := &pb.DestinationProfile{}
	err := proto.Unmarshal(encodedProfile(
		config,
		catalog.ProfileQuery{Service: key, Port: 80, ClusterDomain: "cluster.local"},
		&catalog.ProfileSnapshot{Result: catalog.ServiceFound, Service: key, Profile: sp},
	), p)
	if err != nil {
		panic(err)
	}
	return p, problems
}

// encodedProfile returns the bytes of the profile of a snapshot.
func encodedProfile(config *Config, q catalog.ProfileQuery, s *catalog.ProfileSnapshot) []byte {
	var d *description
	if key := descriptionKeyOf(q, s); key != (descriptionKey{}) {
		d = &description{descriptionKey: key}
	}
	return slices.Concat(config.profileParts(q, s, d))
}

// webProfile is the ServiceProfile of ns/web.
func webProfile(routes ...catalog.Route) *catalog.ServiceProfile {
	return &catalog.ServiceProfile{Cluster: catalog.LocalCluster, Namespace: "ns", Name: "web.ns.svc.cluster.local", Routes: routes}
}

// wantService is the default profile of a Service in ns on port 80.
func wantService(name string, edits ...func(*pb.DestinationProfile)) *pb.DestinationProfile {
	p := &pb.DestinationProfile{
		FullyQualifiedName: name + ".ns.svc.cluster.local",
		RetryBudget:        &pb.RetryBudget{RetryRatio: 0.2, MinRetriesPerSecond: 10, Ttl: durationpb.New(10 * time.Second)},
		ParentRef:          &metapb.Metadata{Kind: &metapb.Metadata_Resource{Resource: &metapb.Resource{Group: "core", Kind: "Service", Name: name, Namespace: "ns", Port: 80}}},
		ProfileRef:         &metapb.Metadata{Kind: &metapb.Metadata_Resource{Resource: &metapb.Resource{Group: "linkerd.io"}}},
	}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

// wantWeb is the profile of ns/web if its ServiceProfile has these routes.
func wantWeb(routes ...*pb.Route) *pb.DestinationProfile {
	return wantService("web", fromProfile("ns", "web.ns.svc.cluster.local"), func(p *pb.DestinationProfile) { p.Routes = routes })
}

func fromProfile(namespace, name string) func(*pb.DestinationProfile) {
	return func(p *pb.DestinationProfile) {
		p.ProfileRef.GetResource().Namespace, p.ProfileRef.GetResource().Name = namespace, name
	}
}

func wantRoute(name string, condition *pb.RequestMatch, edits ...func(*pb.Route)) *pb.Route {
	r := &pb.Route{Condition: condition, MetricsLabels: map[string]string{"route": name}}
	for _, edit := range edits {
		edit(r)
	}
	return r
}

func wantMethod(m httppb.HttpMethod_Registered) *pb.RequestMatch {
	return &pb.RequestMatch{Match: &pb.RequestMatch_Method{Method: &httppb.HttpMethod{Type: &httppb.HttpMethod_Registered_{Registered: m}}}}
}

func wantPath(regex string) *pb.RequestMatch {
	return &pb.RequestMatch{Match: &pb.RequestMatch_Path{Path: &pb.PathMatch{Regex: regex}}}
}

func wantAll(matches ...*pb.RequestMatch) *pb.RequestMatch {
	return &pb.RequestMatch{Match: &pb.RequestMatch_All{All: &pb.RequestMatch_Seq{Matches: matches}}}
}

func wantAny(matches ...*pb.RequestMatch) *pb.RequestMatch {
	return &pb.RequestMatch{Match: &pb.RequestMatch_Any{Any: &pb.RequestMatch_Seq{Matches: matches}}}
}

func wantNot(m *pb.RequestMatch) *pb.RequestMatch {
	return &pb.RequestMatch{Match: &pb.RequestMatch_Not{Not: m}}
}

func wantStatus(low, high uint32) *pb.ResponseMatch {
	return &pb.ResponseMatch{Match: &pb.ResponseMatch_Status{Status: &pb.HttpStatusRange{Min: low, Max: high}}}
}

func wantResponses(all bool, matches ...*pb.ResponseMatch) *pb.ResponseMatch {
	seq := &pb.ResponseMatch_Seq{Matches: matches}
	if all {
		return &pb.ResponseMatch{Match: &pb.ResponseMatch_All{All: seq}}
	}
	return &pb.ResponseMatch{Match: &pb.ResponseMatch_Any{Any: seq}}
}

func timeout(d time.Duration) func(*pb.Route) {
	return func(r *pb.Route) { r.Timeout = durationpb.New(d) }
}

func classes(list ...*pb.ResponseClass) func(*pb.Route) {
	return func(r *pb.Route) { r.ResponseClasses = list }
}

// getRoute returns a route for the method GET.
func getRoute(edits ...func(*catalog.Route)) catalog.Route {
	r := catalog.Route{Name: "r", Condition: &catalog.RequestMatch{Method: "GET"}}
	for _, edit := range edits {
		edit(&r)
	}
	return r
}

func responds(conditions ...*catalog.ResponseMatch) func(*catalog.Route) {
	return func(r *catalog.Route) {
		for _, c := range conditions {
			r.ResponseClasses = append(r.ResponseClasses, catalog.ResponseClass{Condition: c})
		}
	}
}

func codes599(low, high int64) *catalog.ResponseMatch {
	return &catalog.ResponseMatch{Status: &catalog.StatusRange{Min: low, Max: high}}
}

func TestProfileFields(t *testing.T) {
	two := webProfile(
		catalog.Route{
			Name: "list", Condition: &catalog.RequestMatch{PathRegex: "/books", Method: "get"}, Retryable: true, Timeout: 200 * time.Millisecond,
			ResponseClasses: []catalog.ResponseClass{{Condition: codes599(500, 599), Failure: true}},
		},
		catalog.Route{Name: "", Condition: &catalog.RequestMatch{Method: "POST"}},
	)
	for name, tc := range map[string]struct {
		profile *catalog.ServiceProfile
		want    *pb.DestinationProfile
	}{
		"T1 T2 T8 two routes": {two, wantWeb(
			wantRoute("list", wantAll(wantMethod(httppb.HttpMethod_GET), wantPath("/books")), timeout(200*time.Millisecond),
				func(r *pb.Route) { r.IsRetryable = true }, classes(&pb.ResponseClass{Condition: wantStatus(500, 599), IsFailure: true})),
			wantRoute("", wantMethod(httppb.HttpMethod_POST)),
		)},
		"T7 none":           {nil, wantService("web")},
		"T7 one of nothing": {webProfile(), wantWeb()},
	} {
		t.Run(name, func(t *testing.T) {
			got, problems := profiled(tc.profile)
			if diff := cmp.Diff(tc.want, got, protocmp.Transform()); diff != "" || len(problems) > 0 {
				t.Errorf("problems %v, (-want +got):\n%s", problems, diff)
			}
		})
	}
}

func TestProfileRoutes(t *testing.T) {
	for name, tc := range map[string]struct {
		route catalog.Route
		want  *pb.Route
	}{
		"T8 no timeout":       {getRoute(), wantRoute("r", wantMethod(httppb.HttpMethod_GET))},
		"T8 a timeout of 0":   {getRoute(func(r *catalog.Route) { r.Timeout = 0 }), wantRoute("r", wantMethod(httppb.HttpMethod_GET))},
		"T8 200ms":            {getRoute(func(r *catalog.Route) { r.Timeout = 200 * time.Millisecond }), wantRoute("r", wantMethod(httppb.HttpMethod_GET), timeout(200*time.Millisecond))},
		"T6 only min":         {getRoute(responds(codes599(200, 0))), wantRoute("r", wantMethod(httppb.HttpMethod_GET), classes(&pb.ResponseClass{Condition: wantStatus(200, 0)}))},
		"T6 only max":         {getRoute(responds(codes599(0, 299))), wantRoute("r", wantMethod(httppb.HttpMethod_GET), classes(&pb.ResponseClass{Condition: wantStatus(0, 299)}))},
		"T6 the limits":       {getRoute(responds(codes599(100, 599))), wantRoute("r", wantMethod(httppb.HttpMethod_GET), classes(&pb.ResponseClass{Condition: wantStatus(100, 599)}))},
		"T6 a single status":  {getRoute(responds(codes599(200, 200))), wantRoute("r", wantMethod(httppb.HttpMethod_GET), classes(&pb.ResponseClass{Condition: wantStatus(200, 200)}))},
		"T6 an open range":    {getRoute(responds(codes599(0, 0))), wantRoute("r", wantMethod(httppb.HttpMethod_GET), classes(&pb.ResponseClass{Condition: wantStatus(0, 0)}))},
		"§3.5 lower case":     {getRoute(func(r *catalog.Route) { r.Condition.Method = "trace" }), wantRoute("r", wantMethod(httppb.HttpMethod_TRACE))},
		"§3.5 not registered": {getRoute(func(r *catalog.Route) { r.Condition.Method = "purge" }), wantRoute("r", &pb.RequestMatch{Match: &pb.RequestMatch_Method{Method: &httppb.HttpMethod{Type: &httppb.HttpMethod_Unregistered{Unregistered: "PURGE"}}}})},
		"T4 status and not": {
			getRoute(responds(&catalog.ResponseMatch{Not: codes599(404, 404), Status: codes599(400, 499).Status})),
			wantRoute("r", wantMethod(httppb.HttpMethod_GET), classes(&pb.ResponseClass{Condition: wantResponses(true,
				wantStatus(400, 499), &pb.ResponseMatch{Match: &pb.ResponseMatch_Not{Not: wantStatus(404, 404)}})})),
		},
		"§3.5 all of a response": {
			getRoute(responds(&catalog.ResponseMatch{All: []*catalog.ResponseMatch{codes599(200, 0)}, Any: []*catalog.ResponseMatch{codes599(0, 300), codes599(400, 0)}})),
			wantRoute("r", wantMethod(httppb.HttpMethod_GET), classes(&pb.ResponseClass{Condition: wantResponses(true,
				wantResponses(true, wantStatus(200, 0)), wantResponses(false, wantStatus(0, 300), wantStatus(400, 0)))})),
		},
		"§3.5 all of a request, in order": {
			getRoute(func(r *catalog.Route) {
				get, path := &catalog.RequestMatch{Method: "GET"}, &catalog.RequestMatch{PathRegex: "/x"}
				r.Condition = &catalog.RequestMatch{PathRegex: "/", Not: get, Method: "PUT", Any: []*catalog.RequestMatch{get, path}, All: []*catalog.RequestMatch{path}}
			}),
			wantRoute("r", wantAll(
				wantAll(wantPath("/x")), wantAny(wantMethod(httppb.HttpMethod_GET), wantPath("/x")), wantMethod(httppb.HttpMethod_PUT),
				wantNot(wantMethod(httppb.HttpMethod_GET)), wantPath("/"),
			)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, problems := profiled(webProfile(tc.route))
			if diff := cmp.Diff(wantWeb(tc.want), got, protocmp.Transform()); diff != "" || len(problems) > 0 {
				t.Errorf("problems %v, (-want +got):\n%s", problems, diff)
			}
		})
	}
}

func TestProfileMethods(t *testing.T) {
	for number, name := range httppb.HttpMethod_Registered_name {
		got, _ := profiled(webProfile(catalog.Route{Name: "r", Condition: &catalog.RequestMatch{Method: strings.ToLower(name)}}))
		want := wantWeb(wantRoute("r", wantMethod(httppb.HttpMethod_Registered(number))))
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A ServiceProfile with an invalid part is not used at all, and is reported once (Q28).
func TestProfileInvalid(t *testing.T) {
	condition := func(m *catalog.RequestMatch) *catalog.ServiceProfile {
		return webProfile(getRoute(), getRoute(func(r *catalog.Route) { r.Condition = m }))
	}
	response := func(m *catalog.ResponseMatch) *catalog.ServiceProfile {
		return webProfile(getRoute(), getRoute(responds(codes599(200, 200), m)))
	}
	get, ok := &catalog.RequestMatch{Method: "GET"}, codes599(200, 200)
	for name, tc := range map[string]struct {
		profile *catalog.ServiceProfile
		reason  string
	}{
		"T3 no condition":            {condition(nil), "routes[1].condition is empty"},
		"T3 an empty condition":      {condition(&catalog.RequestMatch{}), "routes[1].condition is empty"},
		"§3.5 a null in all":         {condition(&catalog.RequestMatch{All: []*catalog.RequestMatch{get, nil}}), "routes[1].condition.all[1] is empty"},
		"§3.5 a null in any":         {condition(&catalog.RequestMatch{Any: []*catalog.RequestMatch{nil}}), "routes[1].condition.any[0] is empty"},
		"§3.5 an empty not":          {condition(&catalog.RequestMatch{Not: &catalog.RequestMatch{}}), "routes[1].condition.not is empty"},
		"§3.5 deep inside":           {condition(&catalog.RequestMatch{Not: &catalog.RequestMatch{All: []*catalog.RequestMatch{{}}}}), "routes[1].condition.not.all[0] is empty"},
		"T5 no response condition":   {response(nil), "routes[1].responseClasses[1].condition is empty"},
		"T5 an empty one":            {response(&catalog.ResponseMatch{}), "routes[1].responseClasses[1].condition is empty"},
		"T5 max below min":           {response(codes599(201, 200)), "routes[1].responseClasses[1].condition.status: min and max"},
		"T5 a status below 100":      {response(codes599(99, 0)), "condition.status"},
		"T5 a status above 599":      {response(codes599(0, 600)), "condition.status"},
		"T5 a negative status":       {response(codes599(-1, 200)), "condition.status"},
		"T5 a status of 33 bits":     {response(codes599(200, 1<<32+300)), "condition.status"},
		"§3.5 a null response":       {response(&catalog.ResponseMatch{Any: []*catalog.ResponseMatch{ok, nil}}), "condition.any[1] is empty"},
		"§3.5 a null response (all)": {response(&catalog.ResponseMatch{All: []*catalog.ResponseMatch{nil}}), "condition.all[0] is empty"},
		"B.2 nested too deeply":      {condition(nested(97)), "the conditions are nested too deeply"},
		"§3.5 an empty response not": {response(&catalog.ResponseMatch{Not: &catalog.ResponseMatch{}}), "condition.not is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			got, problems := profiled(tc.profile)
			if diff := cmp.Diff(wantService("web"), got, protocmp.Transform()); diff != "" {
				t.Errorf("not the default profile (-want +got):\n%s", diff)
			}
			if len(problems) != 1 || !strings.HasPrefix(problems[0].Reason, tc.reason) && !strings.Contains(problems[0].Reason, tc.reason) {
				t.Fatalf("reported %v, want one problem about %q", problems, tc.reason)
			}
			problems[0].Reason = ""
			want := objectmeta.Problem{Kind: "ServiceProfile", Namespace: "ns", Name: "web.ns.svc.cluster.local", Field: "spec"}
			if diff := cmp.Diff(want, problems[0]); diff != "" {
				t.Errorf("reported (-want +got):\n%s", diff)
			}
		})
	}
}

// nested returns a condition that is negated so many times.
func nested(times int) *catalog.RequestMatch {
	m := &catalog.RequestMatch{Method: "GET"}
	for range times {
		m = &catalog.RequestMatch{Not: m}
	}
	return m
}

// Proxies decode at most 100 messages within one another (B.2).
func TestProfileNesting(t *testing.T) {
	got, problems := profiled(webProfile(getRoute(func(r *catalog.Route) { r.Condition = nested(96) })))
	if len(got.GetRoutes()) != 1 || len(problems) > 0 {
		t.Errorf("%d routes, problems %v", len(got.GetRoutes()), problems)
	}
}

// A profile that is marked invalid is not reported again, because package kinds has reported it.
func TestProfileMarkedInvalid(t *testing.T) {
	sp := webProfile(getRoute())
	sp.Invalid = true
	got, problems := profiled(sp)
	if diff := cmp.Diff(wantService("web"), got, protocmp.Transform()); diff != "" || len(problems) > 0 {
		t.Errorf("problems %v, not the default profile (-want +got):\n%s", problems, diff)
	}
}

func TestProfileRetryBudget(t *testing.T) {
	for name, tc := range map[string]struct {
		budget catalog.RetryBudget
		want   *pb.RetryBudget
	}{
		"§3.5 as written":     {catalog.RetryBudget{Ratio: 0.5, MinRetriesPerSecond: 3, TTL: time.Minute}, &pb.RetryBudget{RetryRatio: 0.5, MinRetriesPerSecond: 3, Ttl: durationpb.New(time.Minute)}},
		"§3.5 nothing but":    {catalog.RetryBudget{TTL: time.Second}, &pb.RetryBudget{Ttl: durationpb.New(time.Second)}},
		"negative retries":    {catalog.RetryBudget{MinRetriesPerSecond: -1, TTL: time.Second}, &pb.RetryBudget{Ttl: durationpb.New(time.Second)}},
		"more than an uint32": {catalog.RetryBudget{MinRetriesPerSecond: 1<<32 + 5, TTL: time.Second}, &pb.RetryBudget{MinRetriesPerSecond: math.MaxInt32, Ttl: durationpb.New(time.Second)}},
		"B.2 more than the proxy takes": {
			catalog.RetryBudget{MinRetriesPerSecond: math.MaxInt32 + 1, TTL: time.Second}, &pb.RetryBudget{MinRetriesPerSecond: math.MaxInt32, Ttl: durationpb.New(time.Second)},
		},
		"a huge ratio": {catalog.RetryBudget{Ratio: math.MaxFloat64, TTL: time.Second}, &pb.RetryBudget{RetryRatio: float32(math.Inf(1)), Ttl: durationpb.New(time.Second)}},
	} {
		t.Run(name, func(t *testing.T) {
			sp := webProfile()
			sp.RetryBudget = &tc.budget
			got, problems := profiled(sp)
			want := wantWeb()
			want.RetryBudget = tc.want
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || len(problems) > 0 {
				t.Errorf("problems %v, (-want +got):\n%s", problems, diff)
			}
		})
	}
}

func TestProfileOverrides(t *testing.T) {
	for _, tc := range []struct {
		authority, want string
		milli           int64
		weight          uint32
	}{
		{"a.ns.svc.cluster.local", "a.ns.svc.cluster.local:80", 1000, 10000},
		{"a:8080", "a:8080", 500, 5000},
		{"[fd00::1]", "[fd00::1]:80", 1, 10},
		{"[fd00::1]:81", "[fd00::1]:81", 0, 0},
		{"", ":80", 1, 10},
		{"a:", "a:", 1, 10},
		{"negative", "negative:80", -5, 0},
		{"largest", "largest:80", 429496729, 4294967290},
		{"wraps", "wraps:80", 429496730, 4294967290},
		{"multiplication wraps", "multiplication wraps:80", math.MaxInt64, 4294967290},
		{"very negative", "very negative:80", math.MinInt64, 0},
	} {
		t.Run(fmt.Sprintf("§3.5 %s %d", tc.authority, tc.milli), func(t *testing.T) {
			sp := webProfile()
			sp.DstOverrides = []catalog.WeightedDst{{Authority: tc.authority, MilliWeight: tc.milli}, {Authority: "second:1", MilliWeight: 2}}
			got, _ := profiled(sp)
			want := wantWeb()
			want.DstOverrides = []*pb.WeightedDst{{Authority: tc.want, Weight: tc.weight}, {Authority: "second:1", Weight: 20}}
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The other inputs of the profile of a Service, and the profile of a missing object.
func TestProfileResults(t *testing.T) {
	key := catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: "ns", Name: "web"}
	bare := &pb.DestinationProfile{
		RetryBudget: wantService("web").RetryBudget, OpaqueProtocol: true,
		Endpoint: &pb.WeightedAddr{Addr: tcpAddress(netip.MustParseAddrPort("10.0.0.1:3306")), Weight: 10000},
	}
	for name, tc := range map[string]struct {
		snapshot catalog.ProfileSnapshot
		want     *pb.DestinationProfile
	}{
		"P18 opaque":              {catalog.ProfileSnapshot{Result: catalog.ServiceFound, Service: key, Opaque: true}, wantService("web", func(p *pb.DestinationProfile) { p.OpaqueProtocol = true })},
		"Q22 port not declared":   {catalog.ProfileSnapshot{Result: catalog.PortNotDeclared, Service: key, Opaque: true, Profile: webProfile()}, &pb.DestinationProfile{}},
		"T17 the Service is gone": {catalog.ProfileSnapshot{Result: catalog.NothingFound, Service: key}, wantService("web")},
		"P13 P22 bare":            {catalog.ProfileSnapshot{Result: catalog.EndpointFound, Endpoint: netip.MustParseAddrPort("10.0.0.1:3306"), Opaque: true}, bare},
	} {
		t.Run(name, func(t *testing.T) {
			config := &Config{ClusterDomain: "cluster.local"}
			got := config.profile(catalog.ProfileQuery{Port: 80, ClusterDomain: "cluster.local"}, &tc.snapshot)
			if diff := cmp.Diff(tc.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

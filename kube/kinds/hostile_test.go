package kinds

//lint:file-ignore SA1019 Endpoints are deprecated, and read all the same.

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/api/linkerd"
	"github.com/signpostd/signpost/api/policy"
	"github.com/signpostd/signpost/api/workload"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube"
)

// annotatedService returns a Service with one annotation.
func annotatedService(annotation, value string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns", Annotations: map[string]string{annotation: value}}}
}

// distinctMembers returns a list of n different members.
func distinctMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "m%d@e,", i)
	}
	return b.String()
}

// TestManyMembersM4 shows that many members are trimmed quickly. Each was once compared with all before it,
// and one annotation of 42,000 members stopped all changes of Services for 12 seconds (M4).
func TestManyMembersM4(t *testing.T) {
	svc, problems := trimService(kube.Scope{}, annotatedService(remoteDiscovery, distinctMembers(300)))
	if n := len(svc.Federation.Remote); n != 256 || len(problems) != 1 {
		t.Errorf("%d members and %d problems of 300 members, want 256 and 1", n, len(problems))
	}
}

// TestProblemsOfOneObjectM5 shows that the problems of an object are limited. Each of 125,000 bad fragments
// of an annotation was once a problem, and a log line for each event of its Service (M5).
func TestProblemsOfOneObjectM5(t *testing.T) {
	for _, annotation := range []string{remoteDiscovery, opaquePortsAnnotation} {
		_, problems := trimService(kube.Scope{}, annotatedService(annotation, strings.Repeat("x,", 125_000)))
		if len(problems) == 0 || len(problems) > 9 {
			t.Errorf("%s: %d problems, want 1 to 9", annotation, len(problems))
		}
	}
}

// TestManyMembersAreQuickM4 shows that the time for a list of members is proportional to its length (M4).
func TestManyMembersAreQuickM4(t *testing.T) {
	list := distinctMembers(42_000)
	begun := time.Now()
	d := newFieldReader(kube.NewScope(""), "ns", "x")
	if n := len(d.federation(map[string]string{remoteDiscovery: list}).Remote); n != membersLimit {
		t.Errorf("%d members, want %d", n, membersLimit)
	}
	if took := time.Since(begun); took > 3*time.Second { // 10 ms now, 12 s before
		t.Errorf("it took %v", took)
	}
}

// trimBudget is the maximum of bytes allocated for one object.
const trimBudget = 8 << 20

// hostile draws objects of any kind from values that no API server should send.
type hostile struct{ *rand.Rand }

var hostileTexts = []string{
	"", "", "a", "a", "80", "web", "Pod", "10.0.0.1", "fd00::1", "10.0.0.1:80", "evil\xff", "\xc3", "x\x00y", "é",
	strings.Repeat("x", 64), strings.Repeat("é", 200), strings.Repeat("a.", 200), "spiffe://a/b", "spiffe://a/\xff", "500m", "1s",
	strings.Repeat("80,", 83_000), strings.Repeat("x,", 125_000), strings.Repeat("x", 250_000), strings.Repeat("\xff", 250_000),
	distinctMembers(40_000), "linkerd-proxy", "LINKERD2_PROXY_ADMIN_LISTEN_ADDR",
}

var hostileKeys = []string{
	"a", "evil\xff", strings.Repeat("k", 400), opaquePortsAnnotation, skipInboundPortsAnnotation, gatewayIdentityAnnotation, remoteNameAnnotation,
	targetClusterLabel, remoteDiscovery, remoteService, localDiscovery, discoveryv1.LabelServiceName, corev1.LabelTopologyZone,
}

func pick[T any](h hostile, pool []T) T { return pool[h.IntN(len(pool))] }

// fill fills a value with drawn ones.
func (h hostile) fill(v reflect.Value, depth int) {
	if depth == 0 || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(pick(h, hostileTexts))
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(pick(h, []int64{-1, 0, 1, 80, 8080, 65535, 70_000}))
	case reflect.Bool:
		v.SetBool(h.IntN(2) == 0)
	case reflect.Pointer:
		if h.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			h.fill(v.Elem(), depth-1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			h.fill(v.Field(i), depth-1)
		}
	case reflect.Slice:
		h.fillSlice(v, depth)
	case reflect.Map:
		if v.Type() == reflect.TypeFor[map[string]string]() {
			v.Set(reflect.ValueOf(h.labels()))
		}
	}
}

// fillSlice draws a few items, or very many equal ones.
func (h hostile) fillSlice(v reflect.Value, depth int) {
	n := h.IntN(4)
	if h.IntN(8) == 0 && depth > 2 {
		n = pick(h, []int{257, 2049, 10_001, 50_000})
	}
	if size := int(v.Type().Elem().Size()); n*size > 16<<20 {
		n = 16 << 20 / size
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range min(n, 3) {
		h.fill(v.Index(i), depth-1)
	}
	for i := 3; i < n; i++ {
		v.Index(i).Set(v.Index(i % 3))
	}
}

func (h hostile) labels() map[string]string {
	m := map[string]string{}
	for range h.IntN(6) {
		m[pick(h, hostileKeys)] = pick(h, hostileTexts)
	}
	if h.IntN(12) == 0 {
		for i := range 40_000 {
			m[fmt.Sprint("k", i)] = "v"
		}
	}
	return m
}

// checkHostile draws an object, and checks the trimmed one.
func checkHostile[K, T any](t *testing.T, seed uint64, trim func(kube.Scope, *K) (*T, []kube.Problem)) {
	t.Helper()
	object := new(K)
	hostile{rand.New(rand.NewPCG(seed, 0))}.fill(reflect.ValueOf(object).Elem(), 9)
	scope := kube.NewScope("east")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, problems := trim(scope, object)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > trimBudget {
		t.Errorf("seed %d: %T took %d bytes, want %d at most", seed, object, used, trimBudget)
	}
	if len(problems) > kube.ProblemLimit+1 || got == nil && len(problems) == 0 {
		t.Errorf("seed %d: %T has %d problems", seed, object, len(problems))
	}
	for _, p := range problems {
		if len(p.Field)+len(p.Reason) > 2000 {
			t.Errorf("seed %d: a problem of %T has %d bytes: %.200q", seed, object, len(p.Field)+len(p.Reason), p.Reason)
		}
	}
	checkTexts(t, fmt.Sprintf("seed %d: %T", seed, got), reflect.ValueOf(got))
	again, _ := trim(kube.Scope{Cluster: "east"}, object)
	if diff := cmp.Diff(got, again, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("seed %d: interning changed the value:\n%.2000s", seed, diff)
	}
}

// checkTexts reports each text in a value that isn't UTF-8 or is longer than any limit.
func checkTexts(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) || v.Len() > regexLimit {
			t.Errorf("%s has %d bytes: %.40q", path, v.Len(), v)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			checkTexts(t, path, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			checkTexts(t, path+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			checkTexts(t, path, v.Index(i))
		}
	}
}

// FuzzHostile checks that trimmed objects are UTF-8 and of limited size, and that trimming takes limited
// memory, for any object of an API server.
func FuzzHostile(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		checkHostile(t, seed, trimPod)
		checkHostile(t, seed, trimService)
		checkHostile(t, seed, trimEndpoints)
		checkHostile(t, seed, trimEndpointSlice)
		checkHostile(t, seed, partial(trimNode))
		checkHostile(t, seed, partial(trimOwner("Job")))
		checkHostile[workload.ExternalWorkload](t, seed, trimExternalWorkload)
		checkHostile[policy.Server](t, seed, trimServer)
		checkHostile[linkerd.ServiceProfile](t, seed, trimServiceProfile)
	})
}

// TestLargestObjects shows that the largest objects in etcd, 1.5 MB, stay within the budget.
func TestLargestObjects(t *testing.T) {
	const size = 1_500_000
	address := corev1.EndpointAddress{IP: "10.0.0.1"}
	endpoints := &corev1.Endpoints{Subsets: []corev1.EndpointSubset{{Ports: []corev1.EndpointPort{{Port: 80}}, Addresses: repeat(address, size/12)}}}
	slice := &discoveryv1.EndpointSlice{Endpoints: repeat(discoveryv1.Endpoint{Addresses: []string{"x", "10.0.0.1"}}, size/17)}
	many := &discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{Addresses: repeat("", size/2)}}}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Ports: repeat(corev1.ContainerPort{Name: "a", ContainerPort: 1}, size/8)}}}}
	pod.Annotations = map[string]string{opaquePortsAnnotation: strings.Repeat("a,", 125_000), skipInboundPortsAnnotation: strings.Repeat(",", 250_000)}
	labels := map[string]string{}
	for i := range 40_000 {
		labels[fmt.Sprint("key", i)] = "v"
	}
	profile := &linkerd.ServiceProfile{Spec: linkerd.ServiceProfileSpec{Routes: repeat(linkerd.Route{Condition: &linkerd.RequestMatch{Any: repeat(&linkerd.RequestMatch{Method: "GET"}, 100)}}, 4000)}}
	for name, trim := range map[string]func(kube.Scope) int{
		"endpoints": func(s kube.Scope) int { _, p := trimEndpoints(s, endpoints); return len(p) },
		"slice":     func(s kube.Scope) int { _, p := trimEndpointSlice(s, slice); return len(p) },
		"addresses": func(s kube.Scope) int { _, p := trimEndpointSlice(s, many); return len(p) },
		"pod":       func(s kube.Scope) int { _, p := trimPod(s, pod); return len(p) },
		"labels": func(s kube.Scope) int {
			_, p := trimPod(s, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels}})
			return len(p)
		},
		"profile": func(s kube.Scope) int { _, p := trimServiceProfile(s, profile); return len(p) },
		"lists": func(s kube.Scope) int {
			_, p := trimService(s, annotatedService(opaquePortsAnnotation, strings.Repeat("x,", 125_000)))
			return len(p)
		},
		"members": func(s kube.Scope) int {
			_, p := trimService(s, annotatedService(remoteDiscovery, strings.Repeat("x,", 125_000)))
			return len(p)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			problems := trim(kube.NewScope(""))
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > trimBudget || problems == 0 || problems > kube.ProblemLimit+1 {
				t.Errorf("%d bytes were allocated for %d problems, want %d at most, and 1 to 9 problems", used, problems, trimBudget)
			}
		})
	}
}

func repeat[T any](item T, n int) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = item
	}
	return list
}

// TestNothingLessSafe shows that a workload is refused if a field that protects it is unusable.
func TestNothingLessSafe(t *testing.T) {
	bad := []string{"evil\xff", strings.Repeat("x", 254)}
	mesh := func(m workload.MeshTLS) *catalog.Workload {
		kept, _ := trimExternalWorkload(kube.Scope{}, &workload.ExternalWorkload{Spec: workload.ExternalWorkloadSpec{MeshTLS: m}})
		return kept
	}
	for _, text := range append(bad, "", "-vm.example.org", "vm..example.org", "vm example", "://", "spiffe://", "vm/a") {
		if kept := mesh(workload.MeshTLS{Identity: text, ServerName: "vm.example.org"}); kept != nil {
			t.Errorf("an ExternalWorkload of the identity %q is let in as %+v", text, kept.MeshTLS)
		}
		if kept := mesh(workload.MeshTLS{Identity: "spiffe://example.org/vm", ServerName: text}); kept != nil {
			t.Errorf("an ExternalWorkload of the server name %q is let in as %+v", text, kept.MeshTLS)
		}
	}
	for _, text := range bad {
		for name, pod := range map[string]*corev1.Pod{
			"service account": {Spec: corev1.PodSpec{ServiceAccountName: text}},
			"label":           {ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"linkerd.io/control-plane-ns": text}}},
			"name":            {ObjectMeta: metav1.ObjectMeta{Name: text}},
		} {
			if kept, problems := trimPod(kube.Scope{}, pod); kept != nil || len(problems) != 1 {
				t.Errorf("a pod of the %s %q is let in, with the problems %v", name, text, problems)
			}
		}
		for _, annotation := range []string{gatewayIdentityAnnotation, remoteNameAnnotation} {
			slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotation: text}}}
			if kept, _ := trimEndpointSlice(kube.Scope{}, slice); kept != nil {
				t.Errorf("a slice with %s %q is let in", annotation, text)
			}
		}
	}
}

// TestIdentityFormsR1 shows that an identity that is a DNS name isn't sent as a URI. Proxies couldn't parse
// that, and sent plaintext (R1).
func TestIdentityFormsR1(t *testing.T) {
	for identity, want := range map[string]catalog.IdentityForm{
		"web.shop.serviceaccount.identity.linkerd.cluster.local": catalog.DNSIdentity,
		"vm": catalog.DNSIdentity, "vm_1.example.org.": catalog.DNSIdentity,
		"spiffe://example.org/vm": catalog.URIIdentity,
	} {
		kept, problems := trimExternalWorkload(kube.Scope{}, &workload.ExternalWorkload{
			Spec: workload.ExternalWorkloadSpec{MeshTLS: workload.MeshTLS{Identity: identity, ServerName: "vm.example.org"}},
		})
		if kept == nil || len(problems) > 0 || kept.MeshTLS.Identity != (catalog.Identity{Name: identity, Form: want}) {
			t.Errorf("%q became %+v, with the problems %v", identity, kept, problems)
		}
	}
}

// TestPortLists shows that an item is first a port name and then a range, and otherwise a problem (case T22).
func TestPortLists(t *testing.T) {
	named := func(name string) []uint16 {
		return map[string][]uint16{"http": {8080}, "both": {1, 2}, "80-90": {7}}[name]
	}
	for _, c := range []struct {
		list     string
		named    func(string) []uint16
		want     catalog.PortSet
		problems int
	}{
		{"http,25", named, catalog.PortSet{{Low: 25, High: 25}, {Low: 8080, High: 8080}}, 0},
		{"both,25,25", named, catalog.PortSet{{Low: 1, High: 2}, {Low: 25, High: 25}}, 0},
		{"80-90", named, catalog.PortSet{{Low: 7, High: 7}}, 0},
		{"grpc,25", named, catalog.PortSet{{Low: 25, High: 25}}, 1},
		{"http", nil, nil, 1},
		{"", named, nil, 0},
		{strings.Repeat("80,", 257) + "81", named, catalog.PortSet{{Low: 80, High: 80}}, 1},
	} {
		for _, s := range []kube.Scope{{}, kube.NewScope("")} {
			d := newFieldReader(s, "ns", "x")
			for range 2 {
				d.Problems = kube.Problems{}
				got := d.portList(map[string]string{"l": c.list}, "l", c.named)
				if diff := cmp.Diff(&c.want, got); diff != "" || len(d.List()) != c.problems {
					t.Errorf("%.20q has the problems %v, and (-want +got):\n%s", c.list, d.List(), diff)
				}
			}
			if d.portList(nil, "l", c.named) != nil {
				t.Error("without the annotation there is a list")
			}
		}
	}
}

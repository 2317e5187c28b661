package whyserved

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/destination"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture has the objects of the API server and of the catalog, and the streams, of a test.
type fixture struct {
	objects []runtime.Object
	known   []catalog.Object
	streams []destination.OpenStream
	forbids string
	ipv6    bool
	// unreadable is a cluster that can't be read.
	unreadable string
}

// StreamsOfService is as in [Server].
func (w *fixture) StreamsOfService(_ catalog.ServiceKey, limit int) ([]destination.OpenStream, int) {
	return w.streams[:min(limit, len(w.streams))], len(w.streams)
}

func meta(name string, pairs ...string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		m.Labels[pairs[i]] = pairs[i+1]
	}
	return m
}

func key(name string) catalog.ServiceKey {
	return catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: "shop", Name: name}
}

// service adds a Service with the port http:80, and edits what the API server has.
func (w *fixture) service(name string, selector map[string]string, edits ...func(*corev1.Service)) *fixture {
	s := &corev1.Service{ObjectMeta: meta(name), Spec: corev1.ServiceSpec{
		Selector: selector, ClusterIP: "10.96.0.10",
		Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}},
	}}
	for _, edit := range edits {
		edit(s)
	}
	w.objects = append(w.objects, s)
	known := &catalog.Service{
		Key: key(name), ExternalName: s.Spec.Type == corev1.ServiceTypeExternalName, LocalTraffic: s.Spec.InternalTrafficPolicy != nil,
		ClusterIPs: []netip.Addr{netip.MustParseAddr("10.96.0.10")},
	}
	for _, p := range s.Spec.Ports {
		known.Ports = append(known.Ports, catalog.ServicePort{Name: p.Name, Port: uint16(p.Port), Protocol: catalog.TCP})
	}
	w.known = append(w.known, known)
	return w
}

// pod adds a ready pod, and edits it.
func (w *fixture) pod(name, app string, edits ...func(*corev1.Pod)) *fixture {
	p := &corev1.Pod{
		ObjectMeta: meta(name, "app", app),
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	for _, edit := range edits {
		edit(p)
	}
	w.objects = append(w.objects, p)
	w.known = append(w.known, &catalog.Workload{Key: podKey(name), IPs: []netip.Addr{netip.MustParseAddr("10.0.0.7")}, Running: true, Node: "n1"})
	return w
}

func podKey(name string) catalog.WorkloadKey {
	return catalog.WorkloadKey{Kind: catalog.Pod, Cluster: catalog.LocalCluster, Namespace: "shop", Name: name}
}

// slice adds a slice of a Service with one endpoint, to the API server and the catalog.
func (w *fixture) slice(service, port, pod string, edits ...func(*catalog.SliceEndpoint)) *fixture {
	e := catalog.SliceEndpoint{Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.7")}, Target: podKey(pod)}
	for _, edit := range edits {
		edit(&e)
	}
	ready := !e.NotReady
	number := int32(8080)
	w.objects = append(w.objects, &discoveryv1.EndpointSlice{
		ObjectMeta:  meta(service+"-x", discoveryv1.LabelServiceName, service, discoveryv1.LabelManagedBy, "endpointslice-controller.k8s.io"),
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &port, Port: &number}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.7"}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
	})
	family := catalog.IPv4
	if e.Addresses[0].Is6() {
		family = catalog.IPv6
	}
	w.known = append(w.known, &catalog.EndpointSlice{
		Cluster: catalog.LocalCluster, Namespace: "shop", Name: service + "-x", Service: key(service), AddressType: family,
		Subsets: []catalog.Subset{{Ports: []catalog.SubsetPort{{Name: port, Port: 8080}}, Endpoints: []catalog.SliceEndpoint{e}}},
	})
	return w
}

// dualStack gives the pod web-1 an IPv6 address, with a slice of the Service web.
func (w *fixture) dualStack() *fixture {
	ip := netip.MustParseAddr("fd00::7")
	for _, v := range w.known {
		if pod, ok := v.(*catalog.Workload); ok {
			pod.IPs = append(pod.IPs, ip)
		}
	}
	w.known = append(w.known, &catalog.EndpointSlice{
		Cluster: catalog.LocalCluster, Namespace: "shop", Name: "web-v6", Service: key("web"), AddressType: catalog.IPv6,
		Subsets: []catalog.Subset{{Ports: []catalog.SubsetPort{{Name: "http", Port: 8080}}, Endpoints: []catalog.SliceEndpoint{{Addresses: []netip.Addr{ip}, Target: podKey("web-1")}}}},
	})
	return w
}

// sliceOfNames adds a slice of the addressType FQDN, which the catalog doesn't have.
func (w *fixture) sliceOfNames(service string) *fixture {
	w.objects = append(w.objects, &discoveryv1.EndpointSlice{
		ObjectMeta: meta(service+"-names", discoveryv1.LabelServiceName, service), AddressType: discoveryv1.AddressTypeFQDN,
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"www.example.org"}}},
	})
	return w
}

func (w *fixture) policy(name string, selects map[string]string) *fixture {
	w.objects = append(w.objects, &networkingv1.NetworkPolicy{ObjectMeta: meta(name), Spec: networkingv1.NetworkPolicySpec{PodSelector: metav1.LabelSelector{MatchLabels: selects}}})
	return w
}

// react refuses lists, and filters by name, because the fake API server doesn't.
func (w *fixture) react(a clienttesting.Action) (bool, runtime.Object, error) {
	if a.GetResource().Resource == w.forbids {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: w.forbids}, "", errors.New("no role"))
	}
	list := a.(clienttesting.ListAction)
	if field, ok := list.GetListRestrictions().Fields.RequiresExactMatch("metadata.name"); ok {
		return true, named(a.GetResource().Resource, a.GetNamespace(), field, w.objects), nil
	}
	return false, nil, nil
}

// explain returns the explanation of the fixture for a query.
func (w *fixture) explain(t *testing.T, q inspect.Query) inspect.Explanation {
	t.Helper()
	client := fake.NewClientset(w.objects...)
	client.PrependReactor("list", "*", w.react)
	known := catalog.New(catalog.Options{})
	for _, v := range w.known {
		known.Put(v)
	}
	known.MarkSynced()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- known.Run(ctx) }()
	<-known.Synced()
	defer func() { stop(); <-done }()
	server := destination.NewServer(known, w.config(), prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	explainer := &Explainer{Catalog: known, Server: serverWithStreams{server, w}, Client: client, IPv6: w.ipv6, Unreadable: w.why}
	return inspect.Conclude(q.String(), explainer.Explain(ctx, q))
}

// why is an Unreadable.
func (w *fixture) why(cluster string) string {
	if cluster != w.unreadable {
		return ""
	}
	return "since noon (unreachable)"
}

// serverWithStreams is a real server whose streams are those of the fixture.
type serverWithStreams struct {
	*destination.Server
	fixture *fixture
}

// StreamsOfService implements Server.
func (a serverWithStreams) StreamsOfService(key catalog.ServiceKey, limit int) ([]destination.OpenStream, int) {
	return a.fixture.StreamsOfService(key, limit)
}

func (w *fixture) config() destination.Config {
	return destination.Config{
		ControllerNamespace: "linkerd", TrustDomain: "cluster.local", ClusterDomain: "cluster.local", EnableH2Upgrade: true,
		ForceOpaqueTransport: true, EnableIPv6: w.ipv6,
	}
}

func named(resource, namespace, name string, objects []runtime.Object) runtime.Object {
	services, pods := &corev1.ServiceList{}, &corev1.PodList{}
	for _, o := range objects {
		switch v := o.(type) {
		case *corev1.Service:
			if v.Name == name && (namespace == "" || v.Namespace == namespace) {
				services.Items = append(services.Items, *v)
			}
		case *corev1.Pod:
			if v.Name == name && (namespace == "" || v.Namespace == namespace) {
				pods.Items = append(pods.Items, *v)
			}
		}
	}
	if resource == "services" {
		return services
	}
	return pods
}

func web(port uint16) inspect.Query {
	return inspect.Query{Service: &inspect.ServiceQuery{Namespace: "shop", Name: "web", Port: port}}
}

// The first wrong step names the cause, and what to do.
func TestCauses(t *testing.T) {
	app := func(value string) map[string]string { return map[string]string{"app": value} }
	unready := func(reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions[0].Status = corev1.ConditionFalse
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}}
		}
	}
	notReadyEndpoint := func(e *catalog.SliceEndpoint) { e.NotReady = true }
	target := func(name string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromString(name) }
	}
	local := func(s *corev1.Service) {
		policy := corev1.ServiceInternalTrafficPolicyLocal
		s.Spec.InternalTrafficPolicy = &policy
	}
	for name, test := range map[string]struct {
		fixture *fixture
		query   inspect.Query
		verdict inspect.Verdict
		summary string
		// also is part of some other step, in its text or below it.
		also string
	}{
		"well": {
			fixture: new(fixture).service("web", app("web")).pod("web-1", "web").slice("web", "http", "web-1"), query: web(80),
			verdict: inspect.VerdictOK, summary: "port 80 is served by 1 endpoint", also: "managed by endpointslice-controller.k8s.io according to the label",
		},
		"all ports": {
			fixture: new(fixture).service("web", app("web")).pod("web-1", "web").slice("web", "http", "web-1"), query: web(0),
			verdict: inspect.VerdictOK, summary: "port 80 is served by 1 endpoint", also: "10.0.0.7:8080 (Pod web-1)",
		},
		"no such Service":       {fixture: new(fixture).service("web", nil), query: inspect.Query{Service: &inspect.ServiceQuery{Namespace: "shop", Name: "wbe"}}, verdict: inspect.VerdictWrong, summary: "there is no Service shop/wbe: did you mean web?"},
		"no such Service there": {fixture: new(fixture).service("web", nil), query: inspect.Query{Service: &inspect.ServiceQuery{Namespace: "default", Name: "web"}}, verdict: inspect.VerdictWrong, summary: "there is no Service default/web: there is one of that name in another namespace: shop"},
		"port not declared": {
			fixture: new(fixture).service("web", app("web")).pod("web-1", "web").slice("web", "http", "web-1"), query: web(8080),
			verdict: inspect.VerdictWrong, summary: "the Service doesn't declare port 8080 (it has [http:80])",
		},
		"port by name": {
			fixture: new(fixture).service("web", app("web")).pod("web-1", "web").slice("web", "http", "web-1"),
			query:   inspect.Query{Service: &inspect.ServiceQuery{Namespace: "shop", Name: "web", PortName: "http"}},
			verdict: inspect.VerdictOK, summary: "port 80 is served by 1 endpoint",
		},
		"port name not declared": {
			fixture: new(fixture).service("web", app("web")).pod("web-1", "web").slice("web", "http", "web-1"),
			query:   inspect.Query{Service: &inspect.ServiceQuery{Namespace: "shop", Name: "web", PortName: "htpp"}},
			verdict: inspect.VerdictWrong, summary: "the Service doesn't declare port htpp (it has [http:80])",
		},
		"wrong selector": {
			fixture: new(fixture).service("web", app("wbe")).pod("web-1", "web").pod("web-2", "web").pod("web-3", "web").pod("db-1", "db"), query: web(80),
			verdict: inspect.VerdictWrong, summary: "the selector app=wbe matches no pod; 3 pods of the namespace have app=web: did you mean that?",
		},
		"wrong key": {
			fixture: new(fixture).service("web", map[string]string{"ap": "web"}).pod("web-1", "web"), query: web(80),
			verdict: inspect.VerdictWrong, summary: "the selector ap=web matches no pod; 1 pod of the namespace has app=web: did you mean that?",
		},
		"nothing like it": {
			fixture: new(fixture).service("web", app("web")).pod("db-1", "postgres"), query: web(80),
			verdict: inspect.VerdictWrong, summary: "no pod of the namespace has even a similar label",
		},
		"no pods at all": {fixture: new(fixture).service("web", app("web")), query: web(80), verdict: inspect.VerdictWrong, summary: "the namespace shop has no pods"},
		"deleted with its namespace": {
			fixture: new(fixture).service("web", app("web"), func(s *corev1.Service) {
				s.DeletionTimestamp, s.Finalizers = &metav1.Time{Time: time.Now()}, []string{"service.kubernetes.io/load-balancer-cleanup"}
			}), query: web(80), verdict: inspect.VerdictWrong,
			summary: "the Service is being deleted, possibly with its namespace, and the namespace shop has no pods: what remains waits for its finalizers (service.kubernetes.io/load-balancer-cleanup)",
		},
		"wrong targetPort": {
			fixture: new(fixture).service("web", app("web"), target("htpp")).pod("web-1", "web"), query: web(80),
			verdict: inspect.VerdictWrong, summary: `the port http:80 has the targetPort "htpp", and no container of the only pod has a port of that name (they have http): did you mean http?`,
		},
		"not ready": {
			fixture: new(fixture).service("web", app("web")).pod("web-1", "web", unready("CrashLoopBackOff")).slice("web", "http", "web-1", notReadyEndpoint), query: web(80),
			verdict: inspect.VerdictWrong, summary: "the only pod, web-1, is not ready (the container web waits: CrashLoopBackOff)", also: "left out are 1 not ready",
		},
		"none of two is ready": {
			fixture: new(fixture).service("web", app("web")).pod("web-1", "web", unready("ImagePullBackOff")).pod("web-2", "web", unready("x")), query: web(80),
			verdict: inspect.VerdictWrong, summary: "none of the 2 pods is ready (the container web waits: ImagePullBackOff)", also: "web-2: the container web waits: x",
		},
		"one of two is ready": {
			fixture: new(fixture).service("web", app("web")).pod("web-1", "web").pod("web-2", "web", unready("x")).slice("web", "http", "web-1"), query: web(80),
			verdict: inspect.VerdictOK, summary: "served by 1 endpoint", also: "1 of 2 pods are ready",
		},
		"nobody makes slices": {
			fixture: new(fixture).service("web", app("web")).pod("web-1", "web"), query: web(80),
			verdict: inspect.VerdictWrong, summary: "no EndpointSlice belongs to the Service, although its selector matches",
		},
		"the slice lacks the port": {
			fixture: new(fixture).service("web", app("web")).pod("web-1", "web").slice("web", "metrics", "web-1"), query: web(80),
			verdict: inspect.VerdictWrong, summary: `the slices have the ports [metrics:8080], and none is named "http"`,
		},
		"a manual slice lacks the port": {
			fixture: new(fixture).service("web", nil).pod("web-1", "web").slice("web", "", "web-1"), query: web(80),
			verdict: inspect.VerdictWrong, summary: `the slices have the ports [:8080], and none is named "http": name the port of the slices so, because clients find it by the name of the port of the Service`,
		},
		"only a slice of names": {
			fixture: new(fixture).service("web", nil).sliceOfNames("web"), query: web(80),
			verdict: inspect.VerdictWrong, summary: "the slices have the addressType FQDN, whose endpoints are not used: write IP addresses",
		},
		"the slice names a pod that is gone": {
			fixture: new(fixture).service("web", app("web")).pod("web-1", "web").slice("web", "http", "web-0"), query: web(80),
			verdict: inspect.VerdictWrong, summary: "the slices name pods that are deleted or not known yet",
		},
		"no selector, no slices": {fixture: new(fixture).service("web", nil), query: web(80), verdict: inspect.VerdictWrong, summary: "the Service has neither a selector nor EndpointSlices"},
		"no selector, slices": {
			fixture: new(fixture).service("web", nil).pod("web-1", "web").slice("web", "http", "web-1"), query: web(80),
			verdict: inspect.VerdictOK, summary: "served by 1 endpoint", also: "its slices are written by another program",
		},
		"headless without hostnames": {
			fixture: new(fixture).service("web", app("web")).pod("web-1", "web").slice("web", "http", "web-1"),
			query:   inspect.Query{Service: &inspect.ServiceQuery{Namespace: "shop", Name: "web", Port: 80, Hostname: "web-1"}},
			verdict: inspect.VerdictWrong, summary: "no pod has a hostname: set spec.hostname and spec.subdomain: web in the pods, or serviceName: web",
		},
		"no endpoint at the address of the hostname": {
			fixture: new(fixture).service("web", app("web")).pod("web-1", "web").slice("web", "http", "web-1"),
			query:   inspect.Query{Service: &inspect.ServiceQuery{Namespace: "shop", Name: "web", Port: 80, Hostname: "10-9-9-9"}},
			verdict: inspect.VerdictWrong, summary: "an endpoint without a hostname at the address 10.9.9.9, and the Service has none there",
		},
		"another hostname": {
			fixture: new(fixture).service("web", app("web")).pod("web-1", "web").slice("web", "http", "web-1", func(e *catalog.SliceEndpoint) { e.Hostname = "web-1" }),
			query:   inspect.Query{Service: &inspect.ServiceQuery{Namespace: "shop", Name: "web", Port: 80, Hostname: "web-2"}},
			verdict: inspect.VerdictWrong, summary: "the pods have the hostnames [web-1]: did you mean web-1?",
		},
		"IPv6 is off": {
			fixture: new(fixture).service("web", app("web")).pod("web-1", "web").slice("web", "http", "web-1", func(e *catalog.SliceEndpoint) { e.Addresses = []netip.Addr{netip.MustParseAddr("fd00::7")} }),
			query:   web(80), verdict: inspect.VerdictWrong, summary: "all endpoints are IPv6, and IPv6 is off: set --enable-ipv6",
		},
		"a network policy is a red herring": {
			fixture: new(fixture).service("web", app("wbe")).pod("web-1", "web").policy("deny", nil), query: web(80),
			verdict: inspect.VerdictWrong, summary: "the selector app=wbe matches no pod",
		},
		"a network policy is a note": {
			fixture: new(fixture).service("web", app("web")).pod("web-1", "web").slice("web", "http", "web-1").policy("deny", nil).policy("db", app("db")), query: web(80),
			verdict: inspect.VerdictOK, summary: "served by 1 endpoint", also: "not the endpoints that clients get",
		},
		"ExternalName": {
			fixture: new(fixture).service("web", nil, func(s *corev1.Service) {
				s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeExternalName, "www.example.org"
			}),
			query: web(80), verdict: inspect.VerdictOK, summary: "stands for the DNS name www.example.org",
		},
		"local traffic": {
			fixture: new(fixture).service("web", app("web"), local).pod("web-1", "web").slice("web", "http", "web-1"), query: web(80),
			verdict: inspect.VerdictOK, summary: "served by 1 endpoint", also: "internalTrafficPolicy is Local",
		},
		"may not list Services": {
			fixture: (&fixture{forbids: "services"}).service("web", nil).pod("web-1", "web").slice("web", "http", "web-1"), query: web(80),
			verdict: inspect.VerdictUnknown, summary: "this process may not list services in the namespace shop: give its role that right", also: "served by 1 endpoint",
		},
		"may not list Services, and knows none": {
			fixture: &fixture{forbids: "services"}, query: web(80),
			verdict: inspect.VerdictUnknown, summary: "this process may not list services in the namespace shop: give its role that right", also: "this process has read no Service shop/web",
		},
		"may not list pods": {
			fixture: (&fixture{forbids: "pods"}).service("web", app("web")).pod("web-1", "web").slice("web", "http", "web-1"), query: web(80),
			verdict: inspect.VerdictUnknown, summary: "may not list pods in the namespace shop",
		},
		"may not list network policies": {
			fixture: (&fixture{forbids: "networkpolicies"}).service("web", app("web")).pod("web-1", "web").slice("web", "http", "web-1"), query: web(80),
			verdict: inspect.VerdictOK, summary: "served by 1 endpoint", also: "may not list networkpolicies.networking.k8s.io",
		},
		"not read": {fixture: &fixture{objects: new(fixture).service("web", nil).objects}, query: web(80), verdict: inspect.VerdictWrong, summary: "this process has not read it"},
		"streams": {
			fixture: (&fixture{streams: slices.Repeat([]destination.OpenStream{{Namespace: "shop", Pod: "cart-1", Target: "web.shop:80", Sent: 3, Current: 3, Endpoints: 1}}, 20)}).
				service("web", app("web")).pod("web-1", "web").slice("web", "http", "web-1"),
			query: web(80), verdict: inspect.VerdictOK, summary: "20 streams ask this process for the Service, and all were sent the current state", also: "shop/cart-1",
		},
		"a slow stream": {
			fixture: (&fixture{streams: []destination.OpenStream{{Sent: 2, Current: 3, Lag: time.Second}}}).
				service("web", app("web")).pod("web-1", "web").slice("web", "http", "web-1"),
			query: web(80), verdict: inspect.VerdictOK, summary: "served by 1 endpoint", also: "1 of them is behind",
		},
		"an address of a pod": {
			fixture: (&fixture{streams: make([]destination.OpenStream, 3)}).service("web", app("web")).pod("web-1", "web").slice("web", "http", "web-1"),
			query:   inspect.Query{Address: netip.MustParseAddrPort("10.0.0.7:8080")},
			verdict: inspect.VerdictOK, summary: "10.0.0.7 is an endpoint of the Service shop/web, and 3 streams ask for it", also: "the Pod shop/web-1 on the node n1",
		},
		"another port of an address": {
			fixture: new(fixture).service("web", app("web")).pod("web-1", "web").slice("web", "http", "web-1"),
			query:   inspect.Query{Address: netip.MustParseAddrPort("10.0.0.7:9090")},
			verdict: inspect.VerdictOK, summary: "the Pod shop/web-1", also: "in slices of the Service shop/web, with other ports",
		},
		"a cluster IP": {
			fixture: new(fixture).service("web", app("wbe")).pod("web-1", "web"),
			query:   inspect.Query{Address: netip.MustParseAddrPort("10.96.0.10:80")},
			verdict: inspect.VerdictWrong, summary: "the selector app=wbe matches no pod", also: "is a cluster IP of the Service shop/web",
		},
		"nobody's address": {fixture: &fixture{}, query: inspect.Query{Address: netip.MustParseAddrPort("192.0.2.1:80")}, verdict: inspect.VerdictWrong, summary: "no Service, pod, ExternalWorkload or slice has the address 192.0.2.1 now"},
		"a pod": {
			fixture: new(fixture).service("web", app("web")).pod("web-1", "web").slice("web", "http", "web-1"),
			query:   inspect.Query{Object: &inspect.ObjectRef{Kind: "Pod", Namespace: "shop", Name: "web-1"}},
			verdict: inspect.VerdictOK, summary: "an endpoint of the Service shop/web",
		},
		"a dual-stack pod": {
			fixture: (&fixture{ipv6: true}).service("web", app("web")).pod("web-1", "web").slice("web", "http", "web-1").dualStack(),
			query:   inspect.Query{Object: &inspect.ObjectRef{Kind: "Pod", Namespace: "shop", Name: "web-1"}},
			verdict: inspect.VerdictOK, summary: "fd00::7 is an endpoint of the Service shop/web",
			also: "10.0.0.7 is in slices of the Service shop/web, whose clients get the address of the other IP family",
		},
		"the IPv6 address of a dual-stack pod, and IPv6 is off": {
			fixture: new(fixture).service("web", app("web")).pod("web-1", "web").slice("web", "http", "web-1").dualStack(),
			query:   inspect.Query{Address: netip.MustParseAddrPort("[fd00::7]:8080")},
			verdict: inspect.VerdictOK, summary: "the Pod shop/web-1", also: "for port 80 it is left out: IPv6, which is off, in the slice web-v6",
		},
		"the IPv6 address of a pod without another one that is served, and IPv6 is off": {
			fixture: new(fixture).service("web", app("web")).pod("web-1", "web").dualStack(),
			query:   inspect.Query{Address: netip.MustParseAddrPort("[fd00::7]:8080")},
			verdict: inspect.VerdictWrong, summary: "fd00::7 is in slices of the Service shop/web, and is not served",
		},
		"a pod that nobody selects": {
			fixture: new(fixture).service("web", app("wbe")).pod("web-1", "web"),
			query:   inspect.Query{Object: &inspect.ObjectRef{Kind: "Pod", Namespace: "shop", Name: "web-1"}},
			verdict: inspect.VerdictOK, summary: "the Pod shop/web-1 is ready", also: "no Service of the namespace selects it; the selector of web is app=wbe: is it meant?",
		},
		"a pod that is gone": {fixture: &fixture{}, query: inspect.Query{Object: &inspect.ObjectRef{Kind: "Pod", Namespace: "shop", Name: "web-1"}}, verdict: inspect.VerdictWrong, summary: "there is no Pod shop/web-1"},
		"a DNS name":         {fixture: &fixture{}, query: inspect.Query{Name: "www.example.org"}, verdict: inspect.VerdictUnknown, summary: "nothing is known about www.example.org here"},
	} {
		t.Run(name, func(t *testing.T) {
			e := test.fixture.explain(t, test.query)
			if e.Verdict != test.verdict || !strings.Contains(e.Summary, test.summary) {
				t.Errorf("%s: %s\nwant %s: %s", e.Verdict, e.Summary, test.verdict, test.summary)
			}
			if test.also != "" && !slices.ContainsFunc(e.Steps, func(s inspect.Step) bool {
				return strings.Contains(s.Text+"\n"+strings.Join(s.More, "\n"), test.also)
			}) {
				t.Errorf("no step has %q: %+v", test.also, e.Steps)
			}
		})
	}
}

// The explanation names members in clusters that aren't linked or can't be read.
func TestMembers(t *testing.T) {
	east, name := "east", "web"
	remote := &catalog.Service{Key: key("web"), Ports: []catalog.ServicePort{{Name: "http", Port: 80, Protocol: catalog.TCP}}, RemoteCluster: &east, RemoteService: &name}
	federated := &catalog.Service{Key: key("web"), Ports: remote.Ports, Federation: &catalog.Federation{Local: "own", Remote: []catalog.RemoteMember{{Service: "web", Cluster: "east"}}}}
	nameless := &catalog.Service{Key: key("web"), Ports: remote.Ports, RemoteCluster: &east}
	for name, test := range map[string]struct {
		known   []catalog.Object
		summary string
	}{
		"not linked": {[]catalog.Object{remote}, "the member shop/web is in the cluster east, which isn't linked"},
		"not read":   {[]catalog.Object{remote, &catalog.Cluster{Name: "east"}}, "which has not been read completely"},
		"not there":  {[]catalog.Object{remote, &catalog.Cluster{Name: "east", Synced: true}}, "there is no Service shop/web in the cluster east"},
		"federated":  {[]catalog.Object{federated}, "there is no Service shop/own in our own cluster"},
		"nameless":   {[]catalog.Object{nameless}, "names no member"},
	} {
		t.Run(name, func(t *testing.T) {
			w := new(fixture).service("web", nil)
			w.known = test.known
			if e := w.explain(t, web(80)); e.Verdict != inspect.VerdictWrong || !strings.Contains(e.Summary, test.summary) {
				t.Errorf("%s: %s", e.Verdict, e.Summary)
			}
		})
	}
}

// The explanation says that the endpoints of a cluster are the last known ones.
func TestMemberInUnreadableCluster(t *testing.T) {
	federated := &catalog.Service{
		Key: key("web"), Ports: []catalog.ServicePort{{Name: "http", Port: 80, Protocol: catalog.TCP}},
		Federation: &catalog.Federation{Remote: []catalog.RemoteMember{{Service: "web", Cluster: "east"}, {Service: "db", Cluster: "east"}, {Service: "web", Cluster: "west"}}},
	}
	w := new(fixture).service("web", nil)
	w.known, w.unreadable = []catalog.Object{federated, &catalog.Cluster{Name: "east", Synced: true}, &catalog.Cluster{Name: "west", Synced: true}}, "east"
	var got []string
	for _, s := range w.explain(t, web(80)).Steps {
		if strings.Contains(s.Text, "can't be read") {
			got = append(got, string(s.State)+" "+s.Text)
		}
	}
	want := "note the cluster east can't be read since noon (unreachable): its last known endpoints are served; signpost clusters shows its state"
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Text of tenants is shown on one line and truncated.
func TestHostileText(t *testing.T) {
	long := strings.Repeat("x\n\x1b", 10000)
	w := new(fixture).service("web", map[string]string{"app": "web"}).pod("web-1", "web", func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: long, Message: long}}
	})
	e := w.explain(t, web(80))
	for _, s := range e.Steps {
		for _, text := range append(s.More, s.Text) {
			if len(text) > 1500 || strings.ContainsAny(text, "\n\x1b") {
				t.Errorf("%d bytes: %.100q", len(text), text)
			}
		}
	}
}

// Reading a response that is too large fails.
func TestBounded(t *testing.T) {
	endless := roundTrip(func() *http.Response {
		return &http.Response{StatusCode: 200, Body: io.NopCloser(zeros{})}
	})
	response, err := Bounded(endless).RoundTrip(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	n, err := io.Copy(io.Discard, response.Body)
	if n > maxResponse || !errors.As(err, new(*http.MaxBytesError)) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

type roundTrip func() *http.Response

func (r roundTrip) RoundTrip(*http.Request) (*http.Response, error) { return r(), nil }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

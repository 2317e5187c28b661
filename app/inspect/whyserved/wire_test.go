package whyserved

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// know edits the last object of a type in the catalog of a fixture.
func know[T catalog.Object](w *fixture, edit func(T)) *fixture {
	for _, o := range slices.Backward(w.known) {
		if v, ok := o.(T); ok {
			edit(v)
			return w
		}
	}
	panic("the world has no such object")
}

// has adds objects to the catalog.
func (w *fixture) has(objects ...catalog.Object) *fixture {
	w.known = append(w.known, objects...)
	return w
}

// served is a fixture whose Service web is served by the pod web-1.
func served() *fixture {
	return new(fixture).service("web", map[string]string{"app": "web"}).pod("web-1", "web").slice("web", "http", "web-1")
}

// meshed makes a pod one of the mesh, with a proxy that takes connections at 4143.
func meshed(v *catalog.Workload) {
	v.Labels = objectmeta.NewLabels(map[string]string{"linkerd.io/control-plane-ns": "linkerd"})
	at := func(port uint16) catalog.Listener { return catalog.Listener{Known: true, Port: port} }
	v.Proxy = &catalog.ProxyListeners{Inbound: at(4143), Admin: at(4191), Control: at(4190)}
}

func onNode(port uint16, name string) *catalog.Workload {
	return &catalog.Workload{
		Key: podKey(name), IPs: []netip.Addr{netip.MustParseAddr(fmt.Sprintf("10.0.1.%d", port%200))}, HostIPs: []netip.Addr{netip.MustParseAddr("192.168.0.12")}, Running: true, Node: "n2",
		Ports: []catalog.WorkloadPort{{Name: "http", Port: 8080, HostPort: port}},
	}
}

func profile(name string, edit func(*catalog.ServiceProfile)) *catalog.ServiceProfile {
	sp := &catalog.ServiceProfile{Cluster: catalog.LocalCluster, Namespace: "shop", Name: name + ".shop.svc.cluster.local"}
	edit(sp)
	return sp
}

func overridesTo(authorities ...string) func(*catalog.ServiceProfile) {
	return func(sp *catalog.ServiceProfile) {
		for _, a := range authorities {
			sp.DstOverrides = append(sp.DstOverrides, catalog.WeightedDst{Authority: a, MilliWeight: 1000})
		}
	}
}

func externalName(s *corev1.Service) {
	s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeExternalName, "www.example.org"
}

func addressQuery(a string) inspect.Query { return inspect.Query{Address: netip.MustParseAddrPort(a)} }

func objectQuery(kind, name string) inspect.Query {
	return inspect.Query{Object: &inspect.ObjectRef{Kind: kind, Namespace: "shop", Name: name}}
}

// allowing is a policy for all pods of the namespace that allows TCP ports.
func (w *fixture) allowing(ports ...int32) *fixture {
	w.policy("allow", nil)
	rule := networkingv1.NetworkPolicyIngressRule{}
	for _, port := range ports {
		number := intstr.FromInt32(port)
		rule.Ports = append(rule.Ports, networkingv1.NetworkPolicyPort{Port: &number})
	}
	p := w.objects[len(w.objects)-1].(*networkingv1.NetworkPolicy)
	p.Spec.Ingress = append(p.Spec.Ingress, rule)
	return w
}

// Explanations agree with the responses to calls.
func TestExplainsWhatCallsAreTold(t *testing.T) {
	withoutProxy := func() *fixture {
		return know(served(), func(v *catalog.Workload) { meshed(v); v.Proxy = nil })
	}
	gate := func(p *corev1.Pod) {
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.org/lb"}}
		p.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ReadinessGatesNotReady"},
			{Type: "example.org/lb", Status: corev1.ConditionFalse, Message: "target group is empty"},
		}
	}
	ofDeployment := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "shop-web-86c875d46"}}
	}
	for name, test := range map[string]struct {
		fixture *fixture
		query   inspect.Query
		verdict inspect.Verdict
		says    string
	}{
		"mesh, finding 3: a meshed pod without a proxy":            {withoutProxy(), web(80), inspect.VerdictWrong, "the pod is labelled as meshed but has no container named linkerd-proxy"},
		"mesh, finding 3: the pod itself":                          {withoutProxy(), objectQuery("Pod", "web-1"), inspect.VerdictWrong, "no container named linkerd-proxy"},
		"mesh, finding 3: its address":                             {withoutProxy(), addressQuery("10.0.0.7:8080"), inspect.VerdictWrong, "clients get the bare address"},
		"mesh, finding 8: a host port":                             {new(fixture).has(onNode(7777, "ng-0"), onNode(9101, "agent")), addressQuery("192.168.0.12:7777"), inspect.VerdictOK, "is a host port of the Pod shop/ng-0"},
		"mesh, finding 8: another host port":                       {new(fixture).has(onNode(7777, "ng-0"), onNode(9101, "agent")), addressQuery("192.168.0.12:9102"), inspect.VerdictWrong, "host port 9101: Pod shop/agent"},
		"mesh, finding 8: two pods of one host port":               {new(fixture).has(onNode(7777, "ng-0"), onNode(7777, "ng-1")), addressQuery("192.168.0.12:7777"), inspect.VerdictWrong, "2 workloads have the address"},
		"mesh, finding 10: an override to an ExternalName":         {served().service("bridge", nil, externalName).has(profile("web", overridesTo("bridge.shop.svc.cluster.local"))), web(80), inspect.VerdictWrong, "to bridge.shop.svc.cluster.local:80, which has no endpoints (refused with InvalidArgument"},
		"mesh, finding 10: an override to nothing":                 {served().has(profile("web", overridesTo("gone.vp.svc.cluster.local:81"))), web(80), inspect.VerdictWrong, "service gone.vp not found"},
		"mesh, finding 10: an override to no name":                 {served().has(profile("web", overridesTo("example.org"))), web(80), inspect.VerdictWrong, "invalid authority"},
		"mesh, finding 10: an apex without pods whose override is": {know(served().service("apex", map[string]string{"app": "x"}), func(s *catalog.Service) { s.ClusterIPs = nil }).has(profile("apex", overridesTo("web.shop.svc.cluster.local"))), inspect.Query{Service: &inspect.ServiceQuery{Namespace: "shop", Name: "apex"}}, inspect.VerdictOK, "the selector app=x matches no pod"},
		"mesh, finding 10: a ServiceProfile":                       {served().has(profile("web", overridesTo("gone.vp.svc.cluster.local"))), objectQuery("ServiceProfile", "web.shop.svc.cluster.local"), inspect.VerdictWrong, "sends traffic of port 80 to gone.vp.svc.cluster.local:80"},
		"mesh, finding 10: an ExternalName":                        {new(fixture).service("bridge", nil, externalName), inspect.Query{Service: &inspect.ServiceQuery{Namespace: "shop", Name: "bridge"}}, inspect.VerdictOK, "no ServiceProfile may send traffic to it"},
		"first-hour H1: a ServiceProfile that exists":              {served().has(profile("web", func(*catalog.ServiceProfile) {})), objectQuery("ServiceProfile", "web.shop.svc.cluster.local"), inspect.VerdictOK, "is in force"},
		"first-hour H1: a ServiceProfile that does not":            {served(), objectQuery("ServiceProfile", "web.shop.svc.cluster.local"), inspect.VerdictWrong, "knows no ServiceProfile"},
		"first-hour H2: an invalid ServiceProfile":                 {served().has(profile("web", func(sp *catalog.ServiceProfile) { sp.Invalid = true })), web(80), inspect.VerdictWrong, "the default profile is served"},
		"first-hour H2: a route without a condition":               {served().has(profile("web", func(sp *catalog.ServiceProfile) { sp.Routes = []catalog.Route{{Name: "r"}} })), web(80), inspect.VerdictWrong, "routes[0].condition is empty"},
		"first-hour H2: a broken expression": {served().has(profile("web", func(sp *catalog.ServiceProfile) {
			sp.Routes = []catalog.Route{{Name: "r", Condition: &catalog.RequestMatch{PathRegex: "/(unclosed"}}}
		})), web(80), inspect.VerdictWrong, `"/(unclosed" is no regular expression`},
		"mesh, finding 11: a policy without the proxy's port": {know(served(), meshed).allowing(8080), web(80), inspect.VerdictWrong, "allow TCP port 4143, too"},
		"mesh, finding 11: a policy with the proxy's port":    {know(served(), meshed).allowing(8080, 4143), web(80), inspect.VerdictOK, "NetworkPolicies apply"},
		"mesh, finding 11: a policy that allows nothing":      {know(served(), meshed).policy("deny", nil), web(80), inspect.VerdictOK, "NetworkPolicies apply"},
		"mesh, finding 12: opaque for the Service only":       {know(know(served(), meshed), func(s *catalog.Service) { s.OpaquePorts = &catalog.PortSet{{Low: 80, High: 80}} }), web(80), inspect.VerdictOK, "port 80 is opaque for the Service, and not for all of its pods"},
		"mesh, finding 12: opaque for the pods only":          {know(know(served(), meshed), func(v *catalog.Workload) { v.OpaquePorts = &catalog.PortSet{{Low: 8080, High: 8080}} }), web(80), inspect.VerdictOK, "port 80 is not opaque for the Service, and is for pods of it"},
		"first-hour M4: a readiness gate":                     {new(fixture).service("web", map[string]string{"app": "web"}).pod("web-1", "web", gate), web(80), inspect.VerdictWrong, "the condition example.org/lb of its readiness gates is False: target group is empty"},
		"first-hour M4: the message of the condition":         {new(fixture).service("web", map[string]string{"app": "web"}).pod("web-1", "web", notReadyBecause("ContainersNotReady", "containers with unready status: [web]")), web(80), inspect.VerdictWrong, "ContainersNotReady: containers with unready status: [web]"},
		"first-hour M5: a Deployment":                         {withPod(served(), ofDeployment), objectQuery("Deployment", "shop-web"), inspect.VerdictOK, "a Deployment has no endpoints of its own: its pods, such as web-1, are those of the Service web"},
		"first-hour M5: a Deployment without pods":            {served(), objectQuery("Deployment", "other"), inspect.VerdictUnknown, "ask about its Service"},
		"an address that a finished pod had, too":             {served().has(finished()), addressQuery("10.0.0.7:8080"), inspect.VerdictOK, "is an endpoint of the Service shop/web"},
		"two Services with one cluster IP":                    {served().service("copy", nil), web(80), inspect.VerdictWrong, "2 Services have the cluster IP 10.96.0.10"},
		"all pods are on one node and the policy is Local":    {know(served(), func(s *catalog.Service) { s.LocalTraffic = true }), web(80), inspect.VerdictOK, "port 80 is served by 1 endpoint"},
		"an endpoint without a pod and the policy is Local":   {know(know(served(), func(s *catalog.Service) { s.LocalTraffic = true }), func(s *catalog.EndpointSlice) { s.Subsets[0].Endpoints[0].Target = catalog.WorkloadKey{} }), web(80), inspect.VerdictWrong, "port 80 has no endpoint that is served"},
		"a selector that matches nothing, slices of another":  {new(fixture).service("web", map[string]string{"app": "x"}).pod("web-1", "web").slice("web", "http", "web-1"), web(80), inspect.VerdictOK, "the selector app=x matches no pod"},
	} {
		t.Run(name, func(t *testing.T) {
			e := test.fixture.explain(t, test.query)
			text := fmt.Sprint(e.Summary)
			for _, s := range e.Steps {
				text += "\n" + string(s.State) + " " + s.Text + "\n" + strings.Join(s.More, "\n")
			}
			if e.Verdict != test.verdict || !strings.Contains(text, test.says) {
				t.Errorf("%s: %s\nwant %s: %s", e.Verdict, text, test.verdict, test.says)
			}
		})
	}
}

// The cause is the override, not the selector, if the ServiceProfile sends all calls of a Service
// without pods elsewhere (mesh finding 10).
func TestCauseOfOverriddenService(t *testing.T) {
	for override, cause := range map[string]string{
		"gone.vp.svc.cluster.local:81":     "the ServiceProfile sends traffic of port 80 to gone.vp.svc.cluster.local:81",
		"apex.shop.svc.cluster.local:80":   "the selector app=x matches no pod",
		"bridge.shop.svc.cluster.local:80": "the ServiceProfile sends traffic of port 80 to bridge.shop.svc.cluster.local:80",
	} {
		w := know(new(fixture).service("bridge", nil, externalName), func(s *catalog.Service) { s.ClusterIPs = nil })
		w = w.service("apex", map[string]string{"app": "x"}).has(profile("apex", overridesTo(override)))
		e := w.explain(t, inspect.Query{Service: &inspect.ServiceQuery{Namespace: "shop", Name: "apex"}})
		if e.Verdict != inspect.VerdictWrong || !strings.HasPrefix(e.Summary, cause) {
			t.Errorf("%s: %s: %s", override, e.Verdict, e.Summary)
		}
	}
}

func notReadyBecause(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: reason, Message: message}}
	}
}

// withPod edits the pod that the API server has.
func withPod(w *fixture, edit func(*corev1.Pod)) *fixture {
	for _, o := range w.objects {
		if p, ok := o.(*corev1.Pod); ok {
			edit(p)
		}
	}
	return w
}

// finished is a pod that has ended and whose address belongs to another pod now.
func finished() *catalog.Workload {
	return &catalog.Workload{Key: podKey("job"), IPs: []netip.Addr{netip.MustParseAddr("10.0.0.7")}, Finished: true}
}

// If the namespace has more pods than are read, no step claims that all are ready, nor that there
// are no others (second day B8).
func TestMorePodsThanAreRead(t *testing.T) {
	ready := make([]corev1.Pod, maxPods)
	for i := range ready {
		ready[i].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	f := &facts{service: &corev1.Service{}, matched: podList{pods: ready, more: true}}
	if got := readyStep(f).Text; got != "the first 200 of more than 200 pods are ready" {
		t.Error(got)
	}
	ready[0].Status.Conditions = nil
	if got := readyStep(f).Text; got != "199 of the first 200 of more than 200 pods are ready" {
		t.Error(got)
	}
}

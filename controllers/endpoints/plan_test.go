package endpoints

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// selectingAll makes the Service select every pod.
func selectingAll(s *corev1.Service) { s.Spec.Selector = map[string]string{} }

func withoutSelector(s *corev1.Service) { s.Spec.Selector = nil }

func externalName(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName }

func protocol(p corev1.Protocol) func(*corev1.Service) {
	return withPorts(servicePort("", 80, 8080, p))
}

func appProtocol(name string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.Ports[0].AppProtocol = &name }
}

// resourceVersions sets the resource versions of targets, as older releases did.
func resourceVersions(ep *corev1.Endpoints) {
	for _, list := range [][]corev1.EndpointAddress{ep.Subsets[0].Addresses, ep.Subsets[0].NotReadyAddresses} {
		for i := range list {
			list[i].TargetRef.ResourceVersion = "1"
		}
	}
}

var (
	twoPorts = withPorts(servicePort("port0", 80, 8080, corev1.ProtocolTCP), servicePort("port1", 88, 8088, corev1.ProtocolTCP))
	// The digest puts port1 first.
	twoPortsFound = []corev1.EndpointPort{port("port1", 8088, corev1.ProtocolTCP), port("port0", 8080, corev1.ProtocolTCP)}
	handWritten   = corev1.EndpointSubset{Addresses: []corev1.EndpointAddress{{IP: "6.7.8.9"}}, Ports: []corev1.EndpointPort{port("", 1000, "")}}
	cluster       = clusterIP("10.96.0.1")
	withClusterIP = mapOf(ManagedByLabel, ManagedBy)
)

// The Services of the cases without a write have a cluster IP. Without one, the missing label of headless
// Services would be added (K13).
var unchangedCases = map[string]planCase{
	"EP-02": {service: serviceFoo(withoutSelector), current: stored(holding(handWritten))},
	"EP-03": {service: serviceFoo(cluster), current: stored(managed)},
	"EP-04": {service: serviceFoo(cluster), current: stored(managed, holding([]corev1.EndpointSubset{}...))},
	"EP-05": {service: serviceFoo(), current: stored(headless)},
	"EP-06": {
		service: serviceFoo(cluster), pods: pods(pod(0), pod(1, notReady)),
		current: stored(managed, holding(subset(pods(pod(0)), pods(pod(1)), tcp8080)), resourceVersions),
	},
	"EP-16": {service: serviceFoo(cluster), pods: manyPods(1), current: stored(managed, holding(subset(manyPods(1), nil, tcp8080)))},
	"EP-17": {
		service: serviceFoo(cluster), pods: manyPods(2),
		current: stored(managed, holding(subset(pods(pod(1), pod(0)), nil, tcp8080))),
	},
	"EP-26a": {service: serviceFoo(externalName)},
	"EP-26b": {service: serviceFoo(externalName, withoutSelector)},
	"EP-26c": {service: serviceFoo(externalName, withPorts())},
	"EP-26d": {service: serviceFoo(externalName, withoutSelector, withPorts())},
	"AD-04 headless label": {
		service: serviceFoo(cluster, serviceLabels(HeadlessLabel, "")), pods: manyPods(1),
		current: stored(managed, holding(subset(manyPods(1), nil, tcp8080))),
	},
	"AD-04 managed-by label": {
		service: serviceFoo(serviceLabels(ManagedByLabel, "somebody else")), pods: manyPods(1),
		current: stored(headless, holding(subset(manyPods(1), nil, tcp8080))),
	},
	"K16 the trigger time stays, whatever it is": {
		service: serviceFoo(), pods: manyPods(1), trigger: later,
		current: stored(headless, holding(subset(manyPods(1), nil, tcp8080)), annotated(TriggerTimeAnnotation, "2001-01-01T00:00:00Z")),
	},
	"K3 ExternalName leaves Endpoints": {
		service: serviceFoo(externalName), current: stored(headless, holding(subset(manyPods(1), nil, tcp8080))),
	},
}

func TestPlanLeavesEndpointsUnchanged(t *testing.T) { runPlans(t, unchangedCases) }

var writeCases = map[string]planCase{
	"EP-07": {service: serviceFoo(), action: Create},
	"EP-08": {
		service: serviceFoo(selectingAll), pods: manyPods(1), current: stored(holding(handWritten)),
		action: Update, subsets: []corev1.EndpointSubset{subset(manyPods(1), nil, tcp8080)},
	},
	"EP-09": {
		service: serviceFoo(selectingAll, protocol(corev1.ProtocolUDP)), pods: manyPods(1), current: stored(holding(handWritten)),
		action: Update, subsets: []corev1.EndpointSubset{subset(manyPods(1), nil, port("", 8080, corev1.ProtocolUDP))},
	},
	"EP-10": {
		service: serviceFoo(selectingAll, protocol(corev1.ProtocolSCTP)), pods: manyPods(1), current: stored(holding(handWritten)),
		action: Update, subsets: []corev1.EndpointSubset{subset(manyPods(1), nil, port("", 8080, corev1.ProtocolSCTP))},
	},
	"EP-11": {
		service: serviceFoo(withPorts(servicePort("", 80, 8080, corev1.ProtocolTCP), servicePort("", 80, 8080, corev1.ProtocolUDP))),
		pods:    manyPods(1), current: stored(holding(handWritten)), action: Update,
		subsets: []corev1.EndpointSubset{subset(manyPods(1), nil, port("", 8080, corev1.ProtocolUDP), tcp8080)},
	},
	"EP-12": {
		service: serviceFoo(selectingAll), pods: manyPods(1), current: stored(),
		action: Update, subsets: []corev1.EndpointSubset{subset(manyPods(1), nil, tcp8080)},
	},
	"EP-13": {
		service: serviceFoo(selectingAll), pods: manyPods(1, notReady), current: stored(),
		action: Update, subsets: []corev1.EndpointSubset{subset(nil, manyPods(1), tcp8080)},
	},
	"EP-14": {
		service: serviceFoo(selectingAll), pods: pods(pod(0), pod(1, notReady)), current: stored(),
		action: Update, subsets: []corev1.EndpointSubset{subset(manyPods(1), pods(pod(1)), tcp8080)},
	},
	"EP-15": {
		service: serviceFoo(), pods: manyPods(1), current: stored(headless, holding(handWritten)),
		action: Update, subsets: []corev1.EndpointSubset{subset(manyPods(1), nil, tcp8080)},
	},
	"EP-18": {
		service: serviceFoo(twoPorts), pods: pods(pod(2), pod(0), pod(1)),
		action: Create, subsets: []corev1.EndpointSubset{subset(manyPods(3), nil, twoPortsFound...)},
	},
	"EP-19": {
		service: serviceFoo(twoPorts, serviceLabels("foo", "bar")), pods: pods(pod(2), pod(0), pod(1)),
		action: Create, subsets: []corev1.EndpointSubset{subset(manyPods(3), nil, twoPortsFound...)},
		labels: mapOf("foo", "bar", HeadlessLabel, "", ManagedByLabel, ManagedBy),
	},
	"EP-20": {
		service: serviceFoo(serviceLabels("baz", "blah")), pods: manyPods(1),
		current: stored(storedLabels("foo", "bar"), holding(subset(manyPods(1), nil, tcp8080))),
		action:  Update, subsets: []corev1.EndpointSubset{subset(manyPods(1), nil, tcp8080)},
		labels: mapOf("baz", "blah", HeadlessLabel, "", ManagedByLabel, ManagedBy),
	},
	"EP-21": {
		service: serviceFoo(clusterIP(corev1.ClusterIPNone), withPorts([]corev1.ServicePort{}...), serviceLabels("a", "b")),
		pods:    manyPods(1), current: stored(holding(handWritten)),
		action: Update, subsets: []corev1.EndpointSubset{subset(manyPods(1), nil)},
		labels: mapOf("a", "b", HeadlessLabel, "", ManagedByLabel, ManagedBy),
	},
	"EP-22": {
		service: serviceFoo(clusterIP(corev1.ClusterIPNone), withPorts()), pods: manyPods(1),
		action: Create, subsets: []corev1.EndpointSubset{subset(manyPods(1), nil)},
	},
	"EP-23": {
		service: serviceFoo(), pods: manyPods(1, notReady, phase(corev1.PodFailed)), current: stored(storedLabels("foo", "bar")),
		action: Update,
	},
	"EP-24": {
		service: serviceFoo(), pods: manyPods(1, notReady, phase(corev1.PodSucceeded)), current: stored(storedLabels("foo", "bar")),
		action: Update,
	},
	"EP-25": {
		service: serviceFoo(), pods: manyPods(1, notReady, phase(corev1.PodSucceeded), func(p *corev1.Pod) {
			p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		}), current: stored(storedLabels("foo", "bar")),
		action: Update,
	},
	"EP-31 none": {
		service: serviceFoo(), pods: manyPods(1),
		action: Create, subsets: []corev1.EndpointSubset{subset(manyPods(1), nil, tcp8080)},
	},
	"EP-31 http": {
		service: serviceFoo(appProtocol("http")), pods: manyPods(1), action: Create,
		subsets: []corev1.EndpointSubset{subset(manyPods(1), nil, corev1.EndpointPort{
			Port: 8080, Protocol: corev1.ProtocolTCP, AppProtocol: pointer("http"),
		})},
	},
	"K13 the label of headless Services is repaired": {
		service: serviceFoo(), pods: manyPods(1), current: stored(managed, holding(subset(manyPods(1), nil, tcp8080))),
		action: Update, subsets: []corev1.EndpointSubset{subset(manyPods(1), nil, tcp8080)},
	},
	"K4 target port 0 is no port": {
		service: serviceFoo(withPorts(servicePort("", 80, 0, corev1.ProtocolTCP))), pods: manyPods(1),
		action: Create, subsets: []corev1.EndpointSubset{subset(manyPods(1), nil)},
	},
	"a Service without ports that has a cluster IP": {
		service: serviceFoo(cluster, withPorts()), pods: manyPods(1), action: Create, labels: withClusterIP,
	},
}

func TestPlanWrites(t *testing.T) { runPlans(t, writeCases) }

// Three syncs, each after the write of the one before (EP-32).
func TestPlanFollowsNamedPorts(t *testing.T) {
	pod1, pod2 := pod(1, exposing("svc1", 100)), pod(2, exposing("svc2", 101))
	found1, found2 := port("portname1", 100, corev1.ProtocolTCP), port("portname2", 101, corev1.ProtocolTCP)
	only1, only2 := subset(pods(pod1), nil, found1), subset(pods(pod2), nil, found2)
	both := []corev1.EndpointSubset{only2, only1}
	steps := []planCase{
		{service: serviceFoo(cluster, withPorts(namedTarget("portname1", "svc1"))), subsets: []corev1.EndpointSubset{only1}},
		{service: serviceFoo(cluster, withPorts(namedTarget("portname1", "svc1"), namedTarget("portname2", "svc2"))), subsets: both},
		{service: serviceFoo(cluster, withPorts(namedTarget("portname2", "svc2"))), subsets: []corev1.EndpointSubset{only2}},
	}
	current := stored()
	for i, step := range steps {
		step.pods, step.current, step.action, step.labels = pods(pod1, pod2), current, Update, withClusterIP
		t.Run([]string{"EP-32 (1)", "EP-32 (2)", "EP-32 (3)"}[i], func(t *testing.T) { runPlan(t, step) })
		_, current = Plan(step.service, watchedPods(step.pods), current, step.trigger)
	}
}

var addedCases = map[string]planCase{
	"AD-08": {
		service: serviceFoo(), pods: pods(pod(0), pod(1, podIPs("1.2.3.4"))), action: Create,
		subsets: []corev1.EndpointSubset{subset(pods(pod(0), pod(1, podIPs("1.2.3.4"))), nil, tcp8080)},
	},
	"AD-08 one not ready": {
		service: serviceFoo(), pods: pods(pod(0, notReady), pod(1, podIPs("1.2.3.4"))), action: Create,
		subsets: []corev1.EndpointSubset{subset(pods(pod(1, podIPs("1.2.3.4"))), manyPods(1), tcp8080)},
	},
	"AD-09": {
		service: serviceFoo(withPorts(namedTarget("a", "a"), namedTarget("b", "b"))),
		pods:    pods(pod(0, exposing("a", 1), exposing("b", 2)), pod(1, exposing("a", 1)), pod(2)), action: Create,
		subsets: []corev1.EndpointSubset{
			subset(manyPods(2), nil, port("a", 1, corev1.ProtocolTCP)), subset(manyPods(1), nil, port("b", 2, corev1.ProtocolTCP)),
		},
	},
	"AD-09 different numbers": {
		service: serviceFoo(withPorts(namedTarget("a", "a"))),
		pods:    pods(pod(0, exposing("a", 1)), pod(1, exposing("a", 2))), action: Create,
		subsets: []corev1.EndpointSubset{
			subset(pods(pod(1)), nil, port("a", 2, corev1.ProtocolTCP)), subset(manyPods(1), nil, port("a", 1, corev1.ProtocolTCP)),
		},
	},
	"AD-12": {
		service: serviceFoo(), pods: pods(pod(0, podIPs("10.0.0.2")), pod(1, podIPs("10.0.0.10"))), action: Create,
		subsets: []corev1.EndpointSubset{subset(pods(pod(1, podIPs("10.0.0.10")), pod(0, podIPs("10.0.0.2"))), nil, tcp8080)},
	},
	"EP-87": {
		service: serviceFoo(), pods: manyPods(1, terminating), current: stored(headless, holding(subset(manyPods(1), nil, tcp8080))),
		action: Update,
	},
	"EP-89": {
		service: serviceFoo(clusterIP(corev1.ClusterIPNone), serviceLabels("new-label", "")), pods: manyPods(1),
		current: stored(storedLabels("app", "", ManagedByLabel, ManagedBy, HeadlessLabel, ""), holding(subset(manyPods(1), nil, tcp8080))),
		action:  Update, subsets: []corev1.EndpointSubset{subset(manyPods(1), nil, tcp8080)},
		labels: mapOf("new-label", "", HeadlessLabel, "", ManagedByLabel, ManagedBy),
	},
	"EP-90a": {service: serviceFoo(clusterIP(corev1.ClusterIPNone)), action: Create},
	"EP-90b": {service: serviceFoo(clusterIP(corev1.ClusterIPNone), serviceLabels(HeadlessLabel, "")), action: Create},
	"EP-90c": {service: serviceFoo(cluster), action: Create, labels: withClusterIP},
	"EP-90d": {service: serviceFoo(cluster, serviceLabels(HeadlessLabel, "")), action: Create, labels: withClusterIP},
}

func TestPlanAddedCases(t *testing.T) {
	runPlans(t, addedCases)
	for name, tc := range addedCases {
		tc.pods = slices.Clone(tc.pods)
		slices.Reverse(tc.pods)
		t.Run(name+" pods reversed", func(t *testing.T) { runPlan(t, tc) })
	}
}

func TestPlanKeepsMetadataOfOthers(t *testing.T) {
	runPlans(t, map[string]planCase{"AD-11": {
		service: serviceFoo(), pods: manyPods(1),
		current: stored(storedLabels("theirs", "x"), annotated("theirs", "y"), func(ep *corev1.Endpoints) {
			ep.Finalizers = []string{"example.com/theirs"}
			ep.OwnerReferences = append(ep.OwnerReferences, metav1.OwnerReference{Kind: "ConfigMap", Name: "theirs", UID: "uid"})
		}),
		action: Update, subsets: []corev1.EndpointSubset{subset(manyPods(1), nil, tcp8080)},
		annotations: mapOf("theirs", "y"),
	}})
}

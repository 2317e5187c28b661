package nodes

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestPoolGoesRoundAndKeepsWhatAPodHas(t *testing.T) {
	p := newPool(1)
	first, err := p.take("a")
	if want := netip.MustParseAddr("10.128.32.1"); err != nil || first.v4 != want {
		t.Fatalf("first = %v, %v; want %v", first, err, want)
	}
	if again, _ := p.take("a"); again != first {
		t.Errorf("asked again: %v, want %v", again, first)
	}
	p.give("a")
	if next, _ := p.take("b"); next == first {
		t.Errorf("%v came back at once", next)
	}
	p.claim("old", netip.MustParseAddr("10.128.32.7"))
	for i := range 20 {
		got, err := p.take(types.UID(fmt.Sprint(i)))
		if err != nil || got.v4 == netip.MustParseAddr("10.128.32.7") {
			t.Errorf("took %v, %v: claimed by another pod", got, err)
		}
	}
}

func TestPoolIsUniqueUntilFull(t *testing.T) {
	seen := map[netip.Addr]bool{}
	for node := range 3 {
		p := newPool(node)
		ranges := podRanges(node)
		v4, v6 := netip.MustParsePrefix(ranges[0]), netip.MustParsePrefix(ranges[1])
		for i := range podsPerNode {
			got, err := p.take(types.UID(fmt.Sprint(i)))
			if err != nil {
				t.Fatal(err)
			}
			if seen[got.v4] || seen[got.v6] || !v4.Contains(got.v4) || !v6.Contains(got.v6) {
				t.Fatalf("node %d: %v is not new or not in %v", node, got, ranges)
			}
			seen[got.v4], seen[got.v6] = true, true
		}
		if got, err := p.take("one too many"); err == nil {
			t.Errorf("node %d is full and gave %v", node, got)
		}
		p.give("17")
		if _, err := p.take("one more"); err != nil {
			t.Error(err)
		}
	}
}

func TestAddressPlanHasRoom(t *testing.T) {
	last := podAddresses(MaxNodes-1, podsPerNode)
	if !netip.MustParsePrefix("10.128.0.0/9").Contains(last.v4) {
		t.Errorf("last pod address %v leaves 10.128.0.0/9", last.v4)
	}
	if host := hostAddresses(MaxNodes - 1); !netip.MustParsePrefix("172.30.0.0/16").Contains(host.v4) {
		t.Errorf("last node address %v leaves 172.30.0.0/16", host.v4)
	}
}

// testPod returns a pod as the scheduler leaves it: bound, with a native sidecar.
func testPod(change func(*corev1.Pod)) *corev1.Pod {
	always := corev1.ContainerRestartPolicyAlways
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Generation: 1, Annotations: map[string]string{}},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "init"}, {Name: "sidecar", RestartPolicy: &always}},
			Containers:     []corev1.Container{{Name: "main", Image: "any"}},
		},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}},
	}
	change(pod)
	return pod
}

func isReady(status corev1.PodStatus) bool {
	for _, condition := range status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func TestPodStatus(t *testing.T) {
	gate := corev1.PodReadinessGate{ConditionType: "example.com/lb"}
	for name, tc := range map[string]struct {
		change  func(*corev1.Pod)
		started bool
		phase   corev1.PodPhase
		ready   bool
	}{
		"just started":        {func(*corev1.Pod) {}, false, corev1.PodRunning, false},
		"running":             {func(*corev1.Pod) {}, true, corev1.PodRunning, true},
		"annotated not ready": {func(p *corev1.Pod) { p.Annotations[AnnotationReady] = "false" }, true, corev1.PodRunning, false},
		"succeeded":           {func(p *corev1.Pod) { p.Annotations[AnnotationPhase] = "Succeeded" }, true, corev1.PodSucceeded, false},
		"unknown phase":       {func(p *corev1.Pod) { p.Annotations[AnnotationPhase] = "Pending" }, true, corev1.PodRunning, true},
		"closed gate":         {func(p *corev1.Pod) { p.Spec.ReadinessGates = []corev1.PodReadinessGate{gate} }, true, corev1.PodRunning, false},
		"open gate": {func(p *corev1.Pod) {
			p.Spec.ReadinessGates = []corev1.PodReadinessGate{gate}
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: gate.ConditionType, Status: corev1.ConditionTrue})
		}, true, corev1.PodRunning, true},
	} {
		pod := testPod(tc.change)
		status := podStatus(observation{pod: pod, host: hostAddresses(0), ip: podAddresses(0, 1), started: tc.started, now: metav1.Now()})
		if status.Phase != tc.phase || isReady(status) != tc.ready {
			t.Errorf("%s: phase %s, ready %v; want %s, %v", name, status.Phase, isReady(status), tc.phase, tc.ready)
		}
		if len(status.PodIPs) != 2 || len(status.InitContainerStatuses) != 2 || status.Conditions[0].Type != corev1.PodScheduled {
			t.Errorf("%s: status %+v", name, status)
		}
		pod.Status = status
		later := metav1.NewTime(time.Now().Add(time.Hour))
		again := podStatus(observation{pod: pod, host: hostAddresses(0), ip: podAddresses(0, 1), started: tc.started, now: later})
		if !equality.Semantic.DeepEqual(again, status) {
			t.Errorf("%s: the status changes though nothing happened:\n%+v\n%+v", name, status, again)
		}
	}
}

func TestTerminationLeft(t *testing.T) {
	now := time.Now()
	grace := int64(30)
	end := metav1.NewTime(now.Add(30 * time.Second))
	pod := testPod(func(p *corev1.Pod) { p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &end, &grace })
	if left := terminationLeft(pod, now); left > 0 {
		t.Errorf("without the annotation: %s left", left)
	}
	pod.Annotations[AnnotationTerminate] = "5s"
	if left := terminationLeft(pod, now.Add(2*time.Second)); left != 3*time.Second {
		t.Errorf("2s into 5s: %s left", left)
	}
}

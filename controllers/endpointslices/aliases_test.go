package endpointslices

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/controllers/reconcile"
	slicestore "github.com/signpostd/signpost/controllers/slices"
	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// aliased is a controller without a cluster, for one Service.
type aliased struct {
	*Controller
	events *record.FakeRecorder
	key    reconcile.Key
}

func newAliased(many, most int, s *corev1.Service) *aliased {
	client, events, o := fake.NewClientset(), record.NewFakeRecorder(100), bare().o
	client.PrependReactor("*", "endpointslices", versioned())
	o.Client, o.Recorder = client.DiscoveryV1(), events
	c := &aliased{New(o), events, reconcile.Key{Namespace: s.Namespace, Name: s.Name}}
	c.manyPorts, c.maxPorts = many, most
	c.begin()
	c.o.Pods.PutService(s)
	return c
}

// wrote syncs the Service and returns a line for each of its slices, without its name: the library reuses
// slices in random order.
func (c *aliased) wrote(t rapid.TB) string {
	t.Helper()
	if err := c.sync(context.Background(), c.key); err != nil {
		t.Fatal(err)
	}
	list, err := c.o.Client.EndpointSlices(c.key.Namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range list.Items {
		var words []string
		for _, x := range e.Endpoints {
			words = append(words, fmt.Sprint(x.Addresses, *x.Conditions.Ready))
		}
		slices.Sort(words)
		for _, p := range e.Ports {
			words = append(words, fmt.Sprint(*p.Name, "=", *p.Port, "/", *p.Protocol))
			if p.AppProtocol != nil {
				words = append(words, *p.AppProtocol)
			}
		}
		lines = append(lines, strings.Join(words, " "))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// The slices are those that the library makes without aliases, also after changes of the ports of pods.
func TestAliasesChangeNoSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := service(0)
		s.Spec.PublishNotReadyAddresses = true // pods need no node then
		for i := range rapid.IntRange(1, 4).Draw(t, "ports") {
			p := corev1.ServicePort{
				Name: fmt.Sprint("p", i), Port: int32(i + 1), TargetPort: intstr.FromInt(i + 1),
				Protocol: rapid.SampledFrom([]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP}).Draw(t, "protocol"),
			}
			if rapid.Bool().Draw(t, "by name") {
				p.TargetPort = intstr.FromString(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "target"))
			}
			if rapid.Bool().Draw(t, "app protocol") {
				p.AppProtocol = new(rapid.SampledFrom([]string{"", "http"}).Draw(t, "app"))
			}
			s.Spec.Ports = append(s.Spec.Ports, p)
		}
		with, without := newAliased(1, slicestore.MaxPorts, s), newAliased(100, slicestore.MaxPorts, s)
		for range rapid.IntRange(1, 5).Draw(t, "changes") {
			for i := range 3 {
				name, ip := fmt.Sprint("pod-", i), fmt.Sprint("10.0.0.", i+1)
				pod := &watched.Pod{
					Namespace: "ns", Name: name, UID: name, Labels: objectmeta.NewLabels(s.Spec.Selector),
					Ready: rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse}).Draw(t, "ready"), IP: ip, IPs: []string{ip},
				}
				for _, to := range []*[]watched.ContainerPort{&pod.Ports, &pod.SidecarPorts} {
					for _, port := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 2).Draw(t, "container ports") {
						*to = append(*to, watched.ContainerPort{
							Name: port, Number: rapid.Int32Range(1, 3).Draw(t, "number"), Protocol: corev1.ProtocolTCP,
						})
					}
				}
				with.o.Pods.Put(pod)
				without.o.Pods.Put(pod)
			}
			if diff := cmp.Diff(without.wrote(t), with.wrote(t)); diff != "" {
				t.Fatalf("slices (-without aliases +with aliases):\n%s", diff)
			}
		}
	})
}

// manyPortsService returns a Service with many ports, the last of which has a name as its target.
func manyPortsService(ports int) *corev1.Service {
	s := service(0)
	s.Spec.PublishNotReadyAddresses = true // pods need no node then
	for i := range ports - 1 {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: fmt.Sprint("p", i), Port: int32(i + 1), TargetPort: intstr.FromInt(i + 1), Protocol: corev1.ProtocolTCP})
	}
	s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "last", Port: int32(ports), TargetPort: intstr.FromString("x"), Protocol: corev1.ProtocolTCP})
	return s
}

func podWithPort(s *corev1.Service, i, number int) *watched.Pod {
	name, ip := fmt.Sprintf("pod-%03d", i), fmt.Sprintf("10.0.%d.%d", i/250, i%250+1)
	return &watched.Pod{
		Namespace: s.Namespace, Name: name, UID: name, Labels: objectmeta.NewLabels(s.Spec.Selector), Ready: corev1.ConditionTrue, IP: ip, IPs: []string{ip},
		Ports: []watched.ContainerPort{{Name: "x", Number: int32(number), Protocol: corev1.ProtocolTCP}},
	}
}

// The cost of a sync doesn't grow with the product of pods and ports, which the library hashes.
func TestManyPortsOfManyPods(t *testing.T) {
	const ports, pods, limit = 1000, 100, 32 << 20
	s := manyPortsService(ports)
	c := newAliased(manyPorts, slicestore.MaxPorts, s)
	for i := range pods {
		c.o.Pods.Put(podWithPort(s, i, 9000))
	}
	c.wrote(t)
	c.o.Pods.Put(podWithPort(s, 0, 9001))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := c.sync(t.Context(), c.key); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > limit {
		t.Errorf("the sync allocated %d bytes, want at most %d", used, limit)
	}
}

// Pods with too many combinations of port numbers are left out, always the same ones, and an Event says so
// once.
func TestManyCombinationsOfPorts(t *testing.T) {
	const ports = 20
	s := manyPortsService(ports)
	c := newAliased(manyPorts, 3*ports, s)
	for i := range 4 {
		c.o.Pods.Put(podWithPort(s, i, 9000+i))
	}
	c.o.Pods.Put(podWithPort(s, 4, 9000))
	for range 2 {
		if err := c.sync(t.Context(), c.key); err != nil {
			t.Fatal(err)
		}
	}
	addresses := map[string]bool{}
	for _, e := range c.store.Of(c.key) {
		if len(e.Ports) != ports {
			t.Errorf("a slice has %d ports, want %d", len(e.Ports), ports)
		}
		for _, x := range e.Endpoints {
			addresses[x.Addresses[0]] = true
		}
	}
	if len(addresses) != 4 || addresses["10.0.0.4"] {
		t.Errorf("endpoints are %v, want those of all pods but the fourth", addresses)
	}
	if n := len(c.events.Events); n != 1 {
		t.Fatalf("%d Events, want 1", n)
	}
	if e := <-c.events.Events; !strings.Contains(e, slicestore.TooManyPorts) || !strings.Contains(e, "1 of the pods") {
		t.Errorf("Event %q", e)
	}
}

// Large labels of a Service are not copied to its slices, of which there may be many. They return
// once they are small.
func TestLimitedLabels(t *testing.T) {
	s := service(0)
	s.Labels = map[string]string{}
	for i := range 300 {
		s.Labels[fmt.Sprint("label-", i)] = strings.Repeat("x", 60)
	}
	c := newAliased(manyPorts, slicestore.MaxPorts, s)
	labels := func() map[string]string {
		t.Helper()
		c.wrote(t)
		list := c.store.Of(c.key)
		if len(list) != 1 {
			t.Fatalf("%d slices, want 1", len(list))
		}
		return list[0].Labels
	}
	c.wrote(t)
	if got := labels(); got["label-0"] != "" || got[discoveryv1.LabelServiceName] != s.Name {
		t.Errorf("labels are %v, want those of slices only", got)
	}
	if n := len(c.events.Events); n != 1 {
		t.Fatalf("%d Events, want 1", n)
	}
	if e := <-c.events.Events; !strings.Contains(e, slicestore.LabelsTooLarge) {
		t.Errorf("Event %q", e)
	}
	s = s.DeepCopy()
	s.Labels = map[string]string{"label-0": "y"}
	c.o.Pods.PutService(s)
	if got := labels(); got["label-0"] != "y" {
		t.Errorf("labels are %v, want those of the Service, too", got)
	}
}

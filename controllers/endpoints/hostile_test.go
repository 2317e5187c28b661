package endpoints

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/signpostd/signpost/controllers/watched"
)

func hostileAddresses(network, n int) []corev1.EndpointAddress {
	list := make([]corev1.EndpointAddress, n)
	for i := range list {
		list[i].IP = fmt.Sprintf("10.%d.%d.%d", network, i/250, i%250+1)
	}
	return list
}

func hostilePorts(first, n int) []corev1.EndpointPort {
	list := make([]corev1.EndpointPort, n)
	for i := range list {
		list[i] = corev1.EndpointPort{Name: fmt.Sprint("p", first+i), Port: int32(first + i + 1), Protocol: corev1.ProtocolTCP}
	}
	return list
}

// allocated returns the bytes that a function allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A stored object of less than a megabyte can have a billion addresses with ports, whether it is
// compared with the desired state or with the version before it.
func TestHostileEndpoints(t *testing.T) {
	const size, few = 1500, 50
	product := corev1.EndpointSubset{Addresses: hostileAddresses(1, size), Ports: hostilePorts(0, size)}
	twice := []corev1.EndpointSubset{product, {Addresses: product.Addresses, Ports: hostilePorts(size, 1)}}
	// Each port is in another combination of subsets, so packed, each port has addresses of its own.
	combined := make([]corev1.EndpointSubset, few)
	for i := range combined {
		combined[i].Addresses = hostileAddresses(i, size/few)
		for _, p := range hostilePorts(0, size) {
			if p.Port>>(i%11)&1 == 1 || int(p.Port)%few == i {
				combined[i].Ports = append(combined[i].Ports, p)
			}
		}
	}
	own := stored(holding(corev1.EndpointSubset{Addresses: hostileAddresses(1, 3), Ports: hostilePorts(0, 1)}))
	const limit = 10 << 20
	for name, subsets := range map[string][]corev1.EndpointSubset{"addresses twice": twice, "port combinations": combined} {
		hostile := stored(holding(subsets...), storedLabels(ManagedByLabel, ManagedBy))
		used := allocated(func() {
			action, _ := Plan(serviceFoo(clusterIP("10.0.0.1")), watchedPods(manyPods(3)), hostile, time.Time{})
			if action != Update {
				t.Errorf("%s: the plan is %v, want an update", name, action)
			}
		})
		if used > limit {
			t.Errorf("%s: the plan allocated %d bytes, want at most %d", name, used, limit)
		}
		if used := allocated(func() { lacks(hostile, own) }); used > limit {
			t.Errorf("%s: the comparison with the version before allocated %d bytes, want at most %d", name, used, limit)
		}
		if used := allocated(func() { lacks(own, hostile) }); used > limit {
			t.Errorf("%s: the comparison with the version after it allocated %d bytes, want at most %d", name, used, limit)
		}
	}
}

// The ports of a Service are found in pods with as many ports as an object has room for.
func TestManyNamedPorts(t *testing.T) {
	const n = 20_000
	service := serviceFoo(withPorts())
	p := &watched.Pod{Namespace: "ns", Name: "pod", IP: "10.0.0.1", IPs: []string{"10.0.0.1"}}
	for i := range n {
		service.Spec.Ports = append(service.Spec.Ports, namedTarget(fmt.Sprint("p", i), fmt.Sprint("t", i)))
		p.Ports = append(p.Ports, watched.ContainerPort{Name: fmt.Sprint("t", n-i), Number: int32(i + 1), Protocol: corev1.ProtocolTCP})
	}
	got, cut := groups(service, []*watched.Pod{p, p, p})
	if cut || len(got) != 1 || len(got[0].Ports) != n-1 {
		t.Errorf("%d groups, want one with %d ports", len(got), n-1)
	}
}

// A Service of thousands of ports, and pods that give one of them a number each, cost a sync
// neither seconds nor gigabytes.
func TestManyPortNumbers(t *testing.T) {
	const ports, pods, limit = 5000, 400, 64 << 20
	service := serviceFoo(withPorts())
	for i := range ports - 1 {
		service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{
			Name: fmt.Sprint("p", i), Port: int32(i + 1), TargetPort: intstr.FromInt32(int32(i + 1)), Protocol: corev1.ProtocolTCP,
		})
	}
	service.Spec.Ports = append(service.Spec.Ports, namedTarget("last", "x"))
	list := make([]*watched.Pod, pods)
	for i := range list {
		ip, name := fmt.Sprintf("10.0.%d.%d", i/250, i%250+1), fmt.Sprintf("pod-%03d", pods-1-i)
		list[i] = &watched.Pod{
			Namespace: service.Namespace, Name: name, UID: name, IP: ip, IPs: []string{ip}, Ready: corev1.ConditionTrue,
			Ports: []watched.ContainerPort{{Name: "x", Number: int32(10_000 + i), Protocol: corev1.ProtocolTCP}},
		}
	}
	var got *corev1.Endpoints
	used := allocated(func() { _, got = Plan(service, list, nil, time.Time{}) })
	if used > limit {
		t.Errorf("the plan allocated %d bytes, want at most %d", used, limit)
	}
	// Each pod has a subset with the port that it numbers, and all have one with the others.
	names := map[string]bool{}
	for _, s := range got.Subsets {
		for _, a := range s.Addresses {
			names[a.TargetRef.Name] = true
		}
	}
	const fit = maxPorts / ports
	if len(names) != fit || !names["pod-000"] || !names[fmt.Sprintf("pod-%03d", fit-1)] || got.Annotations[OverCapacityAnnotation] != Truncated {
		t.Errorf("%d pods are used, annotations %v, want the first %d by name and %q", len(names), got.Annotations, fit, Truncated)
	}
}

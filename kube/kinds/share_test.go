package kinds

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube"
)

// podWith returns a meshed pod with these ports.
func podWith(inbound string, ports ...corev1.ContainerPort) *corev1.Pod {
	p := &corev1.Pod{}
	p.Namespace, p.Name = "ns", "x"
	p.Spec.Containers = []corev1.Container{
		{Name: "app", Ports: ports},
		{Name: proxyContainer, Env: []corev1.EnvVar{{Name: "LINKERD2_PROXY_INBOUND_LISTEN_ADDR", Value: inbound}}},
	}
	return p
}

// TestPodsShareLists shows that pods with the same ports and listeners share them.
func TestPodsShareLists(t *testing.T) {
	s := kube.NewScope("local")
	trimmed := func(p *corev1.Pod) *catalog.Workload {
		w, problems := trimPod(s, p)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return w
	}
	http := corev1.ContainerPort{Name: "http", ContainerPort: 8080}
	first, again := trimmed(podWith("0.0.0.0:4143", http)), trimmed(podWith("0.0.0.0:4143", http))
	if &first.Ports[0] != &again.Ports[0] || first.Proxy != again.Proxy {
		t.Error("pods with the same ports and listeners don't share them")
	}
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want []catalog.WorkloadPort
	}{
		"another name":  {podWith("0.0.0.0:4143", corev1.ContainerPort{Name: "h2", ContainerPort: 8080}), []catalog.WorkloadPort{{Name: "h2", Port: 8080}}},
		"another port":  {podWith("0.0.0.0:4143", corev1.ContainerPort{Name: "http", ContainerPort: 8081}), []catalog.WorkloadPort{{Name: "http", Port: 8081}}},
		"a host's port": {podWith("0.0.0.0:4143", corev1.ContainerPort{Name: "http", ContainerPort: 8080, HostPort: 80}), []catalog.WorkloadPort{{Name: "http", Port: 8080, HostPort: 80}}},
		"a host's address": {
			podWith("0.0.0.0:4143", corev1.ContainerPort{Name: "http", ContainerPort: 8080, HostPort: 80, HostIP: "10.0.0.1"}),
			[]catalog.WorkloadPort{{Name: "http", Port: 8080, HostPort: 80, HostIP: netip.MustParseAddr("10.0.0.1")}},
		},
		"two ports": {podWith("0.0.0.0:4143", http, corev1.ContainerPort{ContainerPort: 1}), []catalog.WorkloadPort{{Name: "http", Port: 8080}, {Port: 1}}},
		"no port":   {podWith("0.0.0.0:4143"), nil},
	} {
		w := trimmed(c.pod)
		if diff := cmp.Diff(c.want, w.Ports, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if w.Proxy != first.Proxy {
			t.Errorf("%s: the listeners are the same and not shared", name)
		}
	}
	for _, address := range []string{"0.0.0.0:4144", "wrong", "0.0.0.0:0"} {
		w, alone := trimmed(podWith(address, http)), listeners(podWith(address).Spec.Containers[1].Env)
		if w.Proxy == first.Proxy || *w.Proxy != alone {
			t.Errorf("%s: the listeners are %+v", address, w.Proxy)
		}
	}
}

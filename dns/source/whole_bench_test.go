package source_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/testkit/heaptest"
)

// readable is an object in protobuf.
type readable interface {
	metav1.Object
	kruntime.Object
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// BenchmarkWholeMemory reports the memory of an object that is kept for templates, as the API server sends
// it.
func BenchmarkWholeMemory(b *testing.B) {
	const count = 5000
	for _, kind := range []struct {
		name string
		of   func(int) readable
		new  func() readable
	}{
		{"pod", podOf, func() readable { return &corev1.Pod{} }},
		{"node", nodeOf, func() readable { return &corev1.Node{} }},
		{"service", serviceOf, func() readable { return &corev1.Service{} }},
	} {
		b.Run(kind.name, func(b *testing.B) {
			s, err := settings("--fqdn-template={{.Name}}.example.org")
			if err != nil {
				b.Fatal(err)
			}
			reader := source.NewReader(source.Input{Settings: s}, source.Subject{Source: kind.name, Kind: corev1.SchemeGroupVersion.WithKind(kind.name)})
			for b.Loop() {
				kept := make([]source.Object, count)
				before := heaptest.InUse()
				scope := kube.NewScope("local")
				for i := range kept {
					message, err := kind.of(i).Marshal()
					if err != nil {
						b.Fatal(err)
					}
					obj := kind.new()
					if err := obj.Unmarshal(message); err != nil {
						b.Fatal(err)
					}
					obj.SetManagedFields(nil) // as package kube does
					kept[i] = reader.Read(scope, obj)
				}
				b.ReportMetric(float64(heaptest.InUse()-before)/count, "B/"+kind.name)
				runtime.KeepAlive(kept)
			}
		})
	}
}

// metaOf returns the metadata of an object that was applied by kubectl.
func metaOf(kind string, i int) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: fmt.Sprint("team-", i/100), Name: fmt.Sprint(kind, "-", i), UID: "9c2f0b7e-7a8e-4b7c-8a38-000000000000", ResourceVersion: fmt.Sprint(i),
		Labels: map[string]string{"app.kubernetes.io/name": "checkout", "app.kubernetes.io/instance": fmt.Sprint("checkout-", i)},
		Annotations: map[string]string{
			"external-dns.kubernetes.io/ttl":                   "60",
			"kubectl.kubernetes.io/last-applied-configuration": fmt.Sprintf("%01000d", i),
		},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsV1: &metav1.FieldsV1{Raw: fmt.Appendf(nil, "%01000d", i)}}},
	}
}

var noon = metav1.NewTime(time.Unix(1700000000, 0).UTC())

func podOf(i int) readable {
	pod := &corev1.Pod{ObjectMeta: metaOf("pod", i)}
	pod.Spec = corev1.PodSpec{
		NodeName: fmt.Sprint("node-", i%100), ServiceAccountName: "checkout",
		Containers: []corev1.Container{{Name: "main", Image: "registry.example.org/checkout:v1", Env: []corev1.EnvVar{{Name: "LEVEL", Value: "info"}}}},
	}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, HostIP: "10.0.0.1", PodIP: fmt.Sprintf("10.1.%d.%d", i/250, i%250), StartTime: &noon,
		ContainerStatuses: []corev1.ContainerStatus{{Name: "main", Ready: true, Image: "registry.example.org/checkout:v1", ContainerID: fmt.Sprintf("containerd://%064d", i)}},
	}
	for _, of := range []string{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodConditionType(of), Status: corev1.ConditionTrue, LastTransitionTime: noon, Reason: "", Message: "",
		})
	}
	return pod
}

func nodeOf(i int) readable {
	node := &corev1.Node{ObjectMeta: metaOf("node", i)}
	node.Status = corev1.NodeStatus{
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.0.%d.%d", i/250, i%250)}, {Type: corev1.NodeHostName, Address: node.Name}},
		Capacity:  corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("32Gi")},
	}
	for _, of := range []string{"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"} {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: corev1.NodeConditionType(of), Status: corev1.ConditionFalse, LastHeartbeatTime: noon, LastTransitionTime: noon,
			Reason: "KubeletHasSufficient" + of, Message: "kubelet has sufficient memory, disk and process identifiers available",
		})
	}
	return node
}

func serviceOf(i int) readable {
	service := &corev1.Service{ObjectMeta: metaOf("service", i)}
	service.Spec = corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, ClusterIP: "10.96.0.1", ClusterIPs: []string{"10.96.0.1"}, Selector: map[string]string{"app": "checkout"},
		Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
	}
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: fmt.Sprintf("192.0.2.%d", i%250)}}
	service.Status.Conditions = []metav1.Condition{{
		Type: "LoadBalancerReady", Status: metav1.ConditionTrue, LastTransitionTime: noon, Reason: "Provisioned", Message: "the load balancer has been provisioned by the cloud controller",
	}}
	return service
}

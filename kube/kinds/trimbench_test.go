package kinds

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube"
)

// typicalPod returns a meshed pod of a Deployment, with unshared strings as decoding leaves them.
func typicalPod(i int) *corev1.Pod {
	s := func(format string, args ...any) string { return fmt.Sprintf(format, args...) }
	set := i / 10
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: s("deployment-%d-abcde%05d", set, i), Namespace: s("namespace-%d", set%50),
			Labels: map[string]string{
				s("app"): s("deployment-%d", set), s("pod-template-hash"): s("hash%d", set),
				s("linkerd.io/control-plane-ns"): s("linkerd"), s("linkerd.io/workload-ns"): s("namespace-%d", set%50),
				s("linkerd.io/proxy-deployment"): s("deployment-%d", set), s("version"): s("v1"),
			},
			Annotations:     map[string]string{s("config.linkerd.io/opaque-ports"): s("3306,5432"), s("note"): s("%0512d", i)},
			OwnerReferences: []metav1.OwnerReference{{Kind: s("ReplicaSet"), Name: s("deployment-%d-hash", set)}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{FieldsV1: &metav1.FieldsV1{Raw: make([]byte, 2048)}}},
		},
		Spec: corev1.PodSpec{
			NodeName: s("node-%d", i%100), ServiceAccountName: s("default"),
			Containers: []corev1.Container{
				{Name: s("app"), Ports: []corev1.ContainerPort{{Name: s("http"), ContainerPort: 8080}, {Name: s("metrics"), ContainerPort: 9090}}},
				{
					Name: s("linkerd-proxy"), Ports: []corev1.ContainerPort{{Name: s("linkerd-proxy"), ContainerPort: 4143}, {Name: s("linkerd-admin"), ContainerPort: 4191}},
					Env: []corev1.EnvVar{
						{Name: s("LINKERD2_PROXY_INBOUND_LISTEN_ADDR"), Value: s("0.0.0.0:4143")},
						{Name: s("LINKERD2_PROXY_ADMIN_LISTEN_ADDR"), Value: s("0.0.0.0:4191")},
						{Name: s("LINKERD2_PROXY_CONTROL_LISTEN_ADDR"), Value: s("0.0.0.0:4190")},
					},
				},
			},
		},
	}
}

func BenchmarkTrimPod(b *testing.B) {
	pods := make([]*corev1.Pod, 1000)
	for i := range pods {
		pods[i] = typicalPod(i)
	}
	scope := kube.Scope{Cluster: catalog.LocalCluster}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if w, problems := trimPod(scope, pods[i%len(pods)]); w == nil || problems != nil {
			b.Fatal(problems)
		}
	}
}

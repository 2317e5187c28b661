package watched

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/kube"
)

// drawPod returns an API object with the fields that a Pod keeps, as WithObjects returns it.
func drawPod(t *rapid.T) *corev1.Pod {
	text := rapid.SampledFrom([]string{"", "a", "b", "c"})
	ports := func(label string) []corev1.ContainerPort {
		list := make([]corev1.ContainerPort, rapid.IntRange(0, 3).Draw(t, label))
		for i := range list {
			list[i] = corev1.ContainerPort{
				Name: rapid.SampledFrom([]string{"http", "grpc"}).Draw(t, "port name"), ContainerPort: rapid.Int32Range(1, 9).Draw(t, "port"),
				Protocol: corev1.ProtocolTCP,
			}
		}
		return list
	}
	ip := rapid.SampledFrom([]string{"10.0.0.1", "fd00::1"})
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, pod.UID = text.Draw(t, "namespace"), text.Draw(t, "name"), "uid"
	pod.Spec.NodeName, pod.Spec.Hostname, pod.Spec.Subdomain = text.Draw(t, "node"), text.Draw(t, "hostname"), text.Draw(t, "subdomain")
	if list := ports("ports"); len(list) > 0 {
		pod.Spec.Containers = []corev1.Container{{Ports: list}}
	}
	if list := ports("sidecar ports"); len(list) > 0 {
		pod.Spec.InitContainers = []corev1.Container{{Ports: list, RestartPolicy: &always}}
	}
	if rapid.Bool().Draw(t, "terminating") {
		pod.DeletionTimestamp = &deleted
	}
	if rapid.Bool().Draw(t, "finished") {
		pod.Status.Phase = corev1.PodFailed
	}
	pod.Status.PodIP = ip.Draw(t, "ip")
	for range rapid.IntRange(0, 2).Draw(t, "ips") {
		pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: ip.Draw(t, "one of the ips")})
	}
	if status := text.Draw(t, "ready"); status != "" {
		since := metav1.Unix(rapid.Int64Range(0, 5).Draw(t, "since"), 0)
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionStatus(status), LastTransitionTime: since}}
	}
	return pod
}

// The object of a pod depends on that pod only, and not on the former contents of its memory.
func TestWithObjects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range 5 {
			want := rapid.SliceOfN(rapid.Custom(drawPod), 0, 5).Draw(t, "pods")
			kept := make([]*Pod, len(want))
			for i, pod := range want {
				kept[i], _ = Pods().Trim(kube.Scope{}, pod)
			}
			err := WithObjects(kept, func(got []*corev1.Pod) error {
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("-want +got:\n%s", diff)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

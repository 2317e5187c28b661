package portforward_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/app/portforward"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/reachtest"
)

// Pods of a real API server are found, and a missing right is reported. Nothing is forwarded,
// because there are no kubelets.
func TestFindInCluster(t *testing.T) {
	cluster := kubetest.Start(t)
	namespace := cluster.Namespace(t)
	ports := map[string]string{}
	for _, name := range []string{"one", "two"} {
		pod := restricted(reachtest.Pod(namespace, name, "dns"))
		pods := cluster.Client.CoreV1().Pods(namespace)
		made, err := pods.Create(t.Context(), &pod, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		made.Status.Phase = corev1.PodRunning
		if _, err := pods.UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		ports[namespace+"/"+name+":7979"] = says(t, name)
	}
	tt := target((&reachtest.Server{Upstream: cluster.Config, Ports: ports}).Start(t))
	tt.Namespace = namespace
	found, err := portforward.Find(t.Context(), tt)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	if got := answers(t, found); got != "one=one two=two" {
		t.Errorf("got %s", got)
	}

	// tenants S4: with the rights of an administrator, a token of the account of the pod is made.
	if _, err := cluster.Client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := found.Token(t.Context(), found.Processes[0], "signpost.dev/approve/0123456789abcdef")
	if err != nil || strings.Count(token, ".") != 2 {
		t.Errorf("a token: %.20q…, %v", token, err)
	}

	nobody := rest.CopyConfig(cluster.Config)
	nobody.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
	tt.Config, tt.Namespace = func() (*rest.Config, error) { return nobody, nil }, ""
	if _, err := portforward.Find(t.Context(), tt); err == nil || !strings.Contains(err.Error(), "--signpost-namespace") {
		t.Errorf("without rights: %v", err)
	}
	tt.Namespace = namespace
	if _, err := portforward.Find(t.Context(), tt); err == nil || !strings.Contains(err.Error(), `cannot list resource "pods"`) || !strings.Contains(err.Error(), "--addr") {
		t.Errorf("without rights: %v", err)
	}
}

// restricted returns a pod that the Pod Security Standards admit.
func restricted(pod corev1.Pod) corev1.Pod {
	yes, no := true, false
	pod.TypeMeta = metav1.TypeMeta{}
	pod.Status = corev1.PodStatus{}
	pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: &no, RunAsNonRoot: &yes, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	return pod
}

package process

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/testkit/kubetest"
)

// podOf is the manifest of a ready pod of the Service web.
func podOf(name, ip string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {app: web}}
spec: {nodeName: n1, containers: [{name: c, image: i}]}
status: {phase: Running, podIP: %s, podIPs: [{ip: %s}], conditions: [{type: Ready, status: "True"}]}
`, name, ip, ip)
}

// After a restore of etcd, the leader writes slices with the restored pods. Before, it wrote slices
// from its outdated cache: without ready pods, and with pods that don't exist (day2 B1).
func TestSlicesAfterARestoreOfEtcd(t *testing.T) {
	api := kubetest.StartOwn(t, kubetest.Options{RestartDelay: 2 * time.Second, CRDs: "../../deploy/crds"})
	roles := roleServer{api.Cluster}
	ns := api.Namespace(t)
	t.Setenv("POD_NAME", "signpost-0")
	t.Setenv("POD_NAMESPACE", ns)
	api.Apply(t, podsOfWeb, ns)
	serveConfig(t, roles.controllersConfig(ns))
	roles.await(t, ns, "web", endpointsOfPods, "10.1.0.1")
	copied := api.CopyEtcd()
	for i := range 20 {
		api.Apply(t, podOf(fmt.Sprint("lost-", i), fmt.Sprint("10.1.1.", i+1)), ns)
	}
	kubetest.Eventually(t, deliveryTimeout, func() error {
		got, err := roles.addresses(ns, "web", endpointsOfPods)
		if err == nil && len(got) != 21 {
			err = fmt.Errorf("slices have %d addresses", len(got))
		}
		return err
	})

	api.RestoreEtcd(copied, nil)
	kubetest.Eventually(t, 2*time.Minute, func() error {
		_, err := api.Client.CoreV1().Pods(ns).List(context.Background(), metav1.ListOptions{})
		return err
	})
	back := time.Now()
	roles.await(t, ns, "web", endpointsOfPods, "10.1.0.1")
	api.Apply(t, podOf("web-2", "10.1.0.2"), ns)
	roles.await(t, ns, "web", endpointsOfPods, "10.1.0.1", "10.1.0.2")
	t.Logf("slices were right again %v after the API server was", time.Since(back))
	kubetest.Eventually(t, deliveryTimeout, func() error {
		list, err := api.Client.CoreV1().Events(ns).List(context.Background(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(list.Items, func(e corev1.Event) bool {
			return e.Reason == rewoundReason && e.InvolvedObject.Name == "signpost-0" && strings.Contains(e.Message, "went back from")
		}) {
			return fmt.Errorf("there is no Event %s among %d", rewoundReason, len(list.Items))
		}
		return nil
	})
}

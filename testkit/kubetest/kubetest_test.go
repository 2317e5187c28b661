package kubetest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/testkit/kubetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(kubetest.Wrap(m))
}

const manifests = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
# A pod without a node, with a status that a kubelet would have written.
apiVersion: v1
kind: Pod
metadata: {name: web-0, labels: {app: web}}
spec: {containers: [{name: main, image: any}]}
status:
  phase: Running
  podIP: 10.1.2.3
  podIPs: [{ip: 10.1.2.3}]
  conditions: [{type: Ready, status: "True"}]
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: two}}
`

func TestApply(t *testing.T) {
	cluster := kubetest.Start(t)
	namespace := cluster.Namespace(t)
	cluster.Apply(t, manifests, namespace)
	cluster.Apply(t, manifests, namespace) // again: nothing to complain about

	pod, err := cluster.Client.CoreV1().Pods(namespace).Get(t.Context(), "web-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if pod.Status.PodIP != "10.1.2.3" || pod.Status.Phase != corev1.PodRunning {
		t.Errorf("pod status = %+v, want the one of the manifest", pod.Status)
	}
	if _, err := cluster.Client.CoreV1().Services(namespace).Get(t.Context(), "web", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	maps, err := cluster.Client.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(maps.Items) != 2 {
		t.Errorf("config maps = %v, %v; want the two of the List", maps, err)
	}
}

func TestNamespacesAreEmptiedAndRemoved(t *testing.T) {
	cluster := kubetest.Start(t)
	var names []string
	for i := range 2 {
		t.Run(fmt.Sprintf("Test with a long name, and %d strange signs: ÄÖ/_", i), func(t *testing.T) {
			names = append(names, cluster.Namespace(t))
			cluster.Apply(t, manifests, names[i])
		})
	}
	if names[0] == names[1] {
		t.Errorf("both tests got namespace %s", names[0])
	}
	for _, name := range names {
		pods, err := cluster.Client.CoreV1().Pods(name).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(pods.Items) != 0 {
			t.Errorf("pods left in %s: %v, %v", name, pods, err)
		}
		if namespace, err := cluster.Client.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{}); err == nil {
			t.Errorf("namespace %s is still there: %+v", name, namespace.Status)
		}
	}
}

const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lamps.kubetest.signpost.dev}
spec:
  group: kubetest.signpost.dev
  scope: Namespaced
  names: {kind: Lamp, plural: lamps, singular: lamp, listKind: LampList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
status: {conditions: [], storedVersions: []}
`

const lamp = `
apiVersion: kubetest.signpost.dev/v1
kind: Lamp
metadata: {name: desk}
status: {lit: true}
`

var lamps = schema.GroupVersionResource{Group: "kubetest.signpost.dev", Version: "v1", Resource: "lamps"}

func crdDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "lamps.yaml"), []byte(crd), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestApplyCRDs(t *testing.T) {
	cluster := kubetest.Start(t)
	namespace := cluster.Namespace(t)
	cluster.ApplyCRDs(t, crdDir(t))
	cluster.Apply(t, lamp, namespace)
	got, err := cluster.Dynamic.Resource(lamps).Namespace(namespace).Get(t.Context(), "desk", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := got.Object["status"].(map[string]any); status["lit"] != true {
		t.Errorf("status = %v, want that of the manifest, for there is no status subresource", got.Object["status"])
	}
}

// A cluster of one test: Deployments run, and the API server has its data after it was killed.
func TestOwnCluster(t *testing.T) {
	cluster := kubetest.StartOwn(t, kubetest.Options{
		Nodes: 2, ControllerManager: true, CRDs: crdDir(t), RestartDelay: 100 * time.Millisecond,
	})
	namespace := cluster.Namespace(t)
	cluster.Apply(t, lamp, namespace)
	cluster.Apply(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: any}]}
`, namespace)
	available := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		deployment, err := cluster.Client.AppsV1().Deployments(namespace).Get(ctx, "web", metav1.GetOptions{})
		if err == nil && deployment.Status.AvailableReplicas != 3 {
			err = fmt.Errorf("status %+v", deployment.Status)
		}
		return err
	}
	kubetest.Eventually(t, 30*time.Second, available)

	cluster.Kill(kubetest.APIServer)
	if err := available(); err == nil {
		t.Error("a killed API server still answers")
	}
	kubetest.Eventually(t, 30*time.Second, available)

	cluster.Stop(kubetest.APIServer)
	if err := available(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a stopped API server: %v, want a timeout", err)
	}
	cluster.Continue(kubetest.APIServer)
	kubetest.Eventually(t, 30*time.Second, available)
}

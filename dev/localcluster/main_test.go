package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/signpostd/signpost/dev/localcluster/cluster"
	"github.com/signpostd/signpost/dev/localcluster/nodes"
)

// TestMain lets the test binary be every component, as the real binary is: the cluster starts os.Executable.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if become := component(os.Args[1]); become != nil {
			become(os.Args[2:])
			return
		}
	}
	m.Run()
}

func TestCommandLine(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string // in the output, or in the error of a wrong command line
		bad  bool
	}{
		{[]string{"version"}, "kubernetes v1.", false},
		{[]string{"up", "--help"}, "--restart-delay", false},
		{[]string{}, "name a command", true},
		{[]string{"down"}, "unknown command", true},
		{[]string{"up"}, "--dir is missing", true},
		{[]string{"up", "--dir=x", "extra"}, "unknown command", true},
		{[]string{"up", "--dir=x", "--nodes=many"}, "invalid argument", true},
		{[]string{"up", "--dir=x", "--endpoint-controllers=none"}, "--endpoint-controllers", true},
		{[]string{"up", "--dir=x", "--wrong"}, "unknown flag", true},
	} {
		var output bytes.Buffer
		command := newCommand()
		command.SetArgs(tc.args)
		command.SetOut(&output)
		command.SetErr(&output)
		err := command.ExecuteContext(t.Context())
		if tc.bad != (err != nil) {
			t.Errorf("%v: error %v", tc.args, err)
			continue
		}
		if tc.bad && (exitCode(err) != 2 || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%v: exit code %d, error %v; want 2 and %q", tc.args, exitCode(err), err, tc.want)
		}
		if !tc.bad && !strings.Contains(output.String(), tc.want) {
			t.Errorf("%v: output %q, want %q in it", tc.args, output.String(), tc.want)
		}
	}
}

// env is a running cluster.
type env struct {
	*testing.T
	dir    string
	client kubernetes.Interface
	stop   func() // for a test that goes on without the cluster; the end of the test stops it in any case
}

// startCluster runs a cluster for the length of the test, with the default options but for what
// change says. A Report that change sets is called, too, and holds up the start for as long as it
// runs.
func startCluster(t *testing.T, change func(*cluster.Options)) env {
	t.Helper()
	options := cluster.Default()
	options.Dir = t.TempDir()
	change(&options)
	options.RestartDelay = 100 * time.Millisecond
	reports := make(chan string, 100)
	hook := options.Report
	options.Report = func(message string) {
		hook(message)
		reports <- message
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cluster.Run(ctx, options) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v after a cancel", err)
		}
		if left, err := os.ReadDir(filepath.Join(options.Dir, "pids")); err != nil || len(left) > 0 {
			t.Errorf("pid files after the end: %v, %v", left, err)
		}
	})
	t.Cleanup(stop)
	for ready := false; !ready; {
		select {
		case err := <-ended:
			ended <- err
			t.Fatal(err)
		case message := <-reports:
			t.Log(message)
			ready = strings.HasPrefix(message, "ready")
		}
	}
	client, err := newClient(filepath.Join(options.Dir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	return env{T: t, dir: options.Dir, client: client, stop: stop}
}

func newClient(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return kubernetes.NewForConfig(config)
}

// eventually waits for a condition.
func (e env) eventually(what string, condition func(ctx context.Context) error) {
	e.Helper()
	var last error
	err := wait.PollUntilContextTimeout(e.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = condition(ctx)
		return last == nil, nil
	})
	if err != nil {
		e.Fatalf("%s: %v: %v", what, err, last)
	}
}

// patch changes the deployment.
func (e env) patch(body string) {
	e.Helper()
	_, err := e.client.AppsV1().Deployments("default").Patch(e.Context(), "web", types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{})
	if err != nil {
		e.Fatal(err)
	}
}

// rolledOut waits until the deployment has n new replicas, all available, and no others.
func (e env) rolledOut(n int32) {
	e.Helper()
	e.eventually(fmt.Sprintf("roll out %d replicas", n), func(ctx context.Context) error {
		d, err := e.client.AppsV1().Deployments("default").Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		s := d.Status
		if s.ObservedGeneration != d.Generation || s.Replicas != n || s.UpdatedReplicas != n || s.AvailableReplicas != n {
			return fmt.Errorf("status %+v", s)
		}
		return nil
	})
}

// published waits until the service's slices of each family have exactly n ready addresses, and
// returns all addresses.
func (e env) published(n int) map[string]bool {
	e.Helper()
	var addresses map[string]bool
	e.eventually(fmt.Sprintf("publish %d addresses of each family", n), func(ctx context.Context) error {
		slices, err := e.client.DiscoveryV1().EndpointSlices("default").List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=web"})
		if err != nil {
			return err
		}
		addresses = map[string]bool{}
		for _, slice := range slices.Items {
			for _, endpoint := range slice.Endpoints {
				if *endpoint.Conditions.Ready {
					addresses[endpoint.Addresses[0]] = true
				}
			}
		}
		if len(addresses) != 2*n {
			return fmt.Errorf("ready addresses %v", addresses)
		}
		return nil
	})
	return addresses
}

func (e env) createWeb(replicas int32) {
	e.Helper()
	labels := map[string]string{"app": "web"}
	_, err := e.client.AppsV1().Deployments("default").Create(e.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "any"}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		e.Fatal(err)
	}
	dual := corev1.IPFamilyPolicyRequireDualStack
	_, err = e.client.CoreV1().Services("default").Create(e.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: labels, IPFamilyPolicy: &dual, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	if err != nil {
		e.Fatal(err)
	}
}

// The default: a Deployment rolls out, and its endpoints are left to somebody else. Those of the
// API server are there.
func TestWithoutEndpointControllers(t *testing.T) {
	e := startCluster(t, func(*cluster.Options) {})
	e.createWeb(2)
	e.rolledOut(2)
	e.eventually("find the slice of the Service kubernetes, and no other", func(ctx context.Context) error {
		slices, err := e.client.DiscoveryV1().EndpointSlices(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(slices.Items) != 1 || slices.Items[0].Labels[discoveryv1.LabelServiceName] != "kubernetes" {
			return fmt.Errorf("slices %+v", slices.Items)
		}
		return nil
	})
}

// The life of a Deployment and of its endpoints, which Kubernetes writes here, with the API server
// killed in the middle.
func TestDeployment(t *testing.T) {
	e := startCluster(t, func(o *cluster.Options) { o.EndpointControllers = cluster.EndpointsByKubernetes })
	e.createWeb(3)
	e.rolledOut(3)
	first := e.published(3)

	e.patch(`{"spec":{"replicas":5}}`)
	e.rolledOut(5)
	e.published(5)

	e.patch(`{"spec":{"template":{"metadata":{"annotations":{"restarted":"now"}}}}}`)
	e.rolledOut(5)
	for address := range e.published(5) {
		if first[address] {
			t.Errorf("address %s came back at once", address)
		}
	}

	pods, err := e.client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e.annotate(pods.Items[0].Name, nodes.AnnotationReady, "false")
	e.published(4)
	e.annotate(pods.Items[0].Name, nodes.AnnotationReady, "true")
	e.published(5)

	e.kill(cluster.APIServer)
	e.eventually("scale after the API server's death", func(ctx context.Context) error {
		_, err := e.client.AppsV1().Deployments("default").Patch(ctx, "web", types.StrategicMergePatchType, []byte(`{"spec":{"replicas":1}}`), metav1.PatchOptions{})
		return err
	})
	e.rolledOut(1)
	e.published(1)
}

func (e env) annotate(pod, key, value string) {
	e.Helper()
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{key: value}}})
	if err != nil {
		e.Fatal(err)
	}
	if _, err := e.client.CoreV1().Pods("default").Patch(e.Context(), pod, types.MergePatchType, body, metav1.PatchOptions{}); err != nil {
		e.Fatal(err)
	}
}

func (e env) kill(component string) {
	e.Helper()
	content, err := os.ReadFile(filepath.Join(e.dir, "pids", component))
	if err != nil {
		e.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		e.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		e.Fatal(err)
	}
}

// When many definitions take long, kube-controller-manager is at work before the first node is
// registered, and writes to each as soon as it sees it. On a second start the nodes are there
// already. Either way they become Ready, with all addresses.
func TestManyDefinitions(t *testing.T) {
	const definitionCount, nodeCount = 14, 20
	dir, definitions := t.TempDir(), t.TempDir()
	for i := range definitionCount {
		writeDefinition(t, definitions, fmt.Sprintf("thing%d", i))
	}
	known := map[string]types.UID{}
	for start := range 2 {
		e := startCluster(t, func(o *cluster.Options) {
			o.Dir, o.CRDs, o.Nodes = dir, definitions, nodeCount
			o.Report = func(message string) {
				// Small definitions are quick. It is here that large ones leave the controllers time to start.
				if strings.HasPrefix(message, "crds ready") {
					if err := awaitControllers(t.Context(), filepath.Join(dir, "pki", "admin.kubeconfig")); err != nil {
						t.Errorf("wait for the controllers: %v", err)
					}
				}
			}
		})
		resources, err := e.client.Discovery().ServerResourcesForGroupVersion(thingsGroup + "/v1")
		if err != nil || len(resources.APIResources) != definitionCount {
			t.Errorf("start %d: the API server serves %v, %v; want %d resources", start, resources, err, definitionCount)
		}
		list, err := e.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != nodeCount {
			t.Fatalf("start %d: nodes %v, %v", start, list, err)
		}
		for _, node := range list.Items {
			if start > 0 && known[node.Name] != node.UID {
				t.Errorf("start %d: node %s is another object", start, node.Name)
			}
			known[node.Name] = node.UID
			checkNode(t, node)
		}
		e.eventually("renew the leases of all nodes", func(ctx context.Context) error {
			leases, err := e.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(ctx, metav1.ListOptions{})
			if err == nil && len(leases.Items) != len(list.Items) {
				err = fmt.Errorf("leases %v", leases.Items)
			}
			return err
		})
		e.stop()
	}
}

// awaitControllers returns when kube-controller-manager has begun to write: it makes the default
// service account.
func awaitControllers(ctx context.Context, kubeconfig string) error {
	client, err := newClient(kubeconfig)
	if err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	})
}

func checkNode(t *testing.T, node corev1.Node) {
	t.Helper()
	ready, internal := false, 0
	for _, condition := range node.Status.Conditions {
		ready = ready || condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
	}
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			internal++
		}
	}
	if !ready || internal != 2 || len(node.Status.Addresses) != 3 || node.Status.Allocatable.Pods().IsZero() {
		t.Errorf("node %s: status %+v; want Ready, room for pods, and an internal address of each family", node.Name, node.Status)
	}
}

// thingsGroup is the API group of the definitions that writeDefinition makes.
const thingsGroup = "localcluster.example.com"

func writeDefinition(t *testing.T, dir, name string) {
	t.Helper()
	content := fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]ss.%[2]s}
spec:
  group: %[2]s
  names: {kind: %[3]s, plural: %[1]ss}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`, name, thingsGroup, strings.ToUpper(name[:1])+name[1:])
	if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

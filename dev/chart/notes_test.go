package chart

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/signpostd/signpost/internal/manifest"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/reachtest"
)

// notes returns what Helm prints after the installation.
func notes(t *testing.T, values map[string]any, namespace string) string {
	t.Helper()
	c := load(t)
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "signpost", Namespace: namespace, Revision: 1, IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(c, all)
	if err != nil {
		t.Fatal(err)
	}
	return files["signpost/templates/NOTES.txt"]
}

// command matches a command of NOTES.txt.
var command = regexp.MustCompile(`(?m)^  signpost (.+)$`)

// allRoles are values with all roles, whose provider needs no server.
const allRoles = `
destination: {enabled: true}
controllers: {enabled: true}
dns:
  enabled: true
  publishers:
    - {name: public, source: [service], provider: inmemory, inmemory-zone: [example.org], policy: sync, txt-owner-id: my-cluster}
`

// Install in three steps: the manifests of the chart are fit before they are installed; they are
// accepted; and each command that Helm prints then says that all is well. The pod runs as its
// account, and its ports are forwarded as kubelets do.
func TestNotes(t *testing.T) {
	cluster := kubetest.Start(t)
	namespace := cluster.Namespace(t)
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(allRoles), &values); err != nil {
		t.Fatal(err)
	}
	objects, err := render(t, values, namespace)
	if err != nil {
		t.Fatal(err)
	}
	makeNamespace(t, cluster, "linkerd")
	if code, out := runSignpost(t, cluster.Kubeconfig, asManifests(t, objects), "check", "-f", "-"); code != 0 {
		t.Errorf("before the installation, signpost check -f - ends with %d:\n%s", code, out)
	}
	if err := apply(t, cluster, objects, namespace); err != nil {
		t.Fatal(err)
	}
	p := startAs(t, cluster, objects, namespace)
	p.AwaitReady(t)
	runPod(t, cluster, namespace)
	inspect := p.config["inspection"].(map[string]any)["address"].(string)
	server := reachtest.Server{Upstream: impersonable(cluster.Config), Ports: map[string]string{
		namespace + "/signpost-0:9996": p.Admin, namespace + "/signpost-0:9997": inspect,
	}}
	kubeconfig := server.Start(t)
	commands := command.FindAllStringSubmatch(notes(t, values, namespace), -1)
	if len(commands) != 5 {
		t.Fatalf("Helm prints %d commands, want 5:\n%s", len(commands), notes(t, values, namespace))
	}
	for _, c := range commands {
		kubetest.Eventually(t, patience, func() error {
			if code, out := runSignpost(t, kubeconfig, "", strings.Fields(c[1])...); code != 0 || out == "" {
				return fmt.Errorf("signpost %s ends with %d:\n%s", c[1], code, out)
			}
			return nil
		})
	}
}

// asManifests returns objects as `helm template` prints them.
func asManifests(t *testing.T, objects []*unstructured.Unstructured) string {
	t.Helper()
	var all strings.Builder
	for _, o := range objects {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString("---\n" + string(text))
	}
	return all.String()
}

// apply installs objects, namespaced ones last, but for the kinds of operators.
func apply(t *testing.T, cluster *kubetest.Cluster, objects []*unstructured.Unstructured, namespace string) error {
	t.Helper()
	withdrawLater(t, cluster, objects)
	client, err := manifest.NewClient(cluster.Config, "helm")
	if err != nil {
		return err
	}
	for _, o := range objects {
		if operatorKinds[o.GroupVersionKind().Group] {
			continue
		}
		if o.GetNamespace() != "" {
			makeNamespace(t, cluster, o.GetNamespace())
		}
		if err := client.Apply(t.Context(), o, namespace); err != nil {
			return fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// runPod makes the pod that the process is, ready.
func runPod(t *testing.T, cluster *kubetest.Cluster, namespace string) {
	t.Helper()
	pod := reachtest.Pod(namespace, "signpost-0", "run", "--config=/etc/signpost/signpost.yaml")
	pod.Labels["app.kubernetes.io/instance"] = "signpost"
	pod.Spec.NodeName = "node-1"
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "grpc", ContainerPort: 8086}, {Name: "admin", ContainerPort: 9996}, {Name: "inspect", ContainerPort: 9997}}
	pod.Spec.ServiceAccountName = "signpost"
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: pod.Spec.NodeName}}
	if _, err := cluster.Client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Client.CoreV1().Nodes().Delete(context.Background(), node.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	made, err := cluster.Client.CoreV1().Pods(namespace).Create(t.Context(), &pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.1.0.1", PodIPs: []corev1.PodIP{{IP: "10.1.0.1"}}, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	if _, err := cluster.Client.CoreV1().Pods(namespace).UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// impersonable returns a connection whose requests keep their own impersonation headers.
func impersonable(cfg *rest.Config) *rest.Config {
	own := rest.CopyConfig(cfg)
	own.Impersonate = rest.ImpersonationConfig{}
	return own
}

// runSignpost runs the program, and returns its exit code and what it prints.
func runSignpost(t *testing.T, kubeconfig, stdin string, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), signpost, args...)
	cmd.Env = append(cmd.Environ(), "KUBECONFIG="+kubeconfig)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &out
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// A secret is read from the cluster, before and after the installation. Without it no pod starts,
// and the zones are unknown.
func TestCheckReadsSecrets(t *testing.T) {
	cluster := kubetest.Start(t)
	namespace := cluster.Namespace(t)
	objects, err := render(t, valueFiles(t)["plain"], namespace)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(asManifests(t, objects), "192.0.2.53", "nonesuch.invalid")
	code, out := runSignpost(t, cluster.Kubeconfig, text, "check", "-f", "-")
	for _, want := range []string{
		"the key secret of the Secret " + namespace + "/signpost-tsig is missing: there is no such Secret",
		"failed   the Secret " + namespace + "/signpost-tsig doesn't exist: no pod starts",
	} {
		if code != 1 || !strings.Contains(out, want) || strings.Count(out, "failed  ") != 1 {
			t.Errorf("without the Secret, signpost check -f - ends with %d, want 1 and %q:\n%s", code, want, out)
		}
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "signpost-tsig"}, StringData: map[string]string{"secret": "c2VjcmV0"}}
	if _, err := cluster.Client.CoreV1().Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := apply(t, cluster, decode(t, text), namespace); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check", "-f", "-"}, {"check"}, {"check", "-n", namespace}} {
		code, out := runSignpost(t, cluster.Kubeconfig, text, args...)
		if code != 2 || !strings.Contains(out, "list zone example.org.: ") || strings.Contains(out, "is missing") || strings.Contains(out, "failed ") {
			t.Errorf("with the Secret, signpost %v ends with %d, want 2 and the missing server:\n%s", args, code, out)
		}
	}
	if code, out := runSignpost(t, cluster.Kubeconfig, "", "check", "-n", "kube-system"); code != 1 || !strings.Contains(out, "the namespace kube-system: no Deployment has the label") {
		t.Errorf("in another namespace, signpost check ends with %d:\n%s", code, out)
	}
}

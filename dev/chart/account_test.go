package chart

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/programtest"
)

// signpost is the program; make build makes it.
const signpost = "../../bin/signpost"

// What the chart grants is what the program asks for with the same config file, neither less nor
// more; and with it the program gets ready, and is refused nothing.
func TestServiceAccount(t *testing.T) {
	if _, err := os.Stat(signpost); err != nil {
		t.Fatalf("%v: run make build", err)
	}
	cluster := kubetest.Start(t)
	for _, name := range []string{"all", "dns-two", "dns-namespaces", "controllers", "destination", "xds"} {
		t.Run(name, func(t *testing.T) {
			namespace := cluster.Namespace(t)
			objects, err := render(t, valueFiles(t)[name], namespace)
			if err != nil {
				t.Fatal(err)
			}
			install(t, cluster, objects)
			p := startAs(t, cluster, objects, namespace)
			p.AwaitReady(t)
			refused := p.LinesWith("forbidden")
			if name == "dns-namespaces" {
				// The right to the namespace kube-system is for whoever reads all namespaces. Without it there
				// is no instance (docs/dns/ownership.md).
				refused = slices.DeleteFunc(refused, func(line string) bool { return strings.Contains(line, "may not read the namespace kube-system") })
			}
			if len(refused) > 0 {
				t.Errorf("something is refused:\n%s", strings.Join(refused, "\n"))
			}
		})
	}
}

// rightsKinds are the kinds that an account and its rights are made of.
var rightsKinds = []string{"ServiceAccount", "ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"}

// install applies what an account and its rights are made of.
func install(t *testing.T, cluster *kubetest.Cluster, objects []*unstructured.Unstructured) {
	t.Helper()
	withdrawLater(t, cluster, objects)
	for _, o := range objects {
		if !slices.Contains(rightsKinds, o.GetKind()) {
			continue
		}
		if o.GetNamespace() != "" {
			makeNamespace(t, cluster, o.GetNamespace())
		}
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		cluster.Apply(t, string(text), o.GetNamespace())
	}
}

// withdrawLater deletes the account and its rights at the end of the test, because other tests
// share the cluster.
func withdrawLater(t *testing.T, cluster *kubetest.Cluster, objects []*unstructured.Unstructured) {
	t.Helper()
	mapper := resourcesOf(t, cluster)
	t.Cleanup(func() {
		for _, o := range objects {
			if !slices.Contains(rightsKinds, o.GetKind()) {
				continue
			}
			mapping, err := mapper.RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version)
			if err == nil {
				err = cluster.Dynamic.Resource(mapping.Resource).Namespace(o.GetNamespace()).Delete(context.Background(), o.GetName(), metav1.DeleteOptions{})
			}
			if err != nil && !apierrors.IsNotFound(err) {
				t.Errorf("delete %s %s: %v", o.GetKind(), o.GetName(), err)
			}
		}
	})
}

// process is the program, as the pod of the chart runs it.
type process struct {
	*programtest.Program
	config map[string]any // the config file
}

// startAs starts the command line of the Deployment with the config file of the ConfigMap, as its
// service account. Only the addresses to listen on are others.
func startAs(t *testing.T, cluster *kubetest.Cluster, objects []*unstructured.Unstructured, namespace string) *process {
	t.Helper()
	dir := t.TempDir()
	config := find[corev1.ConfigMap](t, objects, "ConfigMap", "signpost").Data["signpost.yaml"]
	admin := kubetest.Address(t)
	file := map[string]any{}
	if err := yaml.Unmarshal([]byte(config), &file); err != nil {
		t.Fatal(err)
	}
	file["admin"], file["inspection"] = map[string]any{"address": admin}, map[string]any{"address": kubetest.Address(t)}
	file["kubeconfig"] = cluster.KubeconfigOf(t, namespace, find[corev1.ServiceAccount](t, objects, "ServiceAccount", "signpost").Name)
	if destination, ok := file["destination"].(map[string]any); ok {
		destination["addr"] = kubetest.Address(t)
	}
	if xds, ok := file["xds"].(map[string]any); ok {
		xds["addr"] = kubetest.Address(t)
	}
	text, err := yaml.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "signpost.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	args := find[unstructuredDeployment](t, objects, "Deployment", "signpost").Spec.Template.Spec.Containers[0].Args
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "/etc/signpost/signpost.yaml", path)
	}
	cmd := exec.Command(signpost, args...)
	cmd.Env = append(os.Environ(), "POD_NAME=signpost-0", "POD_NAMESPACE="+namespace)
	return &process{programtest.Start(t, cmd, admin), file}
}

// unstructuredDeployment is what matters of a Deployment.
type unstructuredDeployment struct {
	Spec struct {
		Template struct {
			Spec struct {
				Containers []struct {
					Args []string `json:"args"`
				} `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
}

// What the chart grants is what `signpost rbac` prints for the same publishers: neither less nor
// more.
func TestRightsAreExact(t *testing.T) {
	for _, name := range []string{"dns-rfc2136", "dns-route53", "dns-two", "dns-namespaces", "placed"} {
		objects, err := render(t, valueFiles(t)[name], "signpost")
		if err != nil {
			t.Fatal(err)
		}
		config := find[corev1.ConfigMap](t, objects, "ConfigMap", "signpost").Data["signpost.yaml"]
		path := filepath.Join(t.TempDir(), "signpost.yaml")
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), signpost, "rbac", "--config", path, "--service-account=signpost/signpost")
		var said bytes.Buffer
		cmd.Stderr = &said
		printed, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, said.String())
		}
		want := grants(t, decode(t, string(printed)))
		got := grants(t, objects)
		for _, g := range got {
			if !slices.Contains(want, g) {
				t.Errorf("%s grants too much: %s", name, g)
			}
		}
		for _, g := range want {
			if !slices.Contains(got, g) {
				t.Errorf("%s lacks %s", name, g)
			}
		}
	}
}

// With all parts of a role switched on, the chart grants what the roles in deploy/rbac do.
func TestRightsOfRoles(t *testing.T) {
	for role, values := range map[string]map[string]any{
		"destination": {"enabled": true}, "controllers": {"enabled": true},
		"xds": {"enabled": true, "tlsSecret": "tls", "config": map[string]any{"auth": "token"}},
	} {
		objects, err := render(t, map[string]any{role: values}, "signpost")
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile("../../deploy/rbac/" + role + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		got, want := anywhere(grants(t, objects)), anywhere(grants(t, decode(t, string(text))))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-deploy/rbac +chart):\n%s", role, diff)
		}
	}
}

// TestExtraRules shows that dns.extraRules are granted where objects are read: in the namespaces of the
// publishers if all of them have some, else in the whole cluster.
func TestExtraRules(t *testing.T) {
	publisher := map[string]any{"source": []any{"fake"}, "provider": "inmemory", "registry": "noop", "policy": "sync"}
	values := map[string]any{"dns": map[string]any{
		"enabled": true, "publishers": []any{publisher},
		"extraRules": []any{map[string]any{"apiGroups": []any{"example.com"}, "resources": []any{"things"}, "verbs": []any{"list"}}},
	}}
	granted := func() (where []string) {
		objects, err := render(t, values, "signpost")
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range grants(t, objects) {
			if namespace, _, ok := strings.Cut(line, ": list things.example.com"); ok {
				where = append(where, namespace)
			}
		}
		return where
	}
	if got := granted(); !slices.Equal(got, []string{`""`}) {
		t.Errorf("granted in %v, want the whole cluster", got)
	}
	publisher["namespace"] = []any{"shop", "pay"}
	if got := granted(); !slices.Equal(got, []string{`"pay"`, `"shop"`}) {
		t.Errorf("granted in %v, want the namespaces of the publisher", got)
	}
}

// anywhere returns grants without the namespace: roles in deploy/rbac are bound where they are needed.
func anywhere(lines []string) (without []string) {
	for _, line := range lines {
		_, rest, _ := strings.Cut(line, ": ")
		without = append(without, rest)
	}
	slices.Sort(without)
	return slices.Compact(without)
}

// grants returns what roles grant, one thing in each line, with the namespace where it is granted.
func grants(t *testing.T, objects []*unstructured.Unstructured) (lines []string) {
	t.Helper()
	for _, r := range rightsOf(t, objects) {
		lines = append(lines, fmt.Sprintf("%q: %s %s.%s %v", r.namespace, r.verb, r.resource, r.group, r.names))
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

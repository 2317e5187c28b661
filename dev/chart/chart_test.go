package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/signpostd/signpost/internal/manifest"
	"github.com/signpostd/signpost/testkit/kubetest"
)

const chartDir = "../../deploy/helm/signpost"

// patience is how long something may take that is normally there within seconds.
const patience = time.Minute

func TestMain(m *testing.M) { kubetest.Main(m, kubetest.WithCRDs("../../deploy/crds")) }

// loaded is the chart, which rendering doesn't change.
var loaded = sync.OnceValues(func() (*helmchart.Chart, error) { return loader.Load(chartDir) })

func load(t *testing.T) *helmchart.Chart {
	t.Helper()
	c, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// valueFiles returns the files of testdata/values by their names.
func valueFiles(t *testing.T) map[string]map[string]any {
	t.Helper()
	paths, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil || len(paths) < 10 {
		t.Fatalf("there are %d value files, want ten or more (%v)", len(paths), err)
	}
	files := map[string]map[string]any{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]any{}
		if err := yaml.UnmarshalStrict(text, &values); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		files[strings.TrimSuffix(filepath.Base(path), ".yaml")] = values
	}
	return files
}

// render returns the objects of the chart for values, checked by the schema as Helm does.
func render(t *testing.T, values map[string]any, namespace string) ([]*unstructured.Unstructured, error) {
	t.Helper()
	return renderRelease(t, "signpost", values, namespace)
}

// renderRelease is as render, for a release with a name.
func renderRelease(t *testing.T, release string, values map[string]any, namespace string) ([]*unstructured.Unstructured, error) {
	t.Helper()
	c := load(t)
	options := chartutil.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(c, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for name, text := range files {
		if strings.HasSuffix(name, ".txt") {
			continue
		}
		decoded, err := manifest.Decode(strings.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		objects = append(objects, decoded...)
	}
	return objects, nil
}

// TestLint is `helm lint` with each file.
func TestLint(t *testing.T) {
	for name, values := range valueFiles(t) {
		result := action.NewLint().Run([]string{chartDir}, values)
		for _, err := range result.Errors {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Nothing is installed by mistake, and mistakes have a message.
func TestRefused(t *testing.T) {
	tests := []struct {
		name, values, want string
	}{
		{"no role", `{}`, "no role is switched on"},
		{"no publisher", `dns: {enabled: true}`, "dns.publishers is empty"},
		{"a source that doesn't exist", `dns: {enabled: true, publishers: [{source: ingres, provider: inmemory, policy: sync}]}`, "ingres"},
		{"an unknown value", `dsn: {enabled: true}`, "dsn"},
		{"an unknown field of a publisher", `dns: {enabled: true, publishers: [{source: service, provider: inmemory, polcy: sync}]}`, "polcy"},
		{"no such controller", `controllers: {enabled: true, config: {names: [nodes]}}`, "endpointslices"},
		{"two monitors", `{destination: {enabled: true}, metrics: {podMonitor: {enabled: true}, serviceMonitor: {enabled: true}}}`, "enable one of them"},
		{"no time to end", `{destination: {enabled: true}, terminationGracePeriodSeconds: 1}`, "terminationGracePeriodSeconds"},
		{"tokens without TLS", `xds: {enabled: true, config: {auth: token}}`, "tlsSecret"},
		{"the account of other pods", `{destination: {enabled: true}, serviceAccount: {create: false}}`, "serviceAccount.name"},
		{"an address that the Service doesn't lead to", `{destination: {enabled: true, config: {addr: ":9000"}}}`, "destination.config.addr"},
		{"an address in the pod", `{xds: {enabled: true, config: {addr: "127.0.0.1:8087"}}}`, "xds.config.addr"},
		{"two writers", `{controllers: {enabled: true, config: {leaderElection: {leaderElect: false}}}}`, "controllers.config.leaderElection.leaderElect"},
		{"two writers of slices", `{destination: {enabled: true, config: {leaderElection: {leaderElect: false}}}}`, "destination.config.leaderElection.leaderElect"},
		{"no pod may be evicted", `{destination: {enabled: true}, replicas: 2, podDisruptionBudget: {minAvailable: 2}}`, "podDisruptionBudget.minAvailable is 2 and replicas is 2"},
		{"none at all", `{destination: {enabled: true}, podDisruptionBudget: {minAvailable: "100%"}}`, "podDisruptionBudget.minAvailable is 100%"},
		{"a share that is all pods", `{destination: {enabled: true}, replicas: 2, podDisruptionBudget: {minAvailable: "60%"}}`, "podDisruptionBudget.minAvailable is 60%"},
		{"no share", `{destination: {enabled: true}, podDisruptionBudget: {minAvailable: most}}`, "minAvailable"},
		{"no name of a Lease", `{controllers: {enabled: true, config: {leaderElection: {resourceName: a/b}}}}`, "resourceName"},
		{"clients without tokens", `xds: {enabled: true, tlsSecret: s, config: {auth: token}, bootstrap: {namespaces: [shop]}}`, "set xds.bootstrap.token"},
		{"clients without certificates", `xds: {enabled: true, tlsSecret: s, config: {auth: mtls}, bootstrap: {namespaces: [shop], cert: c}}`, "set xds.bootstrap.cert and xds.bootstrap.key"},
		{"no controller", `controllers: {enabled: true, config: {names: []}}`, "controllers.config.names has none of endpoints, "},
		{"no controller without roles", `{controllers: {enabled: true, config: {names: ""}}, rbac: {create: false}}`, "controllers.config.names has none of endpoints, "},
		{"a controller that is taken away", `controllers: {enabled: true, config: {names: [-endpoints, endpoints]}}`, "controllers.config.names has none of endpoints, "},
		{"an empty config", `controllers: {enabled: true, config: null}`, "at '/controllers': missing property 'config'"},
		{"an empty section", `{destination: {enabled: true}, metrics: {podMonitor: null}}`, "at '/metrics': missing property 'podMonitor'"},
		{"an empty bool", `{destination: {enabled: true}, hostNetwork: null}`, "missing property 'hostNetwork'"},
		{"a variable of the chart", `{destination: {enabled: true}, env: [{name: POD_NAMESPACE, value: other}]}`, "env has POD_NAMESPACE, which the chart sets"},
		{"replicas", `{destination: {enabled: true}, replicas: two}`, "replicas"},
	}
	for _, test := range tests {
		values := map[string]any{}
		if err := yaml.Unmarshal([]byte(test.values), &values); err != nil {
			t.Fatal(err)
		}
		if _, err := render(t, values, "dns"); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: the error is %v, want %q", test.name, err, test.want)
		}
	}
}

// What looks like a mistake and is none is rendered.
func TestNotRefused(t *testing.T) {
	for name, text := range map[string]string{
		"the address of the chart":      `{destination: {enabled: true, config: {addr: "0.0.0.0:8086"}}, xds: {enabled: true, config: {addr: "[::]:8087"}}}`,
		"nothing is written":            `{destination: {enabled: true, config: {externalWorkloadWriter: false, leaderElection: {leaderElect: false}}}}`,
		"a share of the pods":           `{destination: {enabled: true}, replicas: 4, podDisruptionBudget: {minAvailable: "50%"}}`,
		"names as a text":               `{controllers: {enabled: true, config: {names: "endpoints, endpointslices"}}, destination: {enabled: true}}`,
		"a tag that is empty":           `{destination: {enabled: true}, image: {tag: null}, resources: null, log: null}`,
		"one replica":                   `{destination: {enabled: true}, replicas: 1}`,
		"settings of a role that's off": `{controllers: {config: {leaderElection: {leaderElect: false}}}, destination: {enabled: true}}`,
	} {
		values := map[string]any{}
		if err := yaml.Unmarshal([]byte(text), &values); err != nil {
			t.Fatal(err)
		}
		if _, err := render(t, values, "dns"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Without Linkerd, a release with xds needs no other namespace.
func TestNamespacesOfXDS(t *testing.T) {
	for name, test := range map[string]struct{ values, want string }{
		"alone":            {`xds: {enabled: true}`, "signpost"},
		"other links":      {`xds: {enabled: true, config: {linkNamespace: links}}`, "links"},
		"with destination": {`{xds: {enabled: true}, destination: {enabled: true}}`, "linkerd"},
	} {
		values := map[string]any{}
		if err := yaml.Unmarshal([]byte(test.values), &values); err != nil {
			t.Fatal(err)
		}
		objects, err := render(t, values, "signpost")
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			if n := o.GetNamespace(); n != "" && n != "signpost" && n != test.want {
				t.Errorf("%s: the %s %s is in the namespace %s", name, o.GetKind(), o.GetName(), n)
			}
			text, _, _ := unstructured.NestedString(o.Object, "data", "signpost.yaml")
			if named := strings.Contains(text, "linkNamespace: "+test.want); o.GetKind() == "ConfigMap" && named == (test.want == "linkerd") {
				t.Errorf("%s: the config file is\n%s", name, text)
			}
		}
	}
}

// A real API server that enforces the restricted standard accepts everything, the pods included.
func TestAccepted(t *testing.T) {
	cluster := kubetest.Start(t)
	for name, values := range valueFiles(t) {
		t.Run(name, func(t *testing.T) {
			namespace := restricted(t, cluster)
			objects, err := render(t, values, namespace)
			if err != nil {
				t.Fatal(err)
			}
			accepted(t, cluster, objects, namespace)
		})
	}
}

// restricted returns a namespace whose pods must keep the restricted standard.
func restricted(t *testing.T, cluster *kubetest.Cluster) string {
	t.Helper()
	name := cluster.Namespace(t)
	ns, err := cluster.Client.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if ns.Labels == nil {
		ns.Labels = map[string]string{}
	}
	ns.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
	if _, err := cluster.Client.CoreV1().Namespaces().Update(t.Context(), ns, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return name
}

// accepted applies objects as a dry run, and fails the test if one is refused or if the API server
// warns. The pod of a Deployment is sent by itself, too, because security standards are enforced
// for pods only.
func accepted(t *testing.T, cluster *kubetest.Cluster, objects []*unstructured.Unstructured, namespace string) {
	t.Helper()
	mapper := resourcesOf(t, cluster)
	for _, o := range slices.Concat(objects, podsOf(t, objects)) {
		if operatorKinds[o.GroupVersionKind().Group] {
			continue
		}
		mapping, err := mapper.RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version)
		if err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
			continue
		}
		var client dynamic.ResourceInterface = cluster.Dynamic.Resource(mapping.Resource)
		if mapping.Scope.Name() == "namespace" {
			if o.GetNamespace() == "" {
				t.Errorf("%s %s has no namespace", o.GetKind(), o.GetName())
			}
			makeNamespace(t, cluster, o.GetNamespace())
			client = cluster.Dynamic.Resource(mapping.Resource).Namespace(o.GetNamespace())
		}
		_, err = client.Apply(t.Context(), o.GetName(), o, metav1.ApplyOptions{FieldManager: "chart", DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			t.Errorf("%s %s is refused: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// mappers has the resources of clusters, because it takes many requests to list them.
var mappers sync.Map

// resourcesOf returns the resources of a cluster.
func resourcesOf(t *testing.T, cluster *kubetest.Cluster) meta.RESTMapper {
	t.Helper()
	if known, ok := mappers.Load(cluster); ok {
		return known.(meta.RESTMapper)
	}
	groups, err := restmapper.GetAPIGroupResources(cluster.Client.Discovery())
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	mappers.Store(cluster, mapper)
	return mapper
}

// operatorKinds are the groups of the kinds that an operator brings, which has its own schema.
var operatorKinds = map[string]bool{"monitoring.coreos.com": true}

func makeNamespace(t *testing.T, cluster *kubetest.Cluster, name string) {
	t.Helper()
	_, err := cluster.Client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// podsOf returns a pod for each Deployment.
func podsOf(t *testing.T, objects []*unstructured.Unstructured) (pods []*unstructured.Unstructured) {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() != "Deployment" {
			continue
		}
		template, _, err := unstructured.NestedMap(o.Object, "spec", "template")
		if err != nil {
			t.Fatal(err)
		}
		pod := &unstructured.Unstructured{Object: template}
		pod.SetAPIVersion("v1")
		pod.SetKind("Pod")
		pod.SetName(o.GetName() + "-pod")
		pod.SetNamespace(o.GetNamespace())
		// The API server asks for the account of a pod.
		unstructured.RemoveNestedField(pod.Object, "spec", "serviceAccountName")
		pods = append(pods, pod)
	}
	return pods
}

// find returns the object of a kind whose name ends in a suffix.
func find[T any](t *testing.T, objects []*unstructured.Unstructured, kind, suffix string) *T {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() == kind && strings.HasSuffix(o.GetName(), suffix) {
			into := new(T)
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
				t.Fatal(err)
			}
			return into
		}
	}
	t.Fatalf("there is no %s *%s", kind, suffix)
	return nil
}

func decode(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := manifest.Decode(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/metrictest"
)

const allKinds = `
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Endpoints, metadata: {name: web}, subsets: [{addresses: [{ip: 10.0.0.1}], ports: [{port: 80}]}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{port: 80}, {name: none}]
endpoints: [{addresses: [10.0.0.1]}]
---
{apiVersion: v1, kind: Pod, metadata: {name: web-pod}, spec: {containers: [{name: a, image: a}]}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-rs, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: u}]}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: web-job}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}
---
{apiVersion: workload.linkerd.io/v1beta1, kind: ExternalWorkload, metadata: {name: web-ew}, spec: {meshTLS: {identity: a, serverName: a}}}
---
{apiVersion: policy.linkerd.io/v1beta3, kind: Server, metadata: {name: web-srv}, spec: {podSelector: {}, port: 80, proxyProtocol: opaque}}
---
{apiVersion: linkerd.io/v1alpha2, kind: ServiceProfile, metadata: {name: web.a.svc.cluster.local}, spec: {routes: [{name: all, condition: {pathRegex: .*}}]}}
`

func TestClusterFollowsAllKinds(t *testing.T) {
	api := kubetest.Start(t)
	for _, from := range []EndpointsFrom{FromEndpointSlices, FromEndpoints} {
		t.Run(string(from), func(t *testing.T) {
			namespace := api.Namespace(t)
			before, after := newRecorder(), newRecorder()
			running := run(t, api.Config, before, CatalogTables(before, from)...)
			settle(t, running)
			api.Apply(t, allKinds, namespace)
			slice := "2/web-1"
			if from == FromEndpoints {
				slice = "2/web"
			}
			want := []string{"1/web", slice, "3/web-ew", "3/web-pod", "5/web-job", "5/web-rs", "6/web-srv", "7/web.a.svc.cluster.local"}
			kubetest.Eventually(t, 30*time.Second, func() error { return differ(want, before.names(namespace)) })

			late := run(t, api.Config, after, CatalogTables(after, from)...)
			settle(t, late)
			if err := differ(want, after.names(namespace)); err != nil {
				t.Errorf("what a later cluster has when it is settled: %v", err)
			}
			if diff := cmp.Diff(before.get(catalog.ID{Kind: catalog.KindOwner, Cluster: "local", Namespace: namespace, Name: "web-rs", Qualifier: "ReplicaSet"}),
				catalog.Object(&catalog.Owner{
					Cluster: "local", Namespace: namespace,
					OwnerRef: catalog.OwnerRef{Kind: "ReplicaSet", Name: "web-rs"}, Parent: catalog.OwnerRef{Kind: "Deployment", Name: "web"},
				})); diff != "" {
				t.Errorf("ReplicaSet (-got +want):\n%s", diff)
			}
			if got := before.reported("EndpointSlice web-1 ports[1].port"); got != (from == FromEndpointSlices) {
				t.Errorf("the port without number was reported: %v", got)
			}
			if n := gauge(t, before, "server_cache_size", "cluster=local"); n < 1 {
				t.Errorf("server_cache_size is %v", n)
			}
			listAgrees(t, running)
			err := api.Client.CoreV1().Pods(namespace).Delete(t.Context(), "web-pod", metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
			if err != nil {
				t.Fatal(err)
			}
			want = slices.DeleteFunc(want, func(s string) bool { return s == "3/web-pod" })
			kubetest.Eventually(t, 30*time.Second, func() error { return differ(want, before.names(namespace)) })
		})
	}
}

func differ(want, got []string) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("objects (-want +got):\n%s", diff)
	}
	return nil
}

// listAgrees checks that listing, the way in for API servers that don't stream, brings
// the objects that the tables hold.
func listAgrees(t *testing.T, c *Cluster) {
	t.Helper()
	for _, f := range c.feeds {
		list, err := f.parts[0].source.listings()(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Errorf("list %s: %v", f.kind, err)
			continue
		}
		if n := meta.LenList(list); n != f.len() {
			t.Errorf("the list of %s has %d objects, the table %d", f.kind, n, f.len())
		}
	}
}

func TestClusterSharesLagAndLetsGoOfItsMetrics(t *testing.T) {
	api := kubetest.Start(t)
	namespace := api.Namespace(t)
	r := newRecorder()
	for _, name := range []string{"a", "b"} {
		t.Run(name, func(t *testing.T) {
			c, err := New(Options{Config: api.Config, Name: name, Registerer: r.registry}, Services().Table())
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- c.Run(ctx) }()
			settle(t, c)
			svc, err := api.Client.CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			before := metrictest.Sum(t, r.registry, "services_informer_lag_seconds_count")
			kubetest.Eventually(t, 30*time.Second, func() error { // the times have a resolution of 1s
				svc.Labels = map[string]string{"at": fmt.Sprint(time.Now().UnixNano())}
				if svc, err = api.Client.CoreV1().Services(namespace).Update(t.Context(), svc, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
				if metrictest.Sum(t, r.registry, "services_informer_lag_seconds_count") == before {
					return errors.New("no lag was observed")
				}
				return nil
			})
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if err := c.Run(t.Context()); err == nil {
				t.Error("a cluster ran twice")
			}
			if n := gauge(t, r, "service_cache_size", "cluster="+name); n != -1 {
				t.Errorf("the metrics outlive the cluster")
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	cfg := &rest.Config{Host: "http://127.0.0.1:1"}
	shared := Nodes().Table()
	named, lagging, elsewhere, custom := Nodes(), Nodes(), Nodes(), Pods()
	named.Name, lagging.Lag = "other", "other"
	elsewhere.Resource.Version = "v2"
	custom.Form = JSON(corev1.AddToScheme, func() runtime.Object { return &corev1.PodList{} })
	for name, c := range map[string]struct {
		tables []AnyTable
		want   string
	}{
		"no tables":                     {nil, "no tables"},
		"a table used twice":            {[]AnyTable{shared, shared}, "part of a cluster already"},
		"a resource under two names":    {[]AnyTable{Nodes().Table(), named.Table()}, `names "node" and "other"`},
		"a resource with two lags":      {[]AnyTable{Nodes().Table(), lagging.Table()}, `lags "" and "other"`},
		"two resources under one name":  {[]AnyTable{Nodes().Table(), elsewhere.Table()}, "both have the name node"},
		"a resource in two whole forms": {[]AnyTable{Pods().Table(), custom.Table()}, "tables of pods can't be filled from one watch: one asks for a *v1.PodList as application/vnd"},
	} {
		if _, err := New(Options{Config: cfg}, c.tables...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: New says %v, want %q", name, err, c.want)
		}
	}
}

// A kind without a name has that of another kind of its resource, whichever comes first, or one
// that is made of the resource.
func TestUnnamedKinds(t *testing.T) {
	nodes, alone := Nodes(), Nodes()
	nodes.Name = ""
	alone.Name, alone.Resource = "", schema.GroupVersionResource{Group: "my-group.example.com", Version: "v1beta1", Resource: "wide-things"}
	for _, order := range [][]AnyTable{{nodes.Table(), Nodes().Table(), alone.Table()}, {alone.Table(), Nodes().Table(), nodes.Table()}} {
		c, err := New(Options{Config: &rest.Config{Host: "http://127.0.0.1:1"}}, order...)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, status := range c.Status() {
			names = append(names, status.Kind)
		}
		slices.Sort(names)
		if want := []string{"node", "wide_things_v1beta1_my_group_example_com"}; !slices.Equal(names, want) {
			t.Errorf("names %q, want %q", names, want)
		}
	}
}

func TestClusterWaitsForAnUnreachableServer(t *testing.T) {
	r := newRecorder()
	c := run(t, &rest.Config{Host: "http://127.0.0.1:1"}, r, Nodes().Table(), Servers().Table())
	await(t, c, "node", Waiting, Unreachable)
	await(t, c, "server", Waiting, Unreachable)
	select {
	case <-c.Settled():
		t.Error("the cluster settled without an API server")
	default:
	}
	kubetest.Eventually(t, 30*time.Second, func() error {
		if got := gauge(t, r, "kube_table_stale_seconds", "cluster=local", "kind=node"); got < 0.5 {
			return fmt.Errorf("table is stale for %v s", got)
		}
		return nil
	})
}

func TestClusterWithFewRights(t *testing.T) {
	api := kubetest.Start(t)
	user := "few-rights-" + api.Namespace(t)
	cfg := rest.CopyConfig(api.Config)
	cfg.Impersonate.UserName = user
	r := newRecorder()
	c := run(t, cfg, r, Nodes().Table(), Servers().Table())
	await(t, c, "node", Waiting, Forbidden)
	await(t, c, "server", Waiting, Forbidden)
	select {
	case <-c.Settled():
		t.Fatal("the cluster settled without Nodes")
	default:
	}
	api.Apply(t, strings.ReplaceAll(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: USER}
rules: [{apiGroups: [""], resources: [nodes], verbs: [list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: USER}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: USER}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: USER}]
`, "USER", user), "")
	settle(t, c)
	if s := status(c, "server"); s.State != Waiting || s.Reason != Forbidden || s.Required || s.Filled {
		t.Errorf("the optional kind that is forbidden is %+v", s)
	}
	for _, err := range []error{
		api.Client.RbacV1().ClusterRoleBindings().Delete(context.Background(), user, metav1.DeleteOptions{}),
		api.Client.RbacV1().ClusterRoles().Delete(context.Background(), user, metav1.DeleteOptions{}),
	} {
		if err != nil {
			t.Error(err)
		}
	}
}

// tolerantCRD defines a kind without a schema, so that the API server stores anything.
func tolerantCRD(kind string, r schema.GroupVersionResource) string {
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[3]s.%[1]s}
spec:
  group: %[1]s
  names: {kind: %[4]s, plural: %[3]s}
  scope: Namespaced
  versions:
  - name: %[2]s
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, r.Group, r.Version, r.Resource, kind)
}

func TestClusterCRDAppearsAndBadObjectsCostOnlyThemselves(t *testing.T) {
	api := kubetest.StartOwn(t, kubetest.Options{})
	namespace := api.Namespace(t)
	r := newRecorder()
	c := run(t, api.Config, r, CatalogTables(r, FromEndpointSlices)...)
	settle(t, c)
	await(t, c, "server", Waiting, NotFound)

	api.Apply(t, tolerantCRD("Server", Servers().Resource), "")
	await(t, c, "server", Synced, "")
	server := func(name string) catalog.ID {
		return catalog.ID{Kind: catalog.KindServer, Cluster: "local", Namespace: namespace, Name: name}
	}
	apply := func(name, spec string) {
		api.Apply(t, fmt.Sprintf("{apiVersion: policy.linkerd.io/v1beta3, kind: Server, metadata: {name: %s}, spec: %s}", name, spec), namespace)
	}
	apply("good", "{port: 80, podSelector: {}}")
	apply("spoiled", "{port: 81, podSelector: {}}")
	apply("bad", "{port: [], podSelector: wrong}")
	kubetest.Eventually(t, 30*time.Second, func() error { return differ([]string{"6/good", "6/spoiled"}, r.names(namespace)) })
	apply("spoiled", `{port: {}, podSelector: {}}`)
	apply("last", "{port: 82}")
	kubetest.Eventually(t, 30*time.Second, func() error {
		return differ([]string{"6/good", "6/last", "6/spoiled"}, r.names(namespace))
	})
	if s, ok := r.get(server("spoiled")).(*catalog.Server); !ok || s.PortNumber != 81 {
		t.Errorf("the Server that can no longer be read is %+v, want the last good one", s)
	}
	if !r.reported("Server bad spec") || !r.reported("Server spoiled spec") {
		t.Errorf("problems are %v", r.problems)
	}
	later := newRecorder()
	settle(t, run(t, api.Config, later, CatalogTables(later, FromEndpointSlices)...))
	if err := differ([]string{"6/good", "6/last"}, later.names(namespace)); err != nil {
		t.Errorf("in the first listing: %v", err)
	}
}

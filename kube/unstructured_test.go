package kube

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// looseKind is a kind whose objects are kept as they are.
func looseKind(name string, resource schema.GroupVersionResource) Kind[unstructured.Unstructured] {
	return FullObject[unstructured.Unstructured](Kind[struct{}]{Name: name, Resource: resource, Form: Unstructured(), Optional: true})
}

// loose is a table of a kind that shares the watch of another one.
func loose[T any](k Kind[T]) *Table[unstructured.Unstructured] {
	other := looseKind(k.Name, k.Resource)
	other.Lag = k.Lag
	return other.Table()
}

func TestFields(t *testing.T) {
	object := func(spec any) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"kind": "Thing", "spec": spec, "other": int64(1)}}
		u.SetNamespace("n")
		u.SetName("a")
		return u
	}
	type fields struct {
		Spec struct {
			Names  []string          `json:"names"`
			Labels map[string]string `json:"labels"`
		} `json:"spec"`
	}
	var got, want fields
	in := object(map[string]any{"names": []any{"x", "y"}, "labels": map[string]any{"a": "b"}, "more": []any{int64(1)}})
	before := in.DeepCopy()
	if err := Fields(in, &got); err != nil {
		t.Fatal(err)
	}
	want.Spec.Names, want.Spec.Labels = []string{"x", "y"}, map[string]string{"a": "b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got.Spec.Names[0], got.Spec.Labels["a"] = "changed", "changed"
	if diff := cmp.Diff(before, in); diff != "" {
		t.Errorf("the fields are shared with the object (-before +after):\n%s", diff)
	}
	if err := Fields(object(nil), &fields{}); err != nil {
		t.Errorf("without a spec: %v", err)
	}
	for _, test := range []struct {
		spec any
		want string
	}{
		{map[string]any{"names": "x"}, "read Thing n/a: field spec.names has a JSON string"},
		{map[string]any{"labels": map[string]any{"a": int64(1)}}, "read Thing n/a: field spec.labels has a JSON number"},
		{"x", "read Thing n/a: field spec has a JSON string"},
	} {
		err := Fields(object(test.spec), &fields{})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got %v, want %q", test.spec, err, test.want)
		}
	}
}

func TestNewJoinsUnstructuredTables(t *testing.T) {
	things := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}
	for _, c := range []struct {
		name   string
		tables []AnyTable
		accept string
		loose  bool
	}{
		{"alone", []AnyTable{looseKind("thing", things).Table()}, jsonType, true},
		{"twice", []AnyTable{looseKind("thing", things).Table(), looseKind("thing", things).Table()}, jsonType, true},
		{"built in first", []AnyTable{Services().Table(), loose(Services())}, protobufType, false},
		{"built in last", []AnyTable{loose(Services()), Services().Table()}, protobufType, false},
		{"custom first", []AnyTable{Servers().Table(), loose(Servers())}, jsonType, true},
		{"custom last", []AnyTable{loose(Servers()), Servers().Table(), Servers().Table()}, jsonType, true},
		{"metadata first", []AnyTable{Nodes().Table(), loose(Nodes())}, jsonType, true},
		{"metadata last", []AnyTable{loose(Nodes()), Nodes().Table()}, jsonType, true},
	} {
		cluster, err := New(Options{Config: &rest.Config{Host: "http://127.0.0.1:1"}}, c.tables...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		form := cluster.feeds[0].parts[0].source.form
		if len(cluster.feeds) != 1 || form.acceptWatch != c.accept || form.loose != c.loose {
			t.Errorf("%s: %d feeds, the first one asks for %s, unstructured %v; want one that asks for %s, %v",
				c.name, len(cluster.feeds), form.acceptWatch, form.loose, c.accept, c.loose)
		}
	}
}

// An unstructured table gets all fields, also those that another table of the watch doesn't read.
func TestUnstructuredTableReadsEverything(t *testing.T) {
	pods := Pods()
	pods.Form = pods.Form.Without("spec.containers.image")
	cluster, err := New(Options{Config: &rest.Config{Host: "http://127.0.0.1:1"}}, pods.Table(), loose(Pods()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(managedFields, cluster.feeds[0].parts[0].source.form.unread); diff != "" {
		t.Errorf("fields that are not read (-want +got):\n%s", diff)
	}
}

// An object that can't be converted to the form of a table is a problem, for that table only.
func TestUnstructuredObjectThatHasNoType(t *testing.T) {
	var problems []objectmeta.Problem
	typed, whole := Servers().Table(), loose(Servers())
	s := storeOf(t, binding{report: func(p objectmeta.Problem) { problems = append(problems, p) }}, typed, whole)
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "policy.linkerd.io/v1beta3", "kind": "Server",
		"metadata": map[string]any{"namespace": "n", "name": "a", "labels": map[string]any{"x": "y"}, "generation": "none"},
	}}
	if err := s.Update(u); err != nil {
		t.Fatal(err)
	}
	if typed.Len() != 0 || whole.Get("n", "a") == nil {
		t.Errorf("the tables hold %d and %d objects, want 0 and 1", typed.Len(), whole.Len())
	}
	if len(problems) != 1 || problems[0].Name != "a" || !strings.Contains(problems[0].Reason, "metadata.generation") {
		t.Errorf("problems are %+v, want one about metadata.generation", problems)
	}
}

// With a real API server: a kind without a Go type that is defined later, and unstructured
// tables that share the watches of others.
func TestClusterFollowsUnstructured(t *testing.T) {
	api := kubetest.StartOwn(t, kubetest.Options{CRDs: "../deploy/crds"})
	namespace := api.Namespace(t)
	r := newRecorder()
	things := looseKind("thing", schema.GroupVersionResource{Group: "unstructured.example.com", Version: "v1", Resource: "things"}).Table()
	services, typedServices := loose(Services()), FullObject[corev1.Service](Services()).Table()
	profiles := loose(ServiceProfiles())
	api.Apply(t, `
{apiVersion: v1, kind: Service, metadata: {name: web, labels: {a: b}}, spec: {ports: [{port: 80}]}}
---
{apiVersion: linkerd.io/v1alpha2, kind: ServiceProfile, metadata: {name: web.a.svc.cluster.local}, spec: {routes: [{name: all, condition: {pathRegex: .*}}]}}
`, namespace)
	tables := append(CatalogTables(r, FromEndpointSlices), services, typedServices, profiles, things)
	c := run(t, api.Config, r, tables...)
	settle(t, c)
	if things.Filled() || !services.Filled() {
		t.Errorf("a kind that doesn't exist is filled: %v; Services are: %v", things.Filled(), services.Filled())
	}
	await(t, c, "thing", Waiting, NotFound)

	web := services.Get(namespace, "web")
	if typed := typedServices.Get(namespace, "web"); web == nil || typed == nil || web.GetResourceVersion() != typed.ResourceVersion {
		t.Fatalf("the tables of Services hold %v and %v", web, typed)
	}
	ports, _, err := unstructured.NestedSlice(web.Object, "spec", "ports")
	if err != nil || len(ports) != 1 || web.GetKind() != "Service" || web.GetAPIVersion() != "v1" || web.GetManagedFields() != nil {
		t.Errorf("the unstructured Service is %+v (%v)", web.Object, err)
	}
	profile := catalog.ID{Kind: catalog.KindServiceProfile, Cluster: "local", Namespace: namespace, Name: "web.a.svc.cluster.local"}
	if p, ok := r.get(profile).(*catalog.ServiceProfile); !ok || len(p.Routes) != 1 || profiles.Get(namespace, profile.Name) == nil {
		t.Errorf("the tables of ServiceProfiles hold %+v and %v", r.get(profile), profiles.Get(namespace, profile.Name))
	}

	api.Apply(t, tolerantCRD("Thing", things.kind.Resource), "")
	await(t, c, "thing", Synced, "")
	api.Apply(t, `{apiVersion: unstructured.example.com/v1, kind: Thing, metadata: {name: a}, anything: [1, {b: c}]}`, namespace)
	kubetest.Eventually(t, 30*time.Second, func() error {
		got := things.Get(namespace, "a")
		if got == nil {
			return fmt.Errorf("no thing yet: %+v", c.Status())
		}
		return differ([]string{fmt.Sprint([]any{int64(1), map[string]any{"b": "c"}})}, []string{fmt.Sprint(got.Object["anything"])})
	})
	listAgrees(t, c)
	client := api.Dynamic.Resource(things.kind.Resource).Namespace(namespace)
	if err := client.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, 30*time.Second, func() error {
		if n := things.Len(); n != 0 {
			return fmt.Errorf("there are %d things after the deletion", n)
		}
		return nil
	})
}

package crd_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/crd"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/logtest"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) { sourcetest.Main(m, "../../../deploy/crds") }

func TestScenarios(t *testing.T) { sourcetest.Run(t, crd.Plugin()) }

func TestRealAPIServer(t *testing.T) { sourcetest.RunReal(t, crd.Plugin(), "lifecycle") }

func TestOpenChecksTheKind(t *testing.T) {
	for _, test := range []struct {
		name             string
		apiVersion, kind string
		want             []string
	}{
		{"default", "externaldns.k8s.io/v1alpha1", "DNSEndpoint", nil},
		{"another", "example.com/v1", "Records", nil},
		{"no group", "v1", "DNSEndpoint", []string{`--crd-source-apiversion "v1"`}},
		{"too many", "a/b/c", "DNSEndpoint", []string{`--crd-source-apiversion "a/b/c"`}},
		{"everything", "", "dns-endpoint", []string{`--crd-source-apiversion ""`, `--crd-source-kind "dns-endpoint"`}},
	} {
		config := crd.NewConfig()
		config.APIVersion, config.Kind = test.apiVersion, test.kind
		_, err := config.Open(source.Input{})
		if (err != nil) != (test.want != nil) {
			t.Errorf("%s: got %v", test.name, err)
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want something about %s", test.name, err, want)
			}
		}
	}
}

// opened is a running source with a real API server.
type opened struct {
	config *crd.Config
	source source.Source
	log    *logtest.Buffer
}

func open(t *testing.T, api *kubetest.Cluster, config *crd.Config) *opened {
	t.Helper()
	o := &opened{config: config, log: &logtest.Buffer{}}
	log := slog.New(slog.NewTextHandler(io.MultiWriter(t.Output(), o.log), nil))
	var err error
	o.source, err = crd.Plugin().Open(config, source.Input{Log: log, Changed: func(source.Key) {}})
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := kube.New(kube.Options{Config: api.Config, Logger: log}, o.source.Tables...)
	if err != nil {
		t.Fatal(err)
	}
	start(t, cluster.Run)
	return o
}

// start runs run until the test ends or stop is called.
func start(t *testing.T, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := run(ctx); err != nil {
			t.Error(err)
		}
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

func (o *opened) records(key source.Key) []*dns.RecordSet { return o.source.Evaluate(key).Records }

// generations returns the generation of an object and the observed one.
func generations(t *testing.T, objects dynamic.ResourceInterface, name string) (now, observed int64) {
	t.Helper()
	obj, err := objects.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	observed, _, err = unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
	if err != nil {
		t.Fatal(err)
	}
	return obj.GetGeneration(), observed
}

func TestWriteStatus(t *testing.T) {
	api := kubetest.Start(t)
	namespace := api.Namespace(t)
	objects := api.Dynamic.Resource(schema.GroupVersionResource{Group: "externaldns.k8s.io", Version: "v1alpha1", Resource: "dnsendpoints"}).Namespace(namespace)
	apply := func(name, target string) {
		t.Helper()
		api.Apply(t, fmt.Sprintf(`{apiVersion: externaldns.k8s.io/v1alpha1, kind: DNSEndpoint, metadata: {name: %s},
			spec: {endpoints: [{dnsName: a.example.org, recordType: A, targets: [%s]}]}}`, name, target), namespace)
	}
	observed := func(name string, want int64) {
		t.Helper()
		kubetest.Eventually(t, 30*time.Second, func() error {
			if now, observed := generations(t, objects, name); now != want || observed != want {
				return fmt.Errorf("%s is of generation %d and %d was observed, want %d", name, now, observed, want)
			}
			return nil
		})
	}
	apply("before", "192.0.2.1")
	o := open(t, api, crd.NewConfig())
	nowhere, err := dynamic.NewForConfig(&rest.Config{Host: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	stop := start(t, func(ctx context.Context) error { return o.config.WriteStatus(ctx, nowhere) })
	kubetest.Eventually(t, 30*time.Second, func() error {
		if !strings.Contains(o.log.String(), "get DNSEndpoint "+namespace+"/before") {
			return fmt.Errorf("no failure is logged")
		}
		return nil
	})
	stop()
	stop = start(t, func(ctx context.Context) error { return o.config.WriteStatus(ctx, api.Dynamic) })
	observed("before", 1)
	apply("after", "192.0.2.2")
	observed("after", 1)
	apply("before", "192.0.2.3")
	observed("before", 2)
	settled, err := objects.Get(t.Context(), "before", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stop()
	apply("after", "192.0.2.4")
	awaitRecord(t, o, source.Key{Namespace: namespace, Name: "after"}, "192.0.2.4")
	if now, observed := generations(t, objects, "after"); now != 2 || observed != 1 {
		t.Errorf("case 199: without leadership generation %d was observed of %d, want 1 of 2", observed, now)
	}
	for _, client := range []dynamic.Interface{nowhere, api.Dynamic} {
		if err := o.config.WriteStatusOnce(t.Context(), client); err != nil {
			t.Fatal(err)
		}
	}
	if now, observed := generations(t, objects, "after"); now != 2 || observed != 2 {
		t.Errorf("writing once, generation %d was observed of %d, want 2 of 2", observed, now)
	}
	start(t, func(ctx context.Context) error { return o.config.WriteStatus(ctx, api.Dynamic) })
	apply("after", "192.0.2.5")
	observed("after", 3)
	if again, err := objects.Get(t.Context(), "before", metav1.GetOptions{}); err != nil || again.GetResourceVersion() != settled.GetResourceVersion() {
		t.Errorf("case 199: the status of one object was written more than once (%v): versions %s and %s",
			err, settled.GetResourceVersion(), again.GetResourceVersion())
	}
}

func awaitRecord(t *testing.T, o *opened, key source.Key, target string) {
	t.Helper()
	kubetest.Eventually(t, 30*time.Second, func() error {
		if got := o.records(key); len(got) != 1 || !slices.Equal(got[0].Targets, []string{target}) {
			return fmt.Errorf("%s asks for %+v, want the target %s", key, got, target)
		}
		return nil
	})
}

func TestWriteStatusAtTheWrongTime(t *testing.T) {
	config := crd.NewConfig()
	for _, write := range []func(context.Context, dynamic.Interface) error{config.WriteStatus, config.WriteStatusOnce} {
		if err := write(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "call Open first") {
			t.Errorf("before Open: got %v", err)
		}
	}
	if _, err := config.Open(source.Input{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := config.WriteStatus(ctx, nil); err != nil {
		t.Errorf("with a context that has ended: got %v", err)
	}
}

const customCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: nameentries.records.example.com}
spec:
  group: records.example.com
  names: {kind: NameEntry, plural: nameentries}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// TestCustomGroup covers objects of another group, whose CRD is created after the source.
func TestCustomGroup(t *testing.T) {
	api := kubetest.Start(t)
	namespace := api.Namespace(t)
	config := crd.NewConfig()
	config.APIVersion, config.Kind = "records.example.com/v1", "NameEntry"
	o := open(t, api, config)
	api.Apply(t, customCRD, "")
	t.Cleanup(func() {
		crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
		const name = "nameentries.records.example.com"
		if err := api.Dynamic.Resource(crds).Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		// Applying the definition again before it is gone would change the one that is being deleted.
		kubetest.Eventually(t, 20*time.Second, func() error {
			_, err := api.Dynamic.Resource(crds).Get(context.Background(), name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("the definition is still there, or: %v", err)
		})
	})
	kubetest.Eventually(t, 20*time.Second, func() error {
		if !o.source.Tables[0].Filled() {
			return fmt.Errorf("the table is not filled")
		}
		return nil
	})
	start(t, func(ctx context.Context) error { return o.config.WriteStatus(ctx, api.Dynamic) })
	api.Apply(t, `{apiVersion: records.example.com/v1, kind: NameEntry, metadata: {name: a},
		spec: {endpoints: [{dnsName: a.example.org, recordType: A, targets: [192.0.2.1]}]}, status: {other: kept}}`, namespace)
	key := source.Key{Namespace: namespace, Name: "a"}
	awaitRecord(t, o, key, "192.0.2.1")
	if got := o.records(key)[0].Objects[0]; got.APIVersion != "records.example.com/v1" || got.Kind != "NameEntry" {
		t.Errorf("the record set comes of %+v", got)
	}
	objects := api.Dynamic.Resource(schema.GroupVersionResource{Group: "records.example.com", Version: "v1", Resource: "nameentries"}).Namespace(namespace)
	kubetest.Eventually(t, 30*time.Second, func() error {
		obj, err := objects.Get(t.Context(), "a", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got := fmt.Sprint(obj.Object["status"]); got != "map[observedGeneration:1 other:kept]" {
			return fmt.Errorf("the status is %s", got)
		}
		return nil
	})
	_, err := objects.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":null}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, 30*time.Second, func() error {
		if got := o.records(key); len(got) != 0 {
			return fmt.Errorf("without a spec there are %d records", len(got))
		}
		return nil
	})
}

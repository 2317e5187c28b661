package crd_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/crd"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// fakeOutcomes are outcomes that a test sets.
type fakeOutcomes struct {
	mu      sync.Mutex
	outcome *source.Outcome
	calls   int
	changes chan []source.Key
}

func (o *fakeOutcomes) set(reason, message string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.outcome = &source.Outcome{Accepted: source.Verdict{True: true, Reason: source.OutcomeAccepted}, Programmed: source.Verdict{True: reason == source.OutcomeProgrammed, Reason: reason, Message: message}}
}

func (o *fakeOutcomes) Outcome(context.Context, source.Key) (*source.Outcome, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls++
	return o.outcome, nil
}

func (o *fakeOutcomes) callCount() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls
}

func (o *fakeOutcomes) Follow(ctx context.Context, changed func([]source.Key)) error {
	for {
		select {
		case keys := <-o.changes:
			changed(keys)
		case <-ctx.Done():
			return nil
		}
	}
}

// programmed returns the condition Programmed of an object; nil if it has none.
func programmed(t *testing.T, objects dynamic.ResourceInterface, name string) (c *metav1.Condition, version string, all int) {
	t.Helper()
	object, err := objects.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	var conditions []metav1.Condition
	for _, one := range list {
		var c metav1.Condition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(one.(map[string]any), &c); err != nil {
			t.Fatal(err)
		}
		conditions = append(conditions, c)
	}
	return meta.FindStatusCondition(conditions, "Programmed"), object.GetResourceVersion(), len(conditions)
}

// TestConditions shows that conditions follow the outcome, that a long message is cut, that other writers'
// conditions stay, and that unchanged conditions aren't written (B16).
func TestConditions(t *testing.T) {
	api := kubetest.Start(t)
	namespace := api.Namespace(t)
	objects := api.Dynamic.Resource(schema.GroupVersionResource{Group: "externaldns.k8s.io", Version: "v1alpha1", Resource: "dnsendpoints"}).Namespace(namespace)
	api.Apply(t, `{apiVersion: externaldns.k8s.io/v1alpha1, kind: DNSEndpoint, metadata: {name: a}, spec: {endpoints: [{dnsName: a.example.org, recordType: A, targets: [192.0.2.1]}]}}`, namespace)
	other := `{"status":{"conditions":[{"type":"Other","status":"True","reason":"Fine","message":"","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`
	if _, err := objects.Patch(t.Context(), "a", types.MergePatchType, []byte(other), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	o := open(t, api, crd.NewConfig())
	outcomes := &fakeOutcomes{changes: make(chan []source.Key)}
	o.config.Report(outcomes)
	start(t, func(ctx context.Context) error { return o.config.WriteStatus(ctx, api.Dynamic) })
	key := source.Key{Kind: "DNSEndpoint.externaldns.k8s.io", Namespace: namespace, Name: "a"}
	await := func(reason string) (version string) {
		t.Helper()
		kubetest.Eventually(t, 20*time.Second, func() error {
			c, now, all := programmed(t, objects, "a")
			if c == nil || c.Reason != reason || c.ObservedGeneration != 1 || all != 3 {
				return fmt.Errorf("the condition is %+v, among %d; want the reason %s", c, all, reason)
			}
			version = now
			return nil
		})
		return version
	}
	outcomes.set(source.OutcomeConflict, strings.Repeat("ä", 100_000))
	outcomes.changes <- []source.Key{key}
	await(source.OutcomeConflict)
	if c, _, _ := programmed(t, objects, "a"); len(c.Message) > 1024 || !strings.HasSuffix(c.Message, "ä…") {
		t.Errorf("the message has %d bytes", len(c.Message))
	}
	outcomes.set(source.OutcomeProgrammed, "")
	outcomes.changes <- nil
	version := await(source.OutcomeProgrammed)
	before := outcomes.callCount()
	for range 5 {
		outcomes.changes <- []source.Key{key}
	}
	kubetest.Eventually(t, 20*time.Second, func() error {
		if outcomes.callCount() == before {
			return fmt.Errorf("it was not asked again")
		}
		return nil
	})
	if now := await(source.OutcomeProgrammed); now != version {
		t.Errorf("the status was written again: version %s, was %s", now, version)
	}
}

const bareCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: bareentries.records.example.com}
spec:
  group: records.example.com
  names: {kind: BareEntry, plural: bareentries}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, properties: {observedGeneration: {type: integer, format: int64}}}
`

// TestConditionsThatArePruned shows that conditions that the API server drops aren't written again and again,
// as with ExternalDNS' definition, which has none.
func TestConditionsThatArePruned(t *testing.T) {
	api := kubetest.Start(t)
	namespace := api.Namespace(t)
	config := crd.NewConfig()
	config.APIVersion, config.Kind = "records.example.com/v1", "BareEntry"
	api.Apply(t, bareCRD, "")
	objects := api.Dynamic.Resource(schema.GroupVersionResource{Group: "records.example.com", Version: "v1", Resource: "bareentries"}).Namespace(namespace)
	kubetest.Eventually(t, 20*time.Second, func() error {
		_, err := objects.List(t.Context(), metav1.ListOptions{})
		return err
	})
	o := open(t, api, config)
	outcomes := &fakeOutcomes{changes: make(chan []source.Key)}
	outcomes.set(source.OutcomeProgrammed, "")
	config.Report(outcomes)
	start(t, func(ctx context.Context) error { return config.WriteStatus(ctx, api.Dynamic) })
	var versions []string
	for _, name := range []string{"a", "b"} {
		api.Apply(t, fmt.Sprintf(`{apiVersion: records.example.com/v1, kind: BareEntry, metadata: {name: %s}, spec: {endpoints: [{dnsName: a.example.org, recordType: A, targets: [192.0.2.1]}]}}`, name), namespace)
		kubetest.Eventually(t, 20*time.Second, func() error {
			if now, observed := generations(t, objects, name); observed != now {
				return fmt.Errorf("generation %d was observed of %d", observed, now)
			}
			return nil
		})
		c, version, _ := programmed(t, objects, name)
		if c != nil {
			t.Errorf("%s has a condition: %+v", name, c)
		}
		versions = append(versions, version)
	}
	calls := outcomes.callCount()
	outcomes.changes <- nil
	outcomes.changes <- nil
	if now := outcomes.callCount(); now != calls {
		t.Errorf("it was asked %d times more", now-calls)
	}
	for i, name := range []string{"a", "b"} {
		if _, version, _ := programmed(t, objects, name); version != versions[i] {
			t.Errorf("%s was written again", name)
		}
	}
	if n := strings.Count(o.log.String(), "Conditions of objects can't be written"); n != 1 {
		t.Errorf("it is logged %d times", n)
	}
}

package source_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/kube"
)

// TestRead shows that an object is trimmed when it arrives, always to the same result, and isn't changed
// (case 216, ExternalDNS' transformers).
func TestRead(t *testing.T) {
	t.Parallel()
	const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
	object := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: "shop", UID: "u", Labels: map[string]string{"x": "y"},
			Annotations: map[string]string{lastApplied: "{}", "other": "o", source.DefaultPrefixes[0] + "hostname": "h.example", source.DefaultPrefixes[0] + "ttl": "x"},
		},
		Status: corev1.ServiceStatus{
			Conditions:   []metav1.Condition{{Type: "Ready"}},
			LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}},
		},
	}
	before := object.DeepCopy()
	plugin := source.Plugin{Name: "toy", Annotations: source.CommonAnnotations, Templates: true}
	subject := source.Subject{Kind: corev1.SchemeGroupVersion.WithKind("Service"), Label: "toy"}

	s, err := settings()
	if err != nil {
		t.Fatal(err)
	}
	reader := source.NewReader(source.Input{Settings: s, Plugin: plugin}, subject)
	read := reader.Read(kube.Scope{}, object)
	if text, err := json.Marshal(read); err != nil || strings.Contains(string(text), `"o"`) || read.FullObject != nil {
		t.Errorf("case 216: what is kept has more than it needs: %s, %v", text, err)
	}
	if diff := cmp.Diff(read, reader.Read(kube.Scope{}, object), cmp.AllowUnexported(source.Object{})); diff != "" {
		t.Errorf("case 216: reading again gives something else:\n%s", diff)
	}
	ref := dns.Object{APIVersion: "v1", Kind: "Service", Namespace: "a", Name: "shop", UID: "u", Source: "toy"}
	got := reader.Result(&read, reader.Origin(&read).All(read.Annotations.Hostnames, []string{"192.0.2.1", "192.0.2.1"}), nil)
	want := []*dns.RecordSet{{
		Name: "h.example", Type: dns.TypeA, Targets: []string{"192.0.2.1"},
		Labels: map[string]string{dns.LabelResource: "toy/a/shop"}, Objects: []dns.Object{ref},
	}}
	if diff := cmp.Diff(want, got.Records); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if len(got.Problems) != 1 || got.Problems[0].Object != ref {
		t.Errorf("problems are %+v, want one of %+v", got.Problems, ref)
	}

	s, err = settings("--fqdn-template=x")
	if err != nil {
		t.Fatal(err)
	}
	whole, ok := source.NewReader(source.Input{Settings: s, Plugin: plugin}, subject).Read(kube.Scope{}, object).FullObject.(*corev1.Service)
	if !ok || whole.Kind != "Service" || whole.APIVersion != "v1" || whole.Annotations[lastApplied] != "" || whole.Annotations["other"] != "o" {
		t.Errorf("case 216: templates see %+v, want the object with its kind, without %s", whole, lastApplied)
	}
	if len(whole.Status.Conditions) > 0 || len(whole.Status.LoadBalancer.Ingress) != 1 {
		t.Errorf("case 216: templates see the status %+v, want it without its conditions", whole.Status)
	}
	if diff := cmp.Diff(before, object); diff != "" {
		t.Errorf("case 216: the object was changed:\n%s", diff)
	}

	s.Namespaces = []string{"b", "c"}
	excluded := source.NewReader(source.Input{Settings: s, Plugin: plugin}, subject).Read(kube.Scope{}, object)
	if diff := cmp.Diff(source.Object{Key: source.Key{Kind: "Service", Namespace: "a", Name: "shop"}}, excluded, cmpopts.IgnoreUnexported(source.Object{})); diff != "" {
		t.Errorf("case 216: of an object that isn't selected is kept (-want +got):\n%s", diff)
	}
	if got := excluded.Excluded().Skipped; len(got) != 1 || got[0].Reason != source.SkipFiltered || !strings.Contains(got[0].Message, "--namespace") {
		t.Errorf("the skips of an object of another namespace are %+v", got)
	}
	object.Namespace = ""
	if !source.NewReader(source.Input{Settings: s, Plugin: plugin}, subject).Read(kube.Scope{}, object).Selected {
		t.Error("--namespace excludes a cluster-scoped object")
	}
}

// pointed is an object whose status is behind a pointer.
type pointed struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Status *corev1.PodStatus
}

func (p *pointed) DeepCopyObject() runtime.Object {
	return &pointed{TypeMeta: p.TypeMeta, ObjectMeta: *p.ObjectMeta.DeepCopy(), Status: p.Status.DeepCopy()}
}

// TestConditionsAreDropped shows that templates see objects of any form without their conditions.
func TestConditionsAreDropped(t *testing.T) {
	t.Parallel()
	s, err := settings("--fqdn-template=x")
	if err != nil {
		t.Fatal(err)
	}
	reader := source.NewReader(source.Input{Settings: s, Plugin: source.Plugin{Templates: true}}, source.Subject{Kind: corev1.SchemeGroupVersion.WithKind("Toy")})
	type object interface {
		metav1.Object
		runtime.Object
	}
	meta := metav1.ObjectMeta{Name: "a"}
	loose := func(status any) object {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"}, "status": status}}
	}
	conditions := []any{map[string]any{"type": "Ready"}}
	for name, of := range map[string]struct {
		object object
		want   string
	}{
		"a pod":                    {&corev1.Pod{ObjectMeta: meta, Status: corev1.PodStatus{PodIP: "192.0.2.1", Conditions: []corev1.PodCondition{{Type: "Ready"}}}}, `"podIP":"192.0.2.1"`},
		"behind a pointer":         {&pointed{ObjectMeta: meta, Status: &corev1.PodStatus{PodIP: "192.0.2.1", Conditions: []corev1.PodCondition{{Type: "Ready"}}}}, `"podIP":"192.0.2.1"`},
		"without a status":         {&pointed{ObjectMeta: meta}, `"name":"a"`},
		"of a kind without any":    {&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"b": "c"}}, `"b":"c"`},
		"without a type":           {loose(map[string]any{"url": "u", "conditions": conditions}), `"url":"u"`},
		"whose status is a string": {loose("ready"), `"status":"ready"`},
	} {
		before := of.object.DeepCopyObject()
		text, err := json.Marshal(reader.Read(kube.Scope{}, of.object).FullObject)
		if err != nil || strings.Contains(string(text), "Ready") || !strings.Contains(string(text), of.want) {
			t.Errorf("%s is seen as %s, %v; want %s in it, and no conditions", name, text, err, of.want)
		}
		if diff := cmp.Diff(before, runtime.Object(of.object)); diff != "" {
			t.Errorf("%s was changed:\n%s", name, diff)
		}
	}
}

func TestSelectors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name             string
		selector, labels map[string]string
		want             bool
	}{
		{name: "empty selects all", labels: map[string]string{"a": "1"}, want: true},
		{name: "empty selects what has no labels", want: true},
		{name: "equal", selector: map[string]string{"a": "1"}, labels: map[string]string{"a": "1"}, want: true},
		{name: "superset", selector: map[string]string{"b": "2", "a": "1"}, labels: map[string]string{"a": "1", "b": "2", "c": "3"}, want: true},
		{name: "subset", selector: map[string]string{"a": "1", "b": "2"}, labels: map[string]string{"a": "1"}},
		{name: "another value", selector: map[string]string{"a": "1"}, labels: map[string]string{"a": "2"}},
		{name: "an empty value isn't absent", selector: map[string]string{"a": ""}, labels: map[string]string{"b": ""}},
	}
	for _, test := range tests {
		labels := objectmeta.NewLabels(test.labels)
		if got := source.Selects(test.selector, labels); got != test.want {
			t.Errorf("%s: Selects is %v, want %v", test.name, got, test.want)
		}
		under := source.SelectorKeys("ns", test.selector)
		shared := slices.ContainsFunc(source.LabelKeys("ns", labels), func(k string) bool { return slices.Contains(under, k) })
		if test.want && !shared {
			t.Errorf("%s: what selects isn't found in an index", test.name)
		}
		if elsewhere := source.LabelKeys("other", labels); slices.ContainsFunc(elsewhere, func(k string) bool { return slices.Contains(under, k) }) {
			t.Errorf("%s: it is found from another namespace", test.name)
		}
	}
}

func TestNodeAddresses(t *testing.T) {
	t.Parallel()
	addresses := source.AddressesOf(&kube.Problems{}, &corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: "10.0.0.1"},
		{Type: corev1.NodeHostName, Address: "host"},
		{Type: corev1.NodeInternalIP, Address: "2001:db8::1"},
		{Type: corev1.NodeExternalIP, Address: "192.0.2.1"},
		{Type: corev1.NodeExternalIP},
	}}})
	want := source.NodeAddresses{External: []string{"192.0.2.1"}, Internal: []string{"10.0.0.1", "2001:db8::1"}}
	if diff := cmp.Diff(want, addresses); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
	settings := source.Settings{}
	if got := settings.Public(addresses); !slices.Equal(got, []string{"192.0.2.1"}) {
		t.Errorf("public addresses are %q", got)
	}
	settings.ExposeInternalIPv6 = true
	if got := settings.Public(addresses); !slices.Equal(got, []string{"192.0.2.1", "2001:db8::1"}) {
		t.Errorf("with internal ones of IPv6 they are %q", got)
	}
}

func TestRecordSets(t *testing.T) {
	t.Parallel()
	origin := source.Origin{
		Object: dns.Object{Kind: "Service", Name: "x"}, Resource: "service/x", TTL: 5, SetIdentifier: "s",
		Properties: []dns.Property{{Name: "a", Value: "b"}},
	}
	got := origin.RecordSet("_http._tcp.x.example.", dns.TypeSRV, []string{"0 50 80 x.example."})
	want := &dns.RecordSet{
		Name: "_http._tcp.x.example", Type: dns.TypeSRV, Targets: []string{"0 50 80 x.example."}, TTL: 5, SetIdentifier: "s",
		Properties: origin.Properties, Labels: map[string]string{dns.LabelResource: "service/x"}, Objects: []dns.Object{origin.Object},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record set (-want +got):\n%s", diff)
	}
	sets := origin.All([]string{"b.example.", "a.example", "b.example."}, []string{"lb.example.", "::ffff:1.2.3.4", "192.0.2.1", "192.0.2.1", ""})
	wanted := []string{
		"b.example A 192.0.2.1", "b.example AAAA ::ffff:1.2.3.4", "b.example CNAME lb.example",
		"a.example A 192.0.2.1", "a.example AAAA ::ffff:1.2.3.4", "a.example CNAME lb.example",
	}
	if diff := cmp.Diff(wanted, texts(sets)); diff != "" {
		t.Errorf("record sets (-want +got):\n%s", diff)
	}
	if got := (source.Origin{}).All([]string{"a"}, nil); got != nil {
		t.Errorf("a name without targets gives %+v", got)
	}
}

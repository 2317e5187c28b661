package watched

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/internal/wire"
	"github.com/signpostd/signpost/kube"
)

// meta is metadata as the API server sends it.
func meta(labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "ns", Name: "web-1", UID: "11111111-2222-3333-4444-000000000000", ResourceVersion: "12345", Generation: 3,
		Labels: labels, Annotations: map[string]string{"note": "something"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "Service", Name: "web"}},
		ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Update", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:endpoints":{}}`)}}},
	}
}

func someSlice(managedBy string) *discoveryv1.EndpointSlice {
	ready, port := true, int32(8080)
	return &discoveryv1.EndpointSlice{
		ObjectMeta:  meta(map[string]string{discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: managedBy, "app": "web"}),
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.1.2.3"}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
		Ports:       []discoveryv1.EndpointPort{{Port: &port}},
	}
}

func someEndpoints() *corev1.Endpoints {
	return &corev1.Endpoints{ObjectMeta: meta(nil), Subsets: []corev1.EndpointSubset{{
		Addresses: []corev1.EndpointAddress{{IP: "10.1.2.3", TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "web-1-a"}}},
		Ports:     []corev1.EndpointPort{{Name: "http", Port: 8080}},
	}}}
}

// marshaler is implemented by each generated API type.
type marshaler interface {
	runtime.Object
	Marshal() ([]byte, error)
}

// keep returns the value that a kind makes of an object, from a message and from a decoded object.
func keep[T any](t *testing.T, kind kube.Kind[T], object marshaler) map[string]*T {
	t.Helper()
	message, err := object.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	fromMessage, problems, err := kind.Read(kube.Scope{}, message)
	if err != nil || problems != nil {
		t.Fatalf("read: problems %v, error %v", problems, err)
	}
	clear(message) // its memory is reused
	fromObject, problems := kind.Trim(kube.Scope{}, object)
	if problems != nil {
		t.Fatalf("trim: problems %v", problems)
	}
	return map[string]*T{"message": fromMessage, "object": fromObject}
}

func TestEndpointsAreKept(t *testing.T) {
	want := someEndpoints()
	want.ManagedFields = nil
	for from, e := range keep(t, Endpoints(), someEndpoints()) {
		if diff := cmp.Diff(want, e.Object()); diff != "" {
			t.Errorf("from %s (-want +got):\n%s", from, diff)
		}
		e.Object().Subsets[0].Addresses[0].IP = "changed"
		if diff := cmp.Diff(want, e.Object()); diff != "" {
			t.Errorf("from %s, after the object was changed (-want +got):\n%s", from, diff)
		}
		if e.GetNamespace() != want.Namespace || e.GetName() != want.Name || e.GetUID() != want.UID || e.GetResourceVersion() != want.ResourceVersion {
			t.Errorf("from %s: it is %s/%s, UID %s, version %s", from, e.GetNamespace(), e.GetName(), e.GetUID(), e.GetResourceVersion())
		}
	}
}

func TestSlicesAreKept(t *testing.T) {
	terminating := someSlice("us")
	terminating.DeletionTimestamp = &metav1.Time{}
	unmanaged := someSlice("them")
	unmanaged.AddressType, unmanaged.Endpoints, unmanaged.Ports = "", nil, nil
	nobodys := someSlice("us")
	nobodys.Labels = nil
	for name, test := range map[string]struct {
		slice, want *discoveryv1.EndpointSlice
		kept        Slice
	}{
		"ours":        {someSlice("us"), someSlice("us"), Slice{Service: "web", ManagedBy: "us"}},
		"terminating": {terminating, terminating, Slice{Service: "web", ManagedBy: "us", Terminating: true}},
		"external":    {someSlice("them"), unmanaged, Slice{Service: "web", ManagedBy: "them"}},
		"no labels":   {nobodys, &discoveryv1.EndpointSlice{ObjectMeta: meta(nil)}, Slice{}},
	} {
		t.Run(name, func(t *testing.T) {
			want := test.want.DeepCopy()
			want.ManagedFields = nil
			for from, e := range keep(t, EndpointSlices("others", "us"), test.slice) {
				if diff := cmp.Diff(want, e.Object(), cmp.Comparer(sameTime)); diff != "" {
					t.Errorf("from %s (-want +got):\n%s", from, diff)
				}
				if e.Service != test.kept.Service || e.ManagedBy != test.kept.ManagedBy || e.Terminating != test.kept.Terminating {
					t.Errorf("from %s: %+v, want %+v", from, e, test.kept)
				}
				key, ok := e.Key()
				wantKey, wantOK := ServiceOf(test.slice)
				if key != wantKey || ok != wantOK {
					t.Errorf("from %s: of Service %v, %v, want %v, %v", from, key, ok, wantKey, wantOK)
				}
			}
		})
	}
}

// sameTime compares times that may be zero.
func sameTime(a, b *metav1.Time) bool {
	return (a == nil) == (b == nil) && (a == nil || a.Unix() == b.Unix())
}

// Another version, or another object of the same name, is a change.
func TestVersionsDiffer(t *testing.T) {
	kind := EndpointSlices("us")
	same := func(edit func(*discoveryv1.EndpointSlice)) bool {
		edited := someSlice("us")
		edit(edited)
		return kind.Same(keep(t, kind, someSlice("us"))["message"], keep(t, kind, edited)["message"])
	}
	if !same(func(e *discoveryv1.EndpointSlice) { e.ManagedFields = nil }) {
		t.Error("the same version is a change")
	}
	if same(func(e *discoveryv1.EndpointSlice) { e.ResourceVersion = "12346" }) {
		t.Error("another version is no change")
	}
	if same(func(e *discoveryv1.EndpointSlice) { e.UID = types.UID("other") }) {
		t.Error("another object is no change")
	}
}

// An object that can't be decoded, such as one of a later API version, keeps its name and version.
func TestUndecodableObject(t *testing.T) {
	message, err := someEndpoints().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	message = append(message, 0x12, 2, 0x0a, 9) // a subset whose address is cut off
	e, _, err := Endpoints().Read(kube.Scope{}, message)
	if err != nil {
		t.Fatal(err)
	}
	want := someEndpoints()
	want.ManagedFields, want.Subsets = nil, nil
	if diff := cmp.Diff(want, e.Object()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMalformedObjects(t *testing.T) {
	slice, err := someSlice("us").Marshal()
	if err != nil {
		t.Fatal(err)
	}
	badLabel := []byte{0x0a, 4, 0x5a, 2, 0x0a, 9}
	for _, message := range [][]byte{slice[:len(slice)-1], {0x80}, {0x0a, 2, 0x0a, 9}, badLabel} {
		if e, _, err := EndpointSlices("us").Read(kube.Scope{}, message); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("%x: %v and error %v, want %v", message, e, err, wire.ErrMalformed)
		}
	}
}

// ChangedBy returns the field manager that changed an object last (day2 B4).
func TestChangedBy(t *testing.T) {
	at := func(manager string, seconds int64) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: "Update", Time: &metav1.Time{Time: time.Unix(seconds, 0)}}
	}
	for want, entries := range map[string][]metav1.ManagedFieldsEntry{
		"kubectl-edit": {at("kubectl-patch", 1), at("kubectl-edit", 2), at("signpost", 3)},
		"other":        {at("other", 5), at("kubectl-edit", 2)},
		"":             {at("signpost", 3)},
	} {
		e := someSlice("us")
		e.ManagedFields = entries
		message, err := e.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		kept, _, err := EndpointSlices("us").Read(kube.Scope{}, message)
		if err != nil || kept.ChangedBy() != want {
			t.Errorf("it was changed by %q (%v), want %q", kept.ChangedBy(), err, want)
		}
	}
}

package kube

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	restwatch "k8s.io/client-go/rest/watch"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// somePod is as much of a pod as a small one has.
func somePod(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("web-6d4cf56db6-%05d", i), Namespace: "ns", UID: "11111111-2222-3333-4444-000000000000", ResourceVersion: "12345",
			Labels: map[string]string{"app": "web", "pod-template-hash": "6d4cf56db6"},
			ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "kubelet", Operation: "Update", FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: bytes.Repeat([]byte("{}"), 350)}},
			},
		},
		Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{
			{Name: "c", Image: "nginx", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: "TCP"}}},
		}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.1.2.3", PodIPs: []corev1.PodIP{{IP: "10.1.2.3"}},
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.PodScheduled, Status: corev1.ConditionTrue}},
		},
	}
}

// frameOf encodes an event as the API server does.
func frameOf(t testing.TB, kind watch.EventType, object runtime.Object) []byte {
	t.Helper()
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	gvks, _, err := scheme.ObjectKinds(object)
	if err != nil {
		t.Fatal(err)
	}
	object.GetObjectKind().SetGroupVersionKind(gvks[0])
	var raw bytes.Buffer
	if err := protobuf.NewSerializer(scheme, scheme).Encode(object, &raw); err != nil {
		t.Fatal(err)
	}
	event, err := (&metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: raw.Bytes()}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return framed(event)
}

func framed(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}

// podWatch returns our decoder of a watch of whole pods, and client-go's.
func podWatch(t testing.TB, body []byte) (ours, theirs watch.Decoder) {
	t.Helper()
	return watchOf(t, body, FullObject[corev1.Pod](Pods()).Table())
}

// watchOf is podWatch for a table that keeps something else of pods.
func watchOf(t testing.TB, body []byte, table AnyTable) (ours, theirs watch.Decoder) {
	t.Helper()
	entries := storeOf(t, binding{scope: NewScope("local"), report: func(objectmeta.Problem) {}}, table).entries
	serializer, err := entries.feed.form.serializer()
	if err != nil {
		t.Fatal(err)
	}
	object, frames, framer, err := runtime.NewClientNegotiator(serializer, corev1.SchemeGroupVersion).StreamDecoder(protobufType, nil)
	if err != nil {
		t.Fatal(err)
	}
	read := func() io.ReadCloser { return io.NopCloser(bytes.NewReader(body)) }
	events, err := newEvents(read(), entries, object)
	if err != nil {
		t.Fatal(err)
	}
	return events, restwatch.NewDecoder(streaming.NewDecoder(framer.NewFrameReader(read()), frames), object)
}

type decoded struct {
	Type   watch.EventType
	Object runtime.Object
}

// decodeAll decodes the events of a watch of whole pods. Of a deleted pod it returns only the name and the
// version, and of any pod only the fields that the kind reads.
func decodeAll(d watch.Decoder) (all []decoded, err error) {
	for {
		kind, object, err := d.Decode()
		if err != nil {
			return all, err
		}
		switch o := object.(type) {
		case *entry:
			object = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: o.key.namespace, Name: o.key.name, ResourceVersion: o.version}}
			if kind != watch.Deleted {
				object = o.values[0].(*corev1.Pod)
			}
		case *corev1.Pod:
			object = readable(kind, o)
		}
		object.GetObjectKind().SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(""))
		all = append(all, decoded{kind, object})
	}
}

// readable returns what we read of a pod that client-go decoded.
func readable(kind watch.EventType, pod *corev1.Pod) *corev1.Pod {
	if kind == watch.Deleted {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, ResourceVersion: pod.ResourceVersion}}
	}
	fields, err := unreadOf(reflect.TypeOf(pod), Pods().Form.unread)
	if err != nil {
		panic(err)
	}
	message, err := pod.Marshal()
	if err != nil {
		panic(err)
	}
	if message, err = fields.prune(message); err != nil {
		panic(err)
	}
	read := &corev1.Pod{}
	if err := read.Unmarshal(message); err != nil {
		panic(err)
	}
	return read
}

// Events are what client-go makes of them.
func TestEventsAreThoseOfClientGo(t *testing.T) {
	var body []byte
	for i, kind := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Added} {
		body = append(body, frameOf(t, kind, somePod(i))...)
	}
	body = append(body, frameOf(t, watch.Bookmark, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}})...)
	body = append(body, frameOf(t, watch.Error, &metav1.Status{Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired})...)
	ours, theirs := podWatch(t, body)
	want, err := decodeAll(theirs)
	if len(want) != 6 || !errors.Is(err, io.EOF) {
		t.Fatalf("client-go decoded %d events and then %v; the test encodes 6", len(want), err)
	}
	got, err := decodeAll(ours)
	if !errors.Is(err, io.EOF) {
		t.Errorf("the end reads as %v, want EOF", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A malformed stream is an error. A stream that breaks off is the end of the watch.
func TestMalformedEvents(t *testing.T) {
	good := frameOf(t, watch.Added, somePod(0))
	badObject, _ := (&metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: []byte("k8s\x00\x12\x02\xff\xff")}}).Marshal()
	encoding, _ := (&metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: []byte("k8s\x00\x1a\x04gzip")}}).Marshal()
	noPrefix, _ := (&metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: []byte("{}")}}).Marshal()
	for _, test := range []struct {
		name, want string
		body       []byte
	}{
		{"breaks off in the length", "unexpected EOF", good[:3]},
		{"breaks off in the event", "unexpected EOF", good[:20]},
		{"huge", "more than any object", []byte{0xff, 0xff, 0xff, 0x7f}},
		{"no event", "decode watch event: the protobuf is truncated", framed([]byte{0x0a, 0x7f})},
		{"bad tag", "decode watch event: the protobuf is truncated", framed([]byte{0x80})},
		{"bad number", "decode watch event: the protobuf is truncated", framed([]byte{0x08, 0x80})},
		{"no Kubernetes protobuf", "object of watch event ADDED: not Kubernetes", framed(noPrefix)},
		{"compressed", `unknown content encoding "gzip"`, framed(encoding)},
		{"bad object", "object of watch event ADDED", framed(badObject)},
	} {
		t.Run(test.name, func(t *testing.T) {
			ours, _ := podWatch(t, test.body)
			if all, err := decodeAll(ours); err == nil || !strings.Contains(err.Error(), test.want) || len(all) > 0 {
				t.Errorf("decoded %d events and then %v, want none and %q", len(all), err, test.want)
			}
		})
	}
}

// A watch has all decoded events, then the failure, then the end.
func TestWatchOfDecoder(t *testing.T) {
	body := frameOf(t, watch.Added, somePod(0))
	for _, test := range []struct {
		name, rest string
		want       []watch.EventType
	}{
		{"end", "", []watch.EventType{watch.Added}},
		{"breaks off", "\x00\x00", []watch.EventType{watch.Added}},
		{"failure", "\x00\x00\x00\x01\x80", []watch.EventType{watch.Added, watch.Error}},
	} {
		t.Run(test.name, func(t *testing.T) {
			ours, _ := podWatch(t, append(bytes.Clone(body), test.rest...))
			w := newWatch(ours)
			var got []watch.EventType
			for e := range w.ResultChan() {
				got = append(got, e.Type)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			w.Stop()
		})
	}
}

// No stream panics, and one that client-go can read reads the same.
func FuzzEvents(f *testing.F) {
	f.Add(frameOf(f, watch.Added, somePod(0)))
	f.Add(frameOf(f, watch.Error, &metav1.Status{Code: 410}))
	f.Add(framed([]byte{0x12, 0x02, 0x0a, 0x00}))
	f.Fuzz(func(t *testing.T, body []byte) {
		ours, theirs := podWatch(t, body)
		want, _ := decodeAll(theirs)
		got, _ := decodeAll(ours)
		for i := range min(len(want), len(got)) {
			if diff := cmp.Diff(want[i], got[i]); diff != "" {
				t.Errorf("event %d (-want +got):\n%s", i, diff)
			}
		}
	})
}

func BenchmarkEvents(b *testing.B) {
	const n = 1000
	body := bytes.Repeat(frameOf(b, watch.Added, somePod(0)), n)
	for _, name := range []string{"ours", "client-go"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				decoder, theirs := watchOf(b, body, Pods().Table())
				if name == "client-go" {
					decoder = theirs
				}
				got := 0
				for {
					if _, _, err := decoder.Decode(); err != nil {
						break
					}
					got++
				}
				if got != n {
					b.Fatalf("%d events, want %d", got, n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/event")
		})
	}
}

func TestUnreadOf(t *testing.T) {
	pod := reflect.TypeOf(corev1.Pod{})
	for _, test := range []struct{ path, want string }{
		{"spec.containers.image", ""},
		{"spec.containers.picture", "has no field picture"},
		{"spec.nodeName.first", "has no fields"},
		{"Spec", "has no field Spec"},
	} {
		_, err := unreadOf(pod, []string{test.path})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.path, err, test.want)
		}
	}
}

package kube

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// podList returns a list of n pods as the API server encodes it.
func podList(t testing.TB, n int) []byte {
	t.Helper()
	remaining := int64(7)
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "99", Continue: "more", RemainingItemCount: &remaining}}
	for i := range n {
		list.Items = append(list.Items, *somePod(i))
	}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := protobuf.NewSerializer(scheme, scheme).Encode(list, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// readList reads a list for a table of whole pods, of which there may be most.
func readList(t testing.TB, body io.Reader, most int) (*entryList, error) {
	t.Helper()
	entries := storeOf(t, binding{scope: NewScope("local"), report: func(objectmeta.Problem) {}}, FullObject[corev1.Pod](Pods()).Table()).entries
	objects, err := newObjects(entries.feed.form)
	if err != nil {
		t.Fatal(err)
	}
	check := func(n int) error {
		if n > most {
			return errors.New("too many")
		}
		return nil
	}
	return (&lister{in: bufio.NewReader(body), entries: entries, objects: objects, check: check}).read()
}

// A list that is read object by object has what client-go finds in it.
func TestListIsWhatClientGoReads(t *testing.T) {
	for _, n := range []int{0, 1, 500} {
		encoded := podList(t, n)
		want := &corev1.PodList{}
		message, err := unwrap(encoded)
		if err == nil {
			err = want.Unmarshal(message)
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := readList(t, iotest.OneByteReader(bytes.NewReader(encoded)), n)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.ListMeta, got.ListMeta); diff != "" {
			t.Errorf("%d pods: metadata (-want +got):\n%s", n, diff)
		}
		// This is how reflectors take a list apart.
		items, err := meta.ExtractList(got)
		if err != nil || len(items) != n {
			t.Fatalf("%d items (%v), want %d", len(items), err, n)
		}
		for i, item := range items {
			want.Items[i].ManagedFields, want.Items[i].Spec.Containers[0].Image = nil, "" // nobody reads these
			if diff := cmp.Diff(&want.Items[i], item.(*entry).values[0]); diff != "" {
				t.Errorf("pod %d (-want +got):\n%s", i, diff)
			}
		}
	}
}

// A list that is cut off anywhere is an error: the objects after the cut would count as deleted.
func TestListCutOff(t *testing.T) {
	encoded := podList(t, 3)
	for n := range encoded {
		// What follows the message of the list in its envelope may be missing: that says nothing about objects.
		if list, err := readList(t, bytes.NewReader(encoded[:n]), 3); err == nil && len(list.Items) != 3 {
			t.Errorf("after %d of %d bytes: %d objects, want an error", n, len(encoded), len(list.Items))
		}
	}
}

func TestListHostile(t *testing.T) {
	prefix := string(protobufPrefix)
	for name, tt := range map[string]struct{ body, want string }{
		"JSON":               {`{"kind":"PodList"}`, "not Kubernetes protobuf"},
		"nothing":            {"", "not Kubernetes protobuf"},
		"no list":            {prefix, "unexpected EOF"},
		"an endless object":  {prefix + "\x12\xff\xff\xff\xff\x7f\x12\xff\xff\xff\x7f", "more than any object has"},
		"endless metadata":   {prefix + "\x12\xff\xff\xff\xff\x7f\x0a\xff\xff\xff\x7f", "metadata of the list"},
		"beyond its message": {prefix + "\x12\x04\x12\x7fab", "malformed"},
		"an endless length":  {prefix + "\x12" + strings.Repeat("\xff", 20), "overflow"},
		"field zero":         {prefix + "\x02\x00", "malformed"},
		"a group":            {prefix + "\x13\x14", "malformed"},
		"compressed":         {prefix + "\x12\x00\x1a\x04gzip", "unknown content encoding"},
		"a bad object":       {prefix + "\x12\x04\x12\x02\x0a\x7f", "decode object 0"},
		"too many":           {string(podList(t, 5)), "too many"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := readList(t, strings.NewReader(tt.body), 4); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func FuzzList(f *testing.F) {
	f.Add(podList(f, 2))
	f.Add([]byte("k8s\x00\x12\x06\x0a\x02\x12\x00\x10\x01"))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := readList(t, bytes.NewReader(body), 1000)
		if err != nil {
			return
		}
		want := &corev1.PodList{}
		if message, err := unwrap(body); err != nil || want.Unmarshal(message) != nil {
			return // we read less, so that we see less that is wrong
		}
		if len(got.Items) != len(want.Items) || got.ResourceVersion != want.ResourceVersion {
			t.Errorf("%d objects of version %q, want %d of %q", len(got.Items), got.ResourceVersion, len(want.Items), want.ResourceVersion)
		}
	})
}

// The memory of a list must not grow with what isn't kept of its objects.
func BenchmarkList(b *testing.B) {
	encoded := podList(b, 5000)
	b.SetBytes(int64(len(encoded)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readList(b, bytes.NewReader(encoded), 5000); err != nil {
			b.Fatal(fmt.Errorf("read: %w", err))
		}
	}
}

package kube

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/internal/wire"
)

// size is what the kind of these tests reads: how long the message of an object is.
type size struct{ bytes int }

// sizes keeps nothing of an object that doesn't come as a message. It reports each message.
func sizes() Kind[size] {
	kind := Retrim(Pods(), func(Scope, runtime.Object) (*size, []Problem) { return nil, nil })
	kind.Read = func(_ Scope, message []byte) (*size, []Problem, error) {
		if len(message) == 0 {
			return nil, nil, errors.New("empty")
		}
		return &size{len(message)}, []Problem{{Reason: fmt.Sprint(len(message), " bytes")}}, nil
	}
	return kind
}

// A table that reads messages gets them whole, beside tables that want objects.
func TestTablesThatReadMessages(t *testing.T) {
	pod := somePod(1)
	updated := metav1.Unix(1700000000, 0)
	pod.ManagedFields[0].Time = &updated
	message, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	body := bytes.Join([][]byte{frameOf(t, watch.Added, pod), frameOf(t, watch.Modified, pod), frameOf(t, watch.Deleted, pod)}, nil)
	for name, others := range map[string][]AnyTable{
		"alone": nil, "beside others": {Pods().Table(), FullObject[corev1.Pod](Pods()).Table()},
	} {
		t.Run(name, func(t *testing.T) {
			table := sizes().Table()
			tables := append(append([]AnyTable{}, others...), table)
			reported := 0
			store := storeOf(t, binding{scope: NewScope("local"), report: func(objectmeta.Problem) { reported++ }}, tables...)
			e, err := newEvents(io.NopCloser(bytes.NewReader(body)), store.entries, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, do := range []func(any) error{store.Add, store.Update} {
				_, object, err := e.Decode()
				if err != nil {
					t.Fatal(err)
				}
				if err := do(object); err != nil {
					t.Fatal(err)
				}
				if got := table.Get(pod.Namespace, pod.Name); got == nil || got.bytes != len(message) {
					t.Errorf("event %d: the table has %v, want a message of %d bytes", i, got, len(message))
				}
				if got := object.(*entry); got.updated != updated.Unix() || got.version != pod.ResourceVersion {
					t.Errorf("event %d: version %s was updated at %d, want %s and %d", i, got.version, got.updated, pod.ResourceVersion, updated.Unix())
				}
				for _, o := range others {
					if o.Len() != 1 {
						t.Errorf("event %d: the other table has %d pods, want 1", i, o.Len())
					}
				}
			}
			_, object, err := e.Decode()
			if err != nil {
				t.Fatal(err)
			}
			if err := store.Delete(object); err != nil {
				t.Fatal(err)
			}
			for _, o := range tables {
				if o.Len() != 0 {
					t.Errorf("a table has %d objects after the deletion", o.Len())
				}
			}
			if reported != 2 {
				t.Errorf("%d problems were reported, want one for each version", reported)
			}
		})
	}
}

func TestUnreadableMessage(t *testing.T) {
	store := storeOf(t, binding{scope: NewScope("local"), report: func(objectmeta.Problem) {}}, sizes().Table())
	e, err := newEvents(io.NopCloser(bytes.NewReader(frameOf(t, watch.Added, &corev1.Pod{}))), store.entries, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range [][]byte{{0x0a, 0x05}, {0x0a, 0x02, 0x0a, 0x09}, {0x0a, 0x04, 0x8a, 0x01, 0x01, 0x80}} {
		if _, err := store.entries.read(message, e.objects); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("%x: error %v, want %v", message, err, wire.ErrMalformed)
		}
	}
}

// When an object was updated is the same in its message and in the object.
func TestNewestUpdate(t *testing.T) {
	at := func(operation metav1.ManagedFieldsOperationType, seconds int64) metav1.ManagedFieldsEntry {
		e := metav1.ManagedFieldsEntry{Manager: "m", Operation: operation, FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte("{}")}}
		if seconds != 0 {
			e.Time = &metav1.Time{Time: time.Unix(seconds, 0)}
		}
		return e
	}
	const update, apply = metav1.ManagedFieldsOperationUpdate, metav1.ManagedFieldsOperationApply
	for want, fields := range map[int64][]metav1.ManagedFieldsEntry{
		0:          {at(apply, 1700000009), at(update, 0)},
		1700000005: {at(update, 1700000005)},
		1700000007: {at(update, 1700000005), at(update, 1700000007), at(apply, 1700000009)},
		1700000008: {at(update, 1700000008), at(update, 1700000001)},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", ManagedFields: fields}}
		message, err := pod.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		meta, err := readMetadata(message)
		if err != nil {
			t.Fatal(err)
		}
		updated, err := meta.newestUpdate()
		if diff := cmp.Diff([]int64{want, want}, []int64{newestUpdate(pod), updated}); diff != "" || err != nil {
			t.Errorf("newest update in object and message (-want +got), error %v:\n%s", err, diff)
		}
	}
}

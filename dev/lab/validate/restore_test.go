package validate

//lint:file-ignore SA1019 Endpoints are deprecated, and one of the things that Signpost writes.

import (
	"bytes"
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/signpostd/signpost/dev/lab/history"
)

// restore sets the objects back to a revision, as the witness records an etcd restore.
func (r *clusterRun) restore(to int64) {
	type id struct{ resource, name string }
	var ids []id
	then, now := map[id]*history.Object{}, map[id]*history.Object{}
	for _, e := range r.entries {
		if e.Object == nil {
			continue
		}
		at := id{e.Object.Resource, e.Object.Name}
		if now[at] == nil {
			ids = append(ids, at)
		}
		if now[at] = e.Object; e.Object.Revision <= to {
			then[at] = e.Object
		}
	}
	r.revision++
	for _, at := range ids {
		o := history.Object{Resource: at.resource, Namespace: now[at].Namespace, Name: at.name, Deleted: true}
		if then[at] != nil {
			o = *then[at]
		}
		if o.Deleted == now[at].Deleted && bytes.Equal(o.Content, now[at].Content) {
			continue
		}
		o.Revision, o.Restored = r.revision, true
		r.entries = append(r.entries, history.Entry{At: r.now, Object: &o})
		switch at.resource {
		case "pods":
			restoreObject(r.pods, o)
		case "services":
			restoreObject(r.services, o)
		case "endpointslices":
			restoreObject[discoveryv1.EndpointSlice](r.slices, o)
		case "endpoints":
			restoreObject[corev1.Endpoints](r.written, o)
		}
	}
}

func restoreObject[T any](objects map[string]*T, o history.Object) {
	if o.Deleted {
		delete(objects, o.Name)
		return
	}
	objects[o.Name] = new(T)
	if err := json.Unmarshal(o.Content, objects[o.Name]); err != nil {
		panic(err)
	}
}

// TestRestoredSlices shows that an etcd restore, and a leader that lists everything after it, get no
// findings. If the entries aren't marked as restored, the slices have gone back in time. A leader that
// doesn't list again doesn't converge.
func TestRestoredSlices(t *testing.T) {
	marked, unread := 0, 0
	for seed := range uint64(20) {
		r := newClusterRun(seed).play(30)
		copied := r.revision
		r.play(20)
		r.restore(copied)
		deaf := *r
		r.podsSeen, r.servicesSeen = r.revision, r.revision
		h := r.play(20).calm().history()
		wantFinding(t, sliceOrder(), h, "")
		wantFinding(t, settledWriters(), h, "")
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		for i := range h.Entries {
			if h.Entries[i].Object != nil {
				h.Entries[i].Object.Restored = false
			}
		}
		marked += min(1, len(sliceOrder().Check(h)))
		deaf.entries = append(deaf.entries, history.Entry{At: r.now, Calm: &history.Calm{}})
		unread += min(1, len(settledWriters().Check(deaf.history())))
	}
	if marked < 5 || unread < 5 {
		t.Errorf("of 20 seeds, V5 objects to %d without the mark, and V1 to %d without a leader that reads again; want 5 of each", marked, unread)
	}
}

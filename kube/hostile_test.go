package kube

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/testkit/heaptest"
	"github.com/signpostd/signpost/testkit/longtest"
)

// evilPod is a pod as only protobuf can have it.
func evilPod() *corev1.Pod {
	pod := somePod(0)
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.org/v1", Kind: "Thing", Name: "evil\xff", UID: "x"}}
	return pod
}

// M1: an owner's name that wasn't UTF-8 got into the catalog, and ended the process at the next
// question about its pod.
func TestInvalidTextStaysOutM1(t *testing.T) {
	asJSON := func(pod *corev1.Pod) *corev1.Pod {
		pod.ManagedFields = nil // they are no JSON here
		text, err := json.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		var back corev1.Pod
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), `evil\ufffd`, "evil\xff")), &back); err != nil {
			t.Fatal(err)
		}
		return &back
	}
	for _, cluster := range []string{DefaultName, "east"} {
		for _, way := range []string{"protobuf", "list", "JSON"} {
			t.Run(cluster+" "+way, func(t *testing.T) {
				r := newRecorder()
				tables := CatalogTables(r, FromEndpointSlices)
				s := storeOf(t, binding{scope: NewScope(cluster), report: r.report}, tables[2])
				var object any = evilPod()
				switch way {
				case "protobuf":
					object = decodedBy(t, s, frameOf(t, watch.Added, evilPod()))
				case "JSON":
					object = asJSON(evilPod())
				}
				if err := s.Add(object); err != nil {
					t.Fatal(err)
				}
				if len(r.objects) != 1 {
					t.Fatalf("the catalog got %d objects, want the pod", len(r.objects))
				}
				for _, o := range r.objects {
					checkText(t, fmt.Sprintf("%T", o), reflect.ValueOf(o))
				}
				if way != "JSON" && !r.reported("Pod "+somePod(0).Name+" metadata.ownerReferences[0]") {
					t.Errorf("reported %q, want the owner", r.problems)
				}
			})
		}
	}
}

// decodedBy returns what a watch makes of the frame of an event.
func decodedBy(t testing.TB, s *store, frame []byte) any {
	t.Helper()
	objects, err := newObjects(s.feed.form)
	if err != nil {
		t.Fatal(err)
	}
	return decodeWith(t, s, objects, frame)
}

func decodeWith(t testing.TB, s *store, objects *objects, frame []byte) any {
	t.Helper()
	kind, encoded, err := openEvent(frame[4:])
	if err != nil {
		t.Fatal(err)
	}
	object, err := (&events{entries: s.entries, objects: objects}).open(kind, encoded)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// checkText reports each text in a value that isn't UTF-8.
func checkText(t testing.TB, path string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			t.Errorf("%s is %q, which isn't UTF-8", path, v)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			checkText(t, path, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			checkText(t, path+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			checkText(t, fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	}
}

// M2: 800 edits of one annotation left 200 MB in the tables of strings, and 200 edits of a pod's
// labels 120 MB in those of sets, which never came back.
func TestHeapAfterManyLivesM2(t *testing.T) {
	r := newRecorder()
	bind := func() binding { return binding{scope: NewScope(DefaultName), report: func(objectmeta.Problem) {}} }
	tables := CatalogTables(r, FromEndpointSlices)
	services, pods := storeOf(t, bind(), tables[0]), storeOf(t, bind(), tables[2])
	list := strings.Repeat("80,", 83_000)
	life := func(i int) {
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", i), Namespace: fmt.Sprint("n", i)}}
		svc.Spec.Ports = []corev1.ServicePort{{Port: 80}}
		pod := somePod(i)
		pod.Namespace = svc.Namespace
		for edit := range 2 {
			// No two are equal.
			svc.Annotations = map[string]string{"config.linkerd.io/opaque-ports": list[:len(list)-2*i-edit]}
			pod.Labels = hostileLabels(i, edit)
			for s, object := range map[*store]any{services: svc, pods: pod} {
				if err := s.Update(object); err != nil {
					t.Fatal(err)
				}
			}
		}
		for s, object := range map[*store]any{services: svc, pods: pod} {
			if err := s.Delete(object); err != nil {
				t.Fatal(err)
			}
		}
	}
	life(0)
	before := heaptest.InUse()
	for i := range longtest.CostlyRounds(10_000) {
		life(i + 1)
	}
	after := heaptest.InUse()
	runtime.KeepAlive(tables)
	runtime.KeepAlive(services)
	runtime.KeepAlive(pods)
	if len(r.objects) != 0 {
		t.Fatalf("%d objects are left", len(r.objects))
	}
	if grown := (int64(after) - int64(before)) / (1 << 20); grown > 8 {
		t.Errorf("the heap has grown by %d MB, want no more than 8 MB", grown)
	}
}

// hostileKeys are the keys of as many labels as an object can have.
var hostileKeys = func() (keys []string) {
	for k := range 2000 {
		keys = append(keys, fmt.Sprintf("%s/%s%d", strings.Repeat("a", 200), strings.Repeat("k", 50), k))
	}
	return keys
}()

// hostileLabels returns labels that differ for each edit: mostly few that are long, sometimes as
// many as an object can have.
func hostileLabels(i, edit int) map[string]string {
	keys := hostileKeys[:20]
	if i%100 == 0 {
		keys = hostileKeys
	}
	value := fmt.Sprintf("%s%d-%d", strings.Repeat("v", 50), i, edit)
	labels := make(map[string]string, len(keys))
	for _, key := range keys {
		labels[key] = value
	}
	return labels
}

// M5: one object had 125,000 problems, each of which was a line of the log, again and again.
func TestProblemsAreBoundedM5(t *testing.T) {
	kind := Retrim(Pods(), TrimOf(func(_ Scope, pod *corev1.Pod) (*corev1.Pod, []Problem) {
		var problems Problems
		list := make([]Problem, 1000)
		for i := range list {
			list[i] = Problem{Field: fmt.Sprint("f", i), Reason: strings.Repeat("\xff", 2000)}
			problems.Add(list[i].Reason, "f%d", i)
		}
		if pod.Name == "collected" {
			list = problems.List()
		}
		return nil, list
	}))
	for _, name := range []string{"collected", "as a list"} {
		var got []objectmeta.Problem
		s := storeOf(t, binding{scope: NewScope(DefaultName), report: func(p objectmeta.Problem) {
			if p.Kind != "Pod" || p.Name != name {
				t.Errorf("reported %+v", p)
			}
			got = append(got, p)
		}}, kind.Table())
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
		pod.Kind = "a kind that only this object says" // it would be a series of the metric
		if err := s.Add(pod); err != nil {
			t.Fatal(err)
		}
		if len(got) != ProblemLimit+1 || !strings.HasPrefix(got[ProblemLimit].Reason, "and 992 more problems") {
			t.Fatalf("%s: %d problems are reported, want 8 and one that says how many there are", name, len(got))
		}
		for _, p := range got {
			if !utf8.ValidString(p.Reason) || len(p.Reason) > reasonLimit+100 {
				t.Errorf("%s: a reason has %d bytes", name, len(p.Reason))
			}
		}
	}
}

var hostileTexts = []string{
	"", "a", "web", "10.0.0.1", "evil\xff", "\xc3", "x\x00", strings.Repeat("x", 300), strings.Repeat("80,", 83_000), strings.Repeat("\xff", 100_000),
}

// hostilePod returns a pod with texts and numbers of items that no API server should send.
func hostilePod(random *rand.Rand) *corev1.Pod {
	text := func() string { return hostileTexts[random.IntN(len(hostileTexts))] }
	pod := somePod(0)
	pod.Name, pod.Namespace, pod.UID = text(), text(), types.UID(text())
	pod.Annotations = map[string]string{"config.linkerd.io/opaque-ports": text(), "config.linkerd.io/skip-inbound-ports": text(), text(): text()}
	pod.Labels = map[string]string{"app": text(), text(): text()}
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: text(), Name: text()}}
	pod.Spec.NodeName, pod.Spec.ServiceAccountName = text(), text()
	pod.Status.PodIPs = []corev1.PodIP{{IP: text()}, {IP: text()}}
	pod.Spec.Containers[0].Name = text()
	port := corev1.ContainerPort{Name: text(), ContainerPort: int32(random.IntN(70_000)), HostPort: int32(random.IntN(3))}
	n := []int{0, 1, 10_000}[random.IntN(3)]
	if n > 1 {
		port.Name = port.Name[:min(len(port.Name), 100)] // messages are not larger than etcd takes
	}
	for range n {
		pod.Spec.Containers[0].Ports = append(pod.Spec.Containers[0].Ports, port)
	}
	if random.IntN(4) == 0 {
		pod.Labels = hostileLabels(0, 0)
	}
	return pod
}

// M1: whatever a watch sends of a pod, what gets into the catalog is UTF-8, in bounded memory, and
// costs nobody else.
func FuzzHostileEvents(f *testing.F) {
	for seed := range uint64(16) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 1))
		r := newRecorder()
		s := storeOf(t, binding{scope: NewScope("east"), report: r.report}, CatalogTables(r, FromEndpointSlices)[2])
		objects, err := newObjects(s.feed.form)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			frame := frameOf(t, watch.Added, hostilePod(random))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			object := decodeWith(t, s, objects, frame)
			runtime.ReadMemStats(&after)
			// Decoding copies the object once; its lists are larger than their messages.
			if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20+20*uint64(len(frame)) {
				t.Errorf("a message of %d bytes took %d", len(frame), used)
			}
			if err := s.Add(object); err != nil {
				t.Fatal(err)
			}
		}
		// An object that follows is read into the memory of those before.
		if err := s.Add(decodeWith(t, s, objects, frameOf(t, watch.Added, somePod(1)))); err != nil {
			t.Fatal(err)
		}
		want, _ := Pods().Trim(Scope{Cluster: "east"}, somePod(1))
		if got := r.get(want.ID()); !reflect.DeepEqual(got, any(want)) {
			t.Errorf("the pod after them is\n%+v, want\n%+v", got, want)
		}
		for _, o := range r.objects {
			checkText(t, fmt.Sprintf("%T", o), reflect.ValueOf(o))
		}
		if n := len(r.problems); n > 4*(ProblemLimit+1) {
			t.Errorf("%d problems of four objects are reported", n)
		}
	})
}

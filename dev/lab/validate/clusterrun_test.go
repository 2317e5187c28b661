package validate

//lint:file-ignore SA1019 Endpoints are deprecated, and one of the things that Signpost writes.

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/model"
)

// clusterRun makes histories of a namespace. Somebody edits Services and pods, and a leader writes slices and
// Endpoints from its possibly outdated state.
type clusterRun struct {
	random   *rand.Rand
	now      time.Duration
	revision int64
	entries  []history.Entry
	services map[string]*corev1.Service
	pods     map[string]*corev1.Pod
	slices   map[string]*discoveryv1.EndpointSlice
	written  map[string]*corev1.Endpoints
	// podsSeen and servicesSeen are the revisions of the leader's state.
	podsSeen, servicesSeen int64
	number                 int
}

func newClusterRun(seed uint64) *clusterRun {
	r := &clusterRun{
		random: rand.New(rand.NewPCG(seed, 5)), services: map[string]*corev1.Service{}, pods: map[string]*corev1.Pod{},
		slices: map[string]*discoveryv1.EndpointSlice{}, written: map[string]*corev1.Endpoints{},
	}
	r.store("nodes", "node-0", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-0", Labels: map[string]string{corev1.LabelTopologyZone: "zone-0"}}})
	for n := range 2 {
		r.createService(fmt.Sprint("web-", n))
	}
	return r
}

// store adds an object; nil deletes it.
func (r *clusterRun) store(resource, name string, object any) {
	r.revision++
	r.now += 10 * time.Millisecond
	o := &history.Object{Resource: resource, Namespace: "lab", Name: name, Revision: r.revision, Deleted: object == nil}
	if resource == "nodes" {
		o.Namespace = ""
	}
	if object != nil {
		content, err := json.Marshal(object)
		if err != nil {
			panic(err)
		}
		o.Content = content
	}
	r.entries = append(r.entries, history.Entry{At: r.now, Object: o})
}

// write adds a request with the precondition that the object is unchanged.
func (r *clusterRun) write(verb, resource, name string) { r.writeIf("1", verb, resource, name) }

func (r *clusterRun) writeIf(precondition, verb, resource, name string) {
	r.now += time.Millisecond
	r.entries = append(r.entries, history.Entry{At: r.now, Write: &history.Write{Replica: "replica-a", Status: 200, Kubernetes: &history.KubernetesWrite{
		Verb: verb, Resource: resource, Namespace: "lab", Name: name, Precondition: precondition, Reached: true,
	}}})
}

func (r *clusterRun) history() history.History {
	return history.History{Setup: history.Setup{Namespace: "lab", Owner: "lab"}, Entries: r.entries}
}

func (r *clusterRun) uid() types.UID { r.number++; return types.UID(fmt.Sprint("uid-", r.number)) }

func (r *clusterRun) createService(name string) {
	r.services[name] = &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name, UID: r.uid()},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.96.0.1", IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, Selector: map[string]string{"app": name},
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromString("http"), Protocol: corev1.ProtocolTCP}},
		},
	}
	r.store("services", name, r.services[name])
}

// createPod makes a pod that isn't ready. Its port may differ from that of other pods.
func (r *clusterRun) createPod(app string) string {
	r.number++
	name := fmt.Sprint(app, "-pod-", r.number)
	ip := fmt.Sprintf("10.64.%d.%d", r.number/250, r.number%250)
	r.pods[name] = &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name, UID: r.uid(), Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{NodeName: "node-0", Containers: []corev1.Container{{
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: int32(8080 + r.random.IntN(2)), Protocol: corev1.ProtocolTCP}},
		}}},
		Status: corev1.PodStatus{PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}},
	}
	r.store("pods", name, r.pods[name])
	return name
}

func (r *clusterRun) setReady(name string, ready bool) {
	pod := r.pods[name].DeepCopy()
	pod.Status.Conditions = nil
	if ready {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	r.pods[name] = pod
	r.store("pods", name, pod)
}

func (r *clusterRun) deletePod(name string) {
	delete(r.pods, name)
	r.store("pods", name, nil)
}

// edit makes a random change.
func (r *clusterRun) edit() {
	app := fmt.Sprint("web-", r.random.IntN(2))
	var pods []string
	for _, name := range slices.Sorted(maps.Keys(r.pods)) {
		if strings.HasPrefix(name, app) {
			pods = append(pods, name)
		}
	}
	service := r.services[app]
	switch n := r.random.IntN(20); {
	case len(pods) == 0 || n < 4 && len(pods) < 8:
		r.createPod(app)
	case n < 12:
		name := pods[r.random.IntN(len(pods))]
		r.setReady(name, len(r.pods[name].Status.Conditions) == 0)
	case n < 14:
		pod := r.pods[pods[0]].DeepCopy()
		pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		r.pods[pod.Name] = pod
		r.store("pods", pod.Name, pod)
	case n < 17:
		r.deletePod(pods[0])
	case service == nil:
		r.createService(app)
	case n == 17:
		delete(r.services, app)
		r.store("services", app, nil)
		delete(r.written, app)
		r.store("endpoints", app, nil)
	case n == 18:
		service = service.DeepCopy()
		service.Spec.Ports[0].TargetPort = []intstr.IntOrString{intstr.FromString("http"), intstr.FromInt32(8080)}[r.random.IntN(2)]
		r.services[app] = service
		r.store("services", app, service)
	default:
		service = service.DeepCopy()
		service.Spec.Selector = map[string]string{"app": fmt.Sprint("web-", r.random.IntN(2))}
		r.services[app] = service
		r.store("services", app, service)
	}
}

// seen returns the leader's state.
func (r *clusterRun) seen() *model.State {
	s := &model.State{}
	for _, e := range r.entries {
		if o := e.Object; o != nil && (o.Resource == "nodes" || o.Resource == "pods" && o.Revision <= r.podsSeen || o.Resource == "services" && o.Revision <= r.servicesSeen) {
			s.Apply(*o)
		}
	}
	return s
}

// sync makes the leader write what its state requires.
func (r *clusterRun) sync() {
	s := r.seen()
	for _, service := range model.All[corev1.Service](s, "services", "lab") {
		// The API server refuses a write for a deleted Service, because the write has preconditions.
		if now := r.services[service.Name]; now == nil || now.UID != service.UID {
			continue
		}
		r.syncSlices(&service, model.WantSlices(s, "lab", service.Name)[model.SliceWriter])
		want, _ := model.WantEndpoints(s, "lab", service.Name)
		r.syncEndpoints(service.Name, want)
	}
}

func (r *clusterRun) syncSlices(service *corev1.Service, want []model.Entry) {
	groups := map[string][]model.Entry{}
	for _, e := range want {
		groups[e.Group] = append(groups[e.Group], e)
	}
	if len(groups) == 0 {
		groups["IPv4 "] = nil
	}
	var stale []string
	for _, name := range slices.Sorted(maps.Keys(r.slices)) {
		have := r.slices[name]
		if have.Labels[discoveryv1.LabelServiceName] != service.Name {
			continue
		}
		group := have.Annotations["group"]
		entries, wanted := groups[group]
		if !wanted || have.OwnerReferences[0].UID != service.UID {
			stale = append(stale, name)
			continue
		}
		delete(groups, group)
		if fmt.Sprint(model.SliceEntries(have)) != fmt.Sprint(entries) {
			r.putSlice(name, newTestSlice(service, group, entries))
		}
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		r.number++
		r.putSlice(fmt.Sprint(service.Name, "-", r.number), newTestSlice(service, group, groups[group]))
	}
	for _, name := range stale {
		r.deleteSlice(name)
	}
}

func (r *clusterRun) putSlice(name string, slice *discoveryv1.EndpointSlice) {
	slice.Name = name
	r.write("update", "endpointslices", name)
	r.slices[name] = slice
	r.store("endpointslices", name, slice)
}

func (r *clusterRun) deleteSlice(name string) {
	r.write("delete", "endpointslices", name)
	delete(r.slices, name)
	r.store("endpointslices", name, nil)
}

// newTestSlice returns a slice with these entries.
func newTestSlice(service *corev1.Service, group string, entries []model.Entry) *discoveryv1.EndpointSlice {
	family, ports, _ := strings.Cut(group, " ")
	yes := true
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "lab", Annotations: map[string]string{"group": group},
			Labels:          map[string]string{discoveryv1.LabelServiceName: service.Name, discoveryv1.LabelManagedBy: string(model.SliceWriter)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: service.Name, UID: service.UID, Controller: &yes}},
		},
		AddressType: discoveryv1.AddressType(family),
	}
	for port := range strings.SplitSeq(ports, ",") {
		parts := strings.Split(port, ":")
		if len(parts) < 3 {
			continue
		}
		var number int32
		fmt.Sscan(parts[2], &number)
		protocol := corev1.Protocol(parts[1])
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &parts[0], Protocol: &protocol, Port: &number})
	}
	for _, e := range entries {
		slice.Endpoints = append(slice.Endpoints, testEndpoint(e))
	}
	return slice
}

func testEndpoint(e model.Entry) discoveryv1.Endpoint {
	out := discoveryv1.Endpoint{Addresses: []string{e.Address}, TargetRef: testTarget(e)}
	for field := range strings.FieldsSeq(e.State) {
		key, value, _ := strings.Cut(field, "=")
		is := value == "true"
		switch key {
		case "ready":
			out.Conditions.Ready = &is
		case "serving":
			out.Conditions.Serving = &is
		case "terminating":
			out.Conditions.Terminating = &is
		case "node":
			out.NodeName = &value
		case "zone":
			out.Zone = &value
		}
	}
	return out
}

func testTarget(e model.Entry) *corev1.ObjectReference {
	parts := strings.Fields(e.Target)
	if len(parts) < 3 {
		return nil
	}
	return &corev1.ObjectReference{Kind: parts[0], Namespace: "lab", Name: strings.TrimPrefix(parts[1], "lab/"), UID: types.UID(parts[2])}
}

func (r *clusterRun) syncEndpoints(name string, want []model.Entry) {
	if have := r.written[name]; have != nil && fmt.Sprint(model.EndpointsEntries(have)) == fmt.Sprint(want) {
		return
	}
	o := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name, Labels: map[string]string{"endpoints.kubernetes.io/managed-by": string(model.EndpointsWriter)}}}
	for _, e := range want {
		var subset corev1.EndpointSubset
		port := corev1.EndpointPort{Name: "http", Protocol: corev1.ProtocolTCP}
		fmt.Sscan(strings.Split(e.State[strings.Index(e.State, "port="):], ":")[2], &port.Port)
		node := "node-0"
		address := corev1.EndpointAddress{IP: e.Address, NodeName: &node, TargetRef: testTarget(e)}
		if e.Ready {
			subset.Addresses = append(subset.Addresses, address)
		} else {
			subset.NotReadyAddresses = append(subset.NotReadyAddresses, address)
		}
		subset.Ports = append(subset.Ports, port)
		o.Subsets = append(o.Subsets, subset)
	}
	r.write("update", "endpoints", name)
	r.written[name] = o
	r.store("endpoints", name, o)
}

// play edits and syncs in turns, and ends with a calm. The leader is up to lag revisions behind.
func (r *clusterRun) play(steps int) *clusterRun {
	for range steps {
		for range 1 + r.random.IntN(3) {
			r.edit()
		}
		r.look()
		r.sync()
	}
	return r
}

// look makes the leader read some of the newer revisions.
func (r *clusterRun) look() {
	r.podsSeen += r.random.Int64N(r.revision - r.podsSeen + 1)
	r.servicesSeen += r.random.Int64N(r.revision - r.servicesSeen + 1)
}

func (r *clusterRun) calm() *clusterRun {
	r.podsSeen, r.servicesSeen = r.revision, r.revision
	r.sync()
	r.now += time.Second
	r.entries = append(r.entries, history.Entry{At: r.now, Calm: &history.Calm{}})
	return r
}

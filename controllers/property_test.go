package controllers_test

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/controllers/endpoints"
	"github.com/signpostd/signpost/controllers/membership"
	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// The properties of spec/endpoints.md §12: after any sequence of changes, syncing the affected Services gives
// the same result as starting from nothing. -rapid.checks=10000 tries many more sequences.

// drawn are the Services and the queue of those that need a sync.
type drawn struct {
	services map[string]*corev1.Service
	queue    map[string]bool
	made     int
}

func newDrawn() drawn { return drawn{services: map[string]*corev1.Service{}, queue: map[string]bool{}} }

func (d *drawn) uid() types.UID {
	d.made++
	return types.UID(fmt.Sprintf("uid-%04d", d.made))
}

func (d *drawn) add(names ...string) {
	for _, name := range names {
		d.queue[name] = true
	}
}

var (
	drawnNames  = rapid.SampledFrom([]string{"a", "b", "c"})
	drawnLabels = rapid.SampledFrom([]map[string]string{
		{}, {"app": "x"}, {"app": "y"}, {"tier": "x"}, {"app": "x", "tier": "x"}, {"app": "y", "tier": "x"},
	})
	// Services that select no pods, or all, are rare.
	drawnSelectors = rapid.SampledFrom([]map[string]string{{"app": "x"}, {"tier": "x"}, {"app": "x", "tier": "x"}, {}})
	drawnIPs       = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2", "2001:db8::1", "10.0.0.10"}), 1, 2, rapid.ID)
	drawnPorts     = rapid.SliceOfNDistinct(rapid.SampledFrom([]corev1.ServicePort{
		port("number", 80, 8080), port("one", 81, "one"), port("two", 82, "two"), over(port("udp", 80, 8080), corev1.ProtocolUDP),
	}), 0, 3, func(p corev1.ServicePort) string { return p.Name })
)

// drawService returns a new or changed Service.
func (d *drawn) drawService(t *rapid.T) *corev1.Service {
	name := drawnNames.Draw(t, "service")
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: d.uid()}}
	if old := d.services[name]; old != nil {
		service.UID = old.UID
	}
	service.Labels = drawnLabels.Draw(t, "labels")
	service.Spec.Selector = drawnSelectors.Draw(t, "selector")
	service.Spec.Ports = drawnPorts.Draw(t, "ports")
	service.Spec.ClusterIP = rapid.SampledFrom([]string{"10.96.0.1", corev1.ClusterIPNone}).Draw(t, "IP")
	service.Spec.IPFamilies = rapid.SampledFrom([][]corev1.IPFamily{
		{corev1.IPv4Protocol}, {corev1.IPv6Protocol}, {corev1.IPv4Protocol, corev1.IPv6Protocol},
	}).Draw(t, "families")
	service.Spec.PublishNotReadyAddresses = rapid.Bool().Draw(t, "publish")
	d.services[name] = service
	return service
}

// seldom is true now and then, for actions that would leave too few objects if they were as frequent as
// others.
func seldom(t *rapid.T) bool { return rapid.IntRange(0, 3).Draw(t, "seldom") == 0 }

// next takes a Service that needs a sync out of the queue; "" if there is none.
func (d *drawn) next(t *rapid.T) string {
	names := slices.Sorted(maps.Keys(d.queue))
	if len(names) == 0 {
		return ""
	}
	name := rapid.SampledFrom(names).Draw(t, "sync")
	delete(d.queue, name)
	return name
}

// serviceIndex is the part of an index that Services are passed to.
type serviceIndex interface {
	PutService(*corev1.Service)
	DeleteService(types.NamespacedName)
}

// actions returns the actions on Services: put, delete, collect (the garbage collection after a deletion),
// and syncNext, which syncs a Service that needs it.
func (d *drawn) actions(index serviceIndex, collect func(service string), syncNext func(*rapid.T) bool) map[string]func(*rapid.T) {
	sync := func(t *rapid.T) { syncNext(t) }
	return map[string]func(*rapid.T){
		"put service": func(t *rapid.T) {
			service := d.drawService(t)
			index.PutService(service)
			d.add(service.Name)
		},
		"delete service": func(t *rapid.T) {
			if !seldom(t) {
				return
			}
			name := drawnNames.Draw(t, "service")
			delete(d.services, name)
			index.DeleteService(keyOf(name))
			d.add(name)
			if rapid.Bool().Draw(t, "collected") {
				collect(name)
			}
		},
		"sync":       sync,
		"sync again": sync,
	}
}

// podsModel is a cluster with the Endpoints controller, without an API server.
type podsModel struct {
	drawn
	index     *membership.Index[*watched.Pod]
	pods      map[string]*watched.Pod
	endpoints map[string]*corev1.Endpoints
}

func describePod(p *watched.Pod) (types.NamespacedName, objectmeta.Labels) {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, p.Labels
}

func keyOf(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}

func (m *podsModel) putPod(t *rapid.T) {
	name := drawnNames.Draw(t, "pod")
	old := m.pods[name]
	pod := &watched.Pod{
		Namespace: "ns", Name: name, UID: string(m.uid()), Labels: objectmeta.NewLabels(drawnLabels.Draw(t, "labels")),
		Node: rapid.SampledFrom([]string{"", "n"}).Draw(t, "node"), IPs: drawnIPs.Draw(t, "IPs"),
		Finished: seldom(t), Terminating: seldom(t),
		Ready: rapid.SampledFrom([]corev1.ConditionStatus{"", corev1.ConditionTrue, corev1.ConditionFalse}).Draw(t, "ready"),
	}
	if len(pod.IPs) > 0 {
		pod.IP = pod.IPs[0]
	}
	for i, p := range []string{"one", "two"} {
		if number := rapid.IntRange(0, 3).Draw(t, p); number > 0 {
			pod.Ports = append(pod.Ports, watched.ContainerPort{Name: p, Number: int32(1000*i + (number+1)/2), Protocol: corev1.ProtocolTCP})
		}
	}
	if old != nil && !seldom(t) {
		pod.UID = old.UID
		if rapid.Bool().Draw(t, "same labels") {
			pod.Labels = old.Labels
		}
		if rapid.Bool().Draw(t, "only labels") {
			relabelled := *old
			relabelled.Labels = pod.Labels
			pod = &relabelled
		}
	}
	m.pods[name] = pod
	// Package controllers does the same with a pod.
	put := m.index.Put
	if old != nil && pod.SameBesidesLabels(old) {
		put = m.index.Relabel
	}
	m.add(put(pod)...)
}

func (m *podsModel) deletePod(t *rapid.T) {
	if !seldom(t) {
		return
	}
	name := drawnNames.Draw(t, "pod")
	delete(m.pods, name)
	m.add(m.index.Delete(keyOf(name))...)
}

// sync syncs a Service as the controller does.
func (m *podsModel) sync(t *rapid.T, name string) {
	service, members := m.index.Service(keyOf(name))
	if service == nil {
		delete(m.endpoints, name)
		return
	}
	action, ep := endpoints.Plan(service, members, m.endpoints[name], time.Unix(int64(m.made), 0))
	switch action {
	case endpoints.Create:
		if m.endpoints[name] != nil {
			t.Fatalf("Endpoints %s are created, but exist already", name)
		}
		ep.UID = m.uid()
	case endpoints.Update:
		if ep.UID != m.endpoints[name].UID {
			t.Fatalf("Endpoints %s are updated under another UID than theirs", name)
		}
	default:
		return
	}
	ep.Namespace, ep.ResourceVersion = "ns", string(m.uid())
	m.endpoints[name] = ep
}

// check compares the Endpoints with those after one sync of each Service from nothing.
func (m *podsModel) check(t *rapid.T) {
	fresh := membership.New(describePod)
	for _, pod := range m.pods {
		fresh.Put(pod)
	}
	for name, service := range m.services {
		fresh.PutService(service)
		_, members := fresh.Service(keyOf(name))
		action, want := endpoints.Plan(service, members, nil, time.Time{})
		if action == endpoints.None {
			continue
		}
		got, ok := m.endpoints[name]
		if !ok {
			t.Fatalf("Service %s has no Endpoints", name)
		}
		if diff := cmp.Diff(want.Subsets, got.Subsets); diff != "" {
			t.Fatalf("subsets of %s (-from nothing +step by step):\n%s", name, diff)
		}
		if diff := cmp.Diff(want.Labels, got.Labels); diff != "" {
			t.Fatalf("labels of %s (-from nothing +step by step):\n%s", name, diff)
		}
	}
	for name := range m.endpoints {
		if m.services[name] == nil {
			t.Fatalf("there are Endpoints %s without a Service", name)
		}
	}
}

func TestEndpointsStepByStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &podsModel{
			drawn: newDrawn(), index: membership.New(describePod),
			pods: map[string]*watched.Pod{}, endpoints: map[string]*corev1.Endpoints{},
		}
		actions := m.actions(m.index, func(service string) { delete(m.endpoints, service) }, m.syncNext)
		actions["put pod"] = m.putPod
		actions["delete pod"] = m.deletePod
		actions["edit Endpoints"] = func(t *rapid.T) {
			if ep := m.endpoints[drawnNames.Draw(t, "edited")]; ep != nil {
				ep.Subsets, ep.Labels = nil, nil
				m.add(ep.Name)
			}
		}
		t.Repeat(actions)
		for m.syncNext(t) {
		}
		m.check(t)
	})
}

func (m *podsModel) syncNext(t *rapid.T) bool {
	name := m.next(t)
	if name != "" {
		m.sync(t, name)
	}
	return name != ""
}

package controllers_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/controllers/externalworkloads"
	"github.com/signpostd/signpost/controllers/membership"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// workloadsModel is a cluster with the controller of ExternalWorkloads.
type workloadsModel struct {
	drawn
	index     *membership.Index[*externalworkloads.Workload]
	workloads map[string]*externalworkloads.Workload
	slices    map[string]*discoveryv1.EndpointSlice
}

// perSlice is how many endpoints fit into a slice.
const perSlice = 2

func describeWorkload(w *externalworkloads.Workload) (types.NamespacedName, objectmeta.Labels) {
	return types.NamespacedName{Namespace: w.Namespace, Name: w.Name}, w.Labels
}

func (m *workloadsModel) putWorkload(t *rapid.T) {
	name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "workload")
	old := m.workloads[name]
	w := &externalworkloads.Workload{
		Namespace: "ns", Name: name, UID: string(m.uid()), Labels: objectmeta.NewLabels(drawnLabels.Draw(t, "labels")),
		IPs: drawnIPs.Draw(t, "IPs"), Ready: rapid.Bool().Draw(t, "ready"),
	}
	for _, p := range []externalworkloads.Port{{Number: 8080}, {Name: "one", Number: 1}, {Name: "two", Number: 2}} {
		if !seldom(t) {
			w.Ports = append(w.Ports, p)
		}
	}
	if old != nil && !seldom(t) {
		w.UID = old.UID
		if rapid.Bool().Draw(t, "same labels") {
			w.Labels = old.Labels
		}
		if rapid.Bool().Draw(t, "only labels") {
			relabelled := *old
			relabelled.Labels = w.Labels
			w = &relabelled
		}
	}
	m.workloads[name] = w
	put := m.index.Put
	if old != nil && w.SameEndpoint(old) {
		put = m.index.Relabel
	}
	m.add(put(w)...)
}

func (m *workloadsModel) deleteWorkload(t *rapid.T) {
	if !seldom(t) {
		return
	}
	name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "workload")
	delete(m.workloads, name)
	m.add(m.index.Delete(keyOf(name))...)
}

// of returns copies of the slices of a Service.
func (m *workloadsModel) of(service string) []*discoveryv1.EndpointSlice {
	var list []*discoveryv1.EndpointSlice
	for _, name := range slices.Sorted(maps.Keys(m.slices)) {
		if e := m.slices[name]; e.Labels[discoveryv1.LabelServiceName] == service {
			list = append(list, e.DeepCopy())
		}
	}
	return list
}

// collect deletes the slices of a Service.
func (m *workloadsModel) collect(service string) {
	for _, e := range m.of(service) {
		delete(m.slices, e.Name)
	}
}

// editSlice deletes or changes a slice externally.
func (m *workloadsModel) editSlice(t *rapid.T) {
	name := drawnNames.Draw(t, "edited")
	list := m.of(name)
	if len(list) == 0 {
		return
	}
	if e := list[0]; rapid.Bool().Draw(t, "delete") {
		delete(m.slices, e.Name)
	} else {
		m.slices[e.Name].Ports = nil
	}
	m.add(name)
}

// syncNext syncs a Service as the controller does.
func (m *workloadsModel) syncNext(t *rapid.T) bool {
	name := m.next(t)
	service, members := m.index.Service(keyOf(name))
	if service == nil {
		return name != ""
	}
	plan := externalworkloads.Compute(service, members, m.of(name), perSlice)
	for _, e := range plan.Create {
		made := e.DeepCopy()
		made.UID = m.uid()
		made.Name = made.GenerateName + string(made.UID)
		m.slices[made.Name] = made
	}
	for _, e := range plan.Update {
		if old := m.slices[e.Name]; old == nil || old.UID != e.UID || old.AddressType != e.AddressType {
			t.Fatalf("slice %s is updated under another UID or address type than its own", e.Name)
		}
		m.slices[e.Name] = e.DeepCopy()
	}
	for _, e := range plan.Delete {
		if m.slices[e.Name] == nil {
			t.Fatalf("slice %s is deleted, but doesn't exist", e.Name)
		}
		delete(m.slices, e.Name)
	}
	if again := externalworkloads.Compute(service, members, m.of(name), perSlice); len(again.Create)+len(again.Update)+len(again.Delete) > 0 {
		t.Fatalf("a second plan has something to write: %+v", again)
	}
	return true
}

// check compares the slices with those after one sync of each Service from nothing, except for the
// distribution of endpoints over slices.
func (m *workloadsModel) check(t *rapid.T) {
	fresh := membership.New(describeWorkload)
	for _, w := range m.workloads {
		fresh.Put(w)
	}
	for name, service := range m.services {
		if len(service.Spec.Selector) == 0 {
			continue
		}
		fresh.PutService(service)
		_, members := fresh.Service(keyOf(name))
		plan := externalworkloads.Compute(service, members, nil, perSlice)
		if diff := cmp.Diff(listing(t, plan.Create), listing(t, m.of(name))); diff != "" {
			t.Fatalf("endpoints of %s (-from nothing +step by step):\n%s", name, diff)
		}
	}
}

// listing returns a line with all fields for each endpoint.
func listing(t *rapid.T, list []*discoveryv1.EndpointSlice) []string {
	var lines []string
	for _, e := range list {
		if len(e.Endpoints) == 0 || len(e.Endpoints) > perSlice {
			t.Fatalf("slice %s has %d endpoints, want 1 to %d", e.Name, len(e.Endpoints), perSlice)
		}
		group := *e
		group.Endpoints = nil
		labels := fmt.Sprint(e.Labels, e.OwnerReferences[0].UID)
		for i := range e.Endpoints {
			lines = append(lines, strings.Join([]string{
				string(e.AddressType), showSlice(&group), showEndpoint(&e.Endpoints[i]),
				e.Endpoints[i].TargetRef.Name, string(e.Endpoints[i].TargetRef.UID), labels,
			}, " "))
		}
	}
	slices.Sort(lines)
	return lines
}

func TestWorkloadSlicesStepByStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &workloadsModel{
			drawn: newDrawn(), index: membership.New(describeWorkload),
			workloads: map[string]*externalworkloads.Workload{}, slices: map[string]*discoveryv1.EndpointSlice{},
		}
		actions := m.actions(m.index, m.collect, m.syncNext)
		actions["put workload"] = m.putWorkload
		actions["delete workload"] = m.deleteWorkload
		actions["edit slice"] = m.editSlice
		t.Repeat(actions)
		for m.syncNext(t) {
		}
		m.check(t)
	})
}

package main

//lint:file-ignore SA1019 Endpoints are deprecated, and one of the kinds that are compared.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The kinds that are compared.
const (
	kindEndpoints = "Endpoints"
	kindSlice     = "EndpointSlice"
)

// output is one of the objects that are compared, as fields that have the same values in both clusters if the
// controllers agree. The time of the last change isn't part of it: pods change at other times in the other
// cluster.
type output struct {
	kind, service string
	// fields have names such as `label app` or `endpoint 10.1.2.1`.
	fields map[string]string
}

// text returns the fields in order. Equal outputs have equal texts.
func (o output) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s", o.kind, o.service)
	for _, name := range slices.Sorted(maps.Keys(o.fields)) {
		fmt.Fprintf(&b, "\n  %s: %s", name, o.fields[name])
	}
	return b.String()
}

// add puts one more value into a field that may have several, which are numbered.
func (o output) add(name, value string) {
	unique := name
	for i := 2; ; i++ {
		if _, taken := o.fields[unique]; !taken {
			break
		}
		unique = fmt.Sprintf("%s (%d)", name, i)
	}
	o.fields[unique] = value
}

// outputs returns what is compared of a clusterState.
func (w clusterState) outputs() []output {
	var all []output
	for _, e := range w.endpoints {
		all = append(all, w.endpointsOutput(e))
	}
	for _, s := range w.slices {
		if s.DeletionTimestamp == nil {
			all = append(all, w.sliceOutput(s))
		}
	}
	return all
}

func (w clusterState) endpointsOutput(e *corev1.Endpoints) output {
	o := w.newOutput(kindEndpoints, e.Name, &e.ObjectMeta)
	for _, subset := range e.Subsets {
		where := "subset " + canonical(ordered(subset.Ports))
		if len(subset.Addresses)+len(subset.NotReadyAddresses) == 0 {
			o.add(where, "empty")
		}
		for state, addresses := range map[string][]corev1.EndpointAddress{"ready": subset.Addresses, "not ready": subset.NotReadyAddresses} {
			for _, a := range w.addresses(addresses) {
				o.add(where+" "+state+" "+a.IP, canonical(a))
			}
		}
	}
	return o
}

// addresses returns addresses in order, without what differs between clusters.
func (w clusterState) addresses(list []corev1.EndpointAddress) []corev1.EndpointAddress {
	plain := slices.Clone(list)
	for i := range plain {
		plain[i].TargetRef = w.reference(plain[i].TargetRef)
	}
	return ordered(plain)
}

func (w clusterState) sliceOutput(s *discoveryv1.EndpointSlice) output {
	service := s.Labels[discoveryv1.LabelServiceName]
	o := w.newOutput(kindSlice, service, &s.ObjectMeta)
	o.fields["address type"] = string(s.AddressType)
	o.fields["name begins with that of the service"] = fmt.Sprint(strings.HasPrefix(s.Name, service+"-"))
	for _, p := range ordered(s.Ports) {
		o.add("port "+*cmp.Or(p.Name, new(string)), canonical(p))
	}
	endpoints := slices.Clone(s.Endpoints)
	for i := range endpoints {
		endpoints[i].TargetRef = w.reference(endpoints[i].TargetRef)
	}
	for _, e := range ordered(endpoints) {
		o.add("endpoint "+strings.Join(e.Addresses, ","), canonical(e))
	}
	return o
}

// ordered returns a list in the order of the canonical texts.
func ordered[T any](list []T) []T {
	return slices.SortedFunc(slices.Values(list), func(a, b T) int { return strings.Compare(canonical(a), canonical(b)) })
}

// newOutput returns an output with the fields of the metadata.
func (w clusterState) newOutput(kind, service string, m *metav1.ObjectMeta) output {
	o := output{kind: kind, service: service, fields: map[string]string{}}
	for k, v := range m.Labels {
		o.fields["label "+k] = quoted(v)
	}
	for k, v := range m.Annotations {
		if k != corev1.EndpointsLastChangeTriggerTime {
			o.fields["annotation "+k] = quoted(v)
		}
	}
	for _, owner := range m.OwnerReferences {
		owner.UID = w.life(owner.Kind, owner.Name, owner.UID)
		o.add("owner "+owner.Kind+" "+owner.Name, canonical(owner))
	}
	for _, f := range m.Finalizers {
		o.add("finalizer", f)
	}
	return o
}

// quoted makes an empty value visible.
func quoted(v string) string { return fmt.Sprintf("%q", v) }

// reference returns a reference that doesn't contain what differs between clusters.
func (w clusterState) reference(r *corev1.ObjectReference) *corev1.ObjectReference {
	if r == nil {
		return nil
	}
	plain := *r
	if r.ResourceVersion != "" {
		plain.ResourceVersion = "some"
	}
	plain.UID = w.life(r.Kind, r.Name, r.UID)
	return &plain
}

// life says whether a UID is that of the object that has the name now, because UIDs differ between clusters.
func (w clusterState) life(kind, name string, uid types.UID) types.UID {
	var now types.UID
	switch kind {
	case "Service":
		now = uidOf(w.services, name)
	case "Pod":
		now = uidOf(w.pods, name)
	case kindEndpoints:
		now = uidOf(w.endpoints, name)
	}
	switch uid {
	case "":
		return ""
	case now:
		return "present"
	default:
		return "former"
	}
}

func uidOf[T metav1.Object](list []T, name string) types.UID {
	for _, o := range list {
		if o.GetName() == name {
			return o.GetUID()
		}
	}
	return ""
}

// canonical returns a value as JSON.
func canonical(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

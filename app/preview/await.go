package preview

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/signpostd/signpost/dns"
)

// unknownAddress stands for an address that only a cluster knows, in the manifests that are read
// instead of one. It is the dummy address of RFC 7600, which no host has.
const unknownAddress = "192.0.0.8"

// Awaited is a name of an object whose address isn't known yet, and which the zone has already:
// whether that would be changed isn't known.
type Awaited struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Targets []string `json:"targets"`
}

// awaitAddresses gives an object from a manifest the status that a cluster would give it, with an
// unknown address. An object that has a status, as one that was read from a cluster, is left as it
// is.
func awaitAddresses(obj *unstructured.Unstructured) {
	kind := obj.GroupVersionKind()
	switch {
	case kind.Group == "" && kind.Kind == "Service":
		awaitService(obj)
	case kind.Kind == "Ingress":
		setUnlessThere(obj, []any{map[string]any{"ip": unknownAddress}}, "status", "loadBalancer", "ingress")
	case kind.Group != "gateway.networking.k8s.io":
	case kind.Kind == "Gateway":
		setUnlessThere(obj, []any{map[string]any{"type": "IPAddress", "value": unknownAddress}}, "status", "addresses")
	case strings.HasSuffix(kind.Kind, "Route"):
		awaitParents(obj)
	}
}

func awaitService(obj *unstructured.Unstructured) {
	kind, _, _ := unstructured.NestedString(obj.Object, "spec", "type")
	if kind == "ExternalName" {
		return
	}
	if _, set, _ := unstructured.NestedString(obj.Object, "spec", "clusterIP"); !set {
		setUnlessThere(obj, unknownAddress, "spec", "clusterIP")
	}
	if _, set, _ := unstructured.NestedSlice(obj.Object, "spec", "externalIPs"); kind == "LoadBalancer" && !set {
		setUnlessThere(obj, []any{map[string]any{"ip": unknownAddress}}, "status", "loadBalancer", "ingress")
	}
}

// awaitParents has all parents of a route accept it.
func awaitParents(obj *unstructured.Unstructured) {
	refs, _, err := unstructured.NestedSlice(obj.Object, "spec", "parentRefs")
	if err != nil {
		return
	}
	parents := []any{}
	for _, ref := range refs {
		parents = append(parents, map[string]any{
			"parentRef": ref, "controllerName": "signpost.dev/plan",
			"conditions": []any{map[string]any{"type": "Accepted", "status": "True", "reason": "Accepted"}},
		})
	}
	setUnlessThere(obj, parents, "status", "parents")
}

// setUnlessThere sets a field, unless the object has it or something else in its place.
func setUnlessThere(obj *unstructured.Unstructured, value any, path ...string) {
	if _, there, err := unstructured.NestedFieldNoCopy(obj.Object, path...); there || err != nil {
		return
	}
	// It fails for something else in its place, which the source reports.
	_ = unstructured.SetNestedField(obj.Object, value, path...)
}

// awaits reports whether a record set has a target that isn't known.
func awaits(r *dns.RecordSet) bool { return r != nil && slices.Contains(r.Targets, unknownAddress) }

// settleAwaited takes the names out of changes of which it isn't known whether they would change:
// their new address isn't known, and the zone has the name already.
func settleAwaited(changes []dns.Change) (settled []dns.Change, awaited []Awaited) {
	unknown := map[string]bool{}
	for _, c := range changes {
		if awaits(c.New) {
			unknown[c.New.Name] = true
		}
	}
	there := map[string]bool{}
	for _, c := range changes {
		if c.Old != nil && unknown[c.Old.Name] {
			there[c.Old.Name] = true
			awaited = append(awaited, Awaited{Name: c.Old.Name, Type: c.Old.Type, Targets: slices.Sorted(slices.Values(c.Old.Targets))})
		}
	}
	for _, c := range changes {
		if !there[c.RecordSet().Name] {
			settled = append(settled, c)
		}
	}
	return settled, awaited
}

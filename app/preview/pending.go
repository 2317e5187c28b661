package preview

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/signpostd/signpost/dns"
)

// unknownAddress is the placeholder for an address that only a cluster knows, if objects come from
// manifests. It is the dummy address of RFC 7600, which no host has.
const unknownAddress = "192.0.0.8"

// Pending is a name of the zone whose new address isn't known yet. So the plan can't say whether
// the record set would be changed.
type Pending struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Targets []string `json:"targets"`
}

// addUnknownAddresses sets the status that a cluster would give to an object from a manifest, with an
// unknown address. An object with a status, such as one that was read from a cluster, stays
// unchanged.
func addUnknownAddresses(obj *unstructured.Unstructured) {
	kind := obj.GroupVersionKind()
	switch {
	case kind.Group == "" && kind.Kind == "Service":
		addServiceAddresses(obj)
	case kind.Kind == "Ingress":
		setIfMissing(obj, []any{map[string]any{"ip": unknownAddress}}, "status", "loadBalancer", "ingress")
	case kind.Group != "gateway.networking.k8s.io":
	case kind.Kind == "Gateway":
		setIfMissing(obj, []any{map[string]any{"type": "IPAddress", "value": unknownAddress}}, "status", "addresses")
	case strings.HasSuffix(kind.Kind, "Route"):
		addParents(obj)
	}
}

func addServiceAddresses(obj *unstructured.Unstructured) {
	kind, _, _ := unstructured.NestedString(obj.Object, "spec", "type")
	if kind == "ExternalName" {
		return
	}
	if _, set, _ := unstructured.NestedString(obj.Object, "spec", "clusterIP"); !set {
		setIfMissing(obj, unknownAddress, "spec", "clusterIP")
	}
	if _, set, _ := unstructured.NestedSlice(obj.Object, "spec", "externalIPs"); kind == "LoadBalancer" && !set {
		setIfMissing(obj, []any{map[string]any{"ip": unknownAddress}}, "status", "loadBalancer", "ingress")
	}
}

// addParents marks a route as accepted by all its parents.
func addParents(obj *unstructured.Unstructured) {
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
	setIfMissing(obj, parents, "status", "parents")
}

// setIfMissing sets a field, unless the object has the field or a value of another type on its
// path.
func setIfMissing(obj *unstructured.Unstructured, value any, path ...string) {
	if _, found, err := unstructured.NestedFieldNoCopy(obj.Object, path...); found || err != nil {
		return
	}
	// An error means that a field on the path has another type, which the source reports.
	_ = unstructured.SetNestedField(obj.Object, value, path...)
}

func hasUnknownAddress(r *dns.RecordSet) bool {
	return r != nil && slices.Contains(r.Targets, unknownAddress)
}

// withoutPending removes the names from changes that have an unknown address and are in the zone
// already, because the plan can't say whether they would be changed.
func withoutPending(changes []dns.Change) (settled []dns.Change, pending []Pending) {
	unknown := map[string]bool{}
	for _, c := range changes {
		if hasUnknownAddress(c.New) {
			unknown[c.New.Name] = true
		}
	}
	inZone := map[string]bool{}
	for _, c := range changes {
		if c.Old != nil && unknown[c.Old.Name] {
			inZone[c.Old.Name] = true
			pending = append(pending, Pending{Name: c.Old.Name, Type: c.Old.Type, Targets: slices.Sorted(slices.Values(c.Old.Targets))})
		}
	}
	for _, c := range changes {
		if !inZone[c.RecordSet().Name] {
			settled = append(settled, c)
		}
	}
	return settled, pending
}

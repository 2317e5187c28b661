package gateway

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

type route struct {
	source.Object
	// hostnames are those of the spec, in canonical form. They may be patterns.
	hostnames []string
	// declares is true if the spec has hostnames, even if none is valid.
	declares bool
	// hostnamesFrom is the annotation gateway-hostname-source.
	hostnamesFrom hostnameSource
	// parents have accepted the route, sorted.
	parents []parent
	// refused are the parents of the spec that have not accepted it; mostly none.
	refused  []refusal
	findings source.Findings
}

// refusal is a parent that has not accepted a route. reason is that of the status, or empty.
type refusal struct {
	parent
	reason string
}

// parent is a Gateway or ListenerSet, or one of its listeners.
type parent struct {
	of owner
	// section is the name of the listener; empty means all.
	section string
	// port is the port of the listeners; zero means any.
	port int32
}

// owner is an object with listeners.
type owner struct {
	listenerSet     bool
	namespace, name string
}

// hostnameSource says where the names of a route come from.
type hostnameSource int8

const (
	everywhere hostnameSource = iota
	definedHostsOnly
	annotationOnly
)

// hostnameSourceAnnotation is the name of the annotation, without the prefix, and hostnameSources
// are its values in lower case.
const hostnameSourceAnnotation = source.AnnotationGatewayHostnameSource

var hostnameSources = map[string]hostnameSource{"": everywhere, "defined-hosts-only": definedHostsOnly, "annotation-only": annotationOnly}

func (s *routes) readRoute(in kube.Scope, kept *route, f *routeFields, obj *unstructured.Unstructured) {
	if s.kind.hostnames {
		kept.declares = len(f.Spec.Hostnames) > 0
		kept.hostnames = patterns(&kept.findings, "spec.hostnames", source.Cut(&kept.findings, f.Spec.Hostnames, source.NameLimit, "spec.hostnames"))
	}
	kept.hostnamesFrom = s.hostnamesFrom(&kept.findings, obj.GetAnnotations())
	kept.readParents(in, f)
}

// patterns returns the canonical forms of names.
func patterns(p *source.Findings, field string, names []string) []string {
	var list []string
	for _, name := range names {
		if canonical, ok := pattern(name); ok {
			list = append(list, canonical)
		} else {
			p.Problem(field, name, "no listener can serve this name; use a name of DNS, such as www.example.org or *.example.org")
		}
	}
	return list
}

// hostnamesFrom reads the annotation of the route.
func (s *routes) hostnamesFrom(p *source.Findings, annotations map[string]string) hostnameSource {
	for _, prefix := range s.reader.Settings.Prefixes {
		if value, ok := annotations[prefix+hostnameSourceAnnotation]; ok {
			from, known := hostnameSources[strings.ToLower(value)]
			if !known {
				p.Problem(prefix+hostnameSourceAnnotation, value, "no such source of names, so the annotation is ignored; use defined-hosts-only or annotation-only")
			}
			return from
		}
	}
	return everywhere
}

// readParents keeps the parents in the status that have accepted the route and are still in the spec,
// and those of the spec that have not accepted it.
func (r *route) readParents(in kube.Scope, f *routeFields) {
	owners, accepting, reasons := map[owner]bool{}, map[parent]bool{}, map[parent]string{}
	refs := source.Cut(&r.findings, f.Spec.ParentRefs, source.ReferenceLimit, "spec.parentRefs")
	for _, ref := range refs {
		if at, ok := ref.parent(in, r.Key.Namespace); ok {
			owners[at.of] = true
		}
	}
	for _, status := range source.Cut(&r.findings, f.Status.Parents, source.ReferenceLimit, "status.parents") {
		at, ok := status.ParentRef.parent(in, r.Key.Namespace)
		switch {
		case !ok:
		case !accepted(status.Conditions):
			reasons[at] = in.Intern(notAcceptedReason(status.Conditions))
		default:
			accepting[at] = true
			if owners[at.of] {
				r.parents = append(r.parents, at)
			}
		}
	}
	slices.SortFunc(r.parents, compareParents)
	r.parents = slices.Clip(slices.Compact(r.parents))
	for _, ref := range refs {
		if at, ok := ref.parent(in, r.Key.Namespace); ok && !accepting[at] {
			r.refused = append(r.refused, refusal{parent: at, reason: reasons[at]})
		}
	}
}

func compareParents(a, b parent) int {
	return cmp.Or(
		strings.Compare(a.of.key(), b.of.key()), strings.Compare(a.section, b.section), cmp.Compare(a.port, b.port),
	)
}

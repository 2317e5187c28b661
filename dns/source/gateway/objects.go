package gateway

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// route is what is kept of a route.
type route struct {
	source.Object
	// hostnames are those of the spec, in their canonical form. They may be patterns.
	hostnames []string
	// declares is true if the spec has hostnames, also if none of them can be used.
	declares bool
	// hostnamesFrom is the annotation gateway-hostname-source.
	hostnamesFrom hostnameSource
	// parents are those that have accepted the route. Routes share equal lists.
	parents []parent
	// refused are those of the spec that have not accepted it; mostly none.
	refused  []refusal
	problems []dns.Problem
}

// refusal is a parent that has not accepted a route. Reason is what the status says about that;
// it is empty if the status says nothing.
type refusal struct {
	parent
	reason string
}

// parent is a Gateway or ListenerSet, or one of its listeners.
type parent struct {
	of owner
	// section is the name of the listener; empty is all of them.
	section string
	// port is that of the listeners; zero is any.
	port int32
}

// owner is an object that has listeners.
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

// hostnameSourceAnnotation is the name of the annotation, without the prefix, and
// hostnameSources are its values in lower case.
const hostnameSourceAnnotation = source.AnnotationGatewayHostnameSource

var hostnameSources = map[string]hostnameSource{"": everywhere, "defined-hosts-only": definedHostsOnly, "annotation-only": annotationOnly}

// gateway is what is kept of a Gateway.
type gateway struct {
	key source.Key
	// selected is false when the settings exclude it. Then the rest is empty.
	selected bool
	// targets are those in the annotation target, or else the addresses.
	targets   []string
	listeners []listener
	// sets says which ListenerSets may be attached.
	sets admission
}

// listenerSet is what is kept of a ListenerSet.
type listenerSet struct {
	key source.Key
	// gateway is the one that has the listeners. It is empty if the settings exclude the
	// ListenerSet, or the Gateway hasn't accepted it. Then the rest is empty.
	gateway source.Key
	// targets are those in the annotation target.
	targets   []string
	listeners []listener
}

// listener is a listener that admits routes of the source's kind.
type listener struct {
	name string
	// hostname is a pattern.
	hostname string
	port     int32
	routes   admission
}

// What follows are the fields that matter, as the API has them.

type reference struct {
	Group       *string `json:"group"`
	Kind        *string `json:"kind"`
	Namespace   *string `json:"namespace"`
	Name        string  `json:"name"`
	SectionName string  `json:"sectionName"`
	Port        int32   `json:"port"`
}

type condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	Reason string `json:"reason"`
}

type routeFields struct {
	Spec struct {
		ParentRefs []reference `json:"parentRefs"`
		Hostnames  []string    `json:"hostnames"`
	} `json:"spec"`
	Status struct {
		Parents []struct {
			ParentRef  reference   `json:"parentRef"`
			Conditions []condition `json:"conditions"`
		} `json:"parents"`
	} `json:"status"`
}

type namespacesFields struct {
	From     *scope                `json:"from"`
	Selector *metav1.LabelSelector `json:"selector"`
}

type listenerFields struct {
	Name          string `json:"name"`
	Hostname      string `json:"hostname"`
	Port          int32  `json:"port"`
	Protocol      string `json:"protocol"`
	AllowedRoutes struct {
		Namespaces namespacesFields `json:"namespaces"`
		Kinds      []struct {
			Group *string `json:"group"`
			Kind  string  `json:"kind"`
		} `json:"kinds"`
	} `json:"allowedRoutes"`
}

type gatewayFields struct {
	Spec struct {
		AllowedListeners struct {
			Namespaces namespacesFields `json:"namespaces"`
		} `json:"allowedListeners"`
		Listeners []listenerFields `json:"listeners"`
	} `json:"spec"`
	Status struct {
		Addresses []struct {
			Value string `json:"value"`
		} `json:"addresses"`
	} `json:"status"`
}

type listenerSetFields struct {
	Spec struct {
		ParentRef reference        `json:"parentRef"`
		Listeners []listenerFields `json:"listeners"`
	} `json:"spec"`
	Status struct {
		Conditions []condition `json:"conditions"`
		Listeners  []struct {
			Name       string      `json:"name"`
			Conditions []condition `json:"conditions"`
		} `json:"listeners"`
	} `json:"status"`
}

// owner returns what a reference of an object of a namespace refers to, and false if that is
// nothing that has listeners.
func (r reference) owner(namespace string) (owner, bool) {
	if r.Group != nil && *r.Group != group {
		return owner{}, false
	}
	o := owner{namespace: namespace, name: r.Name}
	if r.Namespace != nil {
		o.namespace = *r.Namespace
	}
	switch {
	case r.Kind == nil || *r.Kind == gatewayKind.Kind:
	case *r.Kind == listenerSetKind.Kind:
		o.listenerSet = true
	default:
		return owner{}, false
	}
	return o, len(o.namespace) <= textLimit && len(o.name) <= textLimit && len(r.SectionName) <= textLimit
}

func (s *routes) routeKind() kube.Kind[route] {
	return kube.Kind[route]{
		Name: s.kind.name, Resource: s.resource, Optional: true, Form: kube.Unstructured(),
		Trim: kube.TrimOf(s.trimRoute),
	}
}

func (s *routes) trimRoute(in kube.Scope, obj *unstructured.Unstructured) (*route, []kube.Problem) {
	var f routeFields
	kept := &route{Object: s.reader.ReadFields(in, obj, &f)}
	if !kept.Selected || kept.Unreadable != "" {
		return kept, nil
	}
	var p problems
	if s.kind.hostnames {
		kept.declares = len(f.Spec.Hostnames) > 0
		kept.hostnames = patterns(&p, "spec.hostnames", cutList(&p, f.Spec.Hostnames, namesLimit, "spec.hostnames"))
	}
	kept.hostnamesFrom = s.hostnamesFrom(&p, obj.GetAnnotations())
	kept.refused = refusals(in, &f, kept.Key.Namespace)
	kept.parents = sharedParents(in, acceptingParents(&p, &f, kept.Key.Namespace))
	kept.problems = p.all()
	return kept, nil
}

// patterns returns the canonical forms of names.
func patterns(p *problems, field string, names []string) []string {
	var list []string
	for _, name := range names {
		if canonical, ok := pattern(name); ok {
			list = append(list, canonical)
		} else {
			p.add(field, name, "no listener can serve this name; use a name of DNS, such as www.example.org or *.example.org")
		}
	}
	return list
}

// hostnamesFrom reads the annotation of the route.
func (s *routes) hostnamesFrom(p *problems, annotations map[string]string) hostnameSource {
	for _, prefix := range s.settings.Prefixes {
		if value, ok := annotations[prefix+hostnameSourceAnnotation]; ok {
			from, known := hostnameSources[strings.ToLower(value)]
			if !known {
				p.add(prefix+hostnameSourceAnnotation, value, "no such source of names, so the annotation is ignored; use defined-hosts-only or annotation-only")
			}
			return from
		}
	}
	return everywhere
}

// acceptingParents returns the parents in the status that have accepted the route, and that the
// spec still has.
func acceptingParents(p *problems, f *routeFields, namespace string) []parent {
	asked := map[owner]bool{}
	for _, ref := range cutList(p, f.Spec.ParentRefs, parentsLimit, "spec.parentRefs") {
		if of, ok := ref.owner(namespace); ok {
			asked[of] = true
		}
	}
	var list []parent
	for _, status := range cutList(p, f.Status.Parents, parentsLimit, "status.parents") {
		of, ok := status.ParentRef.owner(namespace)
		if ok && asked[of] && accepted(status.Conditions) {
			list = append(list, parent{of: of, section: status.ParentRef.SectionName, port: status.ParentRef.Port})
		}
	}
	slices.SortFunc(list, compareParents)
	return slices.Compact(list)
}

func compareParents(a, b parent) int {
	return cmp.Or(
		strings.Compare(a.of.key(), b.of.key()), strings.Compare(a.section, b.section), cmp.Compare(a.port, b.port),
	)
}

// sharedParents returns a list of parents that routes with equal lists have in common.
func sharedParents(in kube.Scope, list []parent) []parent {
	if len(list) == 0 {
		return nil
	}
	key := []byte("parents\x00")
	for i := range list {
		p := &list[i]
		p.of.namespace, p.of.name, p.section = in.Intern(p.of.namespace), in.Intern(p.of.name), in.Intern(p.section)
		for _, text := range []string{p.of.key(), p.section} {
			key = append(binary.AppendUvarint(key, uint64(len(text))), text...)
		}
		key = binary.AppendVarint(key, int64(p.port))
	}
	if known, ok := in.Shared(key); ok {
		return known.([]parent)
	}
	return in.Share(key, slices.Clip(list)).([]parent)
}

func (s *routes) gatewayKind() kube.Kind[gateway] {
	return kube.Kind[gateway]{
		Name: "gateway", Resource: gatewayKind.GroupVersion().WithResource("gateways"), Optional: true, Form: kube.Unstructured(),
		Trim: kube.TrimOf(s.trimGateway),
	}
}

func (s *routes) trimGateway(in kube.Scope, obj *unstructured.Unstructured) (*gateway, []kube.Problem) {
	kept := &gateway{key: source.Key{Namespace: in.Intern(obj.GetNamespace()), Name: in.Intern(obj.GetName())}}
	if s.gatewayName != "" && s.gatewayName != kept.key.Name || !s.scopes.gateways.Selects(obj) {
		return kept, nil
	}
	var f gatewayFields
	if err := kube.Fields(obj, &f); err != nil {
		return nil, []kube.Problem{{Reason: err.Error() + "; the last good version stays in use"}}
	}
	var p kube.Problems
	kept.selected = true
	kept.targets = s.targets(&p, obj)
	if len(kept.targets) == 0 {
		for i, address := range cut(&p, f.Status.Addresses, targetsLimit, "status.addresses") {
			if address.Value != "" {
				kept.targets = appendTarget(&p, kept.targets, address.Value, "status.addresses[%d].value", i)
			}
		}
	}
	kept.sets = admissionOf(&p, f.Spec.AllowedListeners.Namespaces, "", "spec.allowedListeners.namespaces.selector")
	kept.listeners = s.listeners(in, &p, f.Spec.Listeners, func(string) bool { return true })
	return kept, p.List()
}

// targets returns those in the annotation of a Gateway or ListenerSet.
func (s *routes) targets(p *kube.Problems, obj *unstructured.Unstructured) []string {
	var targets []string
	for _, target := range cut(p, s.settings.ReadAnnotations(obj.GetAnnotations()).Targets, targetsLimit, "metadata.annotations") {
		targets = appendTarget(p, targets, target, "metadata.annotations")
	}
	return targets
}

func appendTarget(p *kube.Problems, list []string, target, field string, indexes ...any) []string {
	if len(target) > textLimit {
		p.Add("the target "+quoted(target)+" is too long, so it is not used; the longest name has 253 bytes", field, indexes...)
		return list
	}
	return append(list, target)
}

// listeners returns the listeners that are used and admit routes of the source's kind.
func (s *routes) listeners(in kube.Scope, p *kube.Problems, all []listenerFields, used func(name string) bool) []listener {
	var list []listener
	for i, f := range cut(p, all, listenersLimit, "spec.listeners") {
		if !slices.Contains(s.kind.protocols, f.Protocol) || !s.admitsKind(p, &f, i) || !used(f.Name) || len(f.Name) > textLimit {
			continue
		}
		hostname, ok := f.Hostname, true
		if hostname != anyName {
			hostname, ok = pattern(hostname)
		}
		if !ok {
			p.Add("the hostname "+quoted(f.Hostname)+" is no name of DNS, so the listener is not used; use one such as www.example.org or *.example.org",
				"spec.listeners[%d].hostname", i)
			continue
		}
		list = append(list, listener{
			name: in.Intern(f.Name), hostname: hostname, port: f.Port,
			routes: admissionOf(p, f.AllowedRoutes.Namespaces, fromSame, "spec.listeners[%d].allowedRoutes.namespaces.selector", i),
		})
	}
	return list
}

// admitsKind reports whether a listener admits routes of the source's kind.
func (s *routes) admitsKind(p *kube.Problems, f *listenerFields, i int) bool {
	if len(f.AllowedRoutes.Kinds) == 0 {
		return true
	}
	for _, k := range cut(p, f.AllowedRoutes.Kinds, kindsLimit, "spec.listeners[%d].allowedRoutes.kinds", i) {
		if (k.Group == nil || *k.Group == group) && k.Kind == s.kind.kind {
			return true
		}
	}
	return false
}

// admissionOf returns which namespaces are admitted.
func admissionOf(p *kube.Problems, f namespacesFields, byDefault scope, field string, indexes ...any) admission {
	a := admission{from: byDefault}
	if f.From != nil {
		a.from = *f.From
	}
	switch a.from {
	case fromSame, fromAll:
		return a
	case fromSelector:
	default:
		return admission{}
	}
	reason := ""
	if a.selector, reason = selectorOf(f.Selector); reason != "" {
		p.Add(reason+", so nothing is selected", field, indexes...)
	}
	return a
}

// selectorOf returns the selector of labels, and why it selects nothing if it can't be used.
func selectorOf(s *metav1.LabelSelector) (labels.Selector, string) {
	if s == nil {
		return labels.Nothing(), ""
	}
	values := 0
	for _, r := range s.MatchExpressions {
		values += len(r.Values)
	}
	if len(s.MatchLabels)+len(s.MatchExpressions) > requirementsLimit || values > valuesLimit {
		return labels.Nothing(), "the selector is too large; use fewer labels and values"
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing(), "the selector can't be used: " + err.Error()
	}
	return selector, ""
}

func (s *routes) listenerSetKind() kube.Kind[listenerSet] {
	return kube.Kind[listenerSet]{
		Name: "listenerset", Resource: listenerSetKind.GroupVersion().WithResource("listenersets"), Optional: true, Form: kube.Unstructured(),
		Trim: kube.TrimOf(s.trimListenerSet),
	}
}

func (s *routes) trimListenerSet(in kube.Scope, obj *unstructured.Unstructured) (*listenerSet, []kube.Problem) {
	kept := &listenerSet{key: source.Key{Namespace: in.Intern(obj.GetNamespace()), Name: in.Intern(obj.GetName())}}
	if !s.scopes.listenerSets.Selects(obj) {
		return kept, nil
	}
	var f listenerSetFields
	if err := kube.Fields(obj, &f); err != nil {
		return nil, []kube.Problem{{Reason: err.Error() + "; the last good version stays in use"}}
	}
	of, ok := f.Spec.ParentRef.owner(kept.key.Namespace)
	if !ok || of.listenerSet || !accepted(f.Status.Conditions) {
		return kept, nil
	}
	var p kube.Problems
	used := map[string]bool{}
	for _, l := range cut(&p, f.Status.Listeners, listenersLimit, "status.listeners") {
		used[l.Name] = accepted(l.Conditions)
	}
	kept.gateway = source.Key{Namespace: in.Intern(of.namespace), Name: in.Intern(of.name)}
	kept.targets = s.targets(&p, obj)
	kept.listeners = s.listeners(in, &p, f.Spec.Listeners, func(name string) bool { return used[name] })
	return kept, p.List()
}

// namespaces is core/v1 Namespace.
func namespaces() kube.Kind[labelled] {
	return kube.Kind[labelled]{
		Name: "namespace", Resource: corev1.SchemeGroupVersion.WithResource("namespaces"), ClusterWide: true,
		Form: kube.Protobuf(corev1.AddToScheme, func() runtime.Object { return &corev1.NamespaceList{} }).Without("spec", "status"),
		Trim: kube.TrimOf(trimNamespace),
	}
}

func trimNamespace(in kube.Scope, ns *corev1.Namespace) (*labelled, []kube.Problem) {
	kept := &labelled{name: in.Intern(ns.Name), labels: make([]label, 0, len(ns.Labels))}
	var p kube.Problems
	for key, value := range ns.Labels {
		kept.labels = append(kept.labels, label{in.Intern(key), in.Intern(value)})
	}
	slices.SortFunc(kept.labels, func(a, b label) int { return strings.Compare(a.key, b.key) })
	kept.labels = cut(&p, kept.labels, labelsLimit, "metadata.labels")
	return kept, p.List()
}

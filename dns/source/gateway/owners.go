package gateway

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

type gateway struct {
	key source.Key
	// selected is false if the settings exclude it. The other fields are then empty.
	selected bool
	// targets are those of the annotation target, else the addresses.
	targets   []string
	listeners []listener
	// remarks are about its annotations; mostly none.
	remarks []source.Skip
	// sets says which ListenerSets may be attached.
	sets admission
}

type listenerSet struct {
	key source.Key
	// gateway is its Gateway. If the settings exclude the ListenerSet, or the Gateway hasn't accepted
	// it, this and the other fields are empty.
	gateway source.Key
	// targets are those of the annotation target.
	targets   []string
	listeners []listener
	// remarks are about its annotations; mostly none.
	remarks []source.Skip
}

// listener is a listener that admits routes of the source's kind.
type listener struct {
	name string
	// hostname is a pattern.
	hostname string
	port     int32
	routes   admission
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
	kept.targets, kept.remarks = s.annotationsOf(&p, obj)
	if len(kept.targets) == 0 {
		for i, address := range source.CutIn(&p, f.Status.Addresses, source.AddressLimit, "status.addresses") {
			if address.Value != "" {
				kept.targets = appendTarget(&p, kept.targets, address.Value, "status.addresses[%d].value", i)
			}
		}
	}
	kept.sets = admissionOf(&p, f.Spec.AllowedListeners.Namespaces, "", "spec.allowedListeners.namespaces.selector")
	kept.listeners = s.listeners(in, &p, f.Spec.Listeners, func(string) bool { return true })
	return kept, p.List()
}

// annotationsOf returns the targets in the annotation of a Gateway or ListenerSet, and remarks
// about its annotations.
func (s *routes) annotationsOf(p *kube.Problems, obj *unstructured.Unstructured) (targets []string, remarks []source.Skip) {
	read := s.ownerSettings.ReadAnnotations(obj.GetAnnotations())
	for _, target := range source.CutIn(p, read.Targets, source.AddressLimit, "metadata.annotations") {
		targets = appendTarget(p, targets, target, "metadata.annotations")
	}
	return targets, read.Remarks
}

func appendTarget(p *kube.Problems, list []string, target, field string, indexes ...any) []string {
	if len(target) > source.TextLimit {
		p.Add("the target "+source.Quoted(target)+" is too long, so it is not used; the longest name has 253 bytes", field, indexes...)
		return list
	}
	return append(list, target)
}

// listeners returns the used listeners that admit routes of the source's kind.
func (s *routes) listeners(in kube.Scope, p *kube.Problems, all []listenerFields, used func(name string) bool) []listener {
	var list []listener
	for i, f := range source.CutIn(p, all, listenersLimit, "spec.listeners") {
		if !slices.Contains(s.kind.protocols, f.Protocol) || !s.admitsKind(p, &f, i) || !used(f.Name) || len(f.Name) > source.TextLimit {
			continue
		}
		hostname, ok := f.Hostname, true
		if hostname != anyName {
			hostname, ok = pattern(hostname)
		}
		if !ok {
			p.Add("the hostname "+source.Quoted(f.Hostname)+" is no name of DNS, so the listener is not used; use one such as www.example.org or *.example.org",
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

func (s *routes) admitsKind(p *kube.Problems, f *listenerFields, i int) bool {
	if len(f.AllowedRoutes.Kinds) == 0 {
		return true
	}
	for _, k := range source.CutIn(p, f.AllowedRoutes.Kinds, kindsLimit, "spec.listeners[%d].allowedRoutes.kinds", i) {
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

// selectorOf returns the label selector, or why it is invalid and selects nothing.
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
	for _, l := range source.CutIn(&p, f.Status.Listeners, listenersLimit, "status.listeners") {
		used[l.Name] = accepted(l.Conditions)
	}
	kept.gateway = source.Key{Namespace: in.Intern(of.namespace), Name: in.Intern(of.name)}
	kept.targets, kept.remarks = s.annotationsOf(&p, obj)
	kept.listeners = s.listeners(in, &p, f.Spec.Listeners, func(name string) bool { return used[name] })
	return kept, p.List()
}

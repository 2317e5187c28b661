package gateway

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/internal/sanitize"
)

// skipLimit limits the explained parents and names of a route.
const skipLimit = 8

func notAcceptedReason(conditions []condition) string {
	for _, c := range slices.Backward(conditions) {
		if c.Type == "Accepted" {
			return c.Reason[:min(len(c.Reason), reasonLimit)]
		}
	}
	return ""
}

// missing says which parents of a route give it no record, and which of its names none of them
// serves.
func (s *routes) missing(r *route, names []string, found *attachments) []source.Skip {
	var list []source.Skip
	list = append(list, s.unusedNames(r, len(names) == 0)...)
	for _, refused := range r.refused {
		list = append(list, s.refusalOf(refused))
	}
	if len(r.parents)+len(r.refused) == 0 {
		list = append(list, source.Skip{Reason: source.SkipNotFound, Subject: "spec.parentRefs", Message: "no Gateway is named there: name one, or a ListenerSet"})
	}
	attached := false
	for i, p := range r.parents {
		if len(found.listeners[i]) > 0 && len(found.targets[i]) > 0 {
			attached = true
		} else if len(list) <= skipLimit {
			list = append(list, s.withoutListeners(r, p, len(found.listeners[i]) > 0))
		}
	}
	if attached {
		list = append(list, s.unserved(r, names, found.served)...)
	}
	if more := len(list) - skipLimit; more > 0 {
		list = append(list[:skipLimit], source.Skip{Reason: list[skipLimit].Reason, Message: fmt.Sprintf("and %d more reasons: see to these first", more)})
	}
	return list
}

// unusedNames describes the effect of the annotation gateway-hostname-source on the names of a
// route. nothing is true if no name is left.
func (s *routes) unusedNames(r *route, nothing bool) []source.Skip {
	skip := source.Skip{Reason: source.SkipNotPublished, Subject: "metadata.annotations"}
	switch annotated := len(s.reader.Hosts(&r.Object)) > 0; {
	case r.hostnamesFrom == annotationOnly && !annotated:
		skip.Message = "the annotation gateway-hostname-source is annotation-only, and there is no annotation hostname that is used: set one, or remove gateway-hostname-source"
	case r.hostnamesFrom == annotationOnly && r.declares:
		skip.Message = "the annotation gateway-hostname-source is annotation-only, so spec.hostnames is not used: remove it to have these names, too"
	case r.hostnamesFrom == definedHostsOnly && annotated:
		skip.Message = "the annotation gateway-hostname-source is defined-hosts-only, so the annotation hostname is not used: remove one of them"
	case r.hostnamesFrom == definedHostsOnly && nothing:
		skip.Message = "the annotation gateway-hostname-source is defined-hosts-only, and spec.hostnames is empty: write a name there, or remove the annotation"
	case nothing:
		return []source.Skip{s.nameless(r)}
	default:
		return nil
	}
	return []source.Skip{skip}
}

func (o owner) text() string {
	kind := gatewayKind.Kind
	if o.listenerSet {
		kind = listenerSetKind.Kind
	}
	return kind + " " + sanitize.Name(o.namespace) + "/" + sanitize.Name(o.name)
}

// refusalOf says why a parent has not accepted a route.
func (s *routes) refusalOf(r refusal) source.Skip {
	if _, _, unused := s.listenersOf(r.of); unused != nil {
		return *unused
	}
	reason := "and its controller has not said why"
	if r.reason != "" {
		reason = "with the reason " + sanitize.Name(r.reason)
	}
	return source.Skip{
		Reason: source.SkipNotAccepted, Subject: "status.parents",
		Message: r.of.text() + " has not accepted the route, " + reason + ": see its conditions in status.parents",
	}
}

// missing is the skip of a parent that doesn't exist.
func (o owner) missing() *source.Skip {
	return unusedParent(source.SkipNotFound, "there is no "+o.text()+": create it, or correct the name")
}

// unusedParent is the skip of a route's parent that isn't used.
func unusedParent(reason source.SkipReason, message string) *source.Skip {
	return &source.Skip{Reason: reason, Subject: "spec.parentRefs", Message: message}
}

// withoutListeners says why a parent gives a route nothing, whatever its names are. attached is
// true if a listener admits it.
func (s *routes) withoutListeners(r *route, p parent, attached bool) source.Skip {
	all, _, unused := s.listenersOf(p.of)
	if unused != nil {
		return *unused
	}
	skip := source.Skip{Reason: source.SkipNotAccepted, Subject: "spec.parentRefs"}
	if attached {
		skip.Reason = source.SkipNoTarget
		skip.Message = p.of.text() + " has no address in status.addresses: wait until its controller has written one, or set the annotation target of the Gateway"
		return skip
	}
	named := slices.ContainsFunc(all, p.names)
	switch {
	case len(all) == 0:
		skip.Message = fmt.Sprintf("no listener of %s takes %ss: one needs the protocol %s, and the kind in allowedRoutes.kinds if there are any",
			p.of.text(), s.kind.kind, strings.Join(s.kind.protocols, " or "))
	case !named && p.section != "":
		skip.Message = p.of.text() + " has no listener " + sanitize.Name(p.section) + portText(p) + " that takes " + s.kind.kind + "s: correct sectionName"
	case !named:
		skip.Message = p.of.text() + " has no listener" + portText(p) + " that takes " + s.kind.kind + "s: correct port"
	default:
		skip.Message = "no listener of " + p.of.text() + " takes routes of the namespace " + sanitize.Name(r.Key.Namespace) + ": see allowedRoutes.namespaces of the listeners"
	}
	return skip
}

func portText(p parent) string {
	if p.port == 0 {
		return ""
	}
	return fmt.Sprintf(" at port %d", p.port)
}

// unserved says which names no listener serves that the route is attached to.
func (s *routes) unserved(r *route, names []string, served []bool) []source.Skip {
	first, more := "", -1
	for i, name := range names {
		switch {
		case served[i]:
			continue
		case name != anyName:
		case len(names) > 1:
			continue // The listeners have no names, and the route has others.
		default:
			return []source.Skip{s.nameless(r)}
		}
		if more++; more == 0 {
			first = name
		}
	}
	skip := source.Skip{
		Reason: source.SkipNotAccepted, Subject: sanitize.Name(first),
		Message: "no listener that the route is attached to has a hostname for this name: see the hostname of the listeners",
	}
	switch {
	case more < 0:
		return nil
	case more > 0:
		skip.Message = fmt.Sprintf("no listener that the route is attached to has a hostname for this name and %d others: see the hostname of the listeners", more)
	}
	return []source.Skip{skip}
}

package whyserved

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/destination"
)

// isServed reports whether the clients of a port get an endpoint.
func (w *portExplanation) isServed() bool {
	if w.profile.Refusal != nil || len(w.conflicts) > 0 {
		return false
	}
	if !w.overridden() {
		return w.unserved() == nil
	}
	return !slices.ContainsFunc(w.overrides, func(o override) bool { return o.problem() != "" })
}

// unserved says why Get returns no endpoints; nil if it does.
func (w *portExplanation) unserved() error { return unserved(&w.response) }

// unserved says why a response of Get has no endpoints; nil if it has. With internalTrafficPolicy
// Local, clients on nodes without an endpoint are meant to get none.
func unserved(t *destination.FirstResponse) error {
	if t.Refusal != nil {
		return refusalError(t.Refusal)
	}
	empty := func(p destination.PlaceResponse) bool { return len(p.Endpoints) == 0 }
	switch at := slices.IndexFunc(t.Places, empty); {
	case !slices.ContainsFunc(t.Places, func(p destination.PlaceResponse) bool { return !empty(p) }):
		return errors.New("no client gets an endpoint")
	case at >= 0 && t.Kind != catalog.FilterNode:
		return fmt.Errorf("clients %s get no endpoint", short(LocationOf(t.Places[at].Filter)))
	default:
		return nil
	}
}

// LocationOf describes the clients of a response by zone and node.
func LocationOf(f catalog.Filter) string {
	switch {
	case f.Node != "":
		return "on the node " + f.Node
	case f.Zone != "":
		return "in the zone " + f.Zone
	default:
		return "whose zone and node are unknown"
	}
}

// refusalError returns the status of a call as a sentence.
func refusalError(err error) error {
	s := status.Convert(err)
	return fmt.Errorf("refused with %s, %s", s.Code(), short(s.Message()))
}

// anyEndpoint reports whether some client gets an endpoint that match accepts.
func anyEndpoint(t *destination.FirstResponse, match func(*destination.ResponseEndpoint) bool) bool {
	for i := range t.Places {
		for k := range t.Places[i].Endpoints {
			if match(&t.Places[i].Endpoints[k]) {
				return true
			}
		}
	}
	return false
}

// endpointsOf returns the endpoints of clients in all zones and nodes, sorted.
func endpointsOf(t *destination.FirstResponse) []destination.ResponseEndpoint {
	var all []destination.ResponseEndpoint
	seen := map[string]bool{}
	for i := range t.Places {
		for _, e := range t.Places[i].Endpoints {
			if id := e.Addr.String(); !seen[id] {
				seen[id] = true
				all = append(all, e)
			}
		}
	}
	return all
}

// leftOut returns the reasons for which the encoding leaves endpoints out.
func leftOut(t *destination.FirstResponse) []string {
	var reasons []string
	for _, place := range t.Places {
		for _, p := range place.LeftOut {
			reasons = addSome(reasons, fmt.Sprintf("%s of the %s %s: %s", p.Field, p.Kind, short(p.Name), short(p.Reason)))
		}
	}
	return reasons
}

// lowered turns wrong steps into notes, because no client is affected.
func lowered(steps []inspect.Step) []inspect.Step {
	for i := range steps {
		if steps[i].State == inspect.StepWrong {
			steps[i].State = inspect.StepNote
		}
	}
	return steps
}

// StateOf returns the state of a Service with this many ready endpoints, by the same verdict as its
// explanation.
func (x *Explainer) StateOf(s *catalog.Service, ready int) inspect.ServiceState {
	if s.ExternalName {
		return inspect.ServiceExternal
	}
	ports, served, some := 0, 0, false
	for _, p := range s.Ports {
		if p.Protocol == catalog.UDP || ports == maxPorts {
			continue
		}
		ports++
		w := x.responses(s.Key, s, "", p)
		if w.isServed() {
			served++
		}
		some = some || w.isServed() || len(endpointsOf(&w.response)) > 0
	}
	switch {
	case ports == 0:
		return inspect.ServicePortless
	case served == ports:
		return inspect.ServiceServed
	case some:
		return inspect.ServicePartly
	case ready == 0:
		return inspect.ServiceEmpty
	default:
		return inspect.ServiceUnserved
	}
}

// noneNeeds reports whether there are ports, and clients of none are affected by the endpoints of the
// Service: they are served, or a profile sends them elsewhere.
func noneNeeds(ports []portExplanation, service catalog.ServiceKey) bool {
	needs := func(p portExplanation) bool {
		own := slices.ContainsFunc(p.overrides, func(o override) bool { return o.Service == service })
		return !p.isServed() && (own || !p.overridden())
	}
	return len(ports) > 0 && !slices.ContainsFunc(ports, needs)
}

package whyserved

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/destination"
)

// override is a destination that a ServiceProfile sends traffic to, and its response of Get.
type override struct {
	destination.Override
	response destination.FirstResponse
}

// overrides returns the destinations of a profile. Those without a weight get no traffic.
func (x *Explainer) overrides(p destination.FirstProfile) []override {
	var all []override
	for _, o := range x.Server.Overrides(p.Wire) {
		if o.Weight == 0 || len(all) == maxOverrides {
			continue
		}
		followed := override{Override: o}
		if o.Err == nil && o.Service.Name != "" {
			followed.response = x.Server.FirstResponse(o.Service, o.Hostname, o.Port)
		}
		all = append(all, followed)
	}
	return all
}

// overridden reports whether a profile sends the traffic of a port elsewhere.
func (w *portExplanation) overridden() bool { return len(w.overrides) > 0 }

// problem says why clients of the override get no endpoint; empty if they get some.
func (o *override) problem() string {
	switch {
	case o.Err != nil:
		return short(o.Err.Error())
	case o.Service.Name == "":
		return "it is an IP address, and overrides are looked up by name"
	default:
		if err := unserved(&o.response); err != nil {
			return err.Error()
		}
		return ""
	}
}

// profileSteps describes the profiles of the ports of a Service.
func profileSteps(f *facts) []inspect.Step {
	var steps []inspect.Step
	for i := range f.ports {
		w := &f.ports[i]
		if w.profile.Snapshot == nil {
			continue
		}
		if err := w.profile.Refusal; err != nil && (f.query.Hostname == "" || w.unserved() == nil) {
			steps = append(steps, stepf("Profile", inspect.StepWrong, f.ref(), "profiles of port %d are %v", w.port.Port, refusalError(err)))
		}
		for _, err := range w.conflicts {
			steps = append(steps, stepf("Profile", inspect.StepWrong, f.ref(), "profiles of the cluster IP and port %d are %v: delete one of the two, or wait until it is gone", w.port.Port, refusalError(err)))
		}
		steps = append(steps, overrideSteps(w)...)
	}
	if len(f.ports) > 0 && f.ports[0].profile.Snapshot != nil {
		steps = append(steps, profileStep(&f.ports[0].profile)...)
	}
	return append(steps, opaqueSteps(f)...)
}

// profileStep names the used ServiceProfile and its invalid parts.
func profileStep(profile *destination.FirstProfile) []inspect.Step {
	sp := profile.Snapshot.Profile
	if sp == nil {
		return nil
	}
	ref := &inspect.ObjectRef{Kind: "ServiceProfile", Namespace: sp.Namespace, Name: sp.Name}
	name := sp.Namespace + "/" + short(sp.Name)
	var steps []inspect.Step
	switch {
	case sp.Invalid:
		steps = append(steps, stepf("Profile", inspect.StepWrong, ref,
			"the ServiceProfile %s can't be used, so the default profile is served: see its retryBudget.ttl, and signpost problems", name))
	case len(profile.LeftOut) > 0:
		p := profile.LeftOut[0]
		steps = append(steps, stepf("Profile", inspect.StepWrong, ref, "the ServiceProfile %s can't be used: %s: %s", name, p.Field, short(p.Reason)))
	default:
		steps = append(steps, stepf("Profile", inspect.StepOK, ref, "the ServiceProfile %s is in force, with %s", name, inspect.Plural(len(sp.Routes), "route")))
	}
	for i := range sp.Routes {
		for _, broken := range sp.Routes[i].Condition.BrokenRegexps() {
			steps = append(steps, stepf("Profile", inspect.StepWrong, ref,
				"the route %q of the ServiceProfile %s is ignored by proxies: %s is no regular expression, correct it", short(sp.Routes[i].Name), name, short(fmt.Sprintf("%q", broken))))
		}
	}
	return steps
}

// overrideSteps lists the destinations of a ServiceProfile, and those without endpoints.
func overrideSteps(w *portExplanation) []inspect.Step {
	if !w.overridden() {
		return nil
	}
	var steps []inspect.Step
	var names []string
	for i := range w.overrides {
		o := &w.overrides[i]
		names = append(names, short(o.Authority))
		why := o.problem()
		if why == "" {
			continue
		}
		var ref *inspect.ObjectRef
		if o.Service.Name != "" {
			ref = &inspect.ObjectRef{Kind: "Service", Namespace: o.Service.Namespace, Name: o.Service.Name}
		}
		steps = append(steps, stepf("Override", inspect.StepWrong, ref,
			"the ServiceProfile sends traffic of port %d to %s, which has no endpoints (%s): correct spec.dstOverrides, or that Service", w.port.Port, short(o.Authority), why))
	}
	return append(steps, stepf("Override", inspect.StepNote, nil, "the ServiceProfile sends the traffic of port %d to %s", w.port.Port, strings.Join(names, ", ")))
}

// opaqueSteps returns a step for each port that is opaque for the Service but not for its
// endpoints, or the other way round.
func opaqueSteps(f *facts) []inspect.Step {
	var steps []inspect.Step
	for i := range f.ports {
		w := &f.ports[i]
		if w.profile.Wire == nil || w.overridden() || f.query.Hostname != "" {
			continue
		}
		opaque := w.profile.Wire.GetOpaqueProtocol()
		differs := func(e *destination.ResponseEndpoint) bool {
			hint := e.Wire.GetProtocolHint()
			return hint != nil && (hint.GetOpaque() != nil) != opaque
		}
		if !anyEndpoint(&w.response, differs) {
			continue
		}
		text := fmt.Sprintf("port %d is opaque for the Service, and not for all of its pods: annotate both with config.linkerd.io/opaque-ports, the Service with its port, the pods with theirs", w.port.Port)
		if !opaque {
			text = fmt.Sprintf("port %d is not opaque for the Service, and is for pods of it: annotate both with config.linkerd.io/opaque-ports, the Service with its port, the pods with theirs", w.port.Port)
		}
		steps = append(steps, stepf("Opaque ports", inspect.StepNote, f.ref(), "%s", text))
	}
	return steps
}

// serviceProfile explains a ServiceProfile: its Service, and its effect.
func (x *Explainer) serviceProfile(o *inspect.ObjectRef) []inspect.Step {
	name := o.Namespace + "/" + o.Name
	key, ok := x.Server.ServiceOfProfile(o.Name)
	if !ok {
		return []inspect.Step{stepf("Profile", inspect.StepWrong, o,
			"the ServiceProfile %s is for no Service: its name has to be NAME.NAMESPACE.svc and the domain of the cluster", name)}
	}
	f := &facts{query: &inspect.ServiceQuery{Namespace: key.Namespace, Name: key.Name}}
	service, known := x.Catalog.FindService(key)
	port := uint16(80)
	if known && len(service.Ports) > 0 {
		port = service.Ports[0].Port
	}
	profile := x.Server.FirstProfile(catalog.ProfileQuery{Service: key, Port: port, ClientNamespace: o.Namespace})
	sp := profile.Snapshot.Profile
	switch {
	case sp == nil || sp.Namespace != o.Namespace:
		return []inspect.Step{stepf("Profile", inspect.StepWrong, o,
			"this process knows no ServiceProfile %s: look at its name and namespace, and at the table serviceprofile in the status", name)}
	case !known:
		return append(profileStep(&profile), stepf("Profile", inspect.StepWrong, f.ref(), "there is no Service %s/%s for the ServiceProfile: create it, or correct the name of the profile", key.Namespace, key.Name))
	}
	steps := profileStep(&profile)
	if o.Namespace != key.Namespace {
		steps = append(steps, stepf("Profile", inspect.StepNote, o, "only clients in the namespace %s use it, because the Service is in the namespace %s", o.Namespace, key.Namespace))
	}
	if err := profile.Refusal; err != nil {
		return append(steps, stepf("Profile", inspect.StepWrong, f.ref(), "profiles of the Service %s/%s are %v", key.Namespace, key.Name, refusalError(err)))
	}
	for _, p := range service.Ports[:min(len(service.Ports), maxPorts)] {
		w := portExplanation{port: p, profile: x.Server.FirstProfile(catalog.ProfileQuery{Service: key, Port: p.Port, ClientNamespace: o.Namespace})}
		w.overrides = x.overrides(w.profile)
		if added := overrideSteps(&w); !slices.ContainsFunc(steps, func(s inspect.Step) bool { return len(added) > 0 && s.Text == added[0].Text }) {
			steps = append(steps, added...)
		}
	}
	return steps
}

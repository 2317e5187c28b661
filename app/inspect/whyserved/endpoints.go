package whyserved

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/destination"
)

// sliceSteps describes the slices and names the controllers that write them.
func sliceSteps(f *facts) []inspect.Step {
	if f.service == nil {
		return nil
	}
	if f.slicesErr != nil {
		return []inspect.Step{unknown("Slices", f.slicesErr)}
	}
	if len(f.slices) == 0 {
		if len(f.matched.pods) == 0 && f.workloads == 0 {
			return nil // an earlier step says why
		}
		return []inspect.Step{stepf("Slices", inspect.StepWrong, f.ref(),
			"no EndpointSlice belongs to the Service, although its selector matches: the controller that writes slices doesn't run, or fails: start the role controllers, or check the log of kube-controller-manager")}
	}
	ready, notReady := 0, 0
	writers := map[string]int{}
	var lines []string
	for i := range f.slices {
		s := &f.slices[i]
		writers[short(cmp.Or(s.Labels[discoveryv1.LabelManagedBy], "an unknown writer"))]++
		own := 0
		for k := range s.Endpoints {
			if r := s.Endpoints[k].Conditions.Ready; r == nil || *r {
				own++
			}
		}
		ready, notReady = ready+own, notReady+len(s.Endpoints)-own
		if len(lines) < maxShown {
			lines = append(lines, fmt.Sprintf("%s: %s, %d ready and %d not, ports %s", s.Name, s.AddressType, own, len(s.Endpoints)-own, slicePorts(s)))
		}
	}
	text := fmt.Sprintf("%s, managed by %s according to the label, with %s", inspect.Plural(len(f.slices), "EndpointSlice"), strings.Join(slices.Sorted(maps.Keys(writers)), " and "), inspect.Plural(ready, "ready endpoint"))
	if notReady > 0 {
		text += fmt.Sprintf(" and %d that are not", notReady)
	}
	s := stepf("Slices", inspect.StepOK, nil, "%s", text)
	s.More = lines
	return []inspect.Step{s}
}

func slicePorts(s *discoveryv1.EndpointSlice) string {
	var all []string
	for _, p := range s.Ports {
		text := "none"
		if p.Port != nil {
			text = fmt.Sprint(*p.Port)
		}
		if p.Name != nil && *p.Name != "" {
			text = short(*p.Name) + ":" + text
		}
		if all = append(all, text); len(all) == maxShown {
			break
		}
	}
	return "[" + strings.Join(all, " ") + "]"
}

// endpointSteps returns the step "Endpoints" of each port.
func endpointSteps(f *facts) []inspect.Step {
	if len(f.known.Ports) == 0 {
		return []inspect.Step{stepf("Endpoints", inspect.StepNote, f.ref(), "the Service declares no port, so it has endpoints for nothing but ports that a client chooses")}
	}
	var steps []inspect.Step
	for i := range f.ports {
		steps = append(steps, endpointStep(f, &f.ports[i]))
	}
	return steps
}

// unservedEndpoints are the endpoints of slices that no client gets, by outcome.
type unservedEndpoints struct {
	counts    map[catalog.Outcome]int
	lines     map[catalog.Outcome][]string
	hostnames []string
	ports     []string
}

func unservedOf(w *portExplanation) unservedEndpoints {
	f := unservedEndpoints{counts: map[catalog.Outcome]int{}, lines: map[catalog.Outcome][]string{}}
	served := map[netip.AddrPort]bool{}
	for _, e := range endpointsOf(&w.response) {
		served[e.Addr] = true
	}
	for _, m := range w.explanation.Members {
		for _, s := range m.Slices {
			for _, subset := range s.Slice.Subsets {
				for _, p := range subset.Ports {
					f.ports = addSome(f.ports, fmt.Sprintf("%s:%d", p.Name, p.Port))
				}
			}
			for _, e := range s.Endpoints {
				if name := e.Endpoint.Hostname; name != "" {
					f.hostnames = addSome(f.hostnames, name)
				}
				if e.Outcome == catalog.Served && served[e.Addr] {
					continue
				}
				f.counts[e.Outcome]++
				if len(f.lines[e.Outcome]) < maxShown {
					f.lines[e.Outcome] = append(f.lines[e.Outcome], endpointText(e))
				}
			}
		}
	}
	return f
}

// addSome adds a text to a small set.
func addSome(set []string, text string) []string {
	if len(set) < maxShown && !slices.Contains(set, text) {
		return append(set, text)
	}
	return set
}

func endpointText(e catalog.ExplainedEndpoint) string {
	text := e.Addr.String()
	if e.Addr.Port() == 0 {
		text = e.Addr.Addr().String()
	}
	if t := e.Endpoint.Target; t.Kind != "" {
		text += fmt.Sprintf(" (%s %s)", t.Kind, t.Name)
	}
	return text
}

// outcomeTexts describe endpoints that are left out.
var outcomeTexts = map[catalog.Outcome]string{
	// The explanation does not include the zone and node of the client, and the encoding.
	catalog.Served:              "that can't be described to clients, or that no client is near enough to",
	catalog.EndpointNotReady:    "not ready",
	catalog.WorkloadUnknown:     "of a workload that isn't known (yet, or no longer)",
	catalog.WorkloadReplaced:    "of a workload that was replaced by one of the same name",
	catalog.PortMissing:         "in slices without this port",
	catalog.OtherHostname:       "with another hostname",
	catalog.IPv6Disabled:        "IPv6, which is off",
	catalog.IPv6Preferred:       "IPv4 of a workload that has an IPv6 address",
	catalog.DuplicateAddress:    "with an address that another endpoint has",
	catalog.ExternalNameService: "of a Service of type ExternalName",
}

// endpointStep says what Get returns for a port. The verdict is the server's.
func endpointStep(f *facts, w *portExplanation) inspect.Step {
	omitted := unservedOf(w)
	port := fmt.Sprintf("port %d", w.port.Port)
	if f.query.Hostname != "" {
		port += " of the hostname " + f.query.Hostname
	}
	served := endpointsOf(&w.response)
	s := stepf("Endpoints", inspect.StepOK, f.ref(), "%s is served by %s", port, inspect.Plural(len(served), "endpoint"))
	if n := w.response.MorePlaces; n > 0 {
		s.Text = fmt.Sprintf("%s is served by at least %s; clients in %d other zones or nodes were not checked", port, inspect.Plural(len(served), "endpoint"), n)
	}
	switch err := w.unserved(); {
	case err == nil:
	case w.response.Refusal != nil:
		s.State, s.Text = inspect.StepWrong, fmt.Sprintf("calls for %s are %v", port, err)
	case len(served) > 0:
		s.State, s.Text = inspect.StepWrong, fmt.Sprintf("%s, and %v: compare the hints of the slices with their endpoints", s.Text, err)
	default:
		s.State, s.Text = inspect.StepWrong, port+" has no endpoint that is served: "+omitted.cause(f, w)
	}
	if s.State == inspect.StepWrong && w.overridden() {
		// Traffic goes to the overrides, so this is no problem.
		s.State = inspect.StepNote
	}
	for _, e := range served[:min(len(served), maxShown)] {
		s.More = append(s.More, servedText(&e))
	}
	if n := len(served) - len(s.More); n > 0 {
		s.More = append(s.More, fmt.Sprintf("and %d more", n))
	}
	for _, outcome := range slices.Sorted(maps.Keys(omitted.counts)) {
		s.More = append(s.More, fmt.Sprintf("left out are %d %s, such as %s", omitted.counts[outcome], outcomeTexts[outcome], omitted.lines[outcome][0]))
	}
	for _, reason := range leftOut(&w.response) {
		s.More = append(s.More, "left out is the "+reason)
	}
	return s
}

func servedText(e *destination.ResponseEndpoint) string {
	text := e.Addr.String()
	if e.Target != nil {
		text += fmt.Sprintf(" (%s %s)", e.Target.Key.Kind, e.Target.Key.Name)
	}
	return text
}

// cause says why no endpoint is served, and what to do.
func (x unservedEndpoints) cause(f *facts, w *portExplanation) string {
	if reasons := leftOut(&w.response); len(reasons) > 0 {
		return "left out is the " + reasons[0]
	}
	commonest, all := catalog.Served, 0
	for outcome, n := range x.counts {
		all += n
		if n > x.counts[commonest] || n == x.counts[commonest] && outcome < commonest {
			commonest = outcome
		}
	}
	switch {
	case f.query.Hostname != "" && x.counts[catalog.OtherHostname] > 0:
		return x.otherHostname(f)
	case all == 0 && hasNames(f.slices):
		return "the slices have the addressType FQDN, whose endpoints are not used: write IP addresses, or use a Service of the type ExternalName"
	case all == 0:
		return "the slices have none: check whether the selector matches ready pods, and the controller that writes the slices"
	case commonest == catalog.EndpointNotReady:
		return fmt.Sprintf("%s not ready: look at the readiness of the pods", counted(x.counts[commonest], "endpoint is", "endpoints are"))
	case commonest == catalog.PortMissing && len(x.ports) > 0 && f.service != nil && len(f.service.Spec.Selector) == 0:
		return fmt.Sprintf("the slices have the ports [%s], and none is named %q: name the port of the slices so, because clients find it by the name of the port of the Service",
			strings.Join(x.ports, " "), w.port.Name)
	case commonest == catalog.PortMissing && len(x.ports) == 0:
		return "the slices have no ports: compare the targetPort of the Service with the ports of the containers"
	case commonest == catalog.PortMissing:
		return fmt.Sprintf("the slices have the ports [%s], and none is named %q: compare the targetPort of the Service with the ports of the containers", strings.Join(x.ports, " "), w.port.Name)
	case commonest == catalog.WorkloadUnknown, commonest == catalog.WorkloadReplaced:
		return "the slices name pods that are deleted or not known yet: check the controller that writes the slices, and whether this process reads pods"
	case commonest == catalog.IPv6Disabled:
		return "all endpoints are IPv6, and IPv6 is off: set --enable-ipv6"
	default:
		return "all endpoints are " + outcomeTexts[commonest]
	}
}

// hasNames reports whether a slice has names in place of IP addresses.
func hasNames(list []discoveryv1.EndpointSlice) bool {
	return slices.ContainsFunc(list, func(s discoveryv1.EndpointSlice) bool {
		return s.AddressType == discoveryv1.AddressTypeFQDN && len(s.Endpoints) > 0
	})
}

// otherHostname lists the existing hostnames instead of the requested one.
func (x unservedEndpoints) otherHostname(f *facts) string {
	if ip := catalog.DashedAddress(f.query.Hostname); ip.IsValid() {
		return fmt.Sprintf("the name is that of an endpoint without a hostname at the address %s, and the Service has none there: the pod is gone or was replaced, or has a hostname", ip)
	}
	if len(x.hostnames) == 0 {
		return fmt.Sprintf("no pod has a hostname: set spec.hostname and spec.subdomain: %s in the pods, or serviceName: %[1]s in their StatefulSet", f.query.Name)
	}
	return fmt.Sprintf("the pods have the hostnames [%s]%s", strings.Join(x.hostnames, " "), suggestSimilar(f.query.Hostname, x.hostnames))
}

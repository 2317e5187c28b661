package whyserved

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/destination"
	"github.com/signpostd/signpost/internal/sanitize"
)

// serviceSteps returns the steps from a Service to the streams of its clients.
func serviceSteps(f *facts) []inspect.Step {
	steps, end := objectSteps(f)
	if end {
		return steps
	}
	var causes []inspect.Step
	if f.known.RemoteCluster != nil || f.known.Federation != nil {
		causes = memberSteps(f)
	} else {
		causes = append(selectorSteps(f), sliceSteps(f)...)
	}
	if noneNeeds(f.ports, f.known.Key) {
		// The causes have no effect, so they are notes.
		causes = lowered(causes)
	}
	steps = append(steps, causes...)
	steps = append(steps, endpointSteps(f)...)
	steps = append(steps, profileSteps(f)...)
	steps = append(steps, locationSteps(f)...)
	steps = append(steps, policySteps(f)...)
	return append(steps, streamSteps(f)...)
}

func (f *facts) ref() *inspect.ObjectRef {
	return &inspect.ObjectRef{Kind: "Service", Namespace: f.query.Namespace, Name: f.query.Name}
}

// objectSteps says whether the Service and the port exist. end is true if no further steps apply.
func objectSteps(f *facts) (steps []inspect.Step, end bool) {
	name := f.query.Namespace + "/" + f.query.Name
	switch {
	case f.service == nil && f.serviceErr == nil:
		return []inspect.Step{missingService(f)}, true
	case f.serviceErr != nil:
		steps = append(steps, unknown("Service", f.serviceErr))
	}
	if f.known == nil && f.service == nil {
		return append(steps, stepf("Service", inspect.StepUnknown, f.ref(),
			"this process has read no Service %s: whether the API server has it is unknown", name)), true
	}
	if f.known == nil {
		return append(steps, stepf("Service", inspect.StepWrong, f.ref(),
			"the API server has the Service %s, and this process has not read it: look at the table of Services in its status, and whether it reads this namespace", name)), true
	}
	if f.service != nil && f.service.Spec.Type == corev1.ServiceTypeExternalName {
		return append(steps, stepf("Service", inspect.StepOK, f.ref(),
			"the Service %s is of type ExternalName: it stands for the DNS name %s, and has no endpoints: calls for it are refused, so no ServiceProfile may send traffic to it", name, short(f.service.Spec.ExternalName))), true
	}
	steps = append(steps, stepf("Service", inspect.StepOK, f.ref(), "the Service %s exists, %s", name, addressesOf(f)))
	return append(steps, portSteps(f)...), false
}

// missingService suggests another name in the namespace, or the namespaces that have the name.
func missingService(f *facts) inspect.Step {
	hint := suggestSimilar(f.query.Name, f.names)
	if _, similar := mostSimilar(f.query.Name, f.names); !similar && len(f.elsewhere) > 0 {
		hint = ": there is one of that name in another namespace: " + sanitize.List(f.elsewhere, maxHolders, sanitize.Name)
	}
	return stepf("Service", inspect.StepWrong, f.ref(), "there is no Service %s/%s%s", f.query.Namespace, f.query.Name, hint)
}

func addressesOf(f *facts) string {
	if len(f.known.ClusterIPs) == 0 {
		return "is headless, and has the ports " + portList(f.known)
	}
	var ips []string
	for _, ip := range f.known.ClusterIPs {
		ips = append(ips, ip.String())
	}
	return "with " + strings.Join(ips, " and ") + ", and has the ports " + portList(f.known)
}

func portList(s *catalog.Service) string {
	var all []string
	for _, p := range s.Ports {
		if all = append(all, PortText(p)); len(all) == maxShown {
			all = append(all, "…")
			break
		}
	}
	return "[" + strings.Join(all, " ") + "]"
}

// PortText returns a port of a Service, such as "http:80" or "dns:53/UDP".
func PortText(p catalog.ServicePort) string {
	text := fmt.Sprint(p.Port)
	if p.Name != "" {
		text = p.Name + ":" + text
	}
	if p.Protocol != catalog.TCP {
		text += "/" + string(p.Protocol)
	}
	return text
}

func portSteps(f *facts) []inspect.Step {
	port := cmp.Or(f.query.PortName, fmt.Sprint(f.query.Port))
	if port == "0" {
		return nil
	}
	declared := slices.IndexFunc(f.known.Ports, func(p catalog.ServicePort) bool { return f.query.WantsPort(p.Port, p.Name) })
	if declared < 0 {
		return []inspect.Step{stepf("Port", inspect.StepWrong, f.ref(),
			"the Service doesn't declare port %s (it has %s): ask for one that it has, or add the port to spec.ports", port, portList(f.known))}
	}
	if p := f.known.Ports[declared]; len(f.ports) == 0 {
		return []inspect.Step{stepf("Port", inspect.StepWrong, f.ref(),
			"the Service has port %s for %s only, and meshed clients speak TCP", port, p.Protocol)}
	}
	return nil
}

// memberSteps returns the members of a remote or federated Service.
func memberSteps(f *facts) []inspect.Step {
	if len(f.ports) == 0 {
		return nil
	}
	var steps []inspect.Step
	for _, m := range f.ports[0].explanation.Members {
		name := fmt.Sprintf("%s/%s", m.Key.Namespace, m.Key.Name)
		ref, where := serviceRef(m.Key), "in our own cluster"
		if m.Key.Cluster != catalog.LocalCluster {
			where = "in the cluster " + m.Key.Cluster
		}
		switch {
		case !m.Linked:
			steps = append(steps, stepf("Cluster", inspect.StepWrong, ref,
				"the member %s is in the cluster %s, which isn't linked: link it, or correct the name; signpost clusters lists the linked ones", name, m.Key.Cluster))
		case !m.Synced:
			steps = append(steps, stepf("Cluster", inspect.StepWrong, ref,
				"the member %s is in the cluster %s, which has not been read completely: signpost clusters says why", name, m.Key.Cluster))
		case m.Service == nil:
			steps = append(steps, stepf("Member", inspect.StepWrong, ref, "there is no Service %s %s: create it, or take it out of the members", name, where))
		case m.Service.ExternalName:
			steps = append(steps, stepf("Member", inspect.StepWrong, ref, "the member %s %s is of type ExternalName, and has no endpoints", name, where))
		default:
			steps = append(steps, stepf("Member", inspect.StepOK, ref, "the member %s exists %s", name, where))
		}
	}
	steps = append(steps, unreadableSteps(f)...)
	if len(steps) == 0 {
		steps = append(steps, stepf("Member", inspect.StepWrong, f.ref(),
			"the Service is remote or federated, and names no member: its labels or annotations multicluster.linkerd.io/… are incomplete"))
	}
	return steps
}

// unreadableSteps names the clusters of members whose changes can't be followed.
func unreadableSteps(f *facts) (steps []inspect.Step) {
	if f.unreadable == nil {
		return nil
	}
	seen := map[string]bool{}
	for _, m := range f.ports[0].explanation.Members {
		cluster := m.Key.Cluster
		if seen[cluster] || !m.Synced {
			continue
		}
		seen[cluster] = true
		if why := f.unreadable(cluster); why != "" {
			steps = append(steps, stepf("Cluster", inspect.StepNote, f.ref(), "the cluster %s can't be read %s: its last known endpoints are served; signpost clusters shows its state", cluster, why))
		}
	}
	return steps
}

// locationSteps says why responses depend on the zone or node of the client.
func locationSteps(f *facts) []inspect.Step {
	if f.known.LocalTraffic {
		return []inspect.Step{stepf("Place", inspect.StepNote, f.ref(), "internalTrafficPolicy is Local: a client only gets endpoints on its own node")}
	}
	hinted := func(e *destination.ResponseEndpoint) bool { return len(e.HintZones) > 0 }
	if slices.ContainsFunc(f.ports, func(w portExplanation) bool { return anyEndpoint(&w.response, hinted) }) {
		return []inspect.Step{stepf("Place", inspect.StepNote, f.ref(), "the slices have hints for zones: a client may only get the endpoints for its own zone")}
	}
	return nil
}

func streamSteps(f *facts) []inspect.Step {
	if f.allStreams == 0 {
		return []inspect.Step{stepf("Streams", inspect.StepNote, nil, "no client asks this process for the Service now")}
	}
	asking := counted(f.allStreams, "stream asks", "streams ask") + " this process for the Service"
	s := stepf("Streams", inspect.StepOK, nil, "%s, and all were sent the current state", asking)
	if f.allStreams == 1 {
		s.Text = asking + ", and was sent the current state"
	}
	behind := 0
	for i := range f.streams {
		o := &f.streams[i]
		state := "synced"
		if o.Behind() {
			state = "behind"
			behind++
		}
		s.More = append(s.More, fmt.Sprintf("%s: %s, %d endpoints, version %d of %d, %s", clientOf(o.Namespace, o.Pod, o.Peer.String()), o.Target, o.Endpoints, o.Sent, o.Current, state))
	}
	if n := f.allStreams - len(f.streams); n > 0 {
		s.More = append(s.More, fmt.Sprintf("and %d more", n))
	}
	if behind > 0 {
		s.State, s.Text = inspect.StepNote, fmt.Sprintf("%s, and at least %s behind at the moment", asking, counted(behind, "of them is", "of them are"))
	}
	return []inspect.Step{s}
}

// clientOf returns the client by its token, which is untrusted.
func clientOf(namespace, pod, peer string) string {
	if pod == "" && namespace == "" {
		return peer
	}
	return short(namespace+"/"+pod) + " at " + peer
}

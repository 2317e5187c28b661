package service

import (
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns/source"
)

// headless returns the targets of a headless Service: the addresses of its pods, for the name
// itself and, for pods with a hostname, for a name below it. The error means that the pods have not
// been read yet.
func (e *evaluation) headless() (nameTargets, error) {
	if err := e.reader.Waiting.For(e.svc.Key, e.pods); err != nil {
		return nameTargets{}, err
	}
	a := nameTargets{below: map[string][]string{}}
	list := e.slices.ByIndex(byService, e.svc.Key.String())
	slices.SortFunc(list, func(a, b *slice) int { return strings.Compare(a.name, b.name) })
	for _, sl := range list {
		if !sl.addresses && e.published() == podIP {
			continue
		}
		for i := range sl.endpoints {
			e.addEndpoint(&a, sl, &sl.endpoints[i])
		}
	}
	a.targets = sorted(a.targets)
	for label, targets := range a.below {
		a.below[label] = sorted(targets)
	}
	return a, nil
}

// podIP is the default address type of a pod.
const podIP = "PodIP"

// published returns which address of a pod is published: podIP, hostIP or nodeExternalIP.
func (e *evaluation) published() string {
	switch {
	case e.svc.Annotations.EndpointsType == nodeExternalIP:
		return nodeExternalIP
	case e.svc.Annotations.EndpointsType == hostIP, e.config.PublishHostIP:
		return hostIP
	default:
		return podIP
	}
}

func (e *evaluation) addEndpoint(a *nameTargets, sl *slice, end *endpoint) {
	if end.notReady && !e.svc.notReady && !e.config.PublishNotReady {
		return
	}
	if end.pod == "" {
		e.problem("an endpoint of EndpointSlice "+sl.name, addressText(end), "it doesn't refer to a Pod of the namespace, so it is left out; set its targetRef")
		return
	}
	p := e.pods.Get(e.svc.Key.Namespace, end.pod)
	if p == nil || !source.Selects(e.svc.selector, p.labels) {
		if !sl.managed {
			e.problem("an endpoint of EndpointSlice "+sl.name, end.pod, "the Service selects no pod of this name, so it is left out; check its targetRef")
		}
		return
	}
	targets := e.podTargets(p, end)
	a.targets = append(a.targets, targets...)
	if hostname := p.hostname(); hostname != "" {
		a.below[hostname] = append(a.below[hostname], targets...)
	}
}

func (e *evaluation) podTargets(p *pod, end *endpoint) []string {
	if targets := p.targets(); len(targets) > 0 {
		return targets
	}
	switch e.published() {
	case nodeExternalIP:
		return e.externalAddresses(p.node)
	case hostIP:
		return listOf(p.hostIP)
	}
	return listOf(addressText(end))
}

func addressText(end *endpoint) string {
	if !end.address.IsValid() {
		return ""
	}
	return end.address.String()
}

// externalAddresses returns the addresses of a node that are reachable from outside of the cluster.
func (e *evaluation) externalAddresses(of string) []string {
	if e.nodes == nil {
		e.problem("the annotation endpoints-type", nodeExternalIP, "nodes are read only if --service-type-filter has NodePort; add it")
		return nil
	}
	on := e.nodes.Get("", of)
	if on == nil {
		return nil
	}
	return e.reader.Settings.Public(on.addresses)
}

// sorted returns targets in a fixed order, without duplicates.
func sorted(targets []string) []string {
	slices.Sort(targets)
	return slices.Compact(targets)
}

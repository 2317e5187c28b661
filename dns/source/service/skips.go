package service

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dns/source"
)

// sharedSkips are reasons that many Services share.
type sharedSkips struct {
	otherType, nameless *source.Skip
	// ignored is for those whose annotation is ignored.
	ignored *source.Skip
}

// namelessOf returns the reason of a Service without a name.
func (s sharedSkips) namelessOf(svc *service) *source.Skip {
	if len(svc.Annotations.Hostnames) > 0 {
		return s.ignored
	}
	return s.nameless
}

func (s *services) sharedSkips() sharedSkips {
	nameless := s.reader.NoHostname(&source.Object{})
	ignored := s.reader.NoHostname(&source.Object{Annotations: &source.Annotations{Hostnames: []string{"a name"}}})
	return sharedSkips{
		otherType: &source.Skip{
			Reason: source.SkipFiltered, Subject: "spec.type",
			Message: "--service-type-filter has only " + strings.Join(s.config.Types, ", ") + ": add the type of the Service there",
		},
		nameless: &nameless, ignored: &ignored,
	}
}

// addMissing adds which names of a Service have no record, and why.
func (e *evaluation) addMissing(result *source.Result) {
	list, wanted := e.missing(len(result.Records) == 0)
	result.Skipped, result.Wanted = append(list, result.Skipped...), source.BoundedNames(wanted)
}

// missing returns which names of a Service have no record, and why. nothing is true if it has no
// record at all.
func (e *evaluation) missing(nothing bool) (list []source.Skip, wanted []string) {
	add := func(names []string, get func() (nameTargets, error), without func(string) source.Skip) {
		if len(names) == 0 {
			return
		}
		if a, err := get(); err == nil && a.none() {
			list, wanted = append(list, without(names[0])), append(wanted, names...)
		}
	}
	if !e.reader.Settings.IgnoreHostnameAnnotation {
		add(e.svc.Annotations.Hostnames, e.outside, e.withoutOutside)
		add(e.svc.Annotations.InternalHostnames, e.targetsInside, e.withoutInside)
	}
	if !nothing || len(list) > 0 {
		return list, wanted
	}
	if names, err := e.reader.Templates.Names(e.svc.FullObject); err == nil && len(names) > 0 {
		add(names, e.outside, e.withoutOutside)
		return list, wanted
	}
	if names := slices.Concat(e.svc.legacy.external, e.svc.legacy.internal); len(names) > 0 {
		without := "the Service has no address for the names of --compatibility=" + e.reader.Settings.Compatibility
		return []source.Skip{e.reader.NoTarget(names[0], without)}, names
	}
	return []source.Skip{e.reader.NoHostname(&e.svc.Object)}, nil
}

// withoutOutside says why a name for clients outside of the cluster has no targets.
func (e *evaluation) withoutOutside(name string) source.Skip {
	switch svc := e.svc; {
	case svc.of == corev1.ServiceTypeLoadBalancer:
		return e.reader.NoTarget(name, "status.loadBalancer has no address: wait until its controller has written one")
	case svc.of == corev1.ServiceTypeNodePort:
		return e.reader.NoTarget(name, e.withoutNodes())
	case svc.of == corev1.ServiceTypeExternalName:
		return e.reader.NoTarget(name, "spec.externalName is empty: write a name there")
	case svc.headless:
		return e.reader.NoTarget(name, e.withoutPods())
	default:
		return source.Skip{
			Reason: source.SkipNotPublished, Subject: "spec.type",
			Message: "a Service of type ClusterIP is only reached inside of the cluster: set --publish-internal-services, use the annotation internal-hostname instead of hostname, or change its type",
		}
	}
}

// withoutInside says why a name for clients inside of the cluster has no targets.
func (e *evaluation) withoutInside(name string) source.Skip {
	if e.svc.of == corev1.ServiceTypeLoadBalancer || e.svc.of == corev1.ServiceTypeClusterIP && !e.svc.headless {
		return e.reader.NoTarget(name, "spec.clusterIP is empty: wait until the Service has one")
	}
	return e.withoutOutside(name)
}

// withoutNodes says why a NodePort Service has no nodes.
func (e *evaluation) withoutNodes() string {
	kind := "an address"
	if access := e.svc.Annotations.Access; access == "public" || access == "private" {
		kind = "a " + access + " address, which the annotation access asks for"
	}
	if e.svc.local {
		return "spec.externalTrafficPolicy is Local, and no node with a pod of the Service has " + kind + ": wait until one runs, or give the node one"
	}
	return "no node that takes pods has " + kind + ": give one of them such an address"
}

// withoutPods says why a headless Service publishes no pod.
func (e *evaluation) withoutPods() string {
	endpoints, unready := 0, 0
	for _, sl := range e.slices.ByIndex(byService, e.svc.Key.String()) {
		endpoints += len(sl.endpoints)
		for i := range sl.endpoints {
			if sl.endpoints[i].notReady {
				unready++
			}
		}
	}
	switch {
	case endpoints == 0:
		return "the Service is headless and its EndpointSlices have no endpoints: see whether spec.selector selects a pod that runs"
	case unready == endpoints:
		return fmt.Sprintf("the Service is headless and none of its %d endpoints is ready: wait until one is, or set spec.publishNotReadyAddresses", endpoints)
	case e.published() != podIP:
		return "no ready pod of the Service has an address of the kind " + e.published() + ": change the annotation endpoints-type"
	default:
		return "the Service is headless and has no pod to publish: see whether its EndpointSlices refer to pods that it selects"
	}
}

package pod

import (
	"slices"

	"github.com/signpostd/signpost/dns/source"
)

// sharedSkips are reasons that many Pods share.
type sharedSkips struct {
	finished, ownNetwork, nameless *source.Skip
}

func (s *pods) sharedSkips() sharedSkips {
	nameless := s.reader.NoHostname(&source.Object{})
	return sharedSkips{
		finished: &source.Skip{
			Reason: source.SkipNotPublished, Subject: "status.phase", Message: "the Pod has finished, and only Pods that may run are published",
		},
		ownNetwork: &source.Skip{
			Reason: source.SkipNotPublished, Subject: "spec.hostNetwork",
			Message: "--ignore-non-host-network-pods leaves out Pods that don't use the network of their node: set the flag to false, or spec.hostNetwork to true",
		},
		nameless: &nameless,
	}
}

// addMissing adds which names of a Pod have no record, and why.
func (s *pods) addMissing(result *source.Result, obj *pod) {
	list, wanted := s.missing(obj, len(result.Records) == 0)
	result.Skipped, result.Wanted = append(list, result.Skipped...), source.BoundedNames(wanted)
}

// missing returns which names of a Pod have no record, and why. nothing is true if it has no record at all.
func (s *pods) missing(obj *pod, nothing bool) (list []source.Skip, wanted []string) {
	add := func(names []string, without string) {
		if len(names) > 0 {
			list, wanted = append(list, s.reader.NoTarget(names[0], without)), append(wanted, names...)
		}
	}
	targets := len(obj.Annotations.Targets) > 0
	if !targets && len(obj.own()) == 0 {
		add(slices.Concat(obj.Annotations.InternalHostnames, obj.kopsInternal), "status.podIP is empty: wait until the Pod has an address")
	}
	if len(s.nodeAddresses(obj)) == 0 {
		names := obj.kopsExternal
		if !targets {
			names = slices.Concat(obj.Annotations.Hostnames, names)
		}
		add(names, s.withoutNode(obj))
	}
	if nothing && len(list) == 0 {
		if names := len(obj.ips) == 0 && (s.config.Domain != "" || s.reader.Templates.HasNames()); names {
			return []source.Skip{s.reader.NoTarget(obj.Key.Name, "status.podIP is empty: wait until the Pod has an address")}, nil
		}
		return []source.Skip{s.reader.NoHostname(&obj.Object)}, nil
	}
	return list, wanted
}

// withoutNode says why a Pod has no address of its node.
func (s *pods) withoutNode(obj *pod) string {
	switch {
	case obj.node == "":
		return "the Pod has no node yet, and the annotation hostname stands for the addresses of its node: wait until it is scheduled"
	case s.nodes.Get("", obj.node) == nil:
		return "there is no Node " + obj.node + ", whose addresses the annotation hostname stands for: wait until it exists"
	default:
		return "Node " + obj.node + " has no external address, and the annotation hostname stands for those: use the annotation internal-hostname for the address of the Pod"
	}
}

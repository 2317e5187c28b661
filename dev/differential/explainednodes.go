package main

import (
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// podsOfDeletedNodeStay: the own node was deleted or created, and nothing differs but endpoints on it:
// Signpost has all that Kubernetes has, in a zone that the node has or had.
func podsOfDeletedNodeStay(c circumstances) bool {
	zones := zonesOfOwnNode(c.played)
	if c.kind != kindSlice || len(zones) == 0 || lasts(compare(c.inKubernetes.withoutOwnNode().outputs(), c.inSignpost.withoutOwnNode().outputs()), c.key()) {
		return false
	}
	theirs, ours := c.inKubernetes.onOwnNode(c.service), c.inSignpost.onOwnNode(c.service)
	for address := range theirs {
		if _, has := ours[address]; !has {
			return false
		}
	}
	for _, zone := range ours {
		if !slices.Contains(zones, zone) {
			return false
		}
	}
	return true
}

// zonesOfOwnNode returns the zones that endpoints on the own node may be in with Signpost: the last one, and
// the one before if the node was created without a zone. There are none if the node was never deleted.
func zonesOfOwnNode(played []step) []string {
	operations := slices.Concat(played...)
	if !slices.Contains(operations, operation(deleteNode{})) {
		return nil
	}
	var zones []string
	for _, o := range operations {
		made, ok := o.(createNode)
		switch {
		case !ok:
		case made.zone == "":
			zones = append(zones, "")
		default:
			zones = []string{made.zone}
		}
	}
	return zones
}

func isOnOwnNode(e discoveryv1.Endpoint) bool {
	return e.NodeName != nil && strings.HasPrefix(*e.NodeName, ownNode+"-")
}

// onOwnNode returns the zones of the endpoints of a Service that are on the own node, by address.
func (w clusterState) onOwnNode(service string) map[string]string {
	found := map[string]string{}
	for _, s := range w.slices {
		for _, e := range s.Endpoints {
			if s.Labels[discoveryv1.LabelServiceName] != service || !isOnOwnNode(e) {
				continue
			}
			found[strings.Join(e.Addresses, ",")] = ""
			if e.Zone != nil {
				found[strings.Join(e.Addresses, ",")] = *e.Zone
			}
		}
	}
	return found
}

// withoutOwnNode returns the clusterState without endpoints on the own node, without hints, which depend on
// all endpoints, and without slices that then have no endpoint.
func (w clusterState) withoutOwnNode() clusterState {
	less := w
	less.slices = nil
	for _, s := range w.slices {
		s = s.DeepCopy()
		s.Endpoints = slices.DeleteFunc(s.Endpoints, isOnOwnNode)
		for i := range s.Endpoints {
			s.Endpoints[i].Hints = nil
		}
		if len(s.Endpoints) > 0 {
			less.slices = append(less.slices, s)
		}
	}
	return less
}

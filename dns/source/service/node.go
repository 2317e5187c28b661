package service

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// roleLabel is on the nodes that kOps publishes.
const roleLabel = "node-role.kubernetes.io/node"

type node struct {
	addresses     source.NodeAddresses
	unschedulable bool
	// hasRole is true for a node with the label of workers.
	hasRole bool
}

func trimNode(_ kube.Scope, obj *corev1.Node) (*node, []kube.Problem) {
	_, hasRole := obj.Labels[roleLabel]
	var p kube.Problems
	return &node{addresses: source.AddressesOf(&p, obj), unschedulable: obj.Spec.Unschedulable, hasRole: hasRole}, p.List()
}

package service

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

// tier says how well a pod can serve traffic to its node.
type tier uint8

const (
	notRunning tier = iota
	runningNotReady
	terminatingReady
	ready
)

// pod is a compact form of a Pod. It is empty for a finished Pod, or for an excluded namespace. Its
// size matters.
type pod struct {
	namespace, name string
	labels          objectmeta.Labels
	// node is the field of spec, and hostIP that of status.
	node, hostIP string
	// extra is nil if a pod has none of its fields.
	extra *podExtra
	// named is true if the hostname of a pod is its name, as for StatefulSets.
	named bool
	tier  tier
}

// podExtra has fields that few pods have.
type podExtra struct {
	// hostname is that of spec if it isn't the pod's name. targets is the annotation target.
	hostname string
	targets  []string
}

func (s *services) trimPod(scope kube.Scope, obj *corev1.Pod) (*pod, []kube.Problem) {
	finished := obj.Status.Phase == corev1.PodSucceeded || obj.Status.Phase == corev1.PodFailed
	if finished || !s.reader.Settings.Includes(obj.Namespace) {
		return emptyPod, nil
	}
	kept := &pod{
		namespace: scope.Intern(obj.Namespace), name: obj.Name,
		labels: kinds.Labels(scope, obj.Labels),
		node:   scope.Intern(obj.Spec.NodeName),
		hostIP: scope.Intern(obj.Status.HostIP),
		named:  obj.Spec.Hostname != "" && obj.Spec.Hostname == obj.Name,
		tier:   tierOf(obj),
	}
	var extra podExtra
	var p kube.Problems
	if !kept.named {
		extra.hostname = obj.Spec.Hostname
	}
	if len(obj.Annotations) > 0 {
		extra.targets = source.CutIn(&p, s.reader.Settings.ReadAnnotations(obj.Annotations).Targets, source.AddressLimit, "metadata.annotations")
	}
	if extra.hostname != "" || len(extra.targets) > 0 {
		kept.extra = &extra
	}
	return kept, p.List()
}

func (p *pod) hostname() string {
	if p.named {
		return p.name
	}
	if p.extra == nil {
		return ""
	}
	return p.extra.hostname
}

// targets returns the annotation target.
func (p *pod) targets() []string {
	if p.extra == nil {
		return nil
	}
	return p.extra.targets
}

// emptyPod is shared by all pods without any kept field.
var emptyPod = &pod{}

func tierOf(obj *corev1.Pod) tier {
	if obj.Status.Phase != corev1.PodRunning {
		return notRunning
	}
	for _, c := range obj.Status.Conditions {
		if c.Type != corev1.PodReady || c.Status != corev1.ConditionTrue {
			continue
		}
		if obj.DeletionTimestamp != nil {
			return terminatingReady
		}
		return ready
	}
	return runningNotReady
}

// namespaceKeys returns the key in the index byNamespace.
func (p *pod) namespaceKeys() []string {
	if p.tier == notRunning || p.node == "" {
		return nil
	}
	return []string{p.namespace}
}

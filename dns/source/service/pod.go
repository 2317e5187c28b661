package service

import (
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// tier says how good a pod is for having traffic sent to its node.
type tier uint8

const (
	notRunning tier = iota
	runningNotReady
	terminatingReady
	ready
)

// pod is what is kept of a Pod that has not finished. Of others, and of those in
// namespaces that don't count, the zero value is. Each field counts, in bytes.
type pod struct {
	namespace, name string
	labels          labelText
	// node is a field of spec, hostIP of status.
	node, hostIP string
	// extra is zero when a pod has nothing of it.
	extra unique.Handle[podExtra]
	// named is true when the pod has its name as its hostname, as those of StatefulSets.
	named bool
	tier  tier
}

// podExtra is what few pods have.
type podExtra struct {
	// hostname is that of spec when it isn't the pod's name; targets the annotation target, as
	// a list with commas.
	hostname, targets string
}

func (s *services) trimPod(scope kube.Scope, obj *corev1.Pod) (*pod, []kube.Problem) {
	finished := obj.Status.Phase == corev1.PodSucceeded || obj.Status.Phase == corev1.PodFailed
	if finished || s.elsewhere(obj.Namespace) {
		return nothing, nil
	}
	kept := &pod{
		namespace: scope.Intern(obj.Namespace), name: obj.Name,
		labels: labelText(scope.Intern(string(newLabelText(obj.Labels, obj.Name)))),
		node:   scope.Intern(obj.Spec.NodeName),
		hostIP: scope.Intern(obj.Status.HostIP),
		named:  obj.Spec.Hostname != "" && obj.Spec.Hostname == obj.Name,
		tier:   tierOf(obj),
	}
	var extra podExtra
	if !kept.named {
		extra.hostname = obj.Spec.Hostname
	}
	if len(obj.Annotations) > 0 {
		extra.targets = strings.Join(source.ReadAnnotations(obj.Annotations, s.settings.Prefixes).Targets, ",")
	}
	if extra != (podExtra{}) {
		kept.extra = unique.Make(extra)
	}
	return kept, nil
}

// hostname returns spec.hostname.
func (p *pod) hostname() string {
	if p.named {
		return p.name
	}
	return p.rest().hostname
}

// targets returns the annotation target.
func (p *pod) targets() []string { return source.SplitList(p.rest().targets) }

func (p *pod) rest() podExtra {
	if p.extra == (unique.Handle[podExtra]{}) {
		return podExtra{}
	}
	return p.extra.Value()
}

// nothing is kept of pods that don't count; they share it.
var nothing = &pod{}

// elsewhere reports whether a namespace doesn't count.
func (s *services) elsewhere(namespace string) bool {
	return !s.settings.Includes(namespace)
}

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

// namespaceKeys is for the index byNamespace.
func (p *pod) namespaceKeys() []string {
	if p.tier == notRunning || p.node == "" {
		return nil
	}
	return []string{p.namespace}
}

// asEndpoint returns what headless Services publish of a pod; asBackend what NodePort
// Services want to know. Both are zero for a nil pod.
func (p *pod) asEndpoint() pod {
	if p == nil {
		return pod{}
	}
	e := *p
	e.tier = notRunning
	return e
}

func (p *pod) asBackend() pod {
	if p == nil || p.tier == notRunning || p.node == "" {
		return pod{}
	}
	return pod{namespace: p.namespace, name: p.name, labels: p.labels, node: p.node, tier: p.tier}
}

package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

// Annotations of --compatibility=kops-dns-controller.
const (
	kopsExternal = "dns.alpha.kubernetes.io/external"
	kopsInternal = "dns.alpha.kubernetes.io/internal"
)

type pod struct {
	source.Object
	node string
	// ip is status.podIP and ips are status.podIPs.
	ip  string
	ips []string
	// kopsInternal and kopsExternal are the names in these annotations.
	kopsInternal, kopsExternal []string
}

// own returns the address of a Pod as a list.
func (p *pod) own() []string {
	if p.ip == "" {
		return nil
	}
	return []string{p.ip}
}

// atNode reports whether a Pod has names with the addresses of its node.
func (p *pod) atNode() bool {
	return p.node != "" && (len(p.kopsExternal) > 0 || p.Selected && len(p.Annotations.Hostnames) > 0 && len(p.Annotations.Targets) == 0)
}

func (s *pods) podKind() kube.Kind[pod] {
	kind := kube.Retrim(kinds.Pods(), kube.TrimOf(s.trim))
	if s.reader.Templates != nil {
		kind.Form = kube.Protobuf(corev1.AddToScheme, func() runtime.Object { return &corev1.PodList{} })
	}
	return kind
}

func (s *pods) trim(scope kube.Scope, obj *corev1.Pod) (*pod, []kube.Problem) {
	kept := &pod{Object: s.reader.Read(scope, obj)}
	finished := obj.Status.Phase == corev1.PodSucceeded || obj.Status.Phase == corev1.PodFailed
	switch {
	case !kept.Selected:
		return kept, nil
	case finished:
		kept.Exclude(s.skips.finished)
		return kept, nil
	case s.config.HostNetworkOnly && !obj.Spec.HostNetwork:
		kept.Exclude(s.skips.ownNetwork)
		return kept, nil
	}
	if s.reader.Settings.Compatibility == source.Kops {
		kept.kopsInternal = source.SplitList(obj.Annotations[kopsInternal])
		kept.kopsExternal = source.SplitList(obj.Annotations[kopsExternal])
	}
	if s.asksNothing(kept) {
		kept.Exclude(s.skips.nameless)
		return &pod{Object: kept.Object}, nil
	}
	kept.node, kept.ip = scope.Intern(obj.Spec.NodeName), obj.Status.PodIP
	var p kube.Problems
	for _, ip := range source.CutIn(&p, obj.Status.PodIPs, source.AddressLimit, "status.podIPs") {
		kept.ips = append(kept.ips, ip.IP)
	}
	return kept, p.List()
}

// asksNothing reports whether a Pod can't have a record, whatever its addresses are. Most Pods have
// none of our annotations.
func (s *pods) asksNothing(p *pod) bool {
	a := p.Annotations
	return s.config.Domain == "" && s.reader.Templates == nil &&
		len(a.Hostnames)+len(a.InternalHostnames)+len(a.Problems)+len(p.kopsInternal)+len(p.kopsExternal) == 0
}

type node struct {
	name      string
	addresses source.NodeAddresses
}

func nodeKind() kube.Kind[node] {
	kind := kube.Retrim(kinds.Nodes(), kube.TrimOf(func(scope kube.Scope, obj *corev1.Node) (*node, []kube.Problem) {
		var p kube.Problems
		return &node{name: scope.Intern(obj.Name), addresses: source.AddressesOf(&p, obj)}, p.List()
	}))
	kind.Form = source.NodeForm(nil)
	return kind
}

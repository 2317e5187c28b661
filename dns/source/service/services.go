package service

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

type services struct {
	config Config
	reader *source.Reader
	types  []corev1.ServiceType

	skips sharedSkips
	table *kube.Table[service]
	// slices, pods and nodes are nil if no Service of a selected type needs them.
	slices *kube.Table[slice]
	pods   *kube.Table[pod]
	nodes  *kube.Table[node]
	// hosts is nil if hostnames of load balancers aren't looked up.
	hosts *lookups
}

// Indexes. bySelector has Services by a label of their selector, byNodes those that depend on
// nodes, byHost those with a name to look up. byService has slices by their Service, and
// byNamespace pods by their namespace.
const (
	bySelector  = "selector"
	byNodes     = "nodes"
	byHost      = "host"
	byService   = "service"
	byNamespace = "namespace"
)

// anyNode is the only key in the index byNodes.
const anyNode = "any"

func newServices(c Config, in source.Input, types []corev1.ServiceType) *services {
	s := &services{config: c, types: types}
	s.reader = source.NewReader(in, source.Subject{
		Kind: corev1.SchemeGroupVersion.WithKind("Service"), Label: name, NamedByAnnotation: true,
	})
	s.skips = s.sharedSkips()
	headless, nodePort := needs(types)
	if c.ResolveHostnames {
		s.hosts = newLookups(c.resolver,
			func(host string) bool { return len(s.table.ByIndex(byHost, host)) > 0 },
			func(host string) { source.NotifyAll(s.reader.Changed, s.table.ByIndex(byHost, host)) })
	}
	s.table = s.serviceTable()
	if headless {
		s.slices = s.sliceTable()
	}
	if headless || nodePort {
		s.pods = s.podTable()
	}
	if nodePort {
		s.nodes = s.nodeTable()
	}
	return s
}

// run runs the background work of the source.
func (s *services) run(ctx context.Context) error {
	var lookups sync.WaitGroup
	if s.hosts != nil {
		lookups.Go(func() { s.hosts.run(ctx) })
	}
	defer lookups.Wait()
	return s.reader.Waiting.Run(ctx)
}

func (s *services) serviceTable() *kube.Table[service] {
	return kube.Retrim(kinds.Services(), kube.TrimOf(s.trimService)).Table(
		kube.WithIndex(bySelector, (*service).selectorKeys),
		kube.WithIndex(byNodes, (*service).nodeKeys),
		kube.WithIndex(byHost, func(svc *service) []string { return svc.lookedUp }),
		kube.WithHandler(s.serviceChanged),
		source.Notify[service](s.reader.Changed),
	)
}

func (s *services) sliceTable() *kube.Table[slice] {
	return kube.Retrim(kinds.EndpointSlices(), kube.TrimOf(s.trimSlice)).Table(
		kube.WithIndex(byService, (*slice).serviceKeys), kube.WithHandler(s.sliceChanged),
	)
}

func (s *services) podTable() *kube.Table[pod] {
	kind := kube.Retrim(kinds.Pods(), kube.TrimOf(s.trimPod))
	kind.Form = kind.Form.Without("spec.containers", "spec.initContainers")
	return kind.Table(kube.WithIndex(byNamespace, (*pod).namespaceKeys), kube.WithHandler(s.podChanged))
}

func (s *services) nodeTable() *kube.Table[node] {
	kind := kube.Retrim(kinds.Nodes(), kube.TrimOf(trimNode))
	kind.Form = source.NodeForm(nil)
	return kind.Table(kube.WithHandler(func(_, _ *node) {
		// All Services that use nodes may depend on whether any node has an external address.
		source.NotifyAll(s.reader.Changed, s.table.ByIndex(byNodes, anyNode))
	}))
}

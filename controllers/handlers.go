package controllers

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/controllers/externalworkloads"
	"github.com/signpostd/signpost/controllers/membership"
	"github.com/signpostd/signpost/controllers/watched"
)

// The handlers of the tables. Each updates the membership, leader or not, and then passes the affected
// Services to the controllers (spec/endpoints.md §4).

func (s *Set) serviceChanged(old, current *corev1.Service) {
	key := nameOf(old, current)
	move(s.podIndex, key, current)
	move(s.externalWorkloadIndex, key, current)
	if s.endpointsController != nil {
		s.endpointsController.ServiceChanged(key)
	}
	if s.slicesController != nil {
		s.slicesController.ServiceChanged(key)
	}
	if s.mirroringController != nil {
		s.mirroringController.ServiceChanged(old, current)
	}
	if s.externalWorkloadController != nil {
		s.externalWorkloadController.ServiceChanged(key)
	}
}

func nameOf(old, current *corev1.Service) types.NamespacedName {
	service := cmp.Or(current, old)
	return types.NamespacedName{Namespace: service.Namespace, Name: service.Name}
}

func move[W any](index *membership.Index[W], key types.NamespacedName, current *corev1.Service) {
	switch {
	case index == nil:
	case current == nil:
		index.DeleteService(key)
	default:
		index.PutService(current)
	}
}

func (s *Set) podChanged(old, current *watched.Pod) {
	pod := cmp.Or(current, old)
	key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	services := replace(s.podIndex, key, old, current, (*watched.Pod).SameBesidesLabels)
	if s.endpointsController != nil {
		s.endpointsController.PodsChanged(pod.Namespace, services)
	}
	if s.slicesController != nil {
		s.slicesController.PodsChanged(pod.Namespace, services)
	}
}

func (s *Set) workloadChanged(old, current *externalworkloads.Workload) {
	workload := cmp.Or(current, old)
	key := types.NamespacedName{Namespace: workload.Namespace, Name: workload.Name}
	services := replace(s.externalWorkloadIndex, key, old, current, (*externalworkloads.Workload).SameEndpoint)
	s.externalWorkloadController.WorkloadsChanged(workload.Namespace, services)
}

// replace applies a workload's change to an index and returns the affected Services. The function same
// reports whether two versions differ at most in their labels.
func replace[W any](index *membership.Index[*W], key types.NamespacedName, old, current *W, same func(a, b *W) bool) []string {
	switch {
	case current == nil:
		return index.Delete(key)
	case old != nil && same(current, old):
		return index.Relabel(current)
	default:
		return index.Put(current)
	}
}

func (s *Set) nodeChanged(old, current *watched.Node) { s.slicesController.NodeChanged(old, current) }

func (s *Set) endpointsChanged(old, current *watched.EncodedEndpoints) {
	if s.endpointsController != nil {
		s.endpointsController.EndpointsChanged(old, current)
	}
	if s.mirroringController != nil {
		s.mirroringController.EndpointsChanged(old, current)
	}
}

func (s *Set) sliceChanged(old, current *watched.Slice) {
	if s.slicesController != nil {
		s.slicesController.SliceChanged(old, current)
	}
	if s.mirroringController != nil {
		s.mirroringController.SliceChanged(old, current)
	}
	if s.externalWorkloadController != nil {
		s.externalWorkloadController.SliceChanged(old, current)
	}
}

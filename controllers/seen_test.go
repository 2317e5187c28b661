package controllers_test

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/controllers/externalworkloads"
	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/kube"
)

// seen has tables that are filled after those of the set, from the same watches.
type seen struct {
	services  *kube.Table[corev1.Service]
	pods      *kube.Table[watched.Pod]
	endpoints *kube.Table[watched.EncodedEndpoints]
	slices    *kube.Table[watched.Slice]
	workloads *kube.Table[externalworkloads.Workload]
}

func (n *seen) tables() []kube.AnyTable {
	n.services, n.pods, n.endpoints = watched.Services().Table(), watched.Pods().Table(), watched.Endpoints().Table()
	n.slices, n.workloads = watched.EndpointSlices().Table(), externalworkloads.Workloads().Table()
	return []kube.AnyTable{n.services, n.pods, n.endpoints, n.slices, n.workloads}
}

// catchUp waits until the controllers have seen all objects of the namespace, except those of one resource,
// which may be empty.
func (s *fixture) catchUp(besides string) {
	s.Helper()
	s.eventually(func() error {
		for resource, err := range s.unseen(s.Context()) {
			if err != nil && resource != besides {
				return err
			}
		}
		return nil
	})
}

// unseen returns, by resource, the difference between the tables of the controllers and the API server.
func (s *fixture) unseen(ctx context.Context) map[string]error {
	all, unseen := metav1.ListOptions{}, map[string]error{}
	compare := func(resource string, live, known map[string]string) {
		if !maps.Equal(live, known) {
			unseen[resource] = fmt.Errorf("%s are %v, the controllers know %v", resource, live, known)
		}
	}
	services, err := s.client.CoreV1().Services(s.ns).List(ctx, all)
	s.must(err)
	compare("services", s.versionsByName(pointers(services.Items)), s.versionsByName(objects(s.seen.services.List())))
	endpoints, err := s.client.CoreV1().Endpoints(s.ns).List(ctx, all)
	s.must(err)
	compare("endpoints", s.versionsByName(pointers(endpoints.Items)), s.versionsByName(objects(s.seen.endpoints.List())))
	slices, err := s.client.DiscoveryV1().EndpointSlices(s.ns).List(ctx, all)
	s.must(err)
	compare("endpointslices", s.versionsByName(pointers(slices.Items)), s.versionsByName(objects(s.seen.slices.List())))

	pods, err := s.client.CoreV1().Pods(s.ns).List(ctx, all)
	s.must(err)
	live, known := map[string]string{}, map[string]string{}
	for _, p := range pods.Items {
		live[p.Name] = string(p.UID) + p.Status.PodIP
	}
	for _, p := range s.seen.pods.List() {
		if p.Namespace == s.ns {
			known[p.Name] = p.UID + p.IP
		}
	}
	compare("pods", live, known)

	workloads, err := s.external().List(ctx, all)
	s.must(err)
	live, known = map[string]string{}, map[string]string{}
	for _, w := range workloads.Items {
		live[w.GetName()] = string(w.GetUID())
	}
	for _, w := range s.seen.workloads.List() {
		if w.Namespace == s.ns {
			known[w.Name] = w.UID
		}
	}
	compare("externalworkloads", live, known)
	return unseen
}

// versionsByName returns the versions of the objects of the namespace.
func (s *fixture) versionsByName(list []versionedObject) map[string]string {
	signs := map[string]string{}
	for _, o := range list {
		if o.GetNamespace() == s.ns {
			signs[o.GetName()] = o.GetResourceVersion()
		}
	}
	return signs
}

func pointers[T any, P interface {
	*T
	metav1.Object
}](items []T) []versionedObject {
	var list []versionedObject
	for i := range items {
		list = append(list, P(&items[i]))
	}
	return list
}

// versionedObject has the fields that identify a version of an object.
type versionedObject interface {
	GetNamespace() string
	GetName() string
	GetResourceVersion() string
}

func objects[T versionedObject](items []T) []versionedObject {
	var list []versionedObject
	for _, o := range items {
		list = append(list, o)
	}
	return list
}

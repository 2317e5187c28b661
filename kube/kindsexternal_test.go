package kube_test

import (
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

func init() {
	kube.Services, kube.Pods, kube.Nodes = kinds.Services, kinds.Pods, kinds.Nodes
	kube.Servers, kube.ServiceProfiles = kinds.Servers, kinds.ServiceProfiles
	kube.CatalogTables = func(sink kube.Sink, from kube.EndpointsFrom) []kube.AnyTable {
		return kinds.CatalogTables(sink, kinds.EndpointsFrom(from))
	}
}

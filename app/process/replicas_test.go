package process

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// catalogWith returns a catalog with a slice of pods that our pod "signpost-a-1" of the namespace
// linkerd is in.
func catalogWith(t *testing.T, pods ...*catalog.Workload) *catalog.Catalog {
	t.Helper()
	known := catalog.New(catalog.Options{})
	slice := &catalog.EndpointSlice{Cluster: catalog.LocalCluster, Namespace: "linkerd", Name: "signpost-1", AddressType: catalog.IPv4}
	slice.Subsets = []catalog.Subset{{}}
	for _, w := range pods {
		known.Put(w)
		slice.Subsets[0].Endpoints = append(slice.Subsets[0].Endpoints, catalog.SliceEndpoint{Target: w.Key})
	}
	known.Put(slice)
	known.MarkSynced()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- known.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	<-known.Synced()
	return known
}

func replicaPod(namespace, name, hash, account string) *catalog.Workload {
	return &catalog.Workload{
		Key:    catalog.WorkloadKey{Kind: catalog.Pod, Cluster: catalog.LocalCluster, Namespace: namespace, Name: name},
		Labels: objectmeta.NewLabels(map[string]string{revisionLabel: hash}), Created: time.Unix(1000, 0).UTC(),
		Ready: true, Running: true, Node: "n1", ServiceAccount: account,
	}
}

// Replicas are the pods of our account in our slices, except finished ones and those of other
// accounts or namespaces. A pod that is being deleted isn't ready.
func TestReplicas(t *testing.T) {
	finished, leaving := replicaPod("linkerd", "signpost-a-4", "a", "signpost"), replicaPod("linkerd", "signpost-a-3", "a", "signpost")
	finished.Finished, leaving.Terminating = true, true
	known := catalogWith(t, replicaPod("linkerd", "signpost-a-1", "a", "signpost"), replicaPod("linkerd", "signpost-b-1", "b", "signpost"), leaving, finished,
		replicaPod("linkerd", "web", "a", "web"), replicaPod("shop", "signpost-a-5", "a", "signpost"))
	yes, no, created := true, false, time.Unix(1000, 0).UTC()
	want := []inspect.Replica{
		{Process: "signpost-a-1", Ready: &yes, Revision: "a", Node: "n1", Started: &created},
		{Process: "signpost-b-1", Ready: &yes, Revision: "b", Node: "n1", Started: &created},
		{Process: "signpost-a-3", Ready: &no, Revision: "a", Node: "n1", Started: &created},
	}
	if diff := cmp.Diff(want, replicasOf(known, "linkerd", "signpost-a-1")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := replicasOf(known, "", ""); got != nil {
		t.Errorf("without a pod of our own: %v", got)
	}
}

// A slice with a thousand pods of our account gives as many replicas as a status may have.
func TestReplicasAreBounded(t *testing.T) {
	var pods []*catalog.Workload
	for i := range 1000 {
		pods = append(pods, replicaPod("linkerd", fmt.Sprintf("signpost-a-%d", i), "a", "signpost"))
	}
	if got := replicasOf(catalogWith(t, pods...), "linkerd", "signpost-a-1"); len(got) != inspect.MaxReplicas {
		t.Errorf("%d replicas, want %d", len(got), inspect.MaxReplicas)
	}
}

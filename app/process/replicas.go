package process

import (
	"os"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/catalog"
)

// revisionLabel is on pods of a Deployment. Pods with the same value have the same pod template.
const revisionLabel = "pod-template-hash"

// replicas returns the pods of this installation: our own, and those with our service account that
// share an EndpointSlice with it. It is empty unless POD_NAME and POD_NAMESPACE name our pod.
func (d *discovery) replicas() []inspect.Replica {
	return replicasOf(d.known, os.Getenv("POD_NAMESPACE"), os.Getenv("POD_NAME"))
}

func replicasOf(known *catalog.Catalog, namespace, pod string) []inspect.Replica {
	key := catalog.WorkloadKey{Kind: catalog.Pod, Cluster: catalog.LocalCluster, Namespace: namespace, Name: pod}
	own, slices := known.FindWorkload(key)
	if own == nil {
		return nil
	}
	replicas := []inspect.Replica{replicaOf(own)}
	seen := map[catalog.WorkloadKey]bool{key: true}
	for _, target := range targetsOf(slices) {
		if len(replicas) == inspect.MaxReplicas {
			break
		}
		if seen[target] || target.Namespace != namespace {
			continue
		}
		seen[target] = true
		if w, _ := known.FindWorkload(target); w != nil && !w.Finished && w.ServiceAccount == own.ServiceAccount {
			replicas = append(replicas, replicaOf(w))
		}
	}
	return replicas
}

// targetsOf returns the pods of slices, with duplicates.
func targetsOf(slices []*catalog.EndpointSlice) (targets []catalog.WorkloadKey) {
	for _, s := range slices {
		for _, subset := range s.Subsets {
			for _, e := range subset.Endpoints {
				if e.Target.Kind == catalog.Pod {
					targets = append(targets, e.Target)
				}
			}
		}
	}
	return targets
}

func replicaOf(w *catalog.Workload) inspect.Replica {
	revision, _ := w.Labels.Get(revisionLabel)
	return inspect.Replica{Process: w.Key.Name, Ready: new(w.Ready && !w.Terminating), Revision: revision, Node: w.Node, Started: new(w.Created)}
}

package linked

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// M11: a connection that couldn't be made was never tried again, and the next one mixed its
// objects with those of the one before, so that what was deleted meanwhile would have stayed.
func TestConnectionsThatCantBeMade(t *testing.T) {
	api := kubetest.Start(t)
	other := kubetest.StartOwn(t, kubetest.Options{CRDs: "../../deploy/crds"})
	old, moved := api.Namespace(t), other.Namespace(t)
	applyService(t, api, old, "old")
	applyService(t, other.Cluster, moved, "moved")
	var refuse atomic.Int32
	refuse.Store(1)
	f := startWith(t, api, kinds.FromEndpointSlices, func(s *Set) {
		s.open = func(o kube.Options, tables ...kube.AnyTable) (*kube.Cluster, error) {
			if refuse.Add(-1) >= 0 {
				return nil, errors.New("no connection today")
			}
			return kube.New(o, tables...)
		}
	})
	secret := linkTo("east", api, t)
	f.create(secret)
	f.wantEvent("cluster-credentials-east", "Warning ClusterUnreadable", "no connection today")
	f.await("east", Synced, "")
	f.wantService("east", old, "old")

	refuse.Store(1)
	secret.Data[kubeconfigKey] = []byte(kubeconfigOf(t, other.Cluster, nil))
	f.update(secret)
	f.wantEvent("cluster-credentials-east", "Warning CredentialsUnusable", "stays in force: no connection today")
	f.wantService("east", moved, "moved")
	if _, ok := f.catalog.FindService(catalog.ServiceKey{Cluster: "east", Namespace: old, Name: "old"}); ok {
		t.Error("a Service of the old API server is still known")
	}
}

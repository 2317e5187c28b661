package linked

import (
	"fmt"
	"testing"

	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/kubetest"
)

// badToken makes a kubeconfig well-formed, and no good.
func badToken(c *api.Config) {
	for _, u := range c.AuthInfos {
		u.ClientCertificateData, u.ClientKeyData, u.Token = nil, nil, "wrong"
	}
}

// M7: well-formed credentials that don't work ended the connection that worked, and the cluster
// stayed frozen. M8: meanwhile, new domains were not told to the catalog.
func TestBadRotation(t *testing.T) {
	cluster := kubetest.Start(t)
	there := cluster.Namespace(t)
	applyService(t, cluster, there, "web")
	f := start(t, cluster)
	east := linkTo("east", cluster, t)
	good := east.Data[kubeconfigKey]
	f.create(east)
	f.await("east", Synced, "")

	t.Log("the old credentials stay in force, and their data flows")
	east.Data[kubeconfigKey] = []byte(kubeconfigOf(t, cluster, badToken))
	f.update(east)
	f.await("east", Synced, "the new kubeconfig doesn't work, and the one before stays in force: unauthorized")
	f.wantEvent("cluster-credentials-east", "Warning CredentialsUnusable", "stays in force: unauthorized")
	applyService(t, cluster, there, "later")
	f.wantService("east", there, "later")
	if n := f.gauge("linked_cluster_credentials_pending"); n != 1 {
		t.Errorf("linked_cluster_credentials_pending is %v, want 1", n)
	}

	t.Log("new domains hold at once")
	east.Annotations[trustDomainAnnotation] = "new.trust"
	f.update(east)
	f.wantCluster(catalog.Cluster{Name: "east", TrustDomain: "new.trust", ClusterDomain: "east.local", Synced: true})

	t.Log("also if they come with other credentials that don't work")
	east.Annotations[clusterDomainAnnotation] = "new.local"
	east.Data[kubeconfigKey] = []byte(kubeconfigOf(t, cluster, badToken) + "\n# again\n")
	f.update(east)
	f.wantCluster(catalog.Cluster{Name: "east", TrustDomain: "new.trust", ClusterDomain: "new.local", Synced: true})

	t.Log("credentials that work take over, with their domains and metrics")
	east.Annotations[trustDomainAnnotation] = "third.trust"
	east.Data[kubeconfigKey] = []byte(string(good) + "\n# rotated\n")
	f.update(east)
	f.awaitInForce("east")
	f.wantCluster(catalog.Cluster{Name: "east", TrustDomain: "third.trust", ClusterDomain: "new.local", Synced: true})
	applyService(t, cluster, there, "last")
	f.wantService("east", there, "last")
	if n := f.gauge("service_cache_size"); n < 3 {
		t.Errorf("service_cache_size is %v: the new connection has no metrics", n)
	}

	t.Log("who takes the change back needs no new connection")
	east.Data[kubeconfigKey] = []byte(kubeconfigOf(t, cluster, badToken))
	f.update(east)
	f.await("east", Synced, "stays in force")
	east.Data[kubeconfigKey] = []byte(string(good) + "\n# rotated\n")
	f.update(east)
	f.awaitInForce("east")
}

// awaitInForce waits until the newest credentials of a cluster are in force.
func (f *fixture) awaitInForce(name string) {
	f.t.Helper()
	kubetest.Eventually(f.t, soon, func() error {
		for _, s := range f.set.Status() {
			if s.Cluster == name && s.State == Synced && s.Reason == "" {
				return nil
			}
		}
		return fmt.Errorf("%+v", f.set.Status())
	})
}

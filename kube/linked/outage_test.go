package linked

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/childprocess"
	"github.com/signpostd/signpost/testkit/kubetest"
)

var outage = kubetest.NewOutage("linked.outage")

// A cluster that is down when it is linked, hangs, or dies and comes back costs the
// others nothing, keeps what was known of it, and is followed again soon after (Q21).
func TestClusterOutages(t *testing.T) {
	t.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "1")
	t.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "1")
	api := kubetest.Start(t)
	east := kubetest.StartOwn(t, kubetest.Options{RestartDelay: outage.Length(), CRDs: "../../deploy/crds"})
	here, there := api.Namespace(t), east.Namespace(t)
	applyService(t, api, here, "web")
	applyService(t, east.Cluster, there, "web")
	f := start(t, api)
	f.create(linkTo("west", api, t))
	f.wantCluster(catalog.Cluster{Name: "west", TrustDomain: "west.trust", ClusterDomain: "west.local", Synced: true})
	others := f.catalog.Service(catalog.ServiceKey{Cluster: "west", Namespace: here, Name: "web"})
	defer others.Release()

	t.Log("down when it is linked")
	east.Kill(kubetest.APIServer)
	f.create(linkTo("east", east.Cluster, t))
	f.await("east", Connecting, "unreachable")
	f.wantEvent("cluster-credentials-east", "Warning ClusterUnreadable", "unreachable")
	f.await("east", Synced, "")
	f.wantService("east", there, "web")

	t.Log("hangs")
	east.Stop(kubetest.APIServer)
	f.await("east", Stale, "")
	f.wantService("east", there, "web")
	applyService(t, api, here, "meanwhile")
	f.wantService("west", here, "meanwhile")
	f.create(linkTo("north", api, t))
	f.await("north", Synced, "")
	east.Continue(kubetest.APIServer)
	f.await("east", Synced, "")

	t.Log("dies, and comes back")
	east.Kill(kubetest.APIServer)
	f.await("east", Stale, "unreachable")
	f.wantService("east", there, "web")
	kubetest.Eventually(t, outage.Length()+30*time.Second, func() error {
		_, err := east.Client.CoreV1().Services(there).Get(t.Context(), "web", metav1.GetOptions{})
		return err
	})
	applyService(t, east.Cluster, there, "after")
	back := time.Now()
	kubetest.Eventually(t, outage.BackWithin(), func() error {
		if _, ok := f.catalog.FindService(catalog.ServiceKey{Cluster: "east", Namespace: there, Name: "after"}); !ok {
			return fmt.Errorf("the change has not arrived: %+v", f.set.Status())
		}
		return nil
	})
	t.Logf("after %v away, the change arrived %v after it could be made", outage.Length(), time.Since(back))

	select {
	case <-others.Stale():
		t.Error("another cluster's Service was touched")
	default:
	}

	t.Log("is unlinked while it hangs")
	east.Stop(kubetest.APIServer)
	defer east.Continue(kubetest.APIServer)
	f.remove(linkTo("east", east.Cluster, t))
	f.wantGone("east")
	f.create(linkTo("east", api, t))
	f.await("east", Synced, "")
}

// New credentials that lead to another API server replace everything in one step. Until the new
// server was read, the old one is followed (M7).
func TestClusterMoves(t *testing.T) {
	api := kubetest.Start(t)
	other := kubetest.StartOwn(t, kubetest.Options{CRDs: "../../deploy/crds"})
	old, moved := api.Namespace(t), other.Namespace(t)
	applyService(t, api, old, "old")
	applyService(t, other.Cluster, moved, "moved")
	f := start(t, api)
	secret := linkTo("east", api, t)
	f.create(secret)
	f.await("east", Synced, "")
	nobody, err := childprocess.Address()
	if err != nil {
		t.Fatal(err)
	}
	secret.Data[kubeconfigKey] = []byte(kubeconfigOf(t, api, func(c *clientcmdapi.Config) {
		for _, cluster := range c.Clusters {
			cluster.Server = "https://" + nobody
		}
	}))
	f.update(secret)
	f.await("east", Synced, "stays in force: unreachable: ")
	f.wantService("east", old, "old")
	applyService(t, api, old, "later")
	f.wantService("east", old, "later")
	secret.Data[kubeconfigKey] = []byte(kubeconfigOf(t, other.Cluster, nil))
	f.update(secret)
	f.wantService("east", moved, "moved")
	for _, name := range []string{"old", "later"} {
		if _, ok := f.catalog.FindService(catalog.ServiceKey{Cluster: "east", Namespace: old, Name: name}); ok {
			t.Errorf("the Service %s of the old API server is still known", name)
		}
	}
}

// A cluster whose credentials allow nothing says which rights are missing, and is used
// when they come.
func TestClusterForbids(t *testing.T) {
	api := kubetest.Start(t)
	there := api.Namespace(t)
	applyService(t, api, there, "web")
	f := start(t, api)
	user := "linked-" + there
	f.create(secretWith("east", kubeconfigAs(t, api, user)))
	f.await("east", Connecting, "the credentials lack the rights to list services, watch services, list endpointslices.discovery.k8s.io")
	f.wantEvent("cluster-credentials-east", "Warning ClusterUnreadable", "list pods")
	grant(t, api, user, requiredOnly)
	// What it may not read of the rest counts as absent.
	f.await("east", Synced, "")
	f.wantService("east", there, "web")
}

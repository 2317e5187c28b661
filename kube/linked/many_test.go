package linked

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/testkit/kubetest"
)

var many = flag.Int("linked.many", 20, "clusters that TestManyClusters links")

// TestManyClusters links many clusters of 200 pods each, and says what they cost: they
// are one API server under many names, each with connections of its own.
func TestManyClusters(t *testing.T) {
	const pods = 200
	api := kubetest.Start(t)
	there := api.Namespace(t)
	applyService(t, api, there, "web")
	var objects strings.Builder
	for i := range pods {
		fmt.Fprintf(&objects, "---\n{apiVersion: v1, kind: Pod, metadata: {name: web-%d, labels: {app: web, pod-template-hash: abc}}, spec: {containers: [{name: c, image: i}]}}\n", i)
	}
	api.Apply(t, objects.String(), there)
	f := start(t, api)
	goroutines, heap := settledUse(f)
	begun := time.Now()
	for i := range *many {
		f.create(linkTo(fmt.Sprint("c", i), api, t))
	}
	for i := range *many {
		f.await(fmt.Sprint("c", i), Synced, "")
	}
	took := time.Since(begun)
	kubetest.Eventually(t, soon, func() error {
		if n := f.gauge("linked_cluster_objects"); int(n) < *many*pods {
			return fmt.Errorf("%v objects", n)
		}
		return nil
	})
	nowGoroutines, nowHeap := useNow()
	n := *many
	t.Logf("%d clusters of %d pods: in sync after %v; each %d kB and %d goroutines",
		n, pods, took.Round(time.Millisecond), (nowHeap-heap)>>10/uint64(n), (nowGoroutines-goroutines)/n)
}

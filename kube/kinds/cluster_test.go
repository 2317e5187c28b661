package kinds

import (
	"testing"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube"
)

// TestDefaultNameIsThatOfOurCluster shows that the catalog treats objects of a cluster without a name as our
// own.
func TestDefaultNameIsThatOfOurCluster(t *testing.T) {
	if kube.DefaultName != catalog.LocalCluster {
		t.Errorf("kube.DefaultName is %q, want catalog.LocalCluster, %q", kube.DefaultName, catalog.LocalCluster)
	}
}

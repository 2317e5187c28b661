package etcdctl

import (
	"strings"
	"testing"
)

func TestNoCluster(t *testing.T) {
	t.Parallel()
	if _, err := URL(t.TempDir()); err == nil || !strings.Contains(err.Error(), "find etcd of the cluster in") {
		t.Errorf("URL of a directory without a cluster: %v", err)
	}
}

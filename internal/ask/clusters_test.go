package ask

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/kube/linked"
)

func TestRenderClusters(t *testing.T) {
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		all  []linked.Status
		want string
	}{
		"none": {want: "no cluster is linked\n"},
		"some": {
			all: []linked.Status{
				{Cluster: "east", Secret: "to-east", State: linked.Synced, Since: now.Add(-time.Hour), Server: "https://192.0.2.1:6443", TrustDomain: "east.example", Objects: 12},
				{Cluster: "west", Secret: "to-west", State: linked.Unusable, Since: now, Reason: "the key\nis missing"},
			},
			want: `CLUSTER  STATE     FOR     OBJECTS  SECRET   SERVER                  TRUST DOMAIN  REASON
east     synced    1h0m0s  12       to-east  https://192.0.2.1:6443  east.example  -
west     unusable  0s      0        to-west  -                       -             the key is missing
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := renderClusters(tc.all, now); got != tc.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tc.want)
			}
		})
	}
}

// What can't be answered says what to do.
func TestClustersNeedTheAdminServer(t *testing.T) {
	var out bytes.Buffer
	err := Clusters(t.Context(), ClustersOptions{Addr: "127.0.0.1:1", Timeout: time.Second}, &out)
	if err == nil || !strings.Contains(err.Error(), "--addr") {
		t.Errorf("nobody listens: %v", err)
	}
	if err := Clusters(t.Context(), ClustersOptions{Addr: "127.0.0.1:1"}, &out); err == nil || !strings.Contains(err.Error(), "--timeout") {
		t.Errorf("no timeout: %v", err)
	}
}

package inspectclient

import (
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/kube/linked"
)

func TestClusters(t *testing.T) {
	since := time.Now().Add(-time.Hour)
	one, two, none := destination(), destination(), destination()
	one.Clusters = []linked.Status{
		{Cluster: "west", Secret: "to-west", State: linked.Unusable, Since: since, Reason: "the key\nis missing"},
		{Cluster: "east", Secret: "to-east", State: linked.Synced, Since: since, Server: "https://192.0.2.1:6443", TrustDomain: "east.example", Objects: 12},
	}
	two.Clusters = one.Clusters[1:]
	none.Clusters = []linked.Status{}
	c, _ := newClient(t, one)
	a, err := c.Clusters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	check(t, "one process", printed(t, "table", a), `CLUSTER  STATE     FOR     OBJECTS  SECRET   SERVER                  TRUST DOMAIN  REASON
east     synced    1h0m0s  12       to-east  https://192.0.2.1:6443  east.example  -
west     unusable  1h0m0s  0        to-west  -                       -             the key is missing
`)
	if text := printed(t, "json", a); strings.Contains(text, `"process"`) || !strings.HasPrefix(text, "[\n  {\n    \"cluster\": \"east\"") {
		t.Errorf("JSON: %s", text)
	}
	c, _ = newClient(t, one, two)
	if a, err = c.Clusters(t.Context()); err != nil || len(a.Table.Rows) != 3 || a.Table.Rows[1][8] != "p1" {
		t.Errorf("two processes: %v, %q", err, a.Table.Rows)
	}
	c, _ = newClient(t, none)
	if a, err = c.Clusters(t.Context()); err != nil || printed(t, "table", a) != "no cluster is linked\n" {
		t.Errorf("none: %v, %q", err, a.Text)
	}
	c, _ = newClient(t, dnsProcess("leads"))
	if _, err = c.Clusters(t.Context()); err == nil || !strings.Contains(err.Error(), "no process that was asked has the role destination or xds") {
		t.Errorf("the role dns: %v", err)
	}
}

package kinds

import (
	"strings"
	"testing"

	"github.com/signpostd/signpost/kube"
)

// FuzzFederation checks that members have distinct, non-empty names for any annotation, and that each other
// fragment is a problem.
func FuzzFederation(f *testing.F) {
	for _, list := range []string{"", "a@west", "a@west,b@east", "a@west, a@west", "a", "@", "a@b@c", "a@local,,"} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		d := newFieldReader(kube.Scope{}, "ns", "x")
		got := d.federation(map[string]string{remoteDiscovery: list})
		seen := map[string]bool{}
		for _, m := range got.Remote {
			name := m.Service + "@" + m.Cluster
			if m.Service == "" || m.Cluster == "" || strings.Contains(m.Cluster, "@") || seen[name] || !strings.Contains(list, name) {
				t.Errorf("%q has the member %+v", list, m)
			}
			seen[name] = true
		}
		fragments := 0
		for fragment := range strings.SplitSeq(list, ",") {
			if strings.TrimSpace(fragment) != "" {
				fragments++
			}
		}
		if n := len(got.Remote) + len(d.List()); n > fragments+1 || fragments > 0 && n == 0 || len(got.Remote) > membersLimit {
			t.Errorf("%q: %d members and problems of %d fragments", list, n, fragments)
		}
	})
}

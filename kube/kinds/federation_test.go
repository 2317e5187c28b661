package kinds

import (
	"strings"
	"testing"

	"github.com/signpostd/signpost/kube"
)

// Whatever the annotations say, members have names and differ from each other, and each other
// fragment is a problem.
func FuzzFederation(f *testing.F) {
	for _, list := range []string{"", "a@west", "a@west,b@east", "a@west, a@west", "a", "@", "a@b@c", "a@local,,"} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		p := &problems{}
		got := federation(kube.Scope{}, map[string]string{remoteDiscovery: list}, p)
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
		if len(got.Remote)+len(p.list) > fragments || fragments > 0 && len(got.Remote)+len(p.list) == 0 {
			t.Errorf("%q: %d members and %d problems of %d fragments", list, len(got.Remote), len(p.list), fragments)
		}
	})
}

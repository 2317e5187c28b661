package catalog

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// The ports that a Server selects (§2.7): a number selects that port, a name all ports of that name. A
// hostPort is compared with the port of the pod (mesh finding 1).
func TestServerPorts(t *testing.T) {
	w := pod("a", func(w *Workload) {
		w.Ports = []WorkloadPort{{Name: "http", Port: 8080}, {Name: "http", Port: 8081, HostPort: 30081}, {Port: 9000}, {Name: "grpc", Port: 9001}}
	})
	for name, tc := range map[string]struct {
		server *Server
		want   PortSet
	}{
		"a number":                         {server: &Server{PortNumber: 1234}, want: PortSet{{1234, 1234}}},
		"G10 a name":                       {server: &Server{PortName: "grpc"}, want: PortSet{{9001, 9001}}},
		"a name of several, not of a host": {server: &Server{PortName: "http"}, want: PortSet{{8080, 8081}}},
		"a name of none":                   {server: &Server{PortName: "admin"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, NewPortSet(tc.server.appendPorts(nil, w))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func drawSelector() *rapid.Generator[*Selector] {
	key := rapid.SampledFrom([]string{"a", "b", "c"})
	value := rapid.SampledFrom([]string{"", "1", "2"})
	return rapid.Custom(func(t *rapid.T) *Selector {
		if rapid.IntRange(0, 4).Draw(t, "nil") == 0 {
			return nil
		}
		s := &Selector{}
		for range rapid.IntRange(0, 3).Draw(t, "requirements") {
			s.Requirements = append(s.Requirements, Requirement{
				Key:      key.Draw(t, "key"),
				Operator: rapid.SampledFrom([]Operator{In, NotIn, Exists, DoesNotExist}).Draw(t, "operator"),
				Values:   rapid.SliceOfN(value, 0, 2).Draw(t, "values"),
			})
		}
		return s
	})
}

func drawWorkload() *rapid.Generator[*Workload] {
	return rapid.Custom(func(t *rapid.T) *Workload {
		kind := rapid.SampledFrom([]WorkloadKind{Pod, ExternalWorkload}).Draw(t, "kind")
		labels := rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.SampledFrom([]string{"", "1", "2"})).Draw(t, "labels")
		return &Workload{Key: WorkloadKey{Kind: kind}, Labels: objectmeta.NewLabels(labels)}
	})
}

// The index finds the same Servers as comparing each of them, after any additions and removals (§2.7).
func TestServerIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var index serverIndex
		var all []*Server
		compare := func(t *rapid.T) {
			w := drawWorkload().Draw(t, "workload")
			got := map[*Server]bool{}
			for s := range index.matching(w) {
				got[s] = true
			}
			for i, s := range all {
				want := s.Opaque && s.selector(w.Key.Kind).Matches(w.Labels)
				if got[s] != want {
					t.Errorf("server %d: found %v, want %v", i, got[s], want)
				}
				delete(got, s)
			}
			if len(got) > 0 {
				t.Errorf("%d removed servers found", len(got))
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				s := &Server{
					Pods: drawSelector().Draw(t, "pods"), ExternalWorkloads: drawSelector().Draw(t, "external"),
					Opaque: rapid.IntRange(0, 3).Draw(t, "opaque") > 0,
				}
				all = append(all, s)
				index.add(s)
			},
			"remove": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip("none to remove")
				}
				i := rapid.IntRange(0, len(all)-1).Draw(t, "which")
				index.remove(all[i])
				all = slices.Delete(all, i, i+1)
			},
			"": compare,
		})
		for _, s := range all {
			index.remove(s)
		}
		if !index.empty() {
			t.Errorf("servers are left after all were removed: %v", index)
		}
	})
}

// A Server that selects one label is not compared with workloads without it, thanks to the index.
func TestServerIndexByLabel(t *testing.T) {
	var index serverIndex
	for name, s := range map[string]*Server{
		"one value":  {Opaque: true, Pods: having("a", "1")},
		"not opaque": {Pods: &Selector{}},
		"nil":        {Opaque: true},
	} {
		index.add(s)
		if len(index.unindexed) > 0 {
			t.Errorf("%s: is compared with every workload", name)
		}
	}
	if len(index.byLabel) != 1 {
		t.Errorf("%d labels are indexed, want 1", len(index.byLabel))
	}
}

package catalog

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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

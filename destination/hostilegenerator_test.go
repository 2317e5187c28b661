package destination

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	runtimemetrics "runtime/metrics"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// The additional pools of a hostile generator: texts and lists as the API server stores them, larger than the
// limits of package kinds.
var (
	hostileTexts     = []string{notUTF8, "", "\x00", strings.Repeat("a", 250_000), "a,b@c\n", "💥"}
	poolHostileNames = []string{notUTF8, "", "a,b@c\n", "east"}
	// hostileSizes are the lengths of hostile lists. Long ones are rare, because they are slow.
	hostileSizes = []int{0, 1, 2, 3, 3, 50, 50, 10_000}
)

// makeHostile makes a value hostile, except its name. An object has at most one huge text, because etcd
// limits its size.
func (w *generator) makeHostile(v catalog.Object) {
	huge := false
	text := func() string {
		s := pick(w, hostileTexts)
		if len(s) > 100 && huge {
			return notUTF8
		}
		huge = huge || len(s) > 100
		return s
	}
	switch v := v.(type) {
	case *catalog.Service:
		v.OpaquePorts = w.manyPorts()
		v.Ports = many(w, func(i int) catalog.ServicePort {
			return catalog.ServicePort{Name: text(), Port: uint16(80 + i%3), Protocol: pick(w, []catalog.Protocol{catalog.TCP, catalog.UDP, notUTF8})}
		})
		if v.Federation != nil {
			v.Federation.Remote = w.manyMembers()
		}
	case *catalog.EndpointSlice:
		v.GatewayIdentity, v.RemoteName, v.Mirror.Cluster = text(), text(), text()
		v.Subsets = append(v.Subsets, catalog.Subset{
			// The limits allow few ports with one name, because each is served with every endpoint.
			Ports: many(w, func(i int) catalog.SubsetPort {
				return catalog.SubsetPort{Name: portName(i / 2), Port: uint16(8080 + i%2)}
			}),
			Endpoints: many(w, func(int) catalog.SliceEndpoint { return w.hostileEndpoint() }),
		})
	case *catalog.Workload:
		v.Labels = objectmeta.NewLabels(map[string]string{"app": text(), catalog.ControlPlaneLabel: "linkerd", text(): text()})
		v.Ports = many(w, func(i int) catalog.WorkloadPort { return catalog.WorkloadPort{Name: "http", Port: uint16(8080 + i)} })
		v.OpaquePorts, v.SkipInboundPorts, v.ServiceAccount = w.manyPorts(), w.manyPorts(), text()
		v.IPs = append(v.IPs, v.IPs...)
		v.MeshTLS = catalog.MeshTLS{Identity: catalog.Identity{Name: text(), Form: catalog.IdentityForm(w.IntN(3))}, ServerName: text()}
	case *catalog.Server:
		v.PortNumber, v.PortName = 0, text()
		v.Pods = &catalog.Selector{Requirements: many(w, func(int) catalog.Requirement {
			return catalog.Requirement{Key: text(), Operator: catalog.NotIn, Values: []string{text()}}
		})}
	case *catalog.Owner:
		v.Parent = catalog.OwnerRef{Kind: text(), Name: text()}
	case *catalog.Node:
		v.Zone = text()
	case *catalog.Cluster:
		v.TrustDomain = text()
	case *catalog.ServiceProfile:
		for i := range v.Routes {
			v.Routes[i].Name = text()
		}
		v.DstOverrides = many(w, func(int) catalog.WeightedDst { return catalog.WeightedDst{Authority: text(), MilliWeight: 1} })
	}
}

// portName returns a name for each number. The first is the name of a Service port.
func portName(i int) string {
	if i == 0 {
		return "http"
	}
	return fmt.Sprint("http-", i)
}

func (w *generator) hostileEndpoint() catalog.SliceEndpoint {
	e := catalog.SliceEndpoint{Zone: pick(w, poolHostileNames), HintZones: []string{pick(w, poolHostileNames)}, Hostname: pick(w, poolHostileNames)}
	for range w.IntN(3) {
		e.Addresses = append(e.Addresses, netip.MustParseAddr(pick(w, poolIPs)))
	}
	e.Target = w.workloadKey()
	return e
}

// manyMembers draws members of a federated Service without repeats, within the limits, because the endpoints
// of a repeated member would be resolved twice.
func (w *generator) manyMembers() []catalog.RemoteMember {
	members := many(w, func(i int) catalog.RemoteMember {
		return catalog.RemoteMember{
			Service: pick(w, append(poolServices, notUTF8, fmt.Sprint("web-", i))), Cluster: pick(w, append(poolClusters, notUTF8)),
		}
	})
	seen := map[catalog.RemoteMember]bool{}
	return slices.DeleteFunc(members, func(m catalog.RemoteMember) bool {
		known := seen[m]
		seen[m] = true
		return known
	})
}

func (w *generator) manyPorts() *catalog.PortSet {
	set := catalog.NewPortSet(many(w, func(i int) catalog.PortRange {
		return catalog.PortRange{Low: uint16(3 * i), High: uint16(3*i + w.IntN(2))}
	}))
	return &set
}

// many returns a list of a hostile size.
func many[T any](w *generator, item func(i int) T) []T {
	list := make([]T, pick(w, hostileSizes))
	for i := range list {
		list[i] = item(i)
	}
	return list
}

// The limits of the CPU time and the allocations for one event of a hostile generator, including the checks
// of the model. The real costs are at most a tenth.
const (
	eventCPU   = 5 * time.Second
	eventBytes = 1 << 30
)

// budget is the CPU time and the allocations so far.
type budget struct {
	cpu   time.Duration
	bytes uint64
}

func spent() budget {
	var u syscall.Rusage
	// Getrusage only fails for invalid arguments.
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	sample := []runtimemetrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	runtimemetrics.Read(sample)
	return budget{cpu: time.Duration(u.Utime.Nano() + u.Stime.Nano()), bytes: sample[0].Value.Uint64()}
}

// check fails the test if an event has cost too much since the budget was taken.
func (b budget) check(t *testing.T, id catalog.ID) {
	t.Helper()
	now := spent()
	if cpu, bytes := now.cpu-b.cpu, now.bytes-b.bytes; cpu > eventCPU || bytes > eventBytes {
		t.Errorf("an event of %s/%s (kind %d) cost %s of CPU and %d MB", id.Namespace, id.Name, id.Kind, cpu, bytes>>20)
	}
}

// A hostile value has the ID of the original, so that it is a version of the same object.
func TestHostileObjectsKeepTheirIDs(t *testing.T) {
	w := &profileGenerator{generator{Rand: rand.New(rand.NewPCG(1, 1)), objects: map[catalog.ID]catalog.Object{}}}
	for range 300 {
		for _, v := range []catalog.Object{w.generator.object(), w.object()} {
			id := v.ID()
			w.makeHostile(v)
			if v.ID() != id {
				t.Fatalf("%v became %v", id, v.ID())
			}
		}
	}
}

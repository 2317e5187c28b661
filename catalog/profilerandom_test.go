package catalog

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The pools of random values are so small that cluster IPs, pod IPs, host IPs and those of ExternalWorkloads
// collide.
var (
	poolOfIPs   = rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2", "fd00::1"})
	poolOfNames = rapid.SampledFrom([]string{"a", "b"})
	poolOfPorts = rapid.SampledFrom([]uint16{80, 3306, 9999})
	poolOfLists = rapid.SampledFrom([]string{"", "80", "http", "1-4000", "-x"})
)

func drawIPs(t *rapid.T) []netip.Addr {
	return parseIPs(rapid.SliceOfN(poolOfIPs, 0, 2).Draw(t, "ips"))
}

// drawList draws an opaque-ports annotation, or none.
func drawList(t *rapid.T) *PortSet {
	list := rapid.Ptr(poolOfLists, true).Draw(t, "opaque ports")
	if list == nil {
		return nil
	}
	return portsOf(*list, WorkloadPort{Name: "http", Port: poolOfPorts.Draw(t, "http")})
}

func drawAddressed(t *rapid.T) Object {
	w := pod(poolOfNames.Draw(t, "pod"), labelled("app", poolOfNames.Draw(t, "app")))
	w.IPs, w.OpaquePorts = drawIPs(t), drawList(t)
	for range rapid.IntRange(0, 2).Draw(t, "ports") {
		w.Ports = append(w.Ports, WorkloadPort{Name: "http", Port: poolOfPorts.Draw(t, "port")})
	}
	w.Owner = rapid.SampledFrom([]OwnerRef{{}, {"ReplicaSet", "rs"}}).Draw(t, "owner")
	w.Created = time.Unix(rapid.Int64Range(0, 1).Draw(t, "created"), 0)
	if rapid.Bool().Draw(t, "external") {
		w.Key.Kind = ExternalWorkload
		return w
	}
	phase := rapid.IntRange(0, 5).Draw(t, "phase")
	w.Running, w.Finished, w.Terminating = phase > 1, phase == 1, rapid.Bool().Draw(t, "terminating")
	w.Ready = w.Running && rapid.Bool().Draw(t, "ready")
	w.HostNetwork = rapid.IntRange(0, 3).Draw(t, "host network") == 0
	if len(w.Ports) > 0 && rapid.Bool().Draw(t, "host port") {
		w.HostIPs, w.Ports[0].HostPort = drawIPs(t), poolOfPorts.Draw(t, "host port")
		if rapid.Bool().Draw(t, "at one address") {
			w.Ports[0].HostIP = netip.MustParseAddr(poolOfIPs.Draw(t, "host IP"))
		}
	}
	return w
}

func drawProfileSlice(t *rapid.T) Object {
	s := slice(poolOfNames.Draw(t, "slice"), poolOfNames.Draw(t, "service"), "")
	for range rapid.IntRange(0, 2).Draw(t, "endpoints") {
		e := at(poolOfIPs.Draw(t, "ip"), WorkloadKey{})
		e.NotReady = rapid.Bool().Draw(t, "not ready")
		e.Hostname = rapid.SampledFrom([]string{"", "h"}).Draw(t, "hostname")
		if kind := rapid.SampledFrom([]WorkloadKind{"", Pod, ExternalWorkload}).Draw(t, "target"); kind != "" {
			e.Target = WorkloadKey{kind, LocalCluster, testNamespace, poolOfNames.Draw(t, "target")}
		}
		s.Subsets[0].Endpoints = append(s.Subsets[0].Endpoints, e)
	}
	return s
}

func drawProfileObject(t *rapid.T) Object {
	switch rapid.IntRange(0, 7).Draw(t, "kind") {
	case 0:
		s := service(poolOfNames.Draw(t, "service"), ports(ServicePort{"http", poolOfPorts.Draw(t, "port"), TCP}))
		s.ClusterIPs, s.OpaquePorts = drawIPs(t), drawList(t)
		s.ExternalName = rapid.IntRange(0, 5).Draw(t, "external") == 0
		return s
	case 1:
		return profileOf(poolOfNames.Draw(t, "service"), rapid.SampledFrom([]string{testNamespace, "client"}).Draw(t, "namespace"))
	case 2:
		return owner("ReplicaSet", "rs", rapid.SampledFrom([]OwnerRef{{}, {"Deployment", "d"}}).Draw(t, "parent"))
	case 3:
		s := opaqueServer(poolOfNames.Draw(t, "server"), poolOfPorts.Draw(t, "port"), drawSelector().Draw(t, "pods"))
		s.ExternalWorkloads, s.Opaque = drawSelector().Draw(t, "external"), rapid.Bool().Draw(t, "opaque")
		s.PortName = rapid.SampledFrom([]string{"", "http"}).Draw(t, "named")
		return s
	case 4:
		return drawProfileSlice(t)
	default:
		return drawAddressed(t)
	}
}

// allQueries returns all queries of values from the pools.
func allQueries() []ProfileQuery {
	var all []ProfileQuery
	for _, port := range []uint16{80, 3306, 9999} {
		for _, ip := range []string{"10.0.0.1", "10.0.0.2", "fd00::1"} {
			all = append(all, queryIP(ip, port), edit(queryIP(ip, port), from("client")))
		}
		for _, name := range []string{"a", "b"} {
			all = append(all, queryService(name, port), queryService(name, port, from("client")), queryHostname(name, "h", port))
		}
	}
	return all
}

// describeAll formats all fields of a snapshot. Objects are compared by identity.
func describeAll(s *ProfileSnapshot) string {
	text := fmt.Sprintf("%s %s %p %+v", describeProfile(s), s.ConflictReason, s.Profile, s.Conflicts)
	if t := s.Target; t != nil {
		described := *t.Workload
		described.Ready = false // it may be out of date
		text += fmt.Sprintf(" %+v %s/%s", described, t.OwnerKind, t.OwnerName)
		for _, port := range []uint16{80, 3306, 9999} {
			text += fmt.Sprint(" ", t.Opaque(port))
		}
	}
	return text
}

// profileMachine is a catalog with open queries, and the objects that were put into it.
type profileMachine struct {
	*Catalog
	objects map[ID]Object
	live    map[ProfileQuery]*ProfileSnapshot
}

func (m *profileMachine) put(t *rapid.T) {
	v := drawProfileObject(t)
	m.objects[v.ID()] = v
	m.Put(v)
}

func (m *profileMachine) remove(t *rapid.T) {
	id := drawProfileObject(t).ID()
	delete(m.objects, id)
	m.Delete(id)
}

// compare applies pending changes, repeats stale queries, and compares the results with those of a new
// catalog with the same objects.
func (m *profileMachine) compare(t *rapid.T) {
	m.step()
	fresh := New(profileOptions)
	apply(fresh, slices.Collect(maps.Values(m.objects))...)
	for q, s := range m.live {
		if isClosed(s.Stale()) {
			s = m.Profile(q)
			m.live[q] = s
		}
		if got, want := describeAll(s), describeAll(fresh.Profile(q)); got != want {
			t.Errorf("%+v:\n got %s\nwant %s", q, got, want)
		}
	}
}

// After any changes, in steps of any size, a snapshot that isn't stale equals that of a new catalog with the
// same objects. In the end no state remains.
func TestProfileForgets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &profileMachine{New(profileOptions), map[ID]Object{}, map[ProfileQuery]*ProfileSnapshot{}}
		for _, q := range allQueries() {
			m.live[q] = m.Profile(q)
		}
		t.Repeat(map[string]func(*rapid.T){"put": m.put, "put more": m.put, "delete": m.remove, "step and ask": m.compare})
		m.compare(t)
		for id := range m.objects {
			m.Delete(id)
		}
		clear(m.objects)
		m.compare(t)
		for _, s := range m.live {
			s.Release()
		}
		if diff := cmp.Diff(map[string]int{}, profileSize(m.Catalog)); diff != "" {
			t.Errorf("left after everything was deleted (-want +got):\n%s", diff)
		}
	})
}

package catalog

import (
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// drawObject draws from so few names that objects collide.
func drawObject() *rapid.Generator[Object] {
	name := rapid.SampledFrom([]string{"a", "b"})
	key := rapid.Custom(func(t *rapid.T) WorkloadKey {
		kind := rapid.SampledFrom([]WorkloadKind{"", Pod, ExternalWorkload}).Draw(t, "target kind")
		if kind == "" {
			return WorkloadKey{}
		}
		return WorkloadKey{kind, LocalCluster, testNamespace, name.Draw(t, "target")}
	})
	ownerRef := rapid.SampledFrom([]OwnerRef{{}, {"ReplicaSet", "a"}, {"Job", "a"}, {"Deployment", "a"}})
	return drawCluster(rapid.Custom(func(t *rapid.T) Object {
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return service(name.Draw(t, "service"), drawMembers(t), func(s *Service) { s.LocalTraffic = rapid.Bool().Draw(t, "local") })
		case 1:
			return drawSlice(t, name, key)
		case 2:
			created := time.Unix(rapid.Int64Range(0, 3).Draw(t, "created"), 0)
			w := workload(WorkloadKey{Pod, LocalCluster, testNamespace, name.Draw(t, "workload")}, labelled("app", name.Draw(t, "app")))
			w.Owner, w.Created, w.Node = ownerRef.Draw(t, "owner"), created, name.Draw(t, "node")
			if rapid.Bool().Draw(t, "external") {
				w.Key.Kind = ExternalWorkload
			}
			return w
		case 3:
			return &Node{Cluster: LocalCluster, Name: name.Draw(t, "node"), Zone: rapid.SampledFrom([]string{"", "east", "west"}).Draw(t, "zone")}
		case 4:
			return &Owner{LocalCluster, testNamespace, rapid.SampledFrom([]OwnerRef{{"ReplicaSet", "a"}, {"Job", "a"}}).Draw(t, "owner"), ownerRef.Draw(t, "parent")}
		default:
			s := opaqueServer(name.Draw(t, "server"), 8080, drawSelector().Draw(t, "pods"))
			s.ExternalWorkloads, s.Opaque = drawSelector().Draw(t, "external"), rapid.Bool().Draw(t, "opaque")
			return s
		}
	}))
}

func drawSlice(t *rapid.T, name *rapid.Generator[string], key *rapid.Generator[WorkloadKey]) Object {
	s := slice(name.Draw(t, "slice"), name.Draw(t, "service"), rapid.SampledFrom([]AddressType{IPv4, IPv6, ""}).Draw(t, "family"))
	s.Subsets = append(s.Subsets, Subset{Ports: []SubsetPort{{"http", 9090}}})
	for i := range s.Subsets {
		for range rapid.IntRange(0, 3).Draw(t, "endpoints") {
			e := at(rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2", "fd00::1"}).Draw(t, "ip"), key.Draw(t, "target"))
			e.HintZones = rapid.SampledFrom([][]string{nil, {"east"}, {"west"}}).Draw(t, "hints")
			s.Subsets[i].Endpoints = append(s.Subsets[i].Endpoints, e)
		}
	}
	return s
}

// described has all fields of an endpoint as text.
type described struct {
	Address, Target, Owner string
	Opaque                 bool
	Source                 Source
}

func describe(s *Snapshot, f Filter) (EndpointSet, []described) {
	set := Resolve(s, Query{Port: 80, Filter: f, IPv6: true})
	var out []described
	for _, e := range set.Endpoints {
		line := described{Address: e.Addr.String() + " " + e.Zone, Source: *e.Source}
		if t := e.Target; t != nil {
			line.Target, line.Owner, line.Opaque = t.Key.Name+" "+t.Created.String(), t.OwnerKind+"/"+t.OwnerName, t.Opaque(8080)
		}
		out = append(out, line)
	}
	set.Endpoints = nil
	return set, out
}

// size counts the objects that the catalog keeps, by index.
func size(c *Catalog) map[string]int {
	m := map[string]int{
		"services": len(c.state.services), "slices": len(c.state.slices), "slicesOf": len(c.state.slicesOf),
		"namespaces": len(c.state.namespaces), "owners": len(c.state.owners), "ownedBy": len(c.state.ownedBy),
		"nodes": len(c.state.nodes), "servers": len(c.state.servers), "dirty": len(c.state.dirty), "moved": len(c.state.moved),
		"changes": len(c.inbox.changes), "snapshots": len(c.snapshots), "replaced": len(c.inbox.replaced),
		"waiting Servers": len(c.state.waiting.changes), "waiting namespaces": len(c.state.waiting.namespaces),
		"forgotten": len(c.state.forgotten), "clusters": len(c.state.clusters), "imported Services": len(c.state.imports.ofService), "importing": len(c.state.imports.ofCluster),
	}
	maps.DeleteFunc(m, func(_ string, n int) bool { return n == 0 })
	return m
}

// After any changes, in steps of any size with queries in between, results equal those of a new catalog with
// the same objects. A snapshot that isn't stale is correct. After all objects are deleted, no state remains.
func TestCatalogForgets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, objects := New(Options{}), map[ID]Object{}
		var held []*Snapshot
		if rapid.Bool().Draw(t, "few checks in a step") {
			c.MarkSynced()
			c.step()
			c.checksAtOnce = 1
		}
		ask := func(t *rapid.T) {
			fresh := stateOf(slices.Collect(maps.Values(objects))...)
			for _, name := range []string{"a", "b"} {
				got, want := c.Service(serviceKey(name)), fresh.snapshot(serviceKey(name), &Options{})
				held = append(held, got)
				if got.filterKind() != want.filterKind() {
					t.Errorf("%s: filter kind %v, want %v", name, got.filterKind(), want.filterKind())
				}
				for _, f := range []Filter{{}, {Kind: FilterZone, Zone: "east"}, {FilterNode, "east", "a"}} {
					gotSet, gotList := describe(got, f)
					wantSet, wantList := describe(want, f)
					if diff := cmp.Diff(wantSet, gotSet, cmpopts.EquateComparable(netip.Addr{})) + cmp.Diff(wantList, gotList); diff != "" {
						t.Errorf("%s with %v (-want +got):\n%s", name, f, diff)
					}
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				v := drawObject().Draw(t, "object")
				objects[v.ID()] = v
				c.Put(v)
			},
			"delete": func(t *rapid.T) {
				id := drawObject().Draw(t, "object").ID()
				delete(objects, id)
				c.Delete(id)
			},
			"replace": func(t *rapid.T) {
				cluster := rapid.SampledFrom(clusterNames).Draw(t, "replaced")
				maps.DeleteFunc(objects, func(id ID, _ Object) bool { return id.Cluster == cluster })
				var all []Object
				for range rapid.IntRange(0, 4).Draw(t, "objects") {
					v := inCluster(drawObject().Draw(t, "object"), cluster)
					objects[v.ID()] = v
				}
				for id, v := range objects {
					if id.Cluster == cluster {
						all = append(all, v)
					}
				}
				c.Replace(cluster, all)
			},
			"step":              func(*rapid.T) { c.step() },
			"apply all and ask": func(t *rapid.T) { applyAll(c); ask(t) },
			"release": func(*rapid.T) {
				if len(held) > 0 {
					held[0].Release()
					held = held[1:]
				}
			},
		})
		applyAll(c)
		ask(t)
		for id := range objects {
			c.Delete(id)
		}
		applyAll(c)
		for _, s := range held {
			s.Release()
		}
		if diff := cmp.Diff(map[string]int{}, size(c)); diff != "" {
			t.Errorf("left after everything was deleted (-want +got):\n%s", diff)
		}
	})
}

// A lookup of a missing Service leaves no state in the catalog.
func TestFindServiceLeavesNothing(t *testing.T) {
	c := started(service("web"))
	if _, ok := c.FindService(serviceKey("made-up")); ok {
		t.Error("found a missing Service")
	}
	if s, ok := c.FindService(serviceKey("web")); !ok || s.Key != serviceKey("web") {
		t.Errorf("found %v, %v", s, ok)
	}
	c.Node(LocalCluster, "made-up")
	if diff := cmp.Diff(map[string]int{"services": 1}, size(c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A Service that is deleted while a reader has its snapshot leaves no state. Otherwise memory would grow with
// each Service that is created and deleted.
func TestDeletedServiceIsForgotten(t *testing.T) {
	c := New(Options{})
	for _, name := range []string{"pr-1", "pr-2", "pr-3"} {
		apply(c, service(name))
		watched := c.Service(serviceKey(name))
		c.Delete(service(name).ID())
		c.step()
		if !isClosed(watched.Stale()) {
			t.Errorf("%s: not stale after it was deleted", name)
		}
		// The reader gets the current snapshot and releases it.
		watched.Release()
		c.Service(serviceKey(name)).Release()
	}
	if diff := cmp.Diff(map[string]int{}, size(c)); diff != "" {
		t.Errorf("left after everything was deleted (-want +got):\n%s", diff)
	}
}

// drawSelector draws a selector, or nil.
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

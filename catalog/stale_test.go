package catalog

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testObjects returns Services that depend on each other as little as possible:
//
//	web   pod a (ReplicaSet rs) and, missing yet, pod late
//	db    pod b (Job job)
//	both  pods a and b
//	vms   the ExternalWorkload vm
//	bare  an address without targetRef
//	empty no slices
func testObjects() []Object {
	return []Object{
		service("web"), service("db"), service("both"), service("vms"), service("bare"), service("empty"),
		slice("web-1", "web", IPv4, at("10.0.0.1", podKey("a")), at("10.0.0.9", podKey("late"))),
		slice("db-1", "db", IPv4, at("10.0.0.2", podKey("b"))),
		slice("both-1", "both", IPv4, at("10.0.0.1", podKey("a")), at("10.0.0.2", podKey("b"))),
		slice("vms-1", "vms", IPv4, at("10.0.0.3", externalKey("vm"))),
		slice("bare-1", "bare", IPv4, at("10.0.0.4", WorkloadKey{})),
		pod("a", labelled("app", "web"), owned("ReplicaSet", "rs")),
		pod("b", labelled("app", "db"), owned("Job", "job")),
		workload(externalKey("vm"), labelled("app", "vm")),
		opaqueServer("srv-web", 80, having("app", "web")),
		&Server{Cluster: LocalCluster, Namespace: testNamespace, Name: "srv-transparent", Pods: &Selector{}, PortNumber: 80},
		&Node{Cluster: LocalCluster, Name: "n1", Zone: "east"},
	}
}

var testServices = []string{"both", "bare", "db", "empty", "missing", "vms", "web"}

// staleCase is a change and the Services that it affects.
type staleCase struct {
	put    []Object
	remove []ID
	want   []string
}

// inOtherCluster moves an object to another cluster.
func inOtherCluster(v Object) Object {
	switch v := v.(type) {
	case *Workload:
		v.Key.Cluster = "west"
	case *Service:
		v.Key.Cluster = "west"
	case *Server:
		v.Cluster = "west"
	case *Owner:
		v.Cluster = "west"
	}
	return v
}

func externalServer(name string, s *Selector) *Server {
	return &Server{Cluster: LocalCluster, Namespace: testNamespace, Name: name, ExternalWorkloads: s, PortNumber: 80, Opaque: true}
}

var staleCases = map[string]staleCase{
	"nothing":                            {},
	"a Service":                          {put: []Object{service("web")}, want: []string{"web"}},
	"a Service without slices":           {put: []Object{service("empty")}, want: []string{"empty"}},
	"a Service with a snapshot":          {put: []Object{service("missing")}, want: []string{"missing"}},
	"a Service without a snapshot":       {put: []Object{service("new")}},
	"a Service of another cluster":       {put: []Object{inOtherCluster(service("web"))}},
	"a Service deleted":                  {remove: []ID{service("web").ID()}, want: []string{"web"}},
	"a slice":                            {put: []Object{slice("web-1", "web", IPv4)}, want: []string{"web"}},
	"a new slice":                        {put: []Object{slice("web-2", "web", IPv6)}, want: []string{"web"}},
	"a slice of no Service":              {put: []Object{slice("x", "nobody", IPv4, at("10.0.0.1", podKey("a")))}},
	"a slice deleted":                    {remove: []ID{slice("web-1", "", "").ID()}, want: []string{"web"}},
	"a slice that changes its Service":   {put: []Object{slice("web-1", "empty", IPv4)}, want: []string{"empty", "web"}},
	"a pod":                              {put: []Object{pod("b")}, want: []string{"both", "db"}},
	"a pod deleted":                      {remove: []ID{podKey("a").ID()}, want: []string{"both", "web"}},
	"Q13 a pod that was missing":         {put: []Object{pod("late")}, want: []string{"web"}},
	"a pod in no slice":                  {put: []Object{pod("c")}},
	"a pod of another cluster":           {put: []Object{inOtherCluster(pod("a"))}},
	"an ExternalWorkload":                {put: []Object{workload(externalKey("vm"))}, want: []string{"vms"}},
	"an ExternalWorkload named as a pod": {put: []Object{workload(externalKey("a"))}},
	"an owner appears":                   {put: []Object{owner("ReplicaSet", "rs", OwnerRef{"Deployment", "web"})}, want: []string{"both", "web"}},
	"an owner of another kind":           {put: []Object{owner("Job", "rs", OwnerRef{"CronJob", "x"})}},
	"an owner of another cluster":        {put: []Object{inOtherCluster(owner("ReplicaSet", "rs", OwnerRef{"Deployment", "web"}))}},
	"an owner deleted":                   {remove: []ID{owner("Job", "job", OwnerRef{}).ID()}, want: []string{"both", "db"}},
	"a Server of one workload":           {put: []Object{opaqueServer("new", 80, having("app", "db"))}, want: []string{"both", "db"}},
	"a Server of all pods":               {put: []Object{opaqueServer("new", 80, &Selector{})}, want: []string{"both", "db", "web"}},
	"a Server of all ExternalWorkloads":  {put: []Object{externalServer("new", &Selector{})}, want: []string{"vms"}},
	"a Server that selects nothing":      {put: []Object{opaqueServer("new", 80, having("app", "none"))}},
	"a Server without selectors":         {put: []Object{opaqueServer("new", 80, nil)}},
	"a Server of another protocol":       {put: []Object{&Server{Cluster: LocalCluster, Namespace: testNamespace, Name: "new", Pods: &Selector{}}}},
	"a Server of another cluster":        {put: []Object{inOtherCluster(opaqueServer("new", 80, &Selector{}))}},
	"a Server of another port":           {put: []Object{opaqueServer("srv-web", 81, having("app", "web"))}, want: []string{"both", "web"}},
	"G9 a Server's selector moves away":  {put: []Object{opaqueServer("srv-web", 80, having("app", "none"))}, want: []string{"both", "web"}},
	"a Server's selector moves":          {put: []Object{opaqueServer("srv-web", 80, having("app", "db"))}, want: []string{"both", "db", "web"}},
	"a Server becomes opaque":            {put: []Object{opaqueServer("srv-transparent", 80, having("app", "db"))}, want: []string{"both", "db"}},
	"a Server deleted":                   {remove: []ID{opaqueServer("srv-web", 0, nil).ID()}, want: []string{"both", "web"}},
	"a Server deleted that did nothing":  {remove: []ID{opaqueServer("srv-transparent", 0, nil).ID()}},
	"a node is relabelled":               {put: []Object{&Node{Cluster: LocalCluster, Name: "n1", Zone: "west"}}},
	"a node appears":                     {put: []Object{&Node{Cluster: LocalCluster, Name: "n2", Zone: "west"}}},
	"a node deleted":                     {remove: []ID{(&Node{Cluster: LocalCluster, Name: "n1"}).ID()}},
	"two changes in one step":            {put: []Object{service("bare"), pod("late")}, want: []string{"bare", "web"}},
	"objects deleted that never were": {remove: []ID{
		podKey("x").ID(), service("x").ID(), slice("x", "", "").ID(), owner("Job", "x", OwnerRef{}).ID(), opaqueServer("x", 0, nil).ID(),
	}},
}

// A change makes the snapshots of the affected Services stale. All others stay the same values.
func TestStale(t *testing.T) {
	for name, tc := range staleCases {
		t.Run(name, func(t *testing.T) {
			c := started(testObjects()...)
			before := map[string]*Snapshot{}
			for _, name := range testServices {
				before[name] = c.Service(serviceKey(name))
			}
			for _, id := range tc.remove {
				c.Delete(id)
			}
			apply(c, tc.put...)
			var stale, renewed []string
			for _, name := range testServices {
				if isClosed(before[name].Stale()) {
					stale = append(stale, name)
				}
				if c.Service(serviceKey(name)) != before[name] {
					renewed = append(renewed, name)
				}
			}
			if diff := cmp.Diff(tc.want, stale); diff != "" {
				t.Errorf("stale (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, renewed); diff != "" {
				t.Errorf("other snapshots than before (-want +got):\n%s", diff)
			}
		})
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// The state of a node becomes stale when its zone changes, and at no other time. Unknown nodes share one
// state, which becomes stale when one of them is added.
func TestNode(t *testing.T) {
	node := func(name, zone string) *Node { return &Node{Cluster: LocalCluster, Name: name, Zone: zone} }
	const known, other, unknown = "n1", "n2", "missing"
	for name, tc := range map[string]struct {
		put    []Object
		remove string
		stale  []string
		zones  map[string]string
	}{
		"relabelled":           {put: []Object{node(known, "west")}, stale: []string{known}, zones: map[string]string{known: "west", other: "east"}},
		"the label is removed": {put: []Object{node(known, "")}, stale: []string{known}, zones: map[string]string{known: "", other: "east"}},
		"seen again":           {put: []Object{node(known, "east")}, zones: map[string]string{known: "east"}},
		"deleted":              {remove: known, stale: []string{known}, zones: map[string]string{known: ""}},
		"unknown is known":     {put: []Object{node(unknown, "west")}, stale: []string{unknown}, zones: map[string]string{unknown: "west"}},
		"another appears":      {put: []Object{node("n3", "west")}, stale: []string{unknown}, zones: map[string]string{unknown: ""}},
		"unknown is deleted":   {remove: unknown, zones: map[string]string{unknown: ""}},
		"in another cluster":   {put: []Object{&Node{Cluster: "west", Name: known, Zone: "west"}}, stale: []string{unknown}, zones: map[string]string{known: "east"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := started(node(known, "east"), node(other, "east"))
			names := []string{known, other, unknown}
			before := map[string]*NodeState{}
			for _, n := range names {
				before[n] = c.Node(LocalCluster, n)
			}
			if tc.remove != "" {
				c.Delete(node(tc.remove, "").ID())
			}
			apply(c, tc.put...)
			for _, n := range names {
				if got, want := isClosed(before[n].Stale()), slices.Contains(tc.stale, n); got != want {
					t.Errorf("%s: stale %v, want %v", n, got, want)
				}
				if isClosed(c.Node(LocalCluster, n).Stale()) {
					t.Errorf("%s: its new state is stale already", n)
				}
			}
			for n, want := range tc.zones {
				if got := c.Node(LocalCluster, n).Zone; got != want {
					t.Errorf("%s is in zone %q, want %q", n, got, want)
				}
			}
		})
	}
}

package validate_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/model"
)

// sim is a cluster with two replicas and their clients. They do all that is allowed: the replicas read each
// kind of objects at its own pace, skip states, relist in any order, and are cut off for a while.
type sim struct {
	*made
	t        *rapid.T
	pods     map[string]string // ip by name
	ready    map[string]bool
	free     []string // addresses of deleted pods
	count    int
	slice    string // name of the first slice of the Service
	port     string
	exists   bool
	replicas []*replica
	faults   int
	most     int // maximum of open streams
}

// replica has read the first changes of each resource.
type replica struct {
	name    string
	state   *model.State
	read    map[string]int
	cut     int // ID of the fault, or 0
	streams []*simStream
}

type simStream struct {
	*client
	closed, answered bool
	// silent are addresses whose removal is not sent.
	silent map[string]bool
	gone   []string // removed addresses
}

func newSim(t *rapid.T) *sim {
	s := &sim{made: newMade(), t: t, pods: map[string]string{}, ready: map[string]bool{}, slice: "web-1", port: "http"}
	for _, name := range []string{"replica-a", "replica-b"} {
		s.replicas = append(s.replicas, &replica{name: name, state: &model.State{}, read: map[string]int{}})
	}
	s.serve()
	for range 4 {
		s.create()
	}
	s.write()
	s.passAndRead()
	return s
}

func (s *sim) n(below int) int { return rapid.IntRange(0, below-1).Draw(s.t, "n") }

// serve stores the Service, with a port named after the time.
func (s *sim) serve() {
	s.exists = true
	s.put("services", "web", `{"metadata":{"name":"web","namespace":"lab"},"spec":{"ports":[{"name":"`+s.port+`","port":80,"protocol":"TCP"}]}}`)
}

func (s *sim) create() {
	s.count++
	name, ip := fmt.Sprint("p", s.count), fmt.Sprintf("10.0.%d.%d", s.count/250, s.count%250+1)
	if len(s.free) > 0 && s.n(3) == 0 {
		ip, s.free = s.free[0], s.free[1:]
	}
	s.pods[name], s.ready[name] = ip, true
	s.pod(name)
}

func (s *sim) anyPod() string {
	names := slices.Sorted(maps.Keys(s.pods))
	if len(names) == 0 {
		return ""
	}
	return names[s.n(len(names))]
}

// write stores the two slices as a controller would.
func (s *sim) write() {
	var lists [2][]string
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		e := name + "=" + s.pods[name]
		if !s.ready[name] {
			e = name + "!=" + s.pods[name]
		}
		which := len(name) % 2
		lists[which] = append(lists[which], e)
	}
	for i, list := range lists {
		s.made.slice(fmt.Sprint(s.slice, "-", i), "web", list...)
	}
}

// edit changes the cluster.
func (s *sim) edit() {
	s.late = time.Duration(s.n(1500)) * time.Millisecond
	switch name := s.anyPod(); s.n(11) {
	case 10:
		if name != "" {
			s.restart(name)
		}
	case 0, 1:
		s.create()
	case 2, 3:
		if name != "" {
			s.free = append(s.free, s.pods[name])
			delete(s.pods, name)
			s.remove("pods", name)
		}
	case 4:
		if name != "" {
			s.ready[name] = !s.ready[name]
		}
	case 5:
		s.recreate()
	default:
		s.write()
	}
}

// recreate deletes the Service, or creates it with other slice names.
func (s *sim) recreate() {
	if s.exists {
		s.exists = false
		s.remove("services", "web")
		return
	}
	old := s.slice
	s.slice += "x"
	s.serve()
	s.write()
	s.remove("endpointslices", old+"-0")
	s.remove("endpointslices", old+"-1")
}

// changes returns the changes of a resource.
func (s *sim) changes(resource string) []*history.Object {
	var out []*history.Object
	for _, e := range s.Entries {
		if e.Object != nil && e.Object.Resource == resource {
			out = append(out, e.Object)
		}
	}
	return out
}

var simResources = []string{"services", "endpointslices", "pods"}

// follow makes a replica read some more changes of a resource.
func (s *sim) follow(r *replica) {
	resource := simResources[s.n(len(simResources))]
	changes := s.changes(resource)
	left := len(changes) - r.read[resource]
	if left == 0 {
		return
	}
	if s.n(5) == 0 {
		s.relist(r, resource, changes)
		return
	}
	for range 1 + s.n(left) {
		r.state.Apply(*changes[r.read[resource]])
		r.read[resource]++
	}
	s.tell(r)
}

// relist makes a replica read the newest versions in any order, and sends updates when half of them are read.
func (s *sim) relist(r *replica, resource string, changes []*history.Object) {
	newest := map[string]*history.Object{}
	for _, o := range changes {
		newest[o.Name] = o
	}
	names := rapid.Permutation(slices.Sorted(maps.Keys(newest))).Draw(s.t, "order")
	for i, name := range names {
		r.state.Apply(*newest[name])
		if i == len(names)/2 {
			s.tell(r)
		}
	}
	r.read[resource] = len(changes)
	s.tell(r)
}

// catchUp makes a replica read everything.
func (s *sim) catchUp(r *replica) {
	for _, resource := range simResources {
		changes := s.changes(resource)
		for _, o := range changes[r.read[resource]:] {
			r.state.Apply(*o)
		}
		r.read[resource] = len(changes)
	}
	s.tell(r)
}

// passAndRead advances the time, while all connected replicas read everything.
func (s *sim) passAndRead() {
	s.pass(time.Second)
	for _, r := range s.replicas {
		if r.cut == 0 {
			s.catchUp(r)
		}
	}
}

// tell sends the missing updates to each stream of a replica.
func (s *sim) tell(r *replica) {
	for _, c := range r.streams {
		if !c.closed {
			s.bring(r, c)
		}
	}
}

func (s *sim) bring(r *replica, c *simStream) {
	answer := webResponse(r.state)
	if !c.answered {
		c.answered = true
		if len(answer.Endpoints) == 0 {
			c.hasNone("exists")
			return
		}
	}
	var added, removed []string
	for at, endpoints := range answer.Endpoints {
		name := endpoints[0].Workload.Name
		if c.known[at.String()] != reported(name) {
			added = append(added, name+"="+at.String())
		}
	}
	for at := range c.known {
		if _, ok := answer.Endpoints[netip.MustParseAddrPort(at)]; !ok && !c.silent[at] {
			removed = append(removed, at)
		}
	}
	slices.Sort(added)
	slices.Sort(removed)
	if len(added) > 0 {
		c.adds(added...)
	}
	if len(removed) > 0 {
		c.gone = append(c.gone, removed...)
		c.removes(removed...)
	}
}

func webResponse(state *model.State) model.Response {
	target, err := model.ParseTarget(webPath)
	if err != nil {
		panic(err)
	}
	return model.GetResponse(state, target)
}

// open opens a stream to a replica. It ends with NotFound if the replica knows no Service.
func (s *sim) open(r *replica) *simStream {
	c := &simStream{client: s.made.open(r.name), silent: map[string]bool{}}
	r.streams = append(r.streams, c)
	s.most = max(s.most, s.opened())
	if !webResponse(r.state).Exists {
		c.closed = true
		c.closes("rpc error: code = NotFound desc = service web.lab not found")
		return c
	}
	s.bring(r, c)
	return c
}

// opened returns the number of open streams.
func (s *sim) opened() int {
	n := 0
	for _, r := range s.replicas {
		for _, c := range r.streams {
			if !c.closed {
				n++
			}
		}
	}
	return n
}

// breakOrMend cuts a replica off, or ends that.
func (s *sim) breakOrMend(r *replica) {
	link := r.name + "→kube-apiserver"
	if r.cut != 0 {
		s.fault(r.cut, "cut", link, "ended")
		r.cut = 0
		return
	}
	s.faults++
	r.cut = s.faults
	s.fault(r.cut, "cut", link, "")
}

// step does one random thing.
func (s *sim) step() {
	s.pass(time.Duration(s.n(500)) * time.Millisecond)
	r := s.replicas[s.n(len(s.replicas))]
	switch s.n(20) {
	case 0:
		if s.opened() < 4 {
			s.open(r)
		}
	case 1:
		if len(r.streams) > 0 {
			if c := r.streams[s.n(len(r.streams))]; !c.closed {
				c.closed = true
				c.closes("unavailable")
			}
		}
	case 2:
		s.breakOrMend(r)
	case 3:
		s.pass(time.Duration(s.n(40)) * time.Second / 10)
		s.passAndRead()
	case 4, 5, 6, 7, 8, 9, 10:
		if r.cut == 0 {
			s.follow(r)
		}
	default:
		s.edit()
	}
}

// run makes some steps. No replica is more than some seconds behind unless a fault is active.
func (s *sim) run(steps int) {
	for i := range steps {
		s.step()
		if i%10 == 9 {
			s.passAndRead()
		}
	}
}

// end ends all faults and opens as many streams as there ever were at once.
func (s *sim) end() {
	s.late = 0
	for _, r := range s.replicas {
		if r.cut != 0 {
			s.breakOrMend(r)
		}
	}
	if !s.exists {
		s.recreate()
	}
	s.write()
	s.passAndRead()
	for s.opened() < s.most {
		s.open(s.replicas[s.n(2)])
	}
	s.calm()
}

func (c *simStream) knows(fragment string) []string {
	var out []string
	for at := range c.known {
		if strings.Contains(at, fragment) {
			out = append(out, at)
		}
	}
	slices.Sort(out)
	return out
}

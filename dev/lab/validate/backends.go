package validate

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/signpostd/signpost/dev/lab/model"
)

// backends is the history of one Service's slices and of the workloads in them.
type backends struct {
	slices    []chain[*sliceState]
	workloads []chain[existence]
	// numbers maps each workload, without UID, to its index in workloads.
	numbers map[model.Workload]int32
	// addresses numbers the addresses. marks has, by that number, how the current query uses the address.
	addresses map[netip.AddrPort]int32
	marks     []mark
	epoch     int
}

// mark is how a query uses an address. A mark of an earlier epoch is ignored.
type mark struct {
	epoch    int
	workload int32 // as reported to the client
	bit      int   // index in query.need, or -1
}

// sliceState is the content of a slice, nil while the slice is missing or belongs to another Service.
type sliceState struct {
	ports     []discoveryv1.EndpointPort
	endpoints []endpoint
	draining  []endpoint // sent to xDS clients only
	numbered  []numbered // one for each port in use
}

// numbered has, for one port, the address number of each endpoint of a slice.
type numbered struct {
	port    uint16
	numbers []int32
}

// noWorkload is the workload number of an endpoint without workload.
const noWorkload int32 = -1

type endpoint struct {
	ip       netip.Addr
	hostname string
	workload int32 // index in backends.workloads, or noWorkload
	uid      string
}

// existence tells whether a workload exists. The zero value means that it doesn't.
type existence struct {
	exists bool
	uid    string
}

// has reports whether the workload exists with the UID that an endpoint refers to.
func (e existence) has(uid string) bool { return e.exists && (uid == "" || e.uid == uid) }

// sliceOf decodes a version of a slice. It returns nil for a deletion or an unreadable slice.
func sliceOf(v *model.Version) *discoveryv1.EndpointSlice {
	if v.Deleted {
		return nil
	}
	slice, err := model.Decode[discoveryv1.EndpointSlice](v)
	if err != nil {
		return nil
	}
	return slice
}

func (o *objects) backendsOf(key serviceKey) *backends {
	b := &backends{numbers: map[model.Workload]int32{}, addresses: map[netip.AddrPort]int32{}}
	for _, name := range o.slicesOf[key] {
		c := chain[*sliceState]{{at: beforeAll}}
		for _, v := range o.byID[objectID{model.EndpointSlices, key.namespace, name}] {
			c.append(v.at, b.compile(sliceOf(v.Version), key, o), sameSlice)
		}
		b.slices = append(b.slices, c)
	}
	return b
}

func (b *backends) compile(slice *discoveryv1.EndpointSlice, key serviceKey, o *objects) *sliceState {
	if slice == nil || model.ServiceOf(slice) != key.name {
		return nil
	}
	s := &sliceState{ports: slice.Ports}
	s.endpoints = b.compileEndpoints(model.ReadyEndpoints(slice), o)
	s.draining = b.compileEndpoints(model.DrainingEndpoints(slice), o)
	return s
}

func (b *backends) compileEndpoints(list []model.Endpoint, o *objects) []endpoint {
	var out []endpoint
	for _, e := range list {
		out = append(out, endpoint{e.IP, e.Hostname, b.number(e.Workload, o), e.Workload.UID})
	}
	return out
}

// address returns the number of an address, and numbers a new one.
func (b *backends) address(at netip.AddrPort) int32 {
	n, ok := b.addresses[at]
	if !ok {
		n = int32(len(b.marks))
		b.addresses[at] = n
		b.marks = append(b.marks, mark{})
	}
	return n
}

// addressesOf returns the address numbers of a slice's endpoints for a port.
func (b *backends) addressesOf(s *sliceState, port uint16) []int32 {
	for i := range s.numbered {
		if s.numbered[i].port == port {
			return s.numbered[i].numbers
		}
	}
	n := numbered{port: port, numbers: make([]int32, len(s.endpoints))}
	for i := range s.endpoints {
		n.numbers[i] = b.address(netip.AddrPortFrom(s.endpoints[i].ip, port))
	}
	s.numbered = append(s.numbered, n)
	return n.numbers
}

// number returns the index of a workload in b.workloads, and adds a new one.
func (b *backends) number(w model.Workload, o *objects) int32 {
	if w == (model.Workload{}) {
		return noWorkload
	}
	w.UID = ""
	n, ok := b.numbers[w]
	if !ok {
		n = int32(len(b.workloads))
		b.numbers[w] = n
		b.workloads = append(b.workloads, o.existenceOf(w))
	}
	return n
}

// existenceOf decodes a version only after a deletion or an etcd restore, because an object keeps its UID
// until then.
func (o *objects) existenceOf(w model.Workload) chain[existence] {
	c := chain[existence]{{at: beforeAll}}
	for _, v := range o.byID[objectID{w.Resource(), w.Namespace, w.Name}] {
		switch last := c[len(c)-1].value; {
		case v.Deleted && last.exists:
			c = append(c, step[existence]{at: v.at})
		case !v.Deleted && (!last.exists || v.Restored):
			if meta, err := model.Decode[model.Meta](v.Version); err == nil {
				c.append(v.at, existence{true, meta.Metadata.UID}, func(a, b existence) bool { return a == b })
			}
		}
	}
	return c
}

func sameSlice(a, b *sliceState) bool {
	if a == nil || b == nil {
		return a == b
	}
	samePort := func(p, q discoveryv1.EndpointPort) bool {
		return *orZero(p.Name) == *orZero(q.Name) && *orZero(p.Port) == *orZero(q.Port)
	}
	return slices.Equal(a.endpoints, b.endpoints) && slices.Equal(a.draining, b.draining) && slices.EqualFunc(a.ports, b.ports, samePort)
}

func orZero[T any](p *T) *T {
	if p == nil {
		return new(T)
	}
	return p
}

// rulesOf returns the history of a target's port rule, which ruleOf derives from the Service.
func (o *objects) rulesOf(t model.Target, ruleOf func(*corev1.Service, uint16) model.PortRule) chain[model.PortRule] {
	c := chain[model.PortRule]{{at: beforeAll}}
	for _, v := range o.byID[objectID{model.Services, t.Namespace, t.Service}] {
		rule := model.PortRule{}
		if !v.Deleted {
			service, err := model.Decode[corev1.Service](v.Version)
			if err != nil {
				continue
			}
			rule = ruleOf(service, t.Port)
		}
		c.append(v.at, rule, func(a, b model.PortRule) bool { return a == b })
	}
	return c
}

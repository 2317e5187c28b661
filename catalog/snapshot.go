package catalog

import (
	"net/netip"
	"slices"
)

// Snapshot is one Service as it was at one time, with the slices and the workloads of its
// members. It never changes.
type Snapshot struct {
	Key ServiceKey
	// Service is nil when there is no such Service.
	Service *Service

	parts   []part            // one for each member that is known
	regions map[string]string // the region of each zone of our own cluster
	// pending is true when a member is in a cluster that is not synced yet.
	pending bool
	stale   chan struct{}

	catalog *Catalog
	users   int // guarded by Catalog.snapshotsMu
}

// part is what a Snapshot has of one member. A Service that is neither remote nor federated is
// its only member.
type part struct {
	source  *Source
	service *Service         // nil when there is no such Service
	slices  []*compiledSlice // sorted by name
	zoned   bool             // some address has a zone or hints
	noded   bool             // some address has hints for nodes
	hinted  FilterKind       // that of the hints of addresses, draining ones included
}

// Source says which Service endpoints belong to. It is comparable.
type Source struct {
	Service ServiceKey
	// Cluster is nil for our own.
	Cluster *Cluster
	// Mirror describes the remote Service that this one mirrors; its Cluster is empty when
	// it mirrors none.
	Mirror Mirror
}

// Stale returns a channel that closes when the snapshot is out of date.
func (s *Snapshot) Stale() <-chan struct{} { return s.stale }

// Address is one IP address of a slice, with everything that doesn't depend on the query. It
// never changes: from one Snapshot to the next it is the same value while nothing about it
// changes.
type Address struct {
	IP        netip.Addr
	Hostname  string
	Zone      string
	HintZones []string
	HintNodes []string
	// Target is the workload behind the address; nil when the endpoint has no targetRef.
	Target *Target
	// Family is true when the rules about IP families apply to the address: it belongs to a
	// workload and comes from an EndpointSlice.
	Family bool
	// GatewayIdentity and RemoteName are those of the slice for an address without Target.
	GatewayIdentity, RemoteName string
}

func (a *Address) equal(b *Address) bool {
	return a.IP == b.IP && a.Hostname == b.Hostname && a.Zone == b.Zone && a.Target == b.Target && a.Family == b.Family &&
		a.GatewayIdentity == b.GatewayIdentity && a.RemoteName == b.RemoteName && slices.Equal(a.HintZones, b.HintZones) && slices.Equal(a.HintNodes, b.HintNodes)
}

// compiledSlice is a slice with its endpoints joined with the workloads.
type compiledSlice struct {
	slice   *EndpointSlice
	subsets []compiledSubset
	zoned   bool
	noded   bool
	hinted  FilterKind
}

type compiledSubset struct {
	ports []SubsetPort
	// addresses are those of ready endpoints, and draining those of draining ones. Both are sorted by IP.
	addresses, draining []*Address
}

// snapshot builds the Snapshot of a Service from the current state.
func (s *state) snapshot(key ServiceKey, o *Options) *Snapshot {
	snap := &Snapshot{Key: key, Service: s.services[key], regions: s.regions.ofZone, stale: make(chan struct{})}
	members := snap.Service.members(key)
	snap.parts = make([]part, 0, len(members))
	for _, member := range members {
		cluster, usable := s.clusterOf(member)
		if usable {
			snap.parts = append(snap.parts, s.part(member, cluster, o))
		}
		snap.pending = snap.pending || cluster != nil && !usable
	}
	return snap
}

// part builds the part of a member; its cluster is nil for our own.
func (s *state) part(key ServiceKey, cluster *Cluster, o *Options) part {
	entries := s.slicesOf[key]
	p := part{service: s.services[key], slices: make([]*compiledSlice, 0, len(entries))}
	for _, e := range entries {
		c := s.compile(e, o)
		p.slices = append(p.slices, c)
		p.zoned, p.noded, p.hinted = p.zoned || c.zoned, p.noded || c.noded, max(p.hinted, c.hinted)
	}
	p.source = &Source{Service: key, Cluster: cluster, Mirror: p.mirror()}
	return p
}

// compile returns the addresses of a slice, and computes them if they are out of date.
func (s *state) compile(e *sliceEntry, o *Options) *compiledSlice {
	if c := e.compiled.Load(); c != nil {
		return c
	}
	c := &compiledSlice{slice: e.slice, subsets: make([]compiledSubset, 0, len(e.slice.Subsets))}
	previous := e.previous.Load()
	at := 0
	for i, subset := range e.slice.Subsets {
		addresses := make([]*Address, 0, len(subset.Endpoints))
		var draining []*Address
		for j := range subset.Endpoints {
			endpoint := joined{&subset.Endpoints[j], s.joinEndpoint(&subset.Endpoints[j], e.targets[at], o)}
			switch {
			case !endpoint.endpoint.NotReady:
				addresses = appendAddresses(addresses, e.slice, endpoint)
			case endpoint.endpoint.Draining:
				draining = appendAddresses(draining, e.slice, endpoint)
			}
			at++
		}
		var before compiledSubset
		if previous != nil && i < len(previous.subsets) {
			before = previous.subsets[i]
		}
		arrange(addresses, before.addresses)
		arrange(draining, before.draining)
		c.zoned = c.zoned || slices.ContainsFunc(addresses, (*Address).zoned)
		c.noded = c.noded || slices.ContainsFunc(addresses, (*Address).noded)
		c.hinted = max(c.hinted, hintsOf(addresses), hintsOf(draining))
		c.subsets = append(c.subsets, compiledSubset{subset.Ports, addresses, draining})
	}
	// Another reader may have been faster, and all must use the same values.
	if !e.compiled.CompareAndSwap(nil, c) {
		return e.compiled.Load()
	}
	e.previous.Store(nil)
	return c
}

func (a *Address) zoned() bool { return a.Zone != "" || len(a.HintZones) > 0 }

func (a *Address) noded() bool { return len(a.HintNodes) > 0 }

// hintsOf returns on which property of clients the priorities of addresses depend through hints.
func hintsOf(addresses []*Address) FilterKind {
	kind := FilterNone
	for _, a := range addresses {
		if a.noded() {
			return FilterHints
		}
		if len(a.HintZones) > 0 {
			kind = FilterZone
		}
	}
	return kind
}

// joined is an endpoint and its workload, nil when there is none.
type joined struct {
	endpoint *SliceEndpoint
	target   *Target
}

// joinEndpoint returns the Target of an endpoint. It is nil when the workload isn't known yet, and
// when the workload of that name has another UID: the slice is out of date then, and another
// workload may have its address.
func (s *state) joinEndpoint(e *SliceEndpoint, w *workloadEntry, o *Options) *Target {
	t := s.join(w, o)
	if t == nil || e.TargetUID != 0 && t.UID != 0 && e.TargetUID != t.UID {
		return nil
	}
	return t
}

// join returns the Target of a workload, nil when the workload isn't known yet.
func (s *state) join(w *workloadEntry, o *Options) *Target {
	if w == nil || w.workload == nil {
		return nil
	}
	if t := w.target.Load(); t != nil {
		return t
	}
	t := s.target(w.workload, o)
	if !w.target.CompareAndSwap(nil, t) {
		return w.target.Load()
	}
	return t
}

func appendAddresses(list []*Address, slice *EndpointSlice, j joined) []*Address {
	e := j.endpoint
	if len(e.Addresses) == 0 {
		return list
	}
	if e.Target.Kind == "" {
		for _, ip := range e.Addresses {
			list = append(list, &Address{
				IP: ip, Hostname: e.Hostname, HintZones: e.HintZones, HintNodes: e.HintNodes,
				GatewayIdentity: slice.GatewayIdentity, RemoteName: slice.RemoteName,
			})
		}
		return list
	}
	if j.target == nil {
		return list
	}
	// The addresses of one endpoint are interchangeable; the last one stands for all.
	return append(list, &Address{
		IP: e.Addresses[len(e.Addresses)-1], Hostname: e.Hostname, HintZones: e.HintZones, HintNodes: e.HintNodes, Zone: e.Zone,
		Target: j.target, Family: slice.AddressType != "",
	})
}

// arrange sorts addresses, and uses the previous values of those that haven't changed.
func arrange(addresses, previous []*Address) {
	slices.SortStableFunc(addresses, func(a, b *Address) int { return a.IP.Compare(b.IP) })
	reuse(addresses, previous)
}

// reuse replaces each address by its equal among the previous ones. Both lists
// are sorted by IP.
func reuse(addresses, previous []*Address) {
	at := 0
	for i, a := range addresses {
		for at < len(previous) && previous[at].IP.Less(a.IP) {
			at++
		}
		for k := at; k < len(previous) && previous[k].IP == a.IP; k++ {
			if previous[k].equal(a) {
				addresses[i] = previous[k]
				break
			}
		}
	}
}

package catalog

import (
	"maps"
	"net/netip"
	"slices"
	"sync"
)

// Snapshot is the immutable state of one Service, with the slices and workloads of its members.
type Snapshot struct {
	Key ServiceKey
	// Service is nil if the Service does not exist.
	Service *Service

	members []memberSnapshot  // one for each member that is known
	regions map[string]string // the region of each zone of our own cluster
	// pending is true if a member is in a cluster that is not synced yet.
	pending bool
	stale   chan struct{}
	// filters and priorityFilters are computed once, because thousands of queries may share them.
	filters, priorityFilters func() *Filters

	catalog *Catalog
	users   int // guarded by Catalog.snapshotsMu
}

// memberSnapshot is the state of one member. A Service that is neither remote nor federated is its only
// member.
type memberSnapshot struct {
	source       *Source
	service      *Service         // nil when there is no such Service
	slices       []*compiledSlice // sorted by name
	hasZone      bool             // some address has a zone or hints
	hasNodeHints bool             // some address has hints for nodes
	hintKind     FilterKind       // that of the hints of addresses, draining ones included
}

// Source is the Service that endpoints belong to. It is comparable.
type Source struct {
	Service ServiceKey
	// Cluster is nil for our own.
	Cluster *Cluster
	// Mirror is the remote Service that this one mirrors; its Cluster is empty for none.
	Mirror Mirror
}

// TrustDomain returns the suffix of the identities of the pods of a source. For our own cluster and for a nil
// source it is own.
func (s *Source) TrustDomain(own string) string {
	if s == nil || s.Cluster == nil {
		return own
	}
	return s.Cluster.TrustDomain
}

// Stale returns a channel that closes when the snapshot is out of date.
func (s *Snapshot) Stale() <-chan struct{} { return s.stale }

// Address is one IP address of a slice, with everything that does not depend on the query. It is immutable.
// The next Snapshot has the same pointer if the address has not changed.
type Address struct {
	IP       netip.Addr
	Hostname string
	// Zone is the zone in the slice. Clients of Get don't get the zone of an address without Target.
	Zone      string
	HintZones []string
	HintNodes []string
	// Target is the workload of the address; nil if the endpoint has no targetRef.
	Target *Target
	// Family is true if the rules about IP families apply: the address is that of a workload and comes from
	// an EndpointSlice.
	Family bool
	// GatewayIdentity and RemoteName come from the slice, for an address without Target.
	GatewayIdentity, RemoteName string
}

func (a *Address) equal(b *Address) bool {
	return a.IP == b.IP && a.Hostname == b.Hostname && a.Zone == b.Zone && a.Target == b.Target && a.Family == b.Family &&
		a.GatewayIdentity == b.GatewayIdentity && a.RemoteName == b.RemoteName && slices.Equal(a.HintZones, b.HintZones) && slices.Equal(a.HintNodes, b.HintNodes)
}

// compiledSlice is a slice with its endpoints joined with the workloads.
type compiledSlice struct {
	slice        *EndpointSlice
	subsets      []compiledSubset
	hasZone      bool
	hasNodeHints bool
	hintKind     FilterKind
	// zones are those of hints, and those of draining endpoints if there are hints.
	zones []string
}

type compiledSubset struct {
	ports []SubsetPort
	// addresses are those of ready endpoints, draining those of draining endpoints. Both are sorted by IP.
	addresses, draining []*Address
}

// snapshot builds the Snapshot of a Service from the current state.
func (s *state) snapshot(key ServiceKey, o *Options) *Snapshot {
	snap := &Snapshot{Key: key, Service: s.services[key], regions: s.regions.ofZone, stale: make(chan struct{})}
	members := snap.Service.members(key)
	snap.members = make([]memberSnapshot, 0, len(members))
	for _, member := range members {
		cluster, usable := s.clusterOf(member)
		if usable {
			snap.members = append(snap.members, s.memberSnapshot(member, cluster, o))
		}
		snap.pending = snap.pending || cluster != nil && !usable
	}
	snap.filters, snap.priorityFilters = sync.OnceValue(snap.newFilters), sync.OnceValue(snap.newPriorityFilters)
	return snap
}

// prepare matches the workloads that the snapshot of a Service needs with the Servers of their namespace, until
// it has checked this many requirements. It returns true if no workload is left.
func (s *state) prepare(key ServiceKey, checks int) bool {
	for _, member := range s.services[key].members(key) {
		if _, usable := s.clusterOf(member); !usable {
			continue
		}
		for _, e := range valuesOf(s.slicesOf, member) {
			if e.compiled.Load() == nil && !s.prepareSlice(e, &checks) {
				return false
			}
		}
	}
	return true
}

func (s *state) prepareSlice(e *sliceEntry, checks *int) bool {
	for _, w := range e.targets {
		if w == nil || w.workload == nil || w.selected.Load() != nil {
			continue
		}
		if *checks <= 0 {
			return false
		}
		_, n := s.selecting(w)
		*checks -= n
	}
	return true
}

// memberSnapshot builds the state of a member; its cluster is nil for our own.
func (s *state) memberSnapshot(key ServiceKey, cluster *Cluster, o *Options) memberSnapshot {
	entries := s.sortedSlices(key)
	p := memberSnapshot{service: s.services[key], slices: make([]*compiledSlice, 0, len(entries))}
	for _, e := range entries {
		c := s.compile(e, o)
		p.slices = append(p.slices, c)
		p.hasZone, p.hasNodeHints, p.hintKind = p.hasZone || c.hasZone, p.hasNodeHints || c.hasNodeHints, max(p.hintKind, c.hintKind)
	}
	p.source = &Source{Service: key, Cluster: cluster, Mirror: p.mirror()}
	return p
}

// compile returns the addresses of a slice. It computes them after a change.
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
		c.hasZone = c.hasZone || slices.ContainsFunc(addresses, (*Address).hasZone)
		c.hasNodeHints = c.hasNodeHints || slices.ContainsFunc(addresses, (*Address).hasNodeHints)
		c.hintKind = max(c.hintKind, hintsOf(addresses), hintsOf(draining))
		c.subsets = append(c.subsets, compiledSubset{subset.Ports, addresses, draining})
	}
	if c.hintKind != FilterNone {
		c.zones = zonesOf(c.subsets)
	}
	// Another reader may have stored them meanwhile; all must use the same values.
	if !e.compiled.CompareAndSwap(nil, c) {
		return e.compiled.Load()
	}
	e.previous.Store(nil)
	return c
}

// hasZone reports whether the response of Get for the address depends on the zone of the client.
func (a *Address) hasZone() bool { return a.Target != nil && a.Zone != "" || len(a.HintZones) > 0 }

func (a *Address) hasNodeHints() bool { return len(a.HintNodes) > 0 }

// hintsOf returns the property of clients that the hints of the addresses refer to.
func hintsOf(addresses []*Address) FilterKind {
	kind := FilterNone
	for _, a := range addresses {
		if a.hasNodeHints() {
			return FilterHints
		}
		if len(a.HintZones) > 0 {
			kind = FilterZone
		}
	}
	return kind
}

// zonesOf returns the zones of hints, and those of draining endpoints, each once.
func zonesOf(subsets []compiledSubset) []string {
	zones := map[string]struct{}{}
	add := func(list []string) {
		for _, zone := range list {
			zones[zone] = struct{}{}
		}
	}
	for _, subset := range subsets {
		for _, a := range subset.addresses {
			add(a.HintZones)
		}
		for _, a := range subset.draining {
			add(a.HintZones)
			add([]string{a.Zone})
		}
	}
	return slices.Collect(maps.Keys(zones))
}

// joined is an endpoint and its workload, nil for none.
type joined struct {
	endpoint *SliceEndpoint
	target   *Target
}

// joinEndpoint returns the Target of an endpoint. It is nil if the workload is not known yet. It is also nil
// if the workload of that name has another UID: the slice is then out of date, and another workload may have
// the address.
func (s *state) joinEndpoint(e *SliceEndpoint, w *workloadEntry, o *Options) *Target {
	t := s.join(w, o)
	if t == nil || e.TargetUID != 0 && t.UID != 0 && e.TargetUID != t.UID {
		return nil
	}
	return t
}

// join returns the Target of a workload, nil if the workload is not known yet.
func (s *state) join(w *workloadEntry, o *Options) *Target {
	if w == nil || w.workload == nil {
		return nil
	}
	if t := w.target.Load(); t != nil {
		return t
	}
	servers, _ := s.selecting(w)
	t := s.target(w.workload, servers, o)
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
				IP: ip, Hostname: e.Hostname, HintZones: e.HintZones, HintNodes: e.HintNodes, Zone: e.Zone,
				GatewayIdentity: slice.GatewayIdentity, RemoteName: slice.RemoteName,
			})
		}
		return list
	}
	if j.target == nil {
		return list
	}
	// The addresses of one endpoint are interchangeable, so the last one is used.
	return append(list, &Address{
		IP: e.Addresses[len(e.Addresses)-1], Hostname: e.Hostname, HintZones: e.HintZones, HintNodes: e.HintNodes, Zone: e.Zone,
		Target: j.target, Family: slice.AddressType != "",
	})
}

// arrange sorts addresses, and keeps the pointers of those that have not changed.
func arrange(addresses, previous []*Address) {
	slices.SortStableFunc(addresses, func(a, b *Address) int { return a.IP.Compare(b.IP) })
	reuse(addresses, previous)
}

// reuse replaces each address by its equal among the previous ones. Both lists are sorted by IP.
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

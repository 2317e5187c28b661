package catalog

import "maps"

// regions says in which region each zone of our own cluster is. Kubernetes lets no zone be in two regions, so the
// region of an endpoint follows from its zone, and the catalog keeps none per endpoint.
type regions struct {
	// counts has the number of nodes by zone and region.
	counts map[string]map[string]int
	// ofZone has the region of each zone. Snapshots share the map: a change replaces it.
	ofZone map[string]string
}

// countRegion adds change to the number of nodes with the zone and the region of n, which may be nil.
func (s *state) countRegion(key nodeKey, n *NodeState, change int) {
	if n == nil || key.cluster != LocalCluster || n.Zone == "" || n.region == "" {
		return
	}
	counts := s.regions.counts[n.Zone]
	if counts == nil {
		counts = map[string]int{}
		s.regions.counts[n.Zone] = counts
	}
	if counts[n.region] += change; counts[n.region] == 0 {
		delete(counts, n.region)
	}
	if len(counts) == 0 {
		delete(s.regions.counts, n.Zone)
	}
	s.setRegion(n.Zone, firstKey(counts))
}

// firstKey returns the first region by name if nodes disagree, so that replicas agree; "" for none.
func firstKey(counts map[string]int) string {
	first := ""
	for region := range counts {
		if first == "" || region < first {
			first = region
		}
	}
	return first
}

// setRegion sets the region of a zone. If that changes it, the snapshots of all Services of our own cluster become
// stale, which happens when the first node of a zone is added.
func (s *state) setRegion(zone, region string) {
	if s.regions.ofZone[zone] == region {
		return
	}
	ofZone := maps.Clone(s.regions.ofZone)
	if ofZone == nil {
		ofZone = map[string]string{}
	}
	if region == "" {
		delete(ofZone, zone)
	} else {
		ofZone[zone] = region
	}
	s.regions.ofZone = ofZone
	for key := range s.slicesOf {
		if key.Cluster == LocalCluster {
			s.mark(key)
		}
	}
}

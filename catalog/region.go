package catalog

import "maps"

// regions maps the zones of our own cluster to regions. In Kubernetes a zone is in one region only, so the
// region of an endpoint follows from its zone.
type regions struct {
	// counts has the number of nodes by zone and region.
	counts map[string]map[string]int
	// ofZone has the region of each zone. Snapshots share the map, so a change replaces it.
	ofZone map[string]string
}

// countRegion adds change to the number of nodes with the zone and region of n, which may be nil.
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

// firstKey returns the first region by name, so that replicas agree if nodes disagree; "" for none.
func firstKey(counts map[string]int) string {
	first := ""
	for region := range counts {
		if first == "" || region < first {
			first = region
		}
	}
	return first
}

// setRegion sets the region of a zone. If it changes, for example with the first node of a zone, the
// snapshots of all Services of our own cluster become stale.
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

package catalog

import "maps"

// regions maps the zones of our own cluster to regions. In Kubernetes a zone is in one region only, so the
// region of an endpoint follows from its zone.
type regions struct {
	// counts has the number of nodes by zone and region.
	counts map[string]map[string]int
	// ofZone has the region of each zone. Snapshots share the map, so a change replaces it.
	ofZone map[string]string
	// counted are the zones whose counts the current step has changed.
	counted map[string]struct{}
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
	s.regions.counted[n.Zone] = struct{}{}
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

// applyRegions sets the regions of the zones whose nodes the step has changed, all at once: a step may have
// thousands of zones. The snapshots of Services of our own cluster with an endpoint in a zone whose region
// has changed become stale.
func (s *state) applyRegions() {
	changed := s.regions.counted
	if len(changed) == 0 {
		return
	}
	s.regions.counted = map[string]struct{}{}
	maps.DeleteFunc(changed, func(zone string, _ struct{}) bool {
		return s.regions.ofZone[zone] == firstKey(s.regions.counts[zone])
	})
	if len(changed) == 0 {
		return
	}
	ofZone := make(map[string]string, len(s.regions.counts))
	maps.Copy(ofZone, s.regions.ofZone)
	for zone := range changed {
		if ofZone[zone] = firstKey(s.regions.counts[zone]); ofZone[zone] == "" {
			delete(ofZone, zone)
		}
	}
	s.regions.ofZone = ofZone
	for _, e := range s.slices {
		if key := e.slice.Service; key.Cluster == LocalCluster && e.slice.inZones(changed) {
			s.mark(key)
		}
	}
}

func (s *EndpointSlice) inZones(zones map[string]struct{}) bool {
	for _, subset := range s.Subsets {
		for i := range subset.Endpoints {
			if _, in := zones[subset.Endpoints[i].Zone]; in {
				return true
			}
		}
	}
	return false
}

package catalog

import "slices"

// Cluster is a linked cluster, in which our Services can have endpoints. The catalog ignores objects of a
// cluster for which it has no Cluster.
type Cluster struct {
	Name string
	// TrustDomain is the suffix of the identities of its pods, ClusterDomain the suffix of the names of its
	// Services.
	TrustDomain, ClusterDomain string
	// Synced is false until all objects of the cluster have been put once. Until then its objects are not
	// used, because they may be incomplete.
	Synced bool
}

// ID implements [Object].
func (c *Cluster) ID() ID { return ID{Kind: KindCluster, Cluster: c.Name} }

// Federation lists the members of a federated Service.
type Federation struct {
	// Local is the name of the member in our own cluster; empty for none. All members are in
	// the namespace of the Service.
	Local string
	// Remote are the members in other clusters, in the order of the annotation, without repeats.
	Remote []RemoteMember
}

// RemoteMember is a member of a federated Service in another cluster.
type RemoteMember struct {
	Service, Cluster string
}

// members returns the Services whose endpoints a Service has. A remote or federated Service has the endpoints
// of its members. Any other Service, and a nil one, is its only member. Members of members are ignored.
func (s *Service) members(key ServiceKey) []ServiceKey {
	switch {
	case s == nil || s.Key.Cluster != LocalCluster:
		return []ServiceKey{key}
	case s.Federation != nil:
		return s.Federation.members(key)
	case s.RemoteCluster == nil:
		return []ServiceKey{key}
	case s.RemoteService == nil, *s.RemoteCluster == LocalCluster:
		return nil // no linked cluster is named like our own
	default:
		return []ServiceKey{{*s.RemoteCluster, key.Namespace, *s.RemoteService}}
	}
}

// MemberKeys returns the Services whose endpoints the Service has. A Service that is neither remote nor
// federated is its only member.
func (s *Service) MemberKeys() []ServiceKey { return s.members(s.Key) }

// members returns the members of a federated Service, the local one first.
func (f *Federation) members(key ServiceKey) []ServiceKey {
	keys := make([]ServiceKey, 0, 1+len(f.Remote))
	if f.Local != "" {
		keys = append(keys, ServiceKey{key.Cluster, key.Namespace, f.Local})
	}
	for _, m := range f.Remote {
		keys = append(keys, ServiceKey{m.Cluster, key.Namespace, m.Service})
	}
	return keys
}

// clusterOf returns the cluster of a Service, and whether its objects may be used. The cluster is nil for our
// own cluster and for a cluster that is not linked.
func (s *state) clusterOf(key ServiceKey) (c *Cluster, usable bool) {
	if key.Cluster == LocalCluster {
		return nil, true
	}
	c = s.clusters[key.Cluster]
	return c, c != nil && c.Synced
}

// Pending reports whether the Service, or one of its members, is in a cluster that is not synced yet.
func (s *Snapshot) Pending() bool { return s.pending }

// importIndex maps a Service, and a cluster, to the remote and federated Services with endpoints there.
type importIndex struct {
	ofService map[ServiceKey]map[ServiceKey]struct{}
	ofCluster map[string]map[ServiceKey]struct{}
}

func (x *importIndex) add(s *Service) {
	for _, member := range s.imports() {
		addKey(x.ofService, member, s.Key)
		addKey(x.ofCluster, member.Cluster, s.Key)
	}
}

func (x *importIndex) remove(s *Service) {
	for _, member := range s.imports() {
		removeKey(x.ofService, member, s.Key)
		removeKey(x.ofCluster, member.Cluster, s.Key)
	}
}

// imports returns the members of a remote or federated Service.
func (s *Service) imports() []ServiceKey {
	if s == nil || s.Federation == nil && s.RemoteCluster == nil {
		return nil
	}
	return s.members(s.Key)
}

func addKey[K comparable](m map[K]map[ServiceKey]struct{}, k K, v ServiceKey) {
	if m[k] == nil {
		m[k] = map[ServiceKey]struct{}{}
	}
	m[k][v] = struct{}{}
}

func removeKey[K comparable](m map[K]map[ServiceKey]struct{}, k K, v ServiceKey) {
	delete(m[k], v)
	if len(m[k]) == 0 {
		delete(m, k)
	}
}

func (s *state) setCluster(id ID, v *Cluster) {
	if v == nil {
		delete(s.clusters, id.Cluster)
	} else {
		s.clusters[id.Cluster] = v
	}
	s.dependencies.changed(dependency{object: id})
	for importer := range s.imports.ofCluster[id.Cluster] {
		s.dirty[importer] = struct{}{}
	}
}

// forgetAtOnce is the number of objects of a removed cluster that one step deletes. Readers wait for a step,
// so it must be short.
const forgetAtOnce = 2000

// applyAll applies the changes of a step. Objects of a removed cluster are not used any more. They are deleted
// in several steps, or at once if the cluster gets new objects. Changed Servers are applied until the step has
// checked this many requirements; the others wait for a later step. The Servers of a replaced cluster don't
// wait.
func (s *state) applyAll(b batch, checks int) {
	for id := range b.changes {
		if len(s.forgotten[id.Cluster]) > 0 {
			s.forgetObjects(id.Cluster, len(s.forgotten[id.Cluster]))
		}
	}
	for cluster := range b.replaced {
		s.waiting.forget(cluster)
		ids := s.objectsOf(cluster)
		if len(b.changes) > 0 {
			ids = slices.DeleteFunc(ids, func(id ID) bool {
				_, stays := b.changes[id]
				return stays
			})
		}
		s.forgotten[cluster] = ids
		if known := (&Cluster{Name: cluster}).ID(); slices.Contains(ids, known) {
			s.apply(known, nil)
		} else {
			s.forgetSelections(cluster)
			s.forgetObjects(cluster, len(ids))
		}
	}
	for id, v := range b.changes {
		if _, replaced := b.replaced[id.Cluster]; id.Kind == KindServer && !replaced {
			s.waiting.put(id, v)
			continue
		}
		s.apply(id, v)
	}
	s.applyServers(checks)
	s.applyRegions()
	for cluster := range s.forgotten {
		s.forgetObjects(cluster, forgetAtOnce)
		break
	}
}

// forgetObjects deletes up to n objects of a removed cluster.
func (s *state) forgetObjects(cluster string, n int) {
	ids := s.forgotten[cluster]
	n = min(n, len(ids))
	for _, id := range ids[:n] {
		s.apply(id, nil)
	}
	if s.forgotten[cluster] = ids[n:]; len(s.forgotten[cluster]) == 0 {
		delete(s.forgotten, cluster)
	}
}

// objectsOf returns all objects of a cluster. It scans the objects of all clusters, because it is rarely
// needed and an index would cost memory for each object.
func (s *state) objectsOf(cluster string) []ID {
	var ids []ID
	add := func(id ID) {
		if id.Cluster == cluster {
			ids = append(ids, id)
		}
	}
	for _, v := range s.clusters {
		add(v.ID())
	}
	for _, v := range s.services {
		add(v.ID())
	}
	for key, ns := range s.namespaces {
		if key.cluster == cluster {
			ids = slices.Grow(ids, len(ns.workloads))
			for _, w := range ns.workloads {
				if w.workload != nil {
					add(w.workload.ID())
				}
			}
		}
	}
	for key := range s.nodes {
		add((&Node{Cluster: key.cluster, Name: key.name}).ID())
	}
	for id := range s.slices {
		add(id)
	}
	for id := range s.owners {
		add(id)
	}
	for id := range s.servers {
		add(id)
	}
	for id := range s.profiles {
		add(id)
	}
	return ids
}

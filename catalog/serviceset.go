package catalog

import (
	"cmp"
	"slices"
)

// ServiceSet is the Services of our own cluster in some namespaces at one moment. It becomes stale when one
// of them is created or deleted, or changes its type, its ports or the namespaces that may see it. The caller
// calls Release unless it is stale.
type ServiceSet struct {
	// Services are sorted by namespace and name. Their other fields may be out of date.
	Services []*Service

	watch
}

// Services returns the Services in these namespaces; the empty namespace stands for all.
func (c *Catalog) Services(namespaces []string) *ServiceSet {
	all := slices.Contains(namespaces, "")
	c.mu.RLock()
	set := &ServiceSet{
		Services: c.state.localServices(func(key ServiceKey) bool { return all || slices.Contains(namespaces, key.Namespace) }),
		watch:    c.state.dependencies.newWatch(),
	}
	for _, namespace := range namespaces {
		set.dependsOn = append(set.dependsOn, servicesOf(namespace))
	}
	c.state.dependencies.add(&set.watch)
	c.mu.RUnlock()
	sortServices(set.Services)
	return set
}

// servicesOf returns the dependency on the Services of a namespace; empty stands for all.
func servicesOf(namespace string) dependency {
	return dependency{object: ID{Kind: KindService, Cluster: LocalCluster, Namespace: namespace}}
}

// serviceListChanged makes stale the sets that a change of a Service affects. Versions may be nil.
func (s *state) serviceListChanged(before, after *Service) {
	either := cmp.Or(before, after)
	if either == nil || either.Key.Cluster != LocalCluster || before.listedLike(after) {
		return
	}
	s.dependencies.changed(servicesOf(either.Key.Namespace))
	s.dependencies.changed(servicesOf(""))
}

// listedLike reports whether both versions lead to the same ServiceSet.
func (s *Service) listedLike(other *Service) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.ExternalName == other.ExternalName && s.TrafficPolicy().VisibleTo == other.TrafficPolicy().VisibleTo && slices.Equal(s.Ports, other.Ports)
}

// localServices returns the Services of our own cluster that pass a filter, in any order.
func (s *state) localServices(wanted func(ServiceKey) bool) (list []*Service) {
	for key, service := range s.services {
		if key.Cluster == LocalCluster && wanted(key) {
			list = append(list, service)
		}
	}
	return list
}

func sortServices(list []*Service) {
	slices.SortFunc(list, func(a, b *Service) int {
		return cmp.Or(cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name))
	})
}

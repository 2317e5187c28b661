package destination

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/catalog"
)

// skipped counts a profile that was sent in the place of several.
func (m *metrics) skipped(q catalog.ProfileQuery, a *profileAnswer) {
	if ofAddress(q, a) {
		m.addressOverflow.Inc()
		return
	}
	m.profileOverflow.WithLabelValues(profileName(a.snapshot.Service, m.server.config.ClusterDomain), fmt.Sprint(q.Port)).Inc()
}

// ofAddress reports whether a question is about an address and not about a Service. For an IP
// address, only the answer tells.
func ofAddress(q catalog.ProfileQuery, a *profileAnswer) bool {
	return q.Hostname != "" || a.snapshot.Service == catalog.ServiceKey{}
}

// profileName is the name of a Service's ServiceProfile.
func profileName(s catalog.ServiceKey, clusterDomain string) string {
	return fmt.Sprintf("%s.%s.svc.%s", s.Name, s.Namespace, clusterDomain)
}

// askedFor counts the streams of a Service or of addresses, and the changes of their profiles.
type askedFor struct {
	streams int
	updates uint64
}

func (m *metrics) collectProfiles(ch chan<- prometheus.Metric) {
	var addresses askedFor
	services := map[catalog.ServiceKey]askedFor{}
	total := 0
	views := map[*profileView]struct{}{}
	m.server.asks.each(func(s *profileStream) {
		total++
		a := s.view.current.Load()
		if a == nil {
			return
		}
		add := askedFor{streams: 1}
		if _, counted := views[s.view]; !counted {
			views[s.view] = struct{}{}
			add.updates = a.version
		}
		if ofAddress(s.view.query, a) {
			addresses = addresses.plus(add)
		} else {
			services[a.snapshot.Service] = services[a.snapshot.Service].plus(add)
		}
	})
	gauge(ch, m.open, float64(total), "GetProfile")
	gauge(ch, m.workloadSubscribers, float64(addresses.streams))
	count(ch, m.workloadUpdates, addresses.updates)
	for key, n := range services {
		profile := profileName(key, m.server.config.ClusterDomain)
		gauge(ch, m.profileSubscribers, float64(n.streams), key.Namespace, profile)
		count(ch, m.profileUpdates, n.updates, key.Namespace, profile)
		gauge(ch, m.serviceSubscribers, float64(n.streams), key.Namespace, key.Name)
	}
}

func (a askedFor) plus(b askedFor) askedFor {
	return askedFor{a.streams + b.streams, a.updates + b.updates}
}

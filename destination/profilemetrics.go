package destination

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/catalog"
)

// skipped counts a profile that replaces several updates.
func (m *metrics) skipped(v *profileView, a *profileResponse) {
	if ofAddress(v.query, a) {
		m.addressOverflow.Inc()
		return
	}
	v.overflows.Add(1)
}

// ofAddress reports whether a query is about an address and not about a Service. The response decides,
// because an IP address may be a cluster IP.
func ofAddress(q catalog.ProfileQuery, a *profileResponse) bool {
	return q.Hostname != "" || a.snapshot.Service == catalog.ServiceKey{}
}

func profileName(s catalog.ServiceKey, clusterDomain string) string {
	return fmt.Sprintf("%s.%s.svc.%s", s.Name, s.Namespace, clusterDomain)
}

// servicePort identifies a series of profile_updates_queue_overflow.
type servicePort struct {
	service catalog.ServiceKey
	port    uint16
}

// subscriberCounts counts the streams of a Service or of addresses, and the changes of their profiles.
type subscriberCounts struct {
	streams int
	updates uint64
}

func (m *metrics) collectProfiles(ch chan<- prometheus.Metric) {
	var addresses subscriberCounts
	services := map[catalog.ServiceKey]subscriberCounts{}
	overflows := map[servicePort]uint64{}
	total := 0
	views := map[*profileView]struct{}{}
	m.server.profileStreams.Each(func(s *profileStream) {
		total++
		a := s.view.current.Load()
		if a == nil {
			return
		}
		add := subscriberCounts{streams: 1}
		if _, counted := views[s.view]; !counted {
			views[s.view] = struct{}{}
			add.updates = a.version
			if n := s.view.overflows.Load(); n > 0 {
				overflows[servicePort{a.snapshot.Service, s.view.query.Port}] += n
			}
		}
		if ofAddress(s.view.query, a) {
			addresses = addresses.plus(add)
		} else {
			services[a.snapshot.Service] = services[a.snapshot.Service].plus(add)
		}
	})
	gauge(ch, openDesc, float64(total), "GetProfile")
	gauge(ch, workloadSubscribersDesc, float64(addresses.streams))
	count(ch, workloadUpdatesDesc, addresses.updates)
	for key, n := range services {
		profile := profileName(key, m.server.config.ClusterDomain)
		gauge(ch, profileSubscribersDesc, float64(n.streams), key.Namespace, profile)
		count(ch, profileUpdatesDesc, n.updates, key.Namespace, profile)
		gauge(ch, serviceSubscribersDesc, float64(n.streams), key.Namespace, key.Name)
	}
	for at, n := range overflows {
		count(ch, profileOverflowDesc, n, profileName(at.service, m.server.config.ClusterDomain), fmt.Sprint(at.port))
	}
}

func (a subscriberCounts) plus(b subscriberCounts) subscriberCounts {
	return subscriberCounts{a.streams + b.streams, a.updates + b.updates}
}

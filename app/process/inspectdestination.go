package process

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/inspect/whyserved"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/destination"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/linked"
)

const (
	// behindFor is how long a stream may wait for a message before it counts as behind.
	behindFor = time.Second
	// explainRate and explainBurst limit the requests of explanations. An explanation takes up to five
	// requests, and `signpost now` explains 50 Services within two seconds.
	explainRate, explainBurst = 20, 200
)

// inspectedDestination is an [inspect.StreamsOf] and [inspect.ServicesOf] of the destination role.
type inspectedDestination struct {
	server *destination.Server
	known  *catalog.Catalog
	// stateOf returns the state of a Service with a number of ready endpoints.
	stateOf func(s *catalog.Service, ready int) inspect.ServiceState
	links   func() []linked.Status
	*freshness
}

// staleClusters returns the clusters whose changes can't be seen now.
func (d *inspectedDestination) staleClusters() map[string]bool {
	stale := map[string]bool{}
	for _, l := range d.links() {
		if l.State == linked.Stale {
			stale[l.Cluster] = true
		}
	}
	if slices.ContainsFunc(d.ownTables(), func(t kube.TableStatus) bool { return t.Required && isStale(t) }) {
		stale[catalog.LocalCluster] = true
	}
	return stale
}

// unusable is the UnusableLink of [destination.Config].
func (d *inspectedDestination) unusable(cluster string) string {
	for _, l := range d.links() {
		if l.Cluster == cluster && l.State == linked.Unusable {
			return fmt.Sprintf("its Secret %s can't be used: %s", l.Secret, l.Reason)
		}
	}
	return ""
}

// unreadable is the Unreadable of [whyserved.Explainer].
func (d *inspectedDestination) unreadable(cluster string) string {
	for _, l := range d.links() {
		if l.Cluster == cluster && l.State == linked.Stale {
			return fmt.Sprintf("since %s (%s)", l.Since.UTC().Format(time.RFC3339), l.Reason)
		}
	}
	return ""
}

// Streams implements [inspect.StreamsOf].
func (d *inspectedDestination) Streams() []inspect.Stream {
	open := d.server.OpenStreams()
	stale := d.staleClusters()
	staleServices := map[catalog.ServiceKey]bool{}
	list := make([]inspect.Stream, 0, len(open))
	for i := range open {
		s := streamOf(&open[i])
		if s.State == inspect.StreamSynced && len(stale) > 0 {
			key := open[i].Service
			if _, known := staleServices[key]; !known {
				staleServices[key] = d.isStale(key, stale)
			}
			if staleServices[key] {
				s.State = inspect.StreamStale
			}
		}
		list = append(list, s)
	}
	return list
}

// isStale reports whether the endpoints of a Service of our own cluster come from one of these
// clusters.
func (d *inspectedDestination) isStale(key catalog.ServiceKey, clusters map[string]bool) bool {
	if clusters[catalog.LocalCluster] {
		return true
	}
	service, ok := d.known.FindService(key)
	return ok && slices.ContainsFunc(service.MemberKeys(), func(m catalog.ServiceKey) bool { return clusters[m.Cluster] })
}

func streamOf(o *destination.OpenStream) inspect.Stream {
	s := inspect.Stream{
		ID: strconv.FormatUint(o.ID, 10), Method: o.Method, Target: o.Target, Pod: o.Pod, Namespace: o.Namespace, Node: o.Node,
		View: viewOf(o.Filter), State: inspect.StreamSynced, Endpoints: o.Endpoints, Sent: o.Sent, Current: o.Current,
		LagSeconds: o.Lag.Seconds(), Opened: o.Opened,
	}
	if o.Service.Name != "" {
		s.Service = o.Service.Namespace + "/" + o.Service.Name
	}
	if o.Peer.IsValid() {
		s.Peer = o.Peer.String()
	}
	if o.Behind() {
		s.State = inspect.StreamBehind
	}
	return s
}

func viewOf(f catalog.Filter) string {
	switch f.Kind {
	case catalog.FilterNode:
		return "node " + f.Node
	case catalog.FilterHints:
		return "node " + f.Node + ", zone " + f.Zone
	case catalog.FilterZone:
		return "zone " + f.Zone
	default:
		return "all"
	}
}

// CountStreams implements [inspect.StreamsOf].
func (d *inspectedDestination) CountStreams() (open, behind int) {
	return d.server.CountStreams(behindFor)
}

// Services implements [inspect.ServicesOf].
func (d *inspectedDestination) Services(f inspect.ServiceFilter) inspect.ServiceList {
	all := d.known.ServiceList(func(key catalog.ServiceKey) bool {
		return (f.Namespace == "" || key.Namespace == f.Namespace) &&
			(f.Search == "" || strings.Contains(key.Namespace+"/"+key.Name, f.Search))
	})
	states := map[catalog.ServiceKey]inspect.ServiceState{}
	if len(f.States) > 0 {
		all = slices.DeleteFunc(all, func(s *catalog.Service) bool {
			states[s.Key] = d.stateOf(s, d.known.CountEndpoints(s).Ready)
			return !slices.Contains(f.States, states[s.Key])
		})
		slices.SortStableFunc(all, func(a, b *catalog.Service) int {
			return cmp.Compare(states[a.Key].Severity(), states[b.Key].Severity())
		})
	}
	part, page := inspect.Window(all, f.Offset, f.Limit)
	streams := d.server.CountOfServices()
	list := inspect.ServiceList{Services: make([]inspect.Service, 0, len(part)), Page: page}
	for _, s := range part {
		one := d.service(s, states[s.Key])
		one.Streams = streams[s.Key]
		list.Services = append(list.Services, one)
	}
	return list
}

// service returns a Service without its streams. The state is empty if it isn't known yet.
func (d *inspectedDestination) service(s *catalog.Service, state inspect.ServiceState) inspect.Service {
	counted := d.known.CountEndpoints(s)
	if state == "" {
		state = d.stateOf(s, counted.Ready)
	}
	one := inspect.Service{
		Namespace: s.Key.Namespace, Name: s.Key.Name, State: state, Ports: portsOf(s), Ready: counted.Ready, NotReady: counted.NotReady,
		Federated: s.Federation != nil,
	}
	if s.RemoteCluster != nil && !one.Federated {
		one.Remote = *s.RemoteCluster
	}
	return one
}

// portsOf returns the ports of a Service, such as "http:80".
func portsOf(s *catalog.Service) []string {
	ports := make([]string, 0, len(s.Ports))
	for _, p := range s.Ports {
		ports = append(ports, whyserved.PortText(p))
	}
	return ports
}

// CountServices implements [inspect.ServicesOf].
func (d *inspectedDestination) CountServices() int { return d.known.CountServices() }

// HasService implements [inspect.ServicesOf].
func (d *inspectedDestination) HasService(namespace, name string) bool {
	_, ok := d.known.FindService(catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: namespace, Name: name})
	return ok
}

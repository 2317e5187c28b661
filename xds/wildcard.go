package xds

import (
	"cmp"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"golang.org/x/time/rate"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/internal/history"
	"github.com/signpostd/signpost/internal/sanitize"
)

// coverage is what a wildcard subscription for Clusters covers (§8.3). Streams with the same coverage share a
// listing.
type coverage struct {
	// namespaces are sorted and separated by commas; empty for none, "*" for all.
	namespaces string
	// viewer is the namespace that clients have proved to be in; empty without authentication.
	viewer string
}

// listing is the Clusters of a coverage at one moment. It is immutable.
type listing struct {
	// clusters has the Service of each Cluster by its name, and leftOut counts those over the limit.
	clusters map[string]catalog.ServiceKey
	leftOut  int
	services *catalog.ServiceSet
}

// listings has the listing of each coverage that streams use.
type listings struct {
	server *Server
	lines  rate.Sometimes // when the log has a line about Clusters that were left out

	mu sync.Mutex
	m  map[coverage]*sharedListing
}

// sharedListing is the newest listing of a coverage. The lock of the listings guards it.
type sharedListing struct {
	coverage
	users   int
	current *listing
}

func newListings(s *Server) *listings {
	return &listings{server: s, lines: rate.Sometimes{First: 1, Interval: logInterval}, m: map[coverage]*sharedListing{}}
}

// join returns the listing of a coverage, which is kept until leave.
func (ls *listings) join(of coverage) *sharedListing {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	shared := ls.m[of]
	if shared == nil {
		shared = &sharedListing{coverage: of}
		ls.m[of] = shared
	}
	shared.users++
	return shared
}

func (ls *listings) leave(shared *sharedListing) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if shared.users--; shared.users > 0 {
		return
	}
	delete(ls.m, shared.coverage)
	if shared.current != nil {
		shared.current.services.Release()
	}
}

// newest returns the listing for the current state of the catalog, and how many streams have the coverage.
func (ls *listings) newest(shared *sharedListing) (current *listing, users int) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	before := shared.current
	if before == nil || channel.IsClosed(before.services.Stale()) {
		shared.current = ls.list(shared.coverage)
		ls.tell(shared, before)
	}
	return shared.current, shared.users
}

// list makes the listing of a coverage.
func (ls *listings) list(of coverage) *listing {
	config := ls.server.config
	l := &listing{services: ls.server.catalog.Services(of.list())}
	var all []listed
	for _, s := range l.services.Services {
		if s.ExternalName || config.Authenticate != nil && s.Policy != nil && !catalog.Sees(of.viewer, s.Policy.VisibleTo, s.Key.Namespace) {
			continue
		}
		for _, p := range s.Ports {
			if p.Protocol == catalog.TCP {
				all = append(all, listed{s.Key, p.Port})
			}
		}
	}
	l.leftOut = max(0, len(all)-maxWildcard)
	l.clusters = make(map[string]catalog.ServiceKey, len(all)-l.leftOut)
	for _, c := range fairShare(all)[:len(all)-l.leftOut] {
		l.clusters[config.namer().ServiceCluster(c.service, c.port)] = c.service
	}
	return l
}

// list returns the namespaces as the catalog takes them.
func (of coverage) list() []string {
	switch of.namespaces {
	case "":
		return nil
	case wildcard:
		return []string{""}
	default:
		return strings.Split(of.namespaces, ",")
	}
}

// listed is a port of a Service.
type listed struct {
	service catalog.ServiceKey
	port    uint16
}

// fairShare returns the ports, which are sorted by namespace, in the order in which they are listed if there
// are too many: the first one of each namespace, then the second one of each. So a namespace with many
// Services leaves no other one out.
func fairShare(all []listed) []listed {
	if len(all) <= maxWildcard {
		return all
	}
	type ranked struct {
		listed
		rank int
	}
	list := make([]ranked, len(all))
	rank := 0
	for i, c := range all {
		if rank++; i == 0 || all[i-1].service.Namespace != c.service.Namespace {
			rank = 0
		}
		list[i] = ranked{c, rank}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
	for i := range list {
		all[i] = list[i].listed
	}
	return all
}

// tell logs that Clusters were left out, and adds to the history which Clusters the clients get or lose. The
// caller holds the lock.
func (ls *listings) tell(shared *sharedListing, before *listing) {
	after := shared.current
	if after.leftOut > 0 {
		ls.server.refused(refusedClusters)
		ls.lines.Do(func() {
			ls.server.log.Warn("Left out Clusters of a wildcard subscription, because there are too many: name fewer namespaces in the metadata of the node",
				slog.String("namespaces", sanitize.Cut(shared.namespaces)), slog.Int("leftOut", after.leftOut), slog.Int("limit", maxWildcard))
		})
	}
	if before == nil || ls.server.config.History == nil {
		return
	}
	add := func(service catalog.ServiceKey, e history.Entry) {
		e.Kind, e.Source, e.Type, e.Streams = history.Told, "xds", clusters.String(), shared.users
		ls.server.config.History.Add(history.Key{Namespace: service.Namespace, Name: service.Name}, service.Namespace, &e)
	}
	for name, service := range after.clusters {
		if _, known := before.clusters[name]; !known {
			add(service, history.Entry{Action: history.Created, Object: name})
		}
	}
	for name, service := range before.clusters {
		if _, still := after.clusters[name]; !still {
			add(service, history.Entry{Action: history.Deleted, Object: name})
		}
	}
}

// cover subscribes to all Clusters of the client's namespaces. Of a delta client, has are the versions that
// it has from an earlier stream. gRPC clients have no wildcards. The error is a status.
func (s *stream) cover(has map[string]string) error {
	if s.client.grpc || s.covered != nil {
		return nil
	}
	s.covered = s.server.listings.join(s.client.coverage(s.server.config))
	if _, err := s.list(has); err != nil {
		return err
	}
	for name := range has {
		if s.types[clusters].subscriptions[name] == nil {
			s.types[clusters].lost = append(s.types[clusters].lost, strings.Clone(name))
		}
	}
	return nil
}

// uncover ends the subscription to all Clusters. Those that the client has named stay.
func (s *stream) uncover() {
	if s.covered == nil {
		return
	}
	s.leaveListing()
	for _, sub := range s.types[clusters].subscriptions {
		if sub.listed = false; !sub.named {
			s.unsubscribe(sub)
		}
	}
}

func (s *stream) leaveListing() {
	if s.covered == nil {
		return
	}
	s.server.listings.leave(s.covered)
	s.covered, s.stale = nil, nil
	s.listing.Store(nil)
}

// list makes the subscriptions of a wildcard those of its newest listing. It returns those that have to end.
// The error is a status.
func (s *stream) list(has map[string]string) (ended []*subscription, err error) {
	if s.covered == nil {
		return nil, nil
	}
	l, users := s.server.listings.newest(s.covered)
	if s.users = users; l == s.listing.Load() {
		return nil, nil
	}
	s.listing.Store(l)
	s.stale = l.services.Stale()
	in := &s.types[clusters]
	for name := range l.clusters {
		sub := in.subscriptions[name]
		if sub == nil {
			if sub, err = s.subscribe(clusters, name); err != nil {
				return nil, err
			}
			sub.sent = versionFrom(has, name)
		}
		sub.listed = true
	}
	for name, sub := range in.subscriptions {
		if _, still := l.clusters[name]; still || !sub.listed {
			continue
		}
		if sub.listed = false; !sub.named {
			ended = append(ended, sub)
		}
	}
	return ended, nil
}

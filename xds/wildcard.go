package xds

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/internal/history"
	"github.com/signpostd/signpost/internal/sanitize"
	"github.com/signpostd/signpost/xds/resource"
)

// coverage is the scope of a wildcard subscription for Clusters (§8.3).
type coverage struct {
	// namespaces are sorted and separated by commas; empty for none, "*" for all.
	namespaces string
	// viewer is the authenticated namespace of the clients; empty without authentication.
	viewer string
}

// listing has the Clusters of a coverage at one moment. Listings are immutable.
type listing struct {
	clusters map[string]catalog.ServiceKey // the Service of each Cluster
	leftOut  int                           // the number of Clusters above the limit
	services *catalog.ServiceSet
}

// sharedListing is the newest listing of a coverage, for all streams that have it.
type sharedListing struct {
	coverage
	server *Server
	end    func() // called after the last stream has left

	mu      sync.Mutex
	current *listing
	streams map[*stream]struct{}
}

// join wakes a stream for each new listing of a coverage until it leaves. The error is a status.
func (s *Server) join(of coverage, st *stream) (*sharedListing, error) {
	shared, err := s.listings.Acquire(of, func() (sl *sharedListing, err error) {
		sl = &sharedListing{coverage: of, server: s, streams: map[*stream]struct{}{}}
		sl.end, err = s.renewFor(st.client.id, sl.run)
		return sl, err
	})
	if err != nil {
		return nil, err
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.streams[st] = struct{}{}
	return shared, nil
}

func (sl *sharedListing) run(ctx context.Context) {
	for {
		l, _ := sl.newest()
		select {
		case <-l.services.Stale():
		case <-ctx.Done():
			sl.current.services.Release() // all streams have left
			return
		}
	}
}

// newest returns the current listing, and how many streams have the coverage.
func (sl *sharedListing) newest() (current *listing, users int) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if before := sl.current; before == nil || channel.IsClosed(before.services.Stale()) {
		sl.current = sl.list()
		sl.report(before)
		for st := range sl.streams {
			st.wake(laneOf(len(sl.streams)))
		}
	}
	return sl.current, len(sl.streams)
}

func (sl *sharedListing) list() *listing {
	config := sl.server.config
	namespaces := strings.Split(sl.namespaces, ",")
	switch sl.namespaces {
	case "":
		namespaces = nil
	case wildcard:
		namespaces = []string{""} // all of them
	}
	l := &listing{services: sl.server.catalog.Services(namespaces)}
	type listed struct {
		service catalog.ServiceKey
		port    uint16
		rank    int // the number of ports of its namespace before it
	}
	var all []listed
	ranks := map[string]int{}
	for _, s := range l.services.Services {
		if s.ExternalName || config.Authenticate != nil && !catalog.Sees(sl.viewer, s.TrafficPolicy().VisibleTo, s.Key.Namespace) {
			continue
		}
		for _, p := range s.Ports {
			if p.Protocol == catalog.TCP {
				all = append(all, listed{s.Key, p.Port, ranks[s.Key.Namespace]})
				ranks[s.Key.Namespace]++
			}
		}
	}
	if l.leftOut = max(0, len(all)-maxWildcard); l.leftOut > 0 {
		// The first port of each namespace comes before the second one of any, so that a namespace
		// with many Services doesn't use up the limit.
		slices.SortStableFunc(all, func(a, b listed) int { return cmp.Compare(a.rank, b.rank) })
		all = all[:maxWildcard]
	}
	l.clusters = make(map[string]catalog.ServiceKey, len(all))
	for _, c := range all {
		l.clusters[config.ClusterName(resource.Name{Service: c.service}, c.port)] = c.service
	}
	return l
}

// report logs that Clusters were left out, and adds created and deleted ones to the history. The
// caller holds the lock.
func (sl *sharedListing) report(before *listing) {
	server, after := sl.server, sl.current
	if after.leftOut > 0 {
		server.refused(refusedClusters)
		server.leftOut.Do(func() {
			server.log.Warn("Left out Clusters of a wildcard subscription, because there are too many: name fewer namespaces in the metadata of the node",
				slog.String("namespaces", sanitize.Cut(sl.namespaces)), slog.Int("leftOut", after.leftOut), slog.Int("limit", maxWildcard))
		})
	}
	if before == nil || server.config.History == nil {
		return
	}
	report := func(action history.Action, in, lackedBy *listing) {
		for name, service := range in.clusters {
			if _, has := lackedBy.clusters[name]; !has {
				e := history.Entry{Kind: history.Sent, Action: action, Source: "xds", Type: clusters.String(), Object: name, Streams: len(sl.streams)}
				server.config.History.Add(history.Key{Namespace: service.Namespace, Name: service.Name}, service.Namespace, &e)
			}
		}
	}
	report(history.Created, after, before)
	report(history.Deleted, before, after)
}

// subscribeAll starts a wildcard for a type. The client may have resources from an earlier stream:
// version is that of a SotW response, and versions are those of a delta client. Only wildcards of
// Envoy for Clusters have resources. The error is a status.
func (s *stream) subscribeAll(typ resourceType, version string, versions map[string]string) error {
	in := &s.types[typ]
	if in.wildcard {
		return nil
	}
	in.wildcard, in.mustRespond = true, !s.client.grpc
	if typ != clusters || s.client.grpc {
		return nil
	}
	if in.nonce == "" {
		in.resumedVersion = cloneText(version)
	}
	if err := s.joinListing(); err != nil {
		return err
	}
	if _, err := s.list(versions); err != nil {
		return err
	}
	for name := range versions {
		if in.subscriptions[name] == nil {
			in.removedNames = append(in.removedNames, strings.Clone(name))
		}
	}
	return nil
}

// joinListing makes the stream list the Clusters of its namespaces. The error is a status.
func (s *stream) joinListing() (err error) {
	if s.shared, err = s.server.join(coverage{s.client.namespaces, s.client.identity.Namespace}, s); err != nil {
		return err
	}
	l, _ := s.shared.newest()
	_ = s.budget.take(s.ctx, listedCost*len(l.clusters)) // it fails if the context ends, which sending notices
	return nil
}

// unsubscribeAll ends the wildcard for a type. Subscriptions by name stay.
func (s *stream) unsubscribeAll(typ resourceType) {
	in := &s.types[typ]
	in.wildcard = false
	if typ != clusters || s.shared == nil {
		return
	}
	s.leaveListing()
	for _, sub := range in.subscriptions {
		if sub.covered = false; !sub.named {
			s.unsubscribe(sub)
		}
	}
}

func (s *stream) leaveListing() {
	if s.shared == nil {
		return
	}
	sl := s.shared
	sl.mu.Lock()
	delete(sl.streams, s)
	sl.mu.Unlock()
	s.server.listings.Release(sl.coverage, func(*sharedListing) { sl.end() })
	s.shared = nil
	s.listing.Store(nil)
}

// list subscribes to the Clusters of the newest listing, if it is another one. It returns the
// subscriptions that have to end. The error is a status.
func (s *stream) list(versions map[string]string) (ended []*subscription, err error) {
	if s.shared == nil {
		return nil, nil
	}
	l, users := s.shared.newest()
	if s.users = users; l == s.listing.Load() {
		return nil, nil
	}
	s.listing.Store(l)
	in := &s.types[clusters]
	for name := range l.clusters {
		sub := in.subscriptions[name]
		if sub == nil {
			if sub, err = s.subscribe(clusters, name); err != nil {
				return nil, err
			}
			sub.sent = cloneText(versions[name])
		}
		sub.covered = true
	}
	for name, sub := range in.subscriptions {
		if _, still := l.clusters[name]; still || !sub.covered {
			continue
		}
		if sub.covered = false; !sub.named {
			ended = append(ended, sub)
		}
	}
	all, _ := s.all()
	for _, sub := range all {
		sub.topic.renew() // so that all responses that follow are of one state
	}
	return ended, nil
}

package xds

import (
	"strings"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// handleDelta changes the subscriptions of a type, whichever response the request answers (§6.3).
func (s *stream) handleDelta(typ resourceType, r *discovery.DeltaDiscoveryRequest) error {
	in := &s.types[typ]
	if n := len(r.GetInitialResourceVersions()); n > maxInitialVersions {
		s.server.refused(refusedInitialVersions)
		return status.Errorf(codes.ResourceExhausted, "a request has %d initial_resource_versions, and may have %d", n, maxInitialVersions)
	}
	versions := r.GetInitialResourceVersions()
	names := r.GetResourceNamesSubscribe()
	if err := s.admit(typ, names, in.countNew(names)); err != nil {
		return err
	}
	if len(names) == 0 && !in.named && in.nonce == "" {
		if err := s.subscribeAll(typ, "", versions); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := s.subscribeDelta(typ, name, versions); err != nil {
			return err
		}
	}
	for _, name := range r.GetResourceNamesUnsubscribe() {
		s.unsubscribeDelta(typ, name)
	}
	return nil
}

// subscribeDelta subscribes to a name. A client may have versions from an earlier stream. A name
// that is subscribed to already is sent again.
//
// The endpoints of a client that has Clusters, too, are sent whatever it has of them: it uses a
// Cluster that differs from that of the earlier stream only after another response with its
// endpoints (§6.6), and names both in any order.
func (s *stream) subscribeDelta(typ resourceType, name string, versions map[string]string) error {
	in := &s.types[typ]
	in.named = true
	if name == wildcard {
		return s.subscribeAll(typ, "", versions)
	}
	known := in.subscriptions[name]
	sub, err := s.subscribeName(typ, name)
	switch {
	case err != nil:
		return err
	case known != nil:
		s.sendAgain(sub)
	case typ != endpoints || !s.types[clusters].requested:
		sub.sent = versionFrom(versions, name)
	}
	return nil
}

// sendAgain makes the next flush send a resource, whatever the client has.
func (s *stream) sendAgain(sub *subscription) {
	sub.resend, sub.removed, sub.resubscribed = true, false, true
	s.mark(sub, laneRequest)
}

// unsubscribeDelta unsubscribes from a name. A client that still has a wildcard is told whether
// that covers it.
func (s *stream) unsubscribeDelta(typ resourceType, name string) {
	in := &s.types[typ]
	sub := in.subscriptions[name]
	switch {
	case name == wildcard:
		s.unsubscribeAll(typ)
	case sub == nil || !sub.named:
	default:
		s.unsubscribeName(sub)
		if sub.covered {
			s.sendAgain(sub)
		} else if in.wildcard && !s.client.grpc {
			in.removedNames = append(in.removedNames, sub.name)
		}
	}
}

// versionFrom returns the version that a client has of a resource from an earlier stream; "" for
// none.
func versionFrom(versions map[string]string, name string) string {
	if v := versions[name]; len(v) <= maxNodeText {
		return strings.Clone(v)
	}
	return ""
}

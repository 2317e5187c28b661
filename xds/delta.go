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
	has := r.GetInitialResourceVersions()
	names := r.GetResourceNamesSubscribe()
	if err := s.admit(typ, names, in.countNew(names)); err != nil {
		return err
	}
	if len(names) == 0 && !in.named && in.nonce == "" {
		if err := s.want(typ, "", has); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := s.subscribeDelta(typ, name, has); err != nil {
			return err
		}
	}
	for _, name := range r.GetResourceNamesUnsubscribe() {
		s.unsubscribeDelta(typ, name)
	}
	return nil
}

// subscribeDelta subscribes to a name. A client may have versions from an earlier stream. A name that is
// subscribed to already is sent again.
//
// The endpoints of a client that has Clusters, too, are sent whatever it has of them: it uses a
// Cluster that differs from that of the earlier stream only after another response with its
// endpoints (§6.6), and names both in any order.
func (s *stream) subscribeDelta(typ resourceType, name string, has map[string]string) error {
	in := &s.types[typ]
	in.named = true
	if name == wildcard {
		return s.want(typ, "", has)
	}
	known := in.subscriptions[name]
	sub, err := s.name(typ, name)
	switch {
	case err != nil:
		return err
	case known != nil:
		s.sendAgain(sub)
	case typ != endpoints || !s.types[clusters].asked:
		sub.sent = versionFrom(has, name)
	}
	return nil
}

// sendAgain makes the next flush send a resource, whatever the client has.
func (s *stream) sendAgain(sub *subscription) {
	sub.resend, sub.removed, sub.again = true, false, true
	s.mark(sub, laneRequest)
}

// unsubscribeDelta unsubscribes from a name. A client that still has a wildcard is told whether that covers it.
func (s *stream) unsubscribeDelta(typ resourceType, name string) {
	in := &s.types[typ]
	sub := in.subscriptions[name]
	switch {
	case name == wildcard:
		s.unwant(typ)
	case sub == nil || !sub.named:
	default:
		s.unname(sub)
		if sub.listed {
			s.sendAgain(sub)
		} else if in.wildcard && !s.client.grpc {
			in.lost = append(in.lost, sub.name)
		}
	}
}

// versionFrom returns the version that a client has of a resource from an earlier stream; "" for none.
func versionFrom(has map[string]string, name string) string {
	if v := has[name]; len(v) <= maxNodeText {
		return strings.Clone(v)
	}
	return ""
}

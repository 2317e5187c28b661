package xds

import (
	"strings"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// handleDelta applies a request to the subscriptions of a type, whatever its nonce (§6.3).
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

// subscribeDelta subscribes to a name. The client may have versions from an earlier stream. If the
// name has a subscription, the resource is sent again.
//
// If the client also subscribes to Clusters, its endpoints are always sent: it uses a Cluster that
// has changed since the earlier stream only after another response with its endpoints (§6.6), and
// it subscribes to both in any order.
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

// sendAgain makes the next flush send a resource again.
func (s *stream) sendAgain(sub *subscription) {
	sub.resend, sub.removed, sub.resubscribed = true, false, true
	s.mark(sub, laneRequest)
}

// unsubscribeDelta ends a subscription by name. If the client has a wildcard, it is sent the
// resource if the wildcard covers it, else its removal.
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

// versionFrom returns the version of a resource that a client has from an earlier stream; "" for
// none.
func versionFrom(versions map[string]string, name string) string {
	if v := versions[name]; len(v) <= maxNodeText {
		return strings.Clone(v)
	}
	return ""
}

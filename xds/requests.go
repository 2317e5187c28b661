package xds

import (
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// wildcard is the name that stands for all resources of a type.
const wildcard = "*"

// handleSotW makes the names of a request the subscriptions of its type (§6.1). A request with the
// nonce of an earlier response is stale and ignored, because the client sends another one (§6.3).
func (s *stream) handleSotW(typ resourceType, r *discovery.DiscoveryRequest) error {
	in := &s.types[typ]
	if nonce := r.GetResponseNonce(); nonce != "" && in.nonce != "" && nonce != in.nonce {
		return nil
	}
	names := r.GetResourceNames()
	if len(names) == 0 && !in.named {
		return s.subscribeAll(typ, r.GetVersionInfo(), nil)
	}
	// Duplicate names count twice, because lastNames keeps them.
	if err := s.admit(typ, names, len(names)-in.names); err != nil {
		return err
	}
	in.named, in.lastNames = true, names
	wanted := make(map[string]struct{}, len(names))
	for _, name := range names {
		wanted[name] = struct{}{}
	}
	if _, all := wanted[wildcard]; !all {
		s.unsubscribeAll(typ)
	} else if err := s.subscribeAll(typ, r.GetVersionInfo(), nil); err != nil {
		return err
	}
	delete(wanted, wildcard)
	for name, sub := range in.subscriptions {
		if _, still := wanted[name]; !still && sub.named {
			s.unsubscribeName(sub)
		}
	}
	for name := range wanted {
		if _, err := s.subscribeName(typ, name); err != nil {
			return err
		}
	}
	return nil
}

// handleDelta applies a request to the subscriptions of a type, whatever its nonce (§6.3).
func (s *stream) handleDelta(typ resourceType, r *discovery.DeltaDiscoveryRequest) error {
	in := &s.types[typ]
	names, versions := r.GetResourceNamesSubscribe(), r.GetInitialResourceVersions()
	if n := len(versions); n > maxInitialVersions {
		s.server.refusedClient(refusedInitialVersions, s.client.id)
		return status.Errorf(codes.ResourceExhausted, "a request has %d initial_resource_versions, and may have %d", n, maxInitialVersions)
	}
	if err := s.admit(typ, names, in.countNew(names)); err != nil {
		return err
	}
	if len(names) == 0 && !in.named && in.nonce == "" {
		names = []string{wildcard}
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

// subscribeDelta subscribes to a name, or sends its resource again. If the client also subscribes to
// Clusters, its endpoints are sent whatever versions it has from an earlier stream: it needs those
// of a changed Cluster again (§6.6), and subscribes to both in any order.
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
		sub.sent = cloneText(versions[name])
	}
	return nil
}

// sendAgain makes the next flush send a resource again.
func (s *stream) sendAgain(sub *subscription) {
	sub.resend, sub.resubscribed = true, true
	s.wake(laneRequest, sub)
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

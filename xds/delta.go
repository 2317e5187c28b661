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
	if detail := r.GetErrorDetail(); detail != nil {
		s.reject(typ, r.GetResponseNonce(), detail.GetMessage())
	}
	if n := len(r.GetInitialResourceVersions()); n > maxInitialVersions {
		s.server.refused(refusedInitialVersions)
		return status.Errorf(codes.ResourceExhausted, "a request has %d initial_resource_versions, and may have %d", n, maxInitialVersions)
	}
	if len(r.GetResourceNamesSubscribe()) == 0 && !in.named && in.nonce == 0 {
		in.want()
	}
	s.asked[typ].Store(new([]string))
	for _, name := range r.GetResourceNamesSubscribe() {
		if err := s.subscribeDelta(typ, name, r.GetInitialResourceVersions()[name]); err != nil {
			return err
		}
	}
	for _, name := range r.GetResourceNamesUnsubscribe() {
		if name == wildcard {
			in.wildcard = false
		} else if sub := in.subscriptions[name]; sub != nil {
			s.unsubscribe(sub)
		}
	}
	return nil
}

// subscribeDelta subscribes to a name, of which the client has a version from an earlier stream or "". A name that is
// subscribed to already is sent again.
func (s *stream) subscribeDelta(typ resourceType, name, has string) error {
	in := &s.types[typ]
	in.named = true
	if name == wildcard {
		in.want()
		return nil
	}
	if sub := in.subscriptions[name]; sub != nil {
		sub.resend, sub.removed, sub.again = true, false, true
		if s.resender == nil {
			s.resender = s.server.resenders.join(s.client.id)
		}
		s.mark(sub)
		return nil
	}
	sub, err := s.subscribe(typ, name)
	if err == nil && len(has) <= maxNodeText {
		sub.sent = strings.Clone(has)
	}
	return err
}

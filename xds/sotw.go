package xds

import (
	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// wildcard is the name that stands for all resources of a type.
const wildcard = "*"

func (r request) node() *corepb.Node {
	if r.delta != nil {
		return r.delta.GetNode()
	}
	return r.sotw.GetNode()
}

// handleSotW makes the names of a request the subscriptions of its type (§6.1). A request that answers another
// response than the last one is out of date: the client sends one more (§6.3).
func (s *stream) handleSotW(typ resourceType, r *discovery.DiscoveryRequest) error {
	in := &s.types[typ]
	if detail := r.GetErrorDetail(); detail != nil {
		s.reject(typ, r.GetResponseNonce(), detail.GetMessage())
	}
	if nonce := r.GetResponseNonce(); nonce != "" && in.nonce != 0 && nonce != nonceText(in.nonce) {
		return nil
	}
	names := r.GetResourceNames()
	if len(names) == 0 && !in.named {
		in.want()
		return nil
	}
	in.named = true
	wanted := make(map[string]struct{}, len(names))
	for _, name := range names {
		wanted[name] = struct{}{}
	}
	s.asked[typ].Store(nil)
	if len(names) == len(wanted) { // else they could take more memory than the subscriptions
		s.asked[typ].Store(&names)
	}
	if _, all := wanted[wildcard]; all {
		in.want()
	} else {
		in.wildcard = false
	}
	delete(wanted, wildcard)
	for name, sub := range in.subscriptions {
		if _, still := wanted[name]; !still {
			s.unsubscribe(sub)
		}
	}
	for name := range wanted {
		if in.subscriptions[name] != nil {
			continue
		}
		if _, err := s.subscribe(typ, name); err != nil {
			return err
		}
	}
	return nil
}

// want subscribes to all resources of the type.
func (in *interest) want() {
	in.owed = in.owed || !in.wildcard
	in.wildcard = true
}

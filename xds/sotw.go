package xds

import discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

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

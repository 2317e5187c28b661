package xds

import (
	"strings"

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
		s.asked[typ].Store(new([]string))
		return s.want(typ, r.GetVersionInfo(), nil)
	}
	// Names that are there twice count twice, because asked keeps them.
	if err := s.checkNames(names, len(names)-in.names); err != nil {
		return err
	}
	in.named = true
	s.asked[typ].Store(&names)
	wanted := make(map[string]struct{}, len(names))
	for _, name := range names {
		wanted[name] = struct{}{}
	}
	if _, all := wanted[wildcard]; !all {
		s.unwant(typ)
	} else if err := s.want(typ, r.GetVersionInfo(), nil); err != nil {
		return err
	}
	delete(wanted, wildcard)
	for name, sub := range in.subscriptions {
		if _, still := wanted[name]; !still && sub.named {
			s.unname(sub)
		}
	}
	for name := range wanted {
		if _, err := s.name(typ, name); err != nil {
			return err
		}
	}
	return nil
}

// want subscribes to all resources of the type, of which the client has versions from an earlier stream: one
// of all, or one of each. Only Clusters have a wildcard; for other types it has no resources. The error is a
// status.
func (s *stream) want(typ resourceType, has string, each map[string]string) error {
	in := &s.types[typ]
	if in.wildcard {
		return nil
	}
	in.wildcard, in.owed = true, true
	if typ != clusters {
		return nil
	}
	if in.nonce == 0 && len(has) <= maxNodeText {
		in.has = strings.Clone(has)
	}
	return s.cover(each)
}

// unwant ends the subscription to all resources of the type.
func (s *stream) unwant(typ resourceType) {
	s.types[typ].wildcard = false
	if typ == clusters {
		s.uncover()
	}
}

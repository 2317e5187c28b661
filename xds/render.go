package xds

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/xds/resource"
)

// newTopic returns the topic of a name, without views. Its query has the same type and namespace for
// all clients for which they make no difference, so that these share a topic.
func (s *Server) newTopic(typ resourceType, name, namespace string) *topic {
	q := query{name, namespace, listeners}
	if typ != listeners && typ != routes {
		q.namespace, q.typ = "", clusters
	}
	if strings.HasPrefix(name, "xdstp:") {
		q.typ = typ
	}
	t := &topic{query: q, server: s, views: map[viewKey]*view{}}
	t.name, t.unusable = s.config.Parse(q.typ, q.name, q.namespace)
	if t.unusable == nil && t.name.Service.Namespace == q.namespace {
		if _, err := s.config.Parse(q.typ, q.name, ""); err == nil {
			t.namespace = "" // the name contains it, so its ServiceProfiles come first for all clients
		}
	}
	return t
}

// catalogState is the state of the catalog that resources are rendered from.
type catalogState struct {
	snapshot *catalog.Snapshot        // nil until first needed, and for a query that watches nothing
	profile  *catalog.ProfileSnapshot // nil unless routes need one
	filters  *catalog.Filters         // nil unless endpoints need them
	outdated string                   // why the catalog may lack the Service; set if clients may be told that it does
}

// render makes the resource of a view. The Listener, routes and Cluster of a deleted Service are
// never removed from clients (§5.4): only its endpoints are, until the Service is back.
func (t *topic) render(v *view) (f *frame) {
	s, err := t.input(v.hidden)
	before := v.current.Load()
	switch {
	case err != nil && before != nil && before.ofService:
		kept := *before
		f, kept.made = &kept, v.outdated
	case errors.Is(err, errPending):
		f = v.absent(false)
	case err != nil:
		f = t.renderMissing(v, err)
	case v.typ == endpoints:
		f = t.renderAssignment(v, s)
	default:
		f = t.renderService(v, s)
		f.ofService = true
	}
	if v.typ == endpoints {
		f.filters = t.state.filters
	}
	f.visibleTo = t.visibleTo
	return f
}

// hides reports whether a Service with this visibility is hidden from a client.
func (t *topic) hides(visibleTo string, from *stream) bool {
	return !catalog.Sees(from.client.identity.Namespace, visibleTo, t.name.Service.Namespace)
}

// errPending is the error of a query for a Service that may be in a linked cluster that isn't
// synced yet.
var errPending = errors.New("the linked cluster is not synced yet")

// input returns the input for rendering. The error is the reason why the Service or port doesn't
// exist. If the Service may be in a linked cluster that isn't synced yet, a port number is not checked.
func (t *topic) input(hidden bool) (s resource.Input, err error) {
	f := &t.state
	if t.unusable != nil {
		return s, t.unusable
	}
	if hidden {
		return s, t.missing()
	}
	s = resource.Input{Name: t.name, Service: f.snapshot.Service}
	if f.profile != nil {
		s.Profile = f.profile.Profile
	}
	switch {
	case s.Service != nil:
		s.Port, err = t.name.ChoosePort(s.Service)
	case !f.snapshot.Pending():
		err = t.missing()
	default:
		if s.Port = t.name.PortNumber(); s.Port == 0 {
			err = errPending
		}
	}
	return s, err
}

// missing returns the reason for clients that the Service doesn't exist, the same for a hidden one.
func (t *topic) missing() error {
	_, err := t.name.ChoosePort(nil)
	if t.state.outdated != "" {
		err = fmt.Errorf("%w, as far as this replica knows: %s", err, t.state.outdated)
	}
	return err
}

// renderMissing makes the resource for a name that doesn't exist (§5). Endpoints are empty, because
// Envoy waits for those of each Cluster, and a gRPC client keeps the Cluster of a deleted Service.
func (t *topic) renderMissing(v *view, why error) *frame {
	name := t.query.name
	switch {
	case v.typ == endpoints:
		return v.frameOf(t.server.config.Assignment(name, resource.Input{}, catalog.PlacedSet{}))
	case v.typ == clusters && (!v.strict || resource.IsReason(name)):
		return v.frameOf(t.server.config.MissingCluster(name, t.name))
	case v.typ == listeners && !v.strict && v.client != resource.Envoy:
		return v.frameOf(resource.MissingListener(name, why, v.client))
	default:
		return v.absent(true)
	}
}

func (t *topic) renderService(v *view, s resource.Input) *frame {
	config, name := t.server.config, t.query.name
	if v.typ != clusters {
		r, _ := config.Routes(v.typ, name, s, v.client)
		return v.frameOf(r)
	}
	if s.Service.TrafficPolicy().TLS != catalog.NoTLS {
		s.Endpoints = catalog.ResolveAll(t.state.snapshot, t.endpointQuery(s, catalog.Filter{})).Endpoints
	}
	full, plain := config.Cluster(name, s, v.client)
	made := v.frameOf(full)
	if plain.Version != full.Version {
		made.plain = v.frameOf(plain)
	}
	return made
}

func (t *topic) renderAssignment(v *view, s resource.Input) *frame {
	set := catalog.ResolveAll(t.state.snapshot, t.endpointQuery(s, v.filter))
	if len(set.Endpoints) == 0 && set.Pending {
		return v.absent(false)
	}
	made := v.frameOf(t.server.config.Assignment(t.query.name, s, set))
	made.usable = usable(set.Endpoints)
	return made
}

func (t *topic) endpointQuery(s resource.Input, f catalog.Filter) catalog.Query {
	return catalog.Query{Port: s.Port, Hostname: t.name.Hostname, Filter: f, IPv6: t.server.config.EnableIPv6}
}

func usable(set []catalog.PlacedEndpoint) []netip.AddrPort {
	list := make([]netip.AddrPort, 0, len(set))
	for i := range set {
		if !set[i].Draining {
			list = append(list, set[i].Addr)
		}
	}
	return list
}

// absent returns the next frame of a view whose resource is not sent.
func (v *view) absent(missing bool) *frame { return &frame{missing: missing, made: v.outdated} }

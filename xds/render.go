package xds

import (
	"errors"
	"net/netip"
	"time"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/xds/resource"
)

// parsedQuery is a query with its parsed name.
type parsedQuery struct {
	query
	config *Config
	name   resource.Name
	// unusable is the reason why no Service can have the name; nil if the name is valid.
	unusable error
	// lastVisibleTo is the last result of visibleTo while the Service existed, because clients keep
	// its resources.
	lastVisibleTo string
}

func (c *Config) namer() resource.Namer {
	return resource.Namer{ClusterDomain: c.ClusterDomain, Authorities: c.Authorities, TrustDomain: c.TrustDomain}
}

// parse parses a query, and removes the namespace of the client if it makes no difference, so that
// more clients share a topic.
func (c *Config) parse(q query) parsedQuery {
	if !q.route() {
		q.namespace = ""
	}
	a := parsedQuery{query: q, config: c}
	a.name, a.unusable = c.namer().Parse(q.typ, q.name, q.namespace)
	if a.unusable == nil && a.name.Service.Namespace == q.namespace {
		if _, err := c.namer().Parse(q.typ, q.name, ""); err == nil {
			a.namespace = "" // the name contains it, so that the ServiceProfiles of the Service come first for all clients
		}
	}
	return a
}

// catalogState is the state of the catalog that resources are rendered from.
type catalogState struct {
	snapshot *catalog.Snapshot        // nil until first needed, and for a query that watches nothing
	profile  *catalog.ProfileSnapshot // nil unless routes need one
	filters  *catalog.Filters         // nil unless endpoints need them
}

// render makes the resource of a view.
func (q *parsedQuery) render(v *view, f catalogState) *frame {
	made := q.renderResource(v, f)
	if v.typ == endpoints {
		made.filters = f.filters
	}
	made.visibleTo = q.visibleTo(f)
	return made
}

func (q *parsedQuery) renderResource(v *view, f catalogState) *frame {
	s, err := q.input(v, f)
	before := v.current.Load()
	switch {
	case err != nil && before != nil && before.ofService:
		return before.kept()
	case errors.Is(err, errPending):
		return absent(pending)
	case err != nil:
		return q.renderMissing(v, err)
	case v.typ == endpoints:
		return q.renderAssignment(v, f, s)
	}
	made := q.renderService(v, f, s)
	made.ofService = true
	return made
}

// visibleTo returns the namespaces whose clients may see the Service, or the last version of it;
// empty for all.
func (q *parsedQuery) visibleTo(f catalogState) string {
	switch {
	case q.config.Authenticate == nil || f.snapshot == nil:
		return ""
	case f.snapshot.Service == nil:
		return q.lastVisibleTo
	case f.snapshot.Service.Policy == nil:
		return ""
	}
	return f.snapshot.Service.Policy.VisibleTo
}

// hides reports whether a Service with this visibility is hidden from a client.
func (q *parsedQuery) hides(visibleTo string, from *stream) bool {
	return visibleTo != "" && !catalog.Sees(from.client.identity.Namespace, visibleTo, q.name.Service.Namespace)
}

// errPending is the error of a query for a Service that may be in a linked cluster that isn't
// synced yet.
var errPending = errors.New("the linked cluster is not synced yet")

// input returns the input for rendering. The error is the reason why the Service or port doesn't
// exist. If the Service may be in a linked cluster that isn't synced yet, a port number is used
// unchecked. In a hidden view, the Service doesn't exist.
func (q *parsedQuery) input(v *view, f catalogState) (s resource.Input, err error) {
	if q.unusable != nil {
		return s, q.unusable
	}
	if v.hidden {
		_, err = q.name.ChoosePort(nil)
		return s, err
	}
	s = resource.Input{Name: q.name, Service: f.snapshot.Service}
	if f.profile != nil {
		s.Profile = f.profile.Profile
	}
	if s.Service != nil || !f.snapshot.Pending() {
		s.Port, err = q.name.ChoosePort(s.Service)
	} else if s.Port = q.name.PortNumber(); s.Port == 0 {
		err = errPending
	}
	return s, err
}

// renderMissing makes the resource for a name that doesn't exist (§5). Endpoints are empty instead
// of missing, because Envoy waits for those of each Cluster, and a gRPC client keeps the Cluster of
// a deleted Service.
func (q *parsedQuery) renderMissing(v *view, why error) *frame {
	name := q.query.name
	switch {
	case v.typ == endpoints:
		return frameOf(endpoints, resource.EmptyAssignment(name))
	case v.typ == clusters && (!v.strict || resource.IsReason(name)):
		return frameOf(clusters, q.config.namer().MissingCluster(name, q.name))
	case v.typ == listeners && !v.strict && v.client != resource.Envoy:
		return frameOf(listeners, resource.MissingListener(name, why, v.client))
	default:
		return absent(missing)
	}
}

// renderService makes a Listener, RouteConfiguration or Cluster of a Service.
func (q *parsedQuery) renderService(v *view, f catalogState, s resource.Input) *frame {
	namer, name := q.config.namer(), q.query.name
	if v.typ != clusters {
		r, _ := namer.Routes(v.typ, name, s, v.client)
		return frameOf(v.typ, r)
	}
	if s.Service != nil && s.Service.Policy != nil && s.Service.Policy.TLS != catalog.NoTLS {
		s.Endpoints = catalog.ResolveAll(f.snapshot, q.endpointQuery(s, catalog.Filter{})).Endpoints
	}
	full, plain := namer.Cluster(name, s, v.client)
	made := frameOf(clusters, full)
	if plain.Version != full.Version {
		made.plain = frameOf(clusters, plain)
	}
	return made
}

// renderAssignment makes a ClusterLoadAssignment.
func (q *parsedQuery) renderAssignment(v *view, f catalogState, s resource.Input) *frame {
	set := catalog.ResolveAll(f.snapshot, q.endpointQuery(s, v.filter))
	switch {
	case len(set.Endpoints) == 0 && set.Pending:
		return absent(pending)
	case !set.Exists:
		return frameOf(endpoints, resource.EmptyAssignment(q.query.name))
	}
	made := frameOf(endpoints, q.config.namer().Assignment(q.query.name, s, set))
	made.usable = usable(set.Endpoints)
	return made
}

// endpointQuery returns the query for the endpoints of clients at one place.
func (q *parsedQuery) endpointQuery(s resource.Input, f catalog.Filter) catalog.Query {
	return catalog.Query{Port: s.Port, Hostname: q.name.Hostname, Filter: f, IPv6: q.config.EnableIPv6}
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

// absent returns the frame of a resource that is not sent.
func absent(e existence) *frame { return &frame{existence: e, made: time.Now()} }

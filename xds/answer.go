package xds

import (
	"errors"
	"net/netip"
	"time"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/xds/resource"
)

// asked is a question that is parsed.
type asked struct {
	question
	config *Config
	name   resource.Name
	// unusable says why no Service can have the name; nil for a name that one can have.
	unusable error
	// lastVisibleTo is what visibleTo returned while there was a Service: clients keep what they have of it.
	lastVisibleTo string
}

func (c *Config) namer() resource.Namer {
	return resource.Namer{ClusterDomain: c.ClusterDomain, Authorities: c.Authorities, TrustDomain: c.TrustDomain}
}

// parse returns a question in the form that most clients share: without the namespace of the client
// if that makes no difference.
func (c *Config) parse(q question) asked {
	if !q.route() {
		q.namespace = ""
	}
	a := asked{question: q, config: c}
	a.name, a.unusable = c.namer().Parse(q.typ, q.name, q.namespace)
	if a.unusable == nil && a.name.Service.Namespace == q.namespace {
		if _, err := c.namer().Parse(q.typ, q.name, ""); err == nil {
			a.namespace = "" // the name has it, so that its own ServiceProfiles come first for all clients
		}
	}
	return a
}

// facts are what answers are made from.
type facts struct {
	snapshot *catalog.Snapshot        // nil until first needed, and for a question that watches nothing
	profile  *catalog.ProfileSnapshot // nil unless routes need one
	filters  *catalog.Filters         // nil unless endpoints need them
}

// answer makes the resource of a view.
func (a *asked) answer(v *view, f facts) *frame {
	made := a.make(v, f)
	if v.typ == endpoints {
		made.filters = f.filters
	}
	made.visibleTo = a.visibleTo(f)
	return made
}

func (a *asked) make(v *view, f facts) *frame {
	s, err := a.subject(v, f)
	before := v.current.Load()
	switch {
	case err != nil && before != nil && before.used:
		return before.kept()
	case errors.Is(err, errPending):
		return absent(pending)
	case err != nil:
		return a.missing(v, err)
	case v.typ == endpoints:
		return a.assignment(v, f, s)
	}
	made := a.used(v, f, s)
	made.used = true
	return made
}

// visibleTo returns the namespaces whose clients may see the Service, or what there was of it; empty for all.
func (a *asked) visibleTo(f facts) string {
	switch {
	case a.config.Authenticate == nil || f.snapshot == nil:
		return ""
	case f.snapshot.Service == nil:
		return a.lastVisibleTo
	case f.snapshot.Service.Policy == nil:
		return ""
	}
	return f.snapshot.Service.Policy.VisibleTo
}

// hides reports whether a client may not see a Service that is visible to these namespaces.
func (a *asked) hides(visibleTo string, from *stream) bool {
	return visibleTo != "" && !catalog.Sees(from.client.identity.Namespace, visibleTo, a.name.Service.Namespace)
}

// errPending is the error of a question about a linked cluster that isn't synced yet and may have the Service.
var errPending = errors.New("the linked cluster is not synced yet")

// subject returns what the question is about; the error is the reason why nothing is. If the
// Service may be in a linked cluster that isn't synced yet, a port number is taken as it is. For
// clients that may not see the Service, there is none.
func (a *asked) subject(v *view, f facts) (s resource.Subject, err error) {
	if a.unusable != nil {
		return s, a.unusable
	}
	if v.hidden {
		_, err = a.name.ChoosePort(nil)
		return s, err
	}
	s = resource.Subject{Name: a.name, Service: f.snapshot.Service}
	if f.profile != nil {
		s.Profile = f.profile.Profile
	}
	if s.Service != nil || !f.snapshot.Pending() {
		s.Port, err = a.name.ChoosePort(s.Service)
	} else if s.Port = a.name.PortNumber(); s.Port == 0 {
		err = errPending
	}
	return s, err
}

// missing makes what clients get for a name that doesn't exist (§5). Endpoints are never missing:
// Envoy waits for those of each Cluster, and a gRPC client keeps the Cluster of a Service that is
// deleted.
func (a *asked) missing(v *view, why error) *frame {
	name := a.question.name
	switch {
	case v.typ == endpoints:
		return frameOf(endpoints, resource.EmptyAssignment(name))
	case v.typ == clusters && (!v.strict || resource.IsReason(name)):
		return frameOf(clusters, a.config.namer().MissingCluster(name, a.name))
	case v.typ == listeners && !v.strict && v.client != resource.Envoy:
		return frameOf(listeners, resource.MissingListener(name, why, v.client))
	default:
		return absent(missing)
	}
}

// used makes a Listener, RouteConfiguration or Cluster of a Service.
func (a *asked) used(v *view, f facts, s resource.Subject) *frame {
	namer, name := a.config.namer(), a.question.name
	if v.typ != clusters {
		r, _ := namer.Routes(v.typ, name, s, v.client)
		return frameOf(v.typ, r)
	}
	if s.Service != nil && s.Service.Policy != nil && s.Service.Policy.TLS != catalog.NoTLS {
		s.Identities = namer.Identities(s.Service.Policy.TLS, catalog.ResolveAll(f.snapshot, a.query(s, catalog.Filter{})).Endpoints)
	}
	made := frameOf(clusters, namer.Cluster(name, s, v.client))
	if plain := namer.PlainCluster(name, s, v.client); plain.Version != made.version {
		made.plain = frameOf(clusters, plain)
	}
	return made
}

// assignment makes a ClusterLoadAssignment.
func (a *asked) assignment(v *view, f facts, s resource.Subject) *frame {
	set := catalog.ResolveAll(f.snapshot, a.query(s, v.filter))
	switch {
	case len(set.Endpoints) == 0 && set.Pending:
		return absent(pending)
	case !set.Exists:
		return frameOf(endpoints, resource.EmptyAssignment(a.question.name))
	}
	made := frameOf(endpoints, a.config.namer().Assignment(a.question.name, s, set))
	made.usable = usable(set.Endpoints)
	return made
}

// query returns the query for the endpoints of clients at one place.
func (a *asked) query(s resource.Subject, f catalog.Filter) catalog.Query {
	return catalog.Query{Port: s.Port, Hostname: a.name.Hostname, Filter: f, IPv6: a.config.EnableIPv6}
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

// absent returns the frame of a resource that can't be sent.
func absent(e existence) *frame { return &frame{existence: e, made: time.Now()} }

package xds

import (
	"errors"
	"net/netip"
	"strings"
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
	// reason is true for the name of a Cluster that says why a Listener doesn't exist (§5.1).
	reason bool
}

func (c *Config) namer() resource.Namer {
	return resource.Namer{ClusterDomain: c.ClusterDomain, Authorities: c.Authorities, TrustDomain: c.TrustDomain}
}

// parse returns a question in the form that most clients share: without the namespace of the client if that makes no
// difference.
func (c *Config) parse(q question) asked {
	a := asked{question: q, config: c}
	if !q.route() {
		a.namespace = ""
		if a.reason = resource.IsReason(q.name); !a.reason {
			a.name, a.unusable = c.namer().Parse(q.typ, q.name, "")
		}
		return a
	}
	a.name, a.unusable = c.namer().Parse(q.typ, q.name, q.namespace)
	if a.unusable == nil && a.name.Service.Namespace == q.namespace && c.isWhole(q) {
		a.namespace = "" // its own ServiceProfiles come first for all clients
	}
	return a
}

// isWhole reports whether the name has a namespace.
func (c *Config) isWhole(q question) bool {
	_, err := c.namer().Parse(q.typ, q.name, "")
	return err == nil
}

// watches reports whether the answer depends on the state of the cluster.
func (a *asked) watches() bool { return !a.reason && a.unusable == nil }

// facts are what answers are made from.
type facts struct {
	snapshot *catalog.Snapshot        // nil until first needed, and for a question that watches nothing
	profile  *catalog.ProfileSnapshot // nil unless routes need one
}

// kind returns which property of a client its endpoints depend on.
func (f facts) kind() catalog.FilterKind {
	if f.snapshot == nil {
		return catalog.FilterNone
	}
	return f.snapshot.PriorityKind()
}

// answer makes the resource of a view.
func (a *asked) answer(v *view, f facts) *frame {
	var made *frame
	switch v.typ {
	case clusters:
		made = a.cluster(v, f)
	case endpoints:
		made = a.assignment(v, f)
		made.kind = f.kind()
	default:
		made = a.routes(v, f)
	}
	made.visibleTo = a.visibleTo(f)
	return made
}

// visibleTo returns the namespaces whose clients may see the Service; empty for all.
func (a *asked) visibleTo(f facts) string {
	if a.config.Authenticate == nil || f.snapshot == nil || f.snapshot.Service == nil || f.snapshot.Service.Policy == nil {
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

// subject returns what the question is about; the error is the reason why nothing is. If the Service may be in a linked
// cluster that isn't synced yet, a port number is taken as it is. For clients that may not see the Service, there is none.
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

// routes makes a Listener or a RouteConfiguration.
func (a *asked) routes(v *view, f facts) *frame {
	s, err := a.subject(v, f)
	switch {
	case err != nil && v.isUsed():
		return v.kept()
	case errors.Is(err, errPending):
		return absent(pending)
	case err != nil && (v.strict || v.client == resource.Envoy || v.typ == routes):
		return absent(missing)
	case err != nil:
		return frameOf(v.typ, resource.MissingListener(a.question.name, err, v.client))
	case v.typ == routes:
		r, _ := a.config.namer().RouteConfiguration(a.question.name, s, v.client)
		return usedFrame(v.typ, r)
	default:
		r, _ := a.config.namer().Listener(a.question.name, s, v.client)
		return usedFrame(v.typ, r)
	}
}

// cluster makes a Cluster.
func (a *asked) cluster(v *view, f facts) *frame {
	if a.reason {
		return frameOf(clusters, resource.ReasonCluster(a.question.name))
	}
	s, err := a.subject(v, f)
	switch {
	case err != nil && v.isUsed():
		return v.kept()
	case errors.Is(err, errPending):
		return absent(pending)
	case err != nil && v.strict:
		return absent(missing)
	case err != nil:
		return frameOf(clusters, a.config.namer().MissingCluster(a.question.name, a.name))
	}
	if s.Service != nil && s.Service.Policy != nil && s.Service.Policy.TLS != catalog.NoTLS {
		s.Identities = a.config.namer().Identities(s.Service.Policy.TLS, catalog.ResolveAll(f.snapshot, a.query(s, catalog.Filter{})).Endpoints)
	}
	made := usedFrame(clusters, a.config.namer().Cluster(a.question.name, s, v.client))
	if plain := a.config.namer().PlainCluster(a.question.name, s, v.client); plain.Version != made.version {
		made.plain = frameOf(clusters, plain)
	}
	return made
}

// assignment makes a ClusterLoadAssignment. It is never missing: Envoy waits for that of each Cluster, and a gRPC
// client keeps the Cluster of a Service that is deleted.
func (a *asked) assignment(v *view, f facts) *frame {
	empty := resource.EmptyAssignment
	if a.reason {
		return frameOf(endpoints, empty(a.question.name))
	}
	s, err := a.subject(v, f)
	switch {
	case errors.Is(err, errPending):
		return absent(pending)
	case err != nil:
		return frameOf(endpoints, empty(a.question.name))
	}
	set := catalog.ResolveAll(f.snapshot, a.query(s, v.filter))
	switch {
	case len(set.Endpoints) == 0 && set.Pending:
		return absent(pending)
	case !set.Exists:
		return frameOf(endpoints, empty(a.question.name))
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

// endpointsOf returns the name of the ClusterLoadAssignment of a Cluster. Names of the form xdstp have the type in them.
func endpointsOf(cluster string) string {
	const of, is = "/envoy.config.cluster.v3.Cluster/", "/envoy.config.endpoint.v3.ClusterLoadAssignment/"
	if !strings.HasPrefix(cluster, "xdstp:") {
		return cluster
	}
	return strings.Replace(cluster, of, is, 1)
}

// frameOf returns the frame of a resource.
func frameOf(typ resourceType, r resource.Resource) *frame {
	return newFrame(typ, r.Name, r.Version, r.Any())
}

// usedFrame returns the frame of a resource that a Service has.
func usedFrame(typ resourceType, r resource.Resource) *frame {
	f := frameOf(typ, r)
	f.used = true
	return f
}

// absent returns the frame of a resource that can't be sent.
func absent(e existence) *frame { return &frame{existence: e, made: time.Now()} }

// isUsed reports whether clients of the view have a resource that a Service had.
func (v *view) isUsed() bool {
	f := v.current.Load()
	return f != nil && f.used
}

// kept returns what the clients of the view have, which is never taken away from them (§5.4): their endpoints become
// none, and come back with the Service.
func (v *view) kept() *frame {
	f := v.current.Load()
	return &frame{name: f.name, version: f.version, wire: f.wire, plain: f.plain, full: f.full, used: true, made: time.Now()}
}

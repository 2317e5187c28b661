package gateway

import (
	"cmp"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// Open implements [source.Config].
func (c *Config) Open(in source.Input) (source.Source, error) {
	scopes, err := c.scopes(in.Settings)
	if err != nil {
		return source.Source{}, err
	}
	var fields []string
	if c.kind.hostnames {
		fields = []string{"spec.hostnames"}
	}
	names := slices.Concat(fields, []string{"the listeners of its parents"})
	s := &routes{
		kind: c.kind, resource: c.routes().GroupVersion().WithResource(c.kind.plural), settings: in.Settings, scopes: scopes, gatewayName: c.Name, changed: in.Changed, log: in.Log,
		reader: source.NewReader(in.Settings, source.Subject{Source: c.kind.source(), Kind: c.routes(), Label: c.kind.name, Properties: true, Names: names, NameFields: fields}),
	}
	s.ownerSettings = in.Settings.ForOthers(c.kind.source(), "Gateways and ListenerSets", source.AnnotationTarget, source.AnnotationController)
	s.table = s.routeKind().Table(
		source.Notify[route](in.Changed),
		kube.WithIndex(byParent, func(r *route) []string { return r.parentKeys("") }),
		kube.WithIndex(byParentWithin, func(r *route) []string { return r.parentKeys(r.Key.Namespace) }),
	)
	s.gateways = s.gatewayKind().Table(kube.WithHandler(s.gatewayChanged), kube.WithIndex(selecting, (*gateway).selecting))
	s.namespaces = source.Namespaces(trimNamespace).Table(kube.WithHandler(s.namespaceChanged))
	dependencies := []kube.AnyTable{s.gateways, s.namespaces}
	if c.ListenerSets {
		s.listenerSets = s.listenerSetKind().Table(
			kube.WithHandler(s.listenerSetChanged),
			kube.WithIndex(byGateway, (*listenerSet).gatewayKeys),
			kube.WithIndex(selecting, (*listenerSet).selecting),
		)
		dependencies = append(dependencies, s.listenerSets)
	}
	return source.Of(s.reader, s.table, s.evaluate, dependencies...), nil
}

// routes is one of the sources.
type routes struct {
	kind     routeKind
	resource schema.GroupVersionResource
	settings source.Settings
	// ownerSettings are for the annotations of Gateways and ListenerSets.
	ownerSettings source.Settings
	scopes        scopes
	gatewayName   string
	log           *slog.Logger
	// wildcardsLogged limits the log to one line about all routes.
	wildcardsLogged sync.Once
	reader          *source.Reader
	changed         func(source.Key)

	table      *kube.Table[route]
	gateways   *kube.Table[gateway]
	namespaces *kube.Table[labelled]
	// listenerSets is nil if they are disabled.
	listenerSets *kube.Table[listenerSet]
}

// Indexes. byParent finds routes by an [owner], and byParentWithin those of one namespace.
// byGateway finds ListenerSets by their Gateway, optionally within a namespace. selecting finds
// Gateways and ListenerSets that select namespaces by labels.
const (
	byParent       = "parent"
	byParentWithin = "parent within"
	byGateway      = "gateway"
	selecting      = "selecting"
)

// Keys of the index selecting: what is selected.
const (
	selectsRoutes = "routes"
	selectsSets   = "listener sets"
)

// key is the key of an owner in indexes.
func (o owner) key() string {
	if o.listenerSet {
		return "set " + o.namespace + "/" + o.name
	}
	return o.namespace + "/" + o.name
}

// within returns the key of objects that belong to an owner and are in a namespace.
func within(key, namespace string) string { return key + " " + namespace }

// parentKeys returns the keys of a route, within a namespace if one is given.
func (r *route) parentKeys(namespace string) []string {
	keys := make([]string, 0, len(r.parents))
	for i, p := range r.parents {
		if i > 0 && r.parents[i-1].of == p.of { // they are sorted
			continue
		}
		key := p.of.key()
		if namespace != "" {
			key = within(key, namespace)
		}
		keys = append(keys, key)
	}
	return keys
}

func (g *gateway) selecting() []string {
	var keys []string
	if selectNamespaces(g.listeners) {
		keys = append(keys, selectsRoutes)
	}
	if g.sets.from == fromSelector {
		keys = append(keys, selectsSets)
	}
	return keys
}

func (l *listenerSet) selecting() []string {
	if selectNamespaces(l.listeners) {
		return []string{selectsRoutes}
	}
	return nil
}

func (l *listenerSet) gatewayKeys() []string {
	if l.gateway.Name == "" {
		return nil
	}
	key := l.gateway.String()
	return []string{key, within(key, l.key.Namespace)}
}

func selectNamespaces(list []listener) bool {
	return slices.ContainsFunc(list, func(l listener) bool { return l.routes.from == fromSelector })
}

// of returns the owner for looking up routes.
func (g *gateway) owner() owner { return owner{namespace: g.key.Namespace, name: g.key.Name} }

func (l *listenerSet) owner() owner {
	return owner{listenerSet: true, namespace: l.key.Namespace, name: l.key.Name}
}

// gatewayChanged evaluates the routes of a Gateway again, and those of its ListenerSets.
func (s *routes) gatewayChanged(old, new *gateway) {
	g := cmp.Or(new, old)
	source.NotifyAll(s.changed, s.table.ByIndex(byParent, g.owner().key()))
	s.setsChanged(g.key.String())
}

func (s *routes) listenerSetChanged(old, new *listenerSet) {
	source.NotifyAll(s.changed, s.table.ByIndex(byParent, cmp.Or(new, old).owner().key()))
}

// setsChanged evaluates the routes of the ListenerSets under a key of the index byGateway again.
func (s *routes) setsChanged(under string) {
	if s.listenerSets == nil {
		return
	}
	for _, l := range s.listenerSets.ByIndex(byGateway, under) {
		source.NotifyAll(s.changed, s.table.ByIndex(byParent, l.owner().key()))
	}
}

// namespaceChanged evaluates the routes again for which a listener's selection by the labels of
// their namespace, or of their ListenerSet's namespace, has changed.
func (s *routes) namespaceChanged(old, new *labelled) {
	ns := cmp.Or(new, old)
	for _, g := range s.gateways.ByIndex(selecting, selectsRoutes) {
		s.routesSelected(g.owner(), g.listeners, ns.name, old, new)
	}
	if s.listenerSets == nil {
		return
	}
	for _, l := range s.listenerSets.ByIndex(selecting, selectsRoutes) {
		s.routesSelected(l.owner(), l.listeners, ns.name, old, new)
	}
	for _, g := range s.gateways.ByIndex(selecting, selectsSets) {
		if g.sets.selects(old) != g.sets.selects(new) {
			s.setsChanged(within(g.key.String(), ns.name))
		}
	}
}

// routesSelected evaluates the routes of a namespace and an owner again if the selection by one of
// its listeners has changed.
func (s *routes) routesSelected(of owner, list []listener, namespace string, old, new *labelled) {
	differs := slices.ContainsFunc(list, func(l listener) bool { return l.routes.selects(old) != l.routes.selects(new) })
	if differs {
		source.NotifyAll(s.changed, s.table.ByIndex(byParentWithin, within(of.key(), namespace)))
	}
}

func (s *routes) evaluate(r *route) source.Result {
	p := r.findings.Copy()
	var records []*dns.RecordSet
	var found attachments
	names, err := s.names(p, r)
	if err == nil {
		records, found = s.records(p, r, names)
	}
	result := s.reader.Result(&r.Object, records, err)
	if result.Err == nil {
		result.Skipped = append(s.missing(r, names, &found), result.Skipped...)
		result.Skipped = append(result.Skipped, s.remarks(r)...)
		result.Skipped = append(result.Skipped, s.wildcards(r, records)...)
	}
	p.Into(&result, s.reader.Ref(&r.Object))
	return result
}

// names returns the names that a route asks for, as patterns (spec/dns.md §6.5).
func (s *routes) names(p *source.Findings, r *route) ([]string, error) {
	names := slices.Clone(r.hostnames)
	if t := s.reader.Templates; t.HasNames() && (!r.declares || t.Combines()) {
		made, err := t.Names(r.FullObject)
		if err != nil {
			return nil, err
		}
		names = append(names, patterns(p, "--fqdn-template", source.Cut(p, made, namesLimit, "--fqdn-template"))...)
	}
	if r.hostnamesFrom == definedHostsOnly {
		return unique(p, names), nil
	}
	annotated := s.reader.Hosts(&r.Object)
	annotated = patterns(p, "annotation hostname", source.Cut(p, annotated, namesLimit, "annotation hostname"))
	if r.hostnamesFrom == annotationOnly {
		return unique(p, annotated), nil
	}
	if !r.declares {
		names = append(names, anyName)
	}
	return unique(p, append(names, annotated...)), nil
}

// unique returns each name once, up to the limit.
func unique(p *source.Findings, names []string) []string {
	slices.Sort(names)
	return source.Cut(p, slices.Compact(names), namesLimit, "names")
}

// attachments are the parents that a route is attached to.
type attachments struct {
	// listeners and targets are those of each parent.
	listeners [][]listener
	targets   [][]string
	// served says for each name of the route whether a listener with targets serves it.
	served []bool
}

// records returns the record sets of a route with names, and its attachments.
func (s *routes) records(p *source.Findings, r *route, names []string) ([]*dns.RecordSet, attachments) {
	served := map[string]parentSet{}
	found := attachments{
		listeners: make([][]listener, len(r.parents)), targets: make([][]string, len(r.parents)), served: make([]bool, len(names)),
	}
	for i, parent := range r.parents {
		if found.listeners[i], found.targets[i] = s.attached(r, parent); len(found.targets[i]) > 0 {
			serve(served, i, found.listeners[i], names, found.served)
		}
	}
	return s.recordsOf(p, r, served, found.targets), found
}

// serve notes which names the listeners of a parent serve, and which of the route's names overlap
// with those.
func serve(served map[string]parentSet, by int, listeners []listener, names []string, some []bool) {
	for _, l := range listeners {
		for i, name := range names {
			if name, ok := overlap(l.hostname, name); ok {
				served[name] |= 1 << by
				some[i] = true
			}
		}
	}
}

// recordsOf returns the record sets of names. A name has the targets of all parents that serve it.
func (s *routes) recordsOf(p *source.Findings, r *route, served map[string]parentSet, targets [][]string) []*dns.RecordSet {
	// Many names have the same parents.
	origin, merged := s.reader.Origin(&r.Object), map[parentSet][]string{}
	var records []*dns.RecordSet
	for _, name := range slices.Sorted(maps.Keys(served)) {
		by := served[name]
		if merged[by] == nil {
			merged[by] = by.targets(p, targets)
		}
		records = append(records, origin.Records(name, merged[by])...)
	}
	return records
}

// parentSet is a set of the parents of a route, which has at most parentsLimit.
type parentSet uint64

// targets returns the targets of the parents in the set, sorted.
func (set parentSet) targets(p *source.Findings, of [][]string) []string {
	var all []string
	for i, targets := range of {
		if set&(1<<i) != 0 {
			all = append(all, targets...)
		}
	}
	slices.Sort(all)
	return source.Cut(p, slices.Compact(all), targetsLimit, "targets")
}

// attached returns the listeners of a parent that a route is attached to, and their targets.
func (s *routes) attached(r *route, p parent) ([]listener, []string) {
	listeners, targets := s.listenersOf(p.of)
	var list []listener
	for _, l := range listeners {
		switch {
		case p.section != "" && p.section != l.name:
		case p.port != 0 && p.port != l.port:
		case !l.routes.admits(p.of.namespace, r.Key.Namespace, s.namespaces.Get("", r.Key.Namespace)):
		default:
			list = append(list, l)
		}
	}
	return list, targets
}

// listenersOf returns the listeners of a Gateway or ListenerSet, and their targets. A ListenerSet has no
// listeners unless its Gateway admits it.
func (s *routes) listenersOf(of owner) ([]listener, []string) {
	if !of.listenerSet {
		if g := s.gateways.Get(of.namespace, of.name); g != nil {
			return g.listeners, g.targets
		}
		return nil, nil
	}
	if s.listenerSets == nil {
		return nil, nil
	}
	l := s.listenerSets.Get(of.namespace, of.name)
	if l == nil || l.gateway.Name == "" {
		return nil, nil
	}
	g := s.gateways.Get(l.gateway.Namespace, l.gateway.Name)
	if g == nil || !g.sets.admits(g.key.Namespace, l.key.Namespace, s.namespaces.Get("", l.key.Namespace)) {
		return nil, nil
	}
	if len(l.targets) > 0 {
		return l.listeners, l.targets
	}
	return l.listeners, g.targets
}

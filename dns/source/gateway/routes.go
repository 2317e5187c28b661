package gateway

import (
	"cmp"
	"maps"
	"slices"
	"sync"

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
		kind: c.kind, scopes: scopes, gatewayName: c.Name,
		reader: source.NewReader(in, source.Subject{Kind: c.routes(), Label: c.kind.name, Names: names, NameFields: fields}),
	}
	s.ownerSettings = in.Settings.ForOthers(c.kind.source(), "Gateways and ListenerSets", source.AnnotationTarget, source.AnnotationController)
	s.table = source.Custom(s.reader, c.kind.name, c.kind.plural, s.readRoute).Table(
		source.Notify[route](in.Changed), kube.WithIndex(byParent, (*route).parentKeys),
		kube.WithIndex(byNamespace, func(r *route) []string { return []string{r.Key.Namespace} }),
	)
	s.gateways = source.Untyped("gateway", gatewayKind.GroupVersion().WithResource("gateways"), s.trimGateway).Table(kube.WithHandler(s.gatewayChanged))
	s.namespaces = source.Namespaces().Table(kube.WithHandler(s.namespaceChanged))
	s.listenerSets = source.Untyped("listenerset", listenerSetKind.GroupVersion().WithResource("listenersets"), s.trimListenerSet).Table(
		kube.WithHandler(s.listenerSetChanged), kube.WithIndex(byGateway, (*listenerSet).gatewayKeys),
		kube.WithIndex(byNamespace, func(l *listenerSet) []string { return []string{l.key.Namespace} }),
	)
	dependencies := []kube.AnyTable{s.gateways, s.namespaces}
	if s.readsSets = c.ListenerSets; s.readsSets {
		dependencies = append(dependencies, s.listenerSets)
	}
	return source.Of(s.reader, s.table, s.evaluate, dependencies...), nil
}

type routes struct {
	kind routeKind
	// ownerSettings are for the annotations of Gateways and ListenerSets.
	ownerSettings source.Settings
	scopes        scopes
	gatewayName   string
	// wildcardsLogged limits the log to one line about all routes.
	wildcardsLogged sync.Once
	reader          *source.Reader

	table      *kube.Table[route]
	gateways   *kube.Table[gateway]
	namespaces *kube.Table[source.Namespace]
	// listenerSets is only filled if readsSets is true.
	listenerSets *kube.Table[listenerSet]
	readsSets    bool
}

// Indexes. byParent finds routes by an [owner], and byGateway ListenerSets by their Gateway.
// byNamespace finds both by their own namespace.
const (
	byParent    = "parent"
	byGateway   = "gateway"
	byNamespace = "namespace"
)

func (o owner) key() string {
	if o.listenerSet {
		return "set " + o.namespace + "/" + o.name
	}
	return o.namespace + "/" + o.name
}

// owners returns the owners of the parents that have accepted a route, each once.
func (r *route) owners() []owner {
	list := make([]owner, len(r.parents))
	for i, p := range r.parents {
		list[i] = p.of
	}
	return slices.Compact(list) // parents are sorted
}

func (r *route) parentKeys() []string {
	var keys []string
	for _, of := range r.owners() {
		keys = append(keys, of.key())
	}
	return keys
}

func (l *listenerSet) gatewayKeys() []string {
	if l.gateway.Name == "" {
		return nil
	}
	return []string{l.gateway.String()}
}

// gatewayChanged evaluates the routes of a Gateway again, and those of its ListenerSets.
func (s *routes) gatewayChanged(old, new *gateway) {
	key := cmp.Or(new, old).key
	s.ownerChanged(owner{namespace: key.Namespace, name: key.Name})
	s.setsChanged(s.listenerSets.ByIndex(byGateway, key.String()))
}

func (s *routes) listenerSetChanged(old, new *listenerSet) {
	s.setsChanged([]*listenerSet{cmp.Or(new, old)})
}

func (s *routes) setsChanged(sets []*listenerSet) {
	for _, l := range sets {
		s.ownerChanged(owner{listenerSet: true, namespace: l.key.Namespace, name: l.key.Name})
	}
}

// ownerChanged evaluates the routes of a Gateway or ListenerSet again.
func (s *routes) ownerChanged(of owner) {
	source.NotifyAll(s.reader.Changed, s.table.ByIndex(byParent, of.key()))
}

// namespaceChanged evaluates the routes of a namespace and of its ListenerSets again, because listeners and
// Gateways may select them by the labels of the namespace.
func (s *routes) namespaceChanged(old, new *source.Namespace) {
	name := cmp.Or(new, old).Name
	source.NotifyAll(s.reader.Changed, s.table.ByIndex(byNamespace, name))
	s.setsChanged(s.listenerSets.ByIndex(byNamespace, name))
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
		names = append(names, patterns(p, "--fqdn-template", source.Cut(p, made, source.NameLimit, "--fqdn-template"))...)
	}
	if r.hostnamesFrom == definedHostsOnly {
		return unique(p, names), nil
	}
	annotated := s.reader.Hosts(&r.Object)
	annotated = patterns(p, "annotation hostname", source.Cut(p, annotated, source.NameLimit, "annotation hostname"))
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
	return source.Cut(p, slices.Compact(names), source.NameLimit, "names")
}

// attachments are the parents that a route is attached to.
type attachments struct {
	// listeners and targets are those of each parent.
	listeners [][]listener
	targets   [][]string
	// served says for each name of the route whether a listener with targets serves it.
	served []bool
}

func (s *routes) records(p *source.Findings, r *route, names []string) ([]*dns.RecordSet, attachments) {
	served := map[string]source.ReferenceSet{}
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
func serve(served map[string]source.ReferenceSet, by int, listeners []listener, names []string, some []bool) {
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
func (s *routes) recordsOf(p *source.Findings, r *route, served map[string]source.ReferenceSet, targets [][]string) []*dns.RecordSet {
	origin, unions := s.reader.Origin(&r.Object), source.NewUnions(p, targets)
	var records []*dns.RecordSet
	for _, name := range slices.Sorted(maps.Keys(served)) {
		records = append(records, origin.Records(name, unions.Of(served[name]))...)
	}
	return records
}

// attached returns the listeners of a parent that a route is attached to, and their targets.
func (s *routes) attached(r *route, p parent) ([]listener, []string) {
	all, targets, _ := s.listenersOf(p.of)
	var list []listener
	for _, l := range all {
		if p.names(l) && l.routes.admits(p.of.namespace, r.Key.Namespace, s.namespaces.Get("", r.Key.Namespace)) {
			list = append(list, l)
		}
	}
	return list, targets
}

// names reports whether a parent includes a listener of its owner.
func (p parent) names(l listener) bool {
	return (p.section == "" || p.section == l.name) && (p.port == 0 || p.port == l.port)
}

// listenersOf returns the listeners of a Gateway or ListenerSet, and their targets, or why it isn't used.
func (s *routes) listenersOf(of owner) ([]listener, []string, *source.Skip) {
	if !of.listenerSet {
		g, unused := s.usedGateway(of)
		if unused != nil {
			return nil, nil, unused
		}
		return g.listeners, g.targets, nil
	}
	l := s.listenerSets.Get(of.namespace, of.name)
	switch {
	case !s.readsSets:
		return nil, nil, unusedParent(source.SkipNotPublished, of.text()+" is not used: set --gateway-listener-sets")
	case l == nil:
		return nil, nil, of.missing()
	case l.gateway.Name == "":
		return nil, nil, unusedParent(source.SkipNotAccepted, of.text()+" is not used: its Gateway has not accepted it, or --annotation-filter or its annotation controller excludes it")
	}
	above := owner{namespace: l.gateway.Namespace, name: l.gateway.Name}
	g, unused := s.usedGateway(above)
	switch {
	case unused != nil:
		return nil, nil, unusedParent(unused.Reason, of.text()+" has no Gateway: "+unused.Message)
	case !g.sets.admits(above.namespace, of.namespace, s.namespaces.Get("", of.namespace)):
		return nil, nil, unusedParent(source.SkipNotAccepted, above.text()+" does not take "+of.text()+": see spec.allowedListeners of the Gateway")
	case len(l.targets) > 0:
		return l.listeners, l.targets, nil
	}
	return l.listeners, g.targets, nil
}

// usedGateway returns a Gateway, or why it isn't used.
func (s *routes) usedGateway(of owner) (*gateway, *source.Skip) {
	g := s.gateways.Get(of.namespace, of.name)
	switch {
	case g == nil:
		return nil, of.missing()
	case !g.selected:
		return nil, unusedParent(source.SkipFiltered, of.text()+" is not used: see --gateway-name, --gateway-namespace, --gateway-label-filter and its annotation controller")
	}
	return g, nil
}

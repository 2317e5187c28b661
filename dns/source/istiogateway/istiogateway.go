package istiogateway

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/internal/foreign"
	"github.com/signpostd/signpost/kube"
)

const name = "istio-gateway"

var gatewayKind = schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1", Kind: "Gateway"}

// Plugin returns the source of this package.
func Plugin() source.Plugin {
	return source.Plugin{
		Name: name, Summary: "The hosts of Istio Gateways, at the addresses of the Services that they select", Category: "service mesh",
		Filters: []string{"annotation", "label"}, Namespaces: "all,single,multiple", Templates: true, Properties: true,
		Annotations: append([]string{source.AnnotationIngress}, source.CommonAnnotations...),
		New:         func() source.Config { return Config{} },
	}
}

// Config is what the user says about the source: nothing.
type Config struct{ source.NoFlags }

// Resources implements [source.Config].
func (Config) Resources() []source.Resource {
	return []source.Resource{
		{Kind: gatewayKind, Plural: "gateways", Optional: true},
		{Kind: corev1.SchemeGroupVersion.WithKind("Service"), Plural: "services", Scope: source.InAllNamespaces, Dependency: true},
		{Kind: networkingv1.SchemeGroupVersion.WithKind("Ingress"), Plural: "ingresses", Scope: source.InAllNamespaces, Dependency: true},
	}
}

// Open implements [source.Config].
func (Config) Open(in source.Input) (source.Source, error) {
	s := &gateways{waiting: source.NewWaiting(in.Changed), reader: source.NewReader(in.Settings, source.Subject{
		Source: name, Kind: gatewayKind, Label: "gateway", Properties: true, Names: []string{"spec.servers"},
	})}
	s.table = s.kind().Table(
		source.Notify[gateway](in.Changed),
		kube.WithIndex(bySelector, selectorKeys),
		kube.WithIndex(byIngress, ingressKeys),
	)
	s.services = serviceKind(in.Settings).Table(
		kube.WithIndex(byLabel, func(svc *service) []string { return source.LabelKeys("", svc.selector) }),
		kube.WithHandler(func(old, new *service) {
			s.serviceChanged(old, in.Changed)
			s.serviceChanged(new, in.Changed)
		}),
	)
	s.ingresses = ingressKind().Table(kube.WithHandler(func(old, new *ingress) {
		if old == nil {
			old = new
		}
		source.NotifyAll(in.Changed, s.table.ByIndex(byIngress, old.key.String()))
	}))
	return source.Source{Tables: []kube.AnyTable{s.table, s.services, s.ingresses}, Evaluate: s.evaluate, Keys: source.Keys(s.table), Run: s.waiting.Run}, nil
}

// gateways is the source.
type gateways struct {
	reader    *source.Reader
	table     *kube.Table[gateway]
	services  *kube.Table[service]
	ingresses *kube.Table[ingress]
	// waiting has the Gateways whose Ingress may not have been read yet.
	waiting *source.Waiting
}

// The indexes: bySelector and byIngress find Gateways by what they have their targets from,
// and byLabel finds Services by their selectors.
const (
	bySelector = "selector"
	byIngress  = "ingress"
	byLabel    = "label"
)

// everyService is the key in the index bySelector of the Gateways without a selector, which
// have the addresses of all Services. No other key of that index is empty.
const everyService = ""

// selectorKeys returns the keys of a Gateway that has its targets from Services.
func selectorKeys(g *gateway) []string {
	switch {
	case !g.Selected || g.Unreadable != "" || len(g.Annotations.Targets) > 0 || g.Annotations.Ingress != "":
		return nil
	case len(g.selector) == 0:
		return []string{everyService}
	}
	return source.SelectorKeys("", g.selector)
}

// ingressKeys returns the key of a Gateway that has its targets from an Ingress.
func ingressKeys(g *gateway) []string {
	if !g.Selected || len(g.Annotations.Targets) > 0 || g.Annotations.Ingress == "" {
		return nil
	}
	key, err := g.ingress()
	if err != nil {
		return nil
	}
	return []string{key.String()}
}

// serviceChanged calls changed for the Gateways that select a Service.
func (s *gateways) serviceChanged(svc *service, changed func(source.Key)) {
	if svc == nil || len(svc.addresses) == 0 {
		return
	}
	for _, key := range append(source.LabelKeys("", svc.selector), everyService) {
		selecting := slices.DeleteFunc(s.table.ByIndex(bySelector, key), func(g *gateway) bool { return !g.selects(svc) })
		source.NotifyAll(changed, selecting)
	}
}

func (s *gateways) evaluate(key source.Key) source.Result {
	g := s.table.Get(key.Namespace, key.Name)
	if g == nil {
		return source.Result{}
	}
	if !g.Selected {
		return g.Excluded()
	}
	if g.Unreadable != "" {
		return s.reader.Result(&g.Object, nil, nil)
	}
	targets, err := s.targets(g)
	if err != nil {
		return s.reader.Result(&g.Object, nil, err)
	}
	hosts := s.reader.Hosts(&g.Object, g.hosts...)
	result := s.reader.ResultOf(&g.Object, hosts, targets)
	if len(result.Records) == 0 && len(targets) == 0 && len(hosts) > 0 {
		result.Skipped[0] = s.reader.NoTarget(hosts[0], s.without(g))
	}
	return result
}

// without says why a Gateway has no targets.
func (s *gateways) without(g *gateway) string {
	switch {
	case g.Annotations.Ingress != "":
		return "Ingress " + foreign.Name(g.Annotations.Ingress) + ", which the annotation ingress names, has no address: wait until its controller has written one"
	case len(g.selector) == 0:
		return "no Service has an address, and the Gateway has no spec.selector: give the Service of its proxies an address"
	default:
		return "no Service whose selector has all labels of spec.selector has an address: correct spec.selector, or give that Service an address"
	}
}

// targets returns the targets for the hosts of a Gateway.
func (s *gateways) targets(g *gateway) ([]string, error) {
	switch {
	case len(g.Annotations.Targets) > 0:
		return g.Annotations.Targets, nil
	case g.Annotations.Ingress == "":
		return s.addresses(g), nil
	}
	key, err := g.ingress()
	if err != nil {
		return nil, err
	}
	if err := s.waiting.For(g.Key, s.ingresses); err != nil {
		return nil, err
	}
	named := s.ingresses.Get(key.Namespace, key.Name)
	if named == nil {
		return nil, fmt.Errorf("targets of Gateway %s: there is no Ingress %s: create it, or change the annotation ingress", g.Key, key)
	}
	return named.addresses, nil
}

// addresses returns the addresses of the Services that a Gateway selects, sorted.
func (s *gateways) addresses(g *gateway) []string {
	services := s.services.List
	if keys := source.SelectorKeys("", g.selector); len(keys) > 0 {
		services = func() []*service { return s.services.ByIndex(byLabel, keys[0]) }
	}
	var addresses []string
	for _, svc := range services() {
		if g.selects(svc) {
			addresses = append(addresses, svc.addresses...)
		}
	}
	slices.Sort(addresses)
	return slices.Compact(addresses)
}

// selects reports whether a Gateway has the addresses of a Service. A Gateway without a
// selector has those of all Services.
func (g *gateway) selects(svc *service) bool {
	return len(g.selector) == 0 || source.Selects(g.selector, svc.selector)
}

// ingress returns the key of the Ingress that the annotation names.
func (g *gateway) ingress() (source.Key, error) {
	namespace, ingress, qualified := strings.Cut(g.Annotations.Ingress, "/")
	if !qualified {
		namespace, ingress = g.Key.Namespace, g.Annotations.Ingress
	}
	if namespace == "" || ingress == "" || strings.Contains(ingress, "/") {
		return source.Key{}, fmt.Errorf("targets of Gateway %s: the annotation ingress is %q; use the name of an Ingress, or namespace/name",
			g.Key, g.Annotations.Ingress)
	}
	return source.Key{Namespace: namespace, Name: ingress}, nil
}

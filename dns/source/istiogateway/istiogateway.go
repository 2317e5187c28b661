package istiogateway

import (
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/istio"
	"github.com/signpostd/signpost/internal/sanitize"
	"github.com/signpostd/signpost/kube"
)

const name = "istio-gateway"

var gatewayKind = istio.Group.WithKind("Gateway")

// Plugin returns the source of this package.
func Plugin() source.Plugin {
	return source.Plugin{
		Name: name, Summary: "The hosts of Istio Gateways, at the addresses of the Services that they select", Category: "service mesh",
		Filters: []string{"annotation", "label"}, Namespaces: "all,single,multiple", Templates: true, Properties: true,
		Annotations: append([]string{source.AnnotationIngress}, source.CommonAnnotations...),
		New:         source.Fixed(open, istio.Resources(source.Resource{Kind: gatewayKind, Plural: "gateways", Optional: true})...),
	}
}

func open(in source.Input) source.Source {
	s := &gateways{reader: source.NewReader(in, source.Subject{
		Kind: gatewayKind, Label: "gateway", Names: []string{"spec.servers"}, Targets: "the Service that it selects", NameFields: []string{"spec.servers.hosts"},
	})}
	s.table = source.Custom(s.reader, "istiogateway", "gateways", s.read).Table(append(istio.Indexes[gateway](), source.Notify[gateway](in.Changed))...)
	s.addresses = istio.Watch(s.reader, s.table, func(g *gateway) { in.Changed(g.Key) })
	return source.Of(s.reader, s.table, s.evaluate, s.addresses.Tables()...)
}

type gateways struct {
	reader    *source.Reader
	table     *kube.Table[gateway]
	addresses *istio.Addresses
}

func (s *gateways) evaluate(g *gateway) source.Result {
	targets, err := s.addresses.Of(g.Key, &g.Exposure)
	if err != nil {
		return s.reader.Result(&g.Object, nil, err)
	}
	if len(g.Annotations.Targets) > 0 {
		targets = nil // Publish has those.
	}
	found := g.found.With("targets", targets)
	result := s.reader.Publish(&g.Object, found)
	if hosts := found.Names; result.Err == nil && len(result.Records) == 0 && len(g.Annotations.Targets)+len(targets) == 0 && len(hosts) > 0 {
		result.Skipped[0] = s.reader.NoTarget(hosts[0], s.without(g))
	}
	return result
}

// without says why a Gateway has no targets.
func (s *gateways) without(g *gateway) string {
	switch {
	case g.Annotations.Ingress != "":
		return "Ingress " + sanitize.Name(g.Annotations.Ingress) + ", which the annotation ingress names, has no address: wait until its controller has written one"
	case len(g.Selector) == 0:
		return "no Service has an address, and the Gateway has no spec.selector: give the Service of its proxies an address"
	default:
		return "no Service whose selector has all labels of spec.selector has an address: correct spec.selector, or give that Service an address"
	}
}

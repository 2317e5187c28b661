package istiovirtualservice

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/istio"
	"github.com/signpostd/signpost/kube"
)

const name = "istio-virtualservice"

var (
	ownKind     = istio.Group.WithKind("VirtualService")
	gatewayKind = istio.Group.WithKind("Gateway")
)

// Plugin returns the source of this package.
func Plugin() source.Plugin {
	return source.Plugin{
		Name: name, Summary: "The hosts of Istio VirtualServices, at the addresses of their Gateways", Category: "service mesh",
		Filters: []string{"annotation", "label"}, Namespaces: "all,single,multiple", Templates: true, Properties: true,
		Annotations: source.CommonAnnotations,
		New: source.Fixed(open, istio.Resources(
			source.Resource{Kind: ownKind, Plural: "virtualservices", Optional: true},
			source.Resource{Kind: gatewayKind, Plural: "gateways", Optional: true, Dependency: true},
		)...),
	}
}

func open(in source.Input) source.Source {
	s := &virtualServices{reader: source.NewReader(in, source.Subject{
		Kind: ownKind, Label: "virtualservice", NameFields: []string{"spec.hosts"},
	})}
	s.table = source.Custom(s.reader, "istiovirtualservice", "virtualservices", s.read).Table(source.Notify[virtualService](in.Changed), kube.WithIndex(byGateway, s.gatewayKeys))
	changed := func(g *gateway) { source.NotifyAll(in.Changed, s.table.ByIndex(byGateway, g.key.String())) }
	s.gateways = source.Untyped("istiogateway", istio.Group.WithResource("gateways"), s.trimGateway).Table(append(istio.Indexes[gateway](), kube.WithHandler(func(old, new *gateway) { changed(cmp.Or(new, old)) }))...)
	s.addresses = istio.Watch(s.reader, s.gateways, changed)
	return source.Of(s.reader, s.table, s.evaluate, append([]kube.AnyTable{s.gateways}, s.addresses.Tables()...)...)
}

type virtualServices struct {
	reader    *source.Reader
	table     *kube.Table[virtualService]
	gateways  *kube.Table[gateway]
	addresses *istio.Addresses
}

// byGateway is the index of VirtualServices by the Gateways with their targets.
const byGateway = "gateway"

// gatewayKeys returns the Gateways with the targets of a VirtualService. Names of templates have
// the targets of Gateways even beside an annotation target.
func (s *virtualServices) gatewayKeys(v *virtualService) []string {
	if !v.Selected || v.Unreadable != "" || len(v.Annotations.Targets) > 0 && !s.reader.Templates.HasNames() {
		return nil
	}
	keys := make([]string, 0, len(v.gateways))
	for _, key := range v.gateways {
		keys = append(keys, key.String())
	}
	return keys
}

func (s *virtualServices) evaluate(v *virtualService) source.Result {
	b := &binding{source: s, of: v, findings: v.findings.Copy()}
	records, err := s.records(b)
	if err == nil {
		err = b.err
	}
	result := s.reader.Result(&v.Object, records, err)
	b.findings.Into(&result, s.reader.Ref(&v.Object))
	return result
}

// records returns the record sets of a VirtualService (spec/dns.md §6.6).
func (s *virtualServices) records(b *binding) ([]*dns.RecordSet, error) {
	v, t := b.of, s.reader.Templates
	origin := s.reader.Origin(&v.Object)
	var records []*dns.RecordSet
	hosts := source.Cut(b.findings, s.reader.Hosts(&v.Object, v.hosts...), source.NameLimit, "names")
	annotated := source.Cut(b.findings, v.Annotations.Targets, source.AddressLimit, "target")
	for _, host := range hosts {
		targets := annotated
		if len(targets) == 0 {
			targets = b.targets(host)
		}
		records = append(records, origin.All([]string{host}, targets)...)
	}
	var made []string
	if t.HasNames() {
		var err error
		records, err = t.Combine(records, func() ([]*dns.RecordSet, error) {
			var err error
			made, err = t.Names(v.FullObject)
			made = source.Cut(b.findings, made, source.NameLimit, "--fqdn-template")
			var more []*dns.RecordSet
			for _, host := range made {
				more = append(more, origin.All([]string{host}, b.targets(host))...)
			}
			return more, err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(hosts)+len(made) == 0 {
		b.findings.Skip(source.SkipNoHostname, "spec.hosts",
			`no host says under which name to publish the object ("*" is no name): name one in spec.hosts, or set the annotation hostname`)
	}
	return records, nil
}

// explain says why a name has no targets.
func (b *binding) explain(host string) {
	skip := func(reason source.SkipReason, message string) { b.findings.Skip(reason, host, message) }
	switch {
	case len(b.of.gateways) == 0:
		skip(source.SkipNotPublished, "spec.gateways names no Gateway, so that the object is for the mesh only: name one, or set the annotation target")
	case len(b.gateways) == 0:
		skip(source.SkipNotFound, "none of the Gateways in spec.gateways exists: create one, or name another")
	case !slices.ContainsFunc(b.gateways, func(g *gateway) bool { return g.serves(host, b.of) }):
		skip(source.SkipNotAccepted, fmt.Sprintf("no server of the Gateways in spec.gateways has this host for the namespace %s, "+
			"or spec.exportTo excludes their namespaces: change one of them", b.of.Key.Namespace))
	default:
		skip(source.SkipNoTarget, "the Gateways that serve it have no address yet: "+
			"wait for the load balancers of the Services that they select, or set the annotation target of one of them")
	}
}

package node

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

const name = "node"

var nodeKind = corev1.SchemeGroupVersion.WithKind("Node")

// Plugin returns the source of this package.
func Plugin() source.Plugin {
	return source.Plugin{
		Name: name, Summary: "The names of Nodes, or those of a template, at their addresses", Category: "kubernetes core",
		Filters: []string{"annotation", "label"}, Namespaces: "all", Templates: true, PairTemplates: true,
		Annotations: []string{source.AnnotationTarget, source.AnnotationTTL, source.AnnotationController},
		New:         source.Fixed(open, source.Resource{Kind: nodeKind, Plural: "nodes", Scope: source.InNone}),
	}
}

func open(in source.Input) source.Source {
	s := &nodes{reader: source.NewReader(in, source.Subject{
		Kind: nodeKind, Label: name,
	})}
	s.table = s.kind().Table(source.Notify[node](in.Changed))
	return source.Of(s.reader, s.table, s.evaluate)
}

type nodes struct {
	reader *source.Reader
	table  *kube.Table[node]
}

type node struct {
	source.Object
	addresses     source.NodeAddresses
	unschedulable bool
}

func (s *nodes) kind() kube.Kind[node] {
	kind := kube.Retrim(kinds.Nodes(), kube.TrimOf(s.trim))
	kind.Form = source.NodeForm(s.reader.Templates)
	return kind
}

func (s *nodes) trim(scope kube.Scope, obj *corev1.Node) (*node, []kube.Problem) {
	kept := &node{Object: s.reader.Read(scope, obj)}
	var p kube.Problems
	if kept.Selected {
		kept.addresses, kept.unschedulable = source.AddressesOf(&p, obj), obj.Spec.Unschedulable
	}
	return kept, p.List()
}

func (s *nodes) evaluate(obj *node) source.Result {
	if obj.unschedulable && s.reader.Settings.ExcludeUnschedulable {
		return source.Result{Skipped: []source.Skip{{
			Reason: source.SkipNotPublished, Subject: "spec.unschedulable",
			Message: "--exclude-unschedulable leaves out nodes that take no pods: make the node schedulable, or set the flag to false",
		}}}
	}
	findings := &source.Findings{}
	targets := source.Cut(findings, obj.Annotations.Targets, source.AddressLimit, "target")
	switch {
	case len(targets) > 0:
	case len(obj.addresses.External) > 0:
		targets = s.reader.Settings.Public(obj.addresses)
	default:
		targets = obj.addresses.Internal
	}
	records, err := s.records(findings, obj, targets)
	result := s.reader.Result(&obj.Object, records, err)
	findings.Into(&result, s.reader.Ref(&obj.Object))
	if len(targets) == 0 {
		result.Problems = append(result.Problems, dns.Problem{
			Object: s.reader.Ref(&obj.Object), Subject: "status.addresses",
			Reason: "the node has neither an ExternalIP nor an InternalIP, so it gets no record: give it an address, or the annotation target",
		})
	} else if err == nil && len(records) == 0 {
		result.Skipped = append(result.Skipped, source.Skip{
			Reason: source.SkipNoHostname, Message: "--fqdn-template and --fqdn-target-template write no name for it, and replace its own: change them, or set --combine-fqdn-annotation",
		})
	}
	return result
}

func (s *nodes) records(findings *source.Findings, obj *node, targets []string) ([]*dns.RecordSet, error) {
	templates := s.reader.Templates
	var records []*dns.RecordSet
	// A template replaces the node's own name, even where it writes nothing.
	if templates.Combines() || !templates.HasNames() && !templates.HasPairs() {
		records = s.reader.Origin(&obj.Object).Records(obj.Key.Name, targets)
	}
	records, err := s.reader.AddPairs(&obj.Object, findings, records)
	if err != nil {
		return nil, err
	}
	return s.reader.AddNames(&obj.Object, findings, records, targets)
}

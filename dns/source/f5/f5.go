package f5

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// serverKind is one of the kinds.
type serverKind struct {
	// source is the name of the source, and the first part of the label resource.
	source, summary string
	kind            schema.GroupVersionKind
	plural, metric  string
}

var (
	virtualServer = serverKind{
		source: "f5-virtualserver", summary: "The hosts of F5 VirtualServers, at their addresses",
		kind: schema.GroupVersionKind{Group: "cis.f5.com", Version: "v1", Kind: "VirtualServer"}, plural: "virtualservers", metric: "f5virtualserver",
	}
	transportServer = serverKind{
		source: "f5-transportserver", summary: "The hosts of F5 TransportServers, at their addresses",
		kind: schema.GroupVersionKind{Group: "cis.f5.com", Version: "v1", Kind: "TransportServer"}, plural: "transportservers", metric: "f5transportserver",
	}
)

// VirtualServer returns the source "f5-virtualserver".
func VirtualServer() source.Plugin { return virtualServer.plugin() }

// TransportServer returns the source "f5-transportserver".
func TransportServer() source.Plugin { return transportServer.plugin() }

func (k serverKind) plugin() source.Plugin {
	return source.Plugin{
		Name: k.source, Summary: k.summary, Category: "load balancers",
		Filters: []string{"annotation", "label"}, Namespaces: "all,single,multiple", Templates: true, TargetTemplates: true, PairTemplates: true,
		Annotations: []string{source.AnnotationTarget, source.AnnotationTTL, source.AnnotationController},
		New:         source.Fixed(k.open, source.Resource{Kind: k.kind, Plural: k.plural, Optional: true}),
	}
}

func (k serverKind) open(in source.Input) source.Source {
	s := &servers{reader: source.NewReader(in.Settings, source.Subject{Source: k.source, Kind: k.kind, Label: k.source, NameFields: []string{"spec.host", "spec.hostAliases"}, TargetTemplates: true, PairTemplates: true})}
	return source.Of(s.reader, source.Custom(s.reader, k.metric, k.plural, read).Table(source.Notify[server](in.Changed)), s.evaluate)
}

type servers struct{ reader *source.Reader }

type server struct {
	source.Object
	found source.Found
	// waiting is true if the object has hosts, and its status no address.
	waiting bool
}

// fields are the fields that are read. A TransportServer has no hostAliases.
type fields struct {
	Spec struct {
		Host                 string   `json:"host"`
		HostAliases          []string `json:"hostAliases"`
		VirtualServerAddress string   `json:"virtualServerAddress"`
	} `json:"spec"`
	Status struct {
		VSAddress string `json:"vsAddress"`
	} `json:"status"`
}

func read(_ kube.Scope, kept *server, f *fields, _ *unstructured.Unstructured) {
	// The word none means that BIG-IP has no such server yet.
	address, field := f.Status.VSAddress, "status.vsAddress"
	if address == "" || strings.EqualFold(address, "none") {
		kept.waiting = f.Spec.Host != "" || len(f.Spec.HostAliases) > 0
		address = ""
	} else {
		kept.found.AddName("spec.host", f.Spec.Host)
		kept.found.AddNames("spec.hostAliases", f.Spec.HostAliases)
	}
	if f.Spec.VirtualServerAddress != "" {
		address, field = f.Spec.VirtualServerAddress, "spec.virtualServerAddress"
	}
	kept.found.AddTarget(field, address)
}

// missing has the advice for an object without a name. An object with a name always has a target.
var missing = source.Missing{
	Name:   "give it a host in its spec, or use --fqdn-template",
	Target: "it has no address that can be used: correct spec.virtualServerAddress, or set the annotation target",
}

// waiting says why the hosts of an object aren't published yet.
var waiting = source.Skip{
	Reason: source.SkipNoTarget, Subject: "status.vsAddress",
	Message: "the status has no address, so BIG-IP doesn't serve the hosts: wait until CIS has configured it, or look into its log",
}

func (s *servers) evaluate(o *server) source.Result {
	result := s.reader.Publish(&o.Object, &o.found, missing)
	if o.waiting && result.Err == nil {
		// The waiting applies even if a template makes records.
		result.Skipped = append([]source.Skip{waiting}, o.Annotations.Remarks...)
	}
	return result
}

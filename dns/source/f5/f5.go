package f5

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/dns/source"
)

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
	return source.OpenNamed(in, source.Subject{
		Kind: k.kind, Label: k.source, Names: []string{"spec.host"}, NameFields: []string{"spec.host", "spec.hostAliases"},
		Targets: "spec.virtualServerAddress",
	}, k.metric, k.plural, read)
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

func read(found *source.Found, f *fields) {
	// The word none means that BIG-IP has no such server yet.
	served := f.Status.VSAddress != "" && !strings.EqualFold(f.Status.VSAddress, "none")
	switch {
	case served:
		found.AddName("spec.host", f.Spec.Host)
		found.AddNames("spec.hostAliases", f.Spec.HostAliases)
	case f.Spec.Host != "" || len(f.Spec.HostAliases) > 0:
		found.Skip(source.SkipNoTarget, "status.vsAddress",
			"the status has no address, so BIG-IP doesn't serve the hosts: wait until CIS has configured it, or look into its log")
	}
	switch {
	case f.Spec.VirtualServerAddress != "":
		found.AddTarget("spec.virtualServerAddress", f.Spec.VirtualServerAddress)
	case served:
		found.AddTarget("status.vsAddress", f.Status.VSAddress)
	}
}

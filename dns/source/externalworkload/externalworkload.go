package externalworkload

import (
	"net/netip"

	"github.com/signpostd/signpost/api/workload"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

const name = "externalworkload"

var workloadKind = workload.SchemeGroupVersion.WithKind("ExternalWorkload")

// Plugin returns the source of this package.
func Plugin() source.Plugin {
	return source.Plugin{
		Name: name, Summary: "Names from the annotations of ExternalWorkloads, at their addresses", Category: "linkerd",
		Filters: []string{"annotation", "label"}, Namespaces: "all,single,multiple",
		Annotations: source.CommonAnnotations,
		Templates:   true, PairTemplates: true, Properties: true,
		New: source.Fixed(open, source.Resource{Kind: workloadKind, Plural: "externalworkloads", Optional: true}),
	}
}

func open(in source.Input) source.Source {
	s := &workloads{reader: source.NewReader(in, source.Subject{
		Kind: workloadKind, Label: name, Targets: "spec.workloadIPs",
	})}
	table := kube.Retrim(kinds.ExternalWorkloads(), kube.TrimOf(s.trim)).Table(source.Notify[source.Named](in.Changed))
	return source.Of(s.reader, table, s.reader.PublishNamed)
}

type workloads struct{ reader *source.Reader }

func (s *workloads) trim(scope kube.Scope, obj *workload.ExternalWorkload) (*source.Named, []kube.Problem) {
	kept := &source.Named{Object: s.reader.Read(scope, obj)}
	switch {
	case !kept.Selected:
		return kept, nil
	case obj.Spec.Problem != "":
		kept.Unreadable = "spec: " + obj.Spec.Problem + ": correct it"
		return kept, nil
	}
	const field = "spec.workloadIPs"
	for _, ip := range source.Cut(&kept.Found.Findings, obj.Spec.WorkloadIPs, source.AddressLimit, field) {
		// A name would make a CNAME, but isn't the address of a source.Named.
		if a, err := netip.ParseAddr(ip.IP); err != nil || a.Zone() != "" {
			kept.Found.Problem(field, ip.IP, "not an IP address; use one such as 10.0.0.1 or 2001:db8::1")
			continue
		}
		kept.Found.AddTarget(field, ip.IP)
	}
	kept.Found.AddNames("hostname", s.reader.Hosts(&kept.Object))
	return kept, nil
}

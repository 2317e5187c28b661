package externalworkload

import (
	"net/netip"

	"github.com/signpostd/signpost/api/workload"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

const name = "externalworkload"

// Plugin returns the source of this package.
func Plugin() source.Plugin {
	return source.Plugin{
		Name: name, Summary: "Names from the annotations of ExternalWorkloads, at their addresses", Category: "linkerd",
		Filters: []string{"annotation", "label"}, Namespaces: "all,single,multiple",
		Annotations: source.CommonAnnotations,
		Templates:   true, PairTemplates: true, Properties: true,
		New: func() source.Config { return &Config{} },
	}
}

// Config is what the user says about the source: nothing of its own.
type Config struct{ source.NoFlags }

// Resources implements [source.Config].
func (*Config) Resources() []source.Resource {
	return []source.Resource{
		{Kind: workload.SchemeGroupVersion.WithKind("ExternalWorkload"), Plural: "externalworkloads", Optional: true},
	}
}

// Open implements [source.Config].
func (*Config) Open(in source.Input) (source.Source, error) {
	s := &workloads{reader: source.NewReader(in.Settings, source.Subject{
		Source: name, Kind: workload.SchemeGroupVersion.WithKind("ExternalWorkload"), Label: name, Properties: true, Targets: "spec.workloadIPs",
	})}
	s.table = kube.Retrim(kinds.ExternalWorkloads(), kube.TrimOf(s.trim)).Table(source.Notify[machine](in.Changed))
	return source.Source{Tables: []kube.AnyTable{s.table}, Evaluate: s.evaluate, Keys: source.Keys(s.table)}, nil
}

// workloads is the source.
type workloads struct {
	reader *source.Reader
	table  *kube.Table[machine]
}

// machine is what is kept of an ExternalWorkload.
type machine struct {
	source.Object
	// ips are the addresses; faults are the texts among them that aren't addresses.
	ips, faults []string
}

func (s *workloads) trim(scope kube.Scope, obj *workload.ExternalWorkload) (*machine, []kube.Problem) {
	kept := &machine{Object: s.reader.Read(scope, obj)}
	switch {
	case !kept.Selected:
		return kept, nil
	case obj.Spec.Problem != "":
		kept.Unreadable = "spec: " + obj.Spec.Problem + ": correct it"
		return kept, nil
	}
	for _, ip := range obj.Spec.WorkloadIPs {
		// A name would lead to a CNAME, but it is not the address of a machine.
		if a, err := netip.ParseAddr(ip.IP); err != nil || a.Zone() != "" {
			kept.faults = append(kept.faults, ip.IP)
			continue
		}
		kept.ips = append(kept.ips, ip.IP)
	}
	return kept, nil
}

func (s *workloads) evaluate(key source.Key) source.Result {
	obj := s.table.Get(key.Namespace, key.Name)
	if obj == nil {
		return source.Result{}
	}
	if !obj.Selected {
		return obj.Excluded()
	}
	targets := obj.Annotations.Targets
	if len(targets) == 0 {
		targets = obj.ips
	}
	result := s.result(obj, targets)
	for _, fault := range obj.faults {
		result.Problems = append(result.Problems, dns.Problem{
			Object: s.reader.Ref(&obj.Object), Subject: "spec.workloadIPs", Value: fault,
			Reason: "not an IP address; use one such as 10.0.0.1 or 2001:db8::1",
		})
	}
	return result
}

func (s *workloads) result(obj *machine, targets []string) source.Result {
	origin, templates := s.reader.Origin(&obj.Object), s.reader.Templates
	names := s.reader.Hosts(&obj.Object)
	found, err := templates.AddPairs(origin.All(names, targets), &obj.Object, origin)
	if err != nil {
		return s.reader.Result(&obj.Object, nil, err)
	}
	found, err = templates.AddNames(found, &obj.Object, origin, targets)
	result := s.reader.Result(&obj.Object, found, err)
	if result.Err == nil && len(found) == 0 {
		result.Skipped = append([]source.Skip{s.reader.SkipOf(&obj.Object, names, targets)}, result.Skipped...)
	}
	return result
}

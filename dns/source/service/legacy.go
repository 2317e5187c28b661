package service

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
)

// Annotations of the programs of --compatibility (spec/dns.md §6.1).
const (
	mateAnnotation     = "zalando.org/dnsname"
	moleculeLabel      = "dns"
	moleculeValue      = "route53"
	moleculeAnnotation = "domainName"
	kopsExternal       = "dns.alpha.kubernetes.io/external"
	kopsInternal       = "dns.alpha.kubernetes.io/internal"
)

// legacyNames are the names that an older program would give a Service.
type legacyNames struct {
	external, internal []string
}

func (n legacyNames) none() bool { return len(n.external)+len(n.internal) == 0 }

func (s *services) legacyNamesOf(obj *corev1.Service) legacyNames {
	switch s.reader.Settings.Compatibility {
	case source.Mate:
		return legacyNames{external: source.SplitList(obj.Annotations[mateAnnotation])}
	case source.Molecule:
		if obj.Labels[moleculeLabel] == moleculeValue {
			return legacyNames{external: source.SplitList(obj.Annotations[moleculeAnnotation])}
		}
	case source.Kops:
		return legacyNames{
			external: source.SplitList(obj.Annotations[kopsExternal]), internal: source.SplitList(obj.Annotations[kopsInternal]),
		}
	}
	return legacyNames{}
}

// legacy returns the record sets of the names that an older program would give the Service: at its
// load balancer and, as kOps does, at nodes.
func (e *evaluation) legacy() []*dns.RecordSet {
	names, origin, of := e.svc.legacy, e.origin, "--compatibility="+e.reader.Settings.Compatibility
	if names.none() {
		return nil
	}
	names.external, names.internal = e.names(of, names.external), e.names(of, names.internal)
	if e.svc.of != corev1.ServiceTypeNodePort {
		return origin.All(slices.Concat(names.external, names.internal), e.balancer())
	}
	if e.reader.Settings.Compatibility != source.Kops || len(names.external) > 0 && len(names.internal) > 0 {
		return nil
	}
	var external, internal []string
	for _, n := range e.nodes.List() {
		if n.hasRole {
			external = append(external, e.reader.Settings.Public(n.addresses)...)
			internal = append(internal, n.addresses.Internal...)
		}
	}
	return slices.Concat(origin.All(names.external, sorted(external)), origin.All(names.internal, sorted(internal)))
}

package crd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/api/externaldns"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

type endpoints struct {
	kind schema.GroupVersionKind
	// prefixes are those of annotations, for renaming properties.
	prefixes []string
	reader   *source.Reader
	table    *kube.Table[endpoint]
	status   status
	// outcomes has the outcomes of objects; it may be nil.
	outcomes source.Outcomes
}

type endpoint struct {
	source.Object
	// generation is that of the object; observed is that of its status.
	generation, observed int64
	// conditions is the digest of the conditions in the status.
	conditions uint64
	records    []*dns.RecordSet
	problems   []dns.Problem
	// unreadable is why the spec can't be read. There are then no records.
	unreadable string
}

func (s *endpoints) trim(scope kube.Scope, obj *externaldns.DNSEndpoint) (*endpoint, []kube.Problem) {
	kept := &endpoint{Object: s.reader.Read(scope, obj)}
	if !kept.Selected {
		for _, e := range obj.Spec.Endpoints {
			if e != nil {
				kept.Want(e.DNSName)
			}
		}
		return kept, nil
	}
	kept.generation, kept.observed = obj.Generation, obj.Status.ObservedGeneration
	kept.conditions = digest(obj.Status.Conditions)
	if kept.unreadable = obj.Spec.Problem; kept.unreadable != "" {
		return kept, nil
	}
	origin := s.reader.Origin(&kept.Object)
	var records []*dns.RecordSet
	for i, e := range obj.Spec.Endpoints {
		if e == nil {
			continue
		}
		origin.Properties = s.reader.Settings.Declared.Ours(propertiesOf(e), s.prefixes)
		record, fault := recordSet(e, origin)
		for _, fault := range []dns.Problem{fault, labelProblem(e), propertyProblem(e)} {
			if fault.Reason != "" {
				fault.Object, fault.Subject = origin.Object, strings.TrimSuffix(fmt.Sprintf("spec.endpoints[%d].%s", i, fault.Subject), ".")
				kept.problems = append(kept.problems, fault)
			}
		}
		if record != nil {
			records = append(records, record)
		}
	}
	kept.records = merge(records)
	kept.limitTargets(origin.Object)
	return kept, nil
}

// limitTargets drops targets beyond the limit of one name.
func (e *endpoint) limitTargets(object dns.Object) {
	for _, r := range e.records {
		if n := len(r.Targets); n > source.AddressLimit {
			r.Targets = r.Targets[:source.AddressLimit]
			e.problems = append(e.problems, dns.Problem{
				Object: object, Subject: "spec.endpoints", Value: r.Name, Reason: "targets of the type " + r.Type + ": " + source.TooMany(n, source.AddressLimit),
			})
		}
	}
}

// merge merges record sets. An invalid one stays separate, so that it doesn't affect others.
// Whether default targets would make it valid isn't known here.
func merge(records []*dns.RecordSet) []*dns.RecordSet {
	if len(records) == 0 {
		return nil
	}
	var good, apart []*dns.RecordSet
	for _, r := range records {
		if r.Invalid || len(r.Targets) > 0 && r.Check() != nil {
			apart = append(apart, r)
		} else {
			good = append(good, r)
		}
	}
	merged := append(dns.Merge(good), apart...)
	slices.SortStableFunc(merged, func(a, b *dns.RecordSet) int { return strings.Compare(a.Name, b.Name) })
	return merged
}

// recordSet returns the record set of an endpoint, and its problem if there is one. If its name is
// unclear, there is no record set. The result shares only strings with the endpoint.
func recordSet(e *externaldns.Endpoint, origin source.Origin) (*dns.RecordSet, dns.Problem) {
	if e.Problem != "" {
		return nil, dns.Problem{Reason: e.Problem}
	}
	record := translate(e, origin)
	if err := dns.CheckNameWith(record.Name, dns.EscapedCharacters); err != nil {
		problem := dns.Problem{Subject: "dnsName", Value: record.Name, Reason: err.Error()}
		if !dns.CanBeName(record.Name) {
			return nil, problem
		}
		record.Invalid = true
		return record, problem
	}
	fault := spelling(e)
	record.Invalid = fault.Reason != ""
	return record, fault
}

// spelling returns the problem with final dots of targets; the reason is empty if there is none.
func spelling(e *externaldns.Endpoint) dns.Problem {
	for i, target := range e.Targets {
		fault := dns.Problem{Subject: fmt.Sprintf("targets[%d]", i), Value: target}
		dot := strings.HasSuffix(target, ".")
		switch recordType := recordTypeOf(e); recordType {
		case dns.TypeCNAME, dns.TypeDNAME, dns.TypeNS, dns.TypePTR, dns.TypeTXT, dns.TypeMX, dns.TypeSRV:
		case dns.TypeNAPTR:
			if !dot {
				fault.Reason = fmt.Sprintf("the target of a NAPTR record ends with a dot; write %q", target+".")
				return fault
			}
		default:
			if dot {
				fault.Reason = fmt.Sprintf("the target of a record of type %s doesn't end with a dot; write %q", recordType, strings.TrimRight(target, "."))
				return fault
			}
		}
	}
	return dns.Problem{}
}

func recordTypeOf(e *externaldns.Endpoint) string {
	return strings.ToUpper(strings.TrimSpace(e.RecordType))
}

// propertiesOf returns the properties of an endpoint, up to the limit, with the names of the endpoint.
func propertiesOf(e *externaldns.Endpoint) []dns.Property {
	named := &dns.RecordSet{}
	for _, p := range e.ProviderSpecific[:min(len(e.ProviderSpecific), source.PropertyLimit)] {
		named.SetProperty(p.Name, p.Value)
	}
	return named.Properties
}

// propertyProblem returns why properties of the endpoint are dropped; the reason is empty if none is.
func propertyProblem(e *externaldns.Endpoint) dns.Problem {
	if n := len(e.ProviderSpecific); n > source.PropertyLimit {
		return dns.Problem{Subject: "providerSpecific", Reason: source.TooMany(n, source.PropertyLimit)}
	}
	return dns.Problem{}
}

// labelsOf returns the labels of an endpoint that may be written. Labels with a fixed meaning are
// reserved: with them, an object could claim the record of another object.
func labelsOf(e *externaldns.Endpoint) map[string]string {
	labels := make(map[string]string, len(e.Labels)+1)
	for key, value := range e.Labels {
		if !dns.IsReservedLabel(key) && dns.CheckLabel(key, value) == nil {
			labels[key] = value
		}
	}
	return labels
}

// labelProblem returns why a label of the endpoint is dropped; the reason is empty if none is.
func labelProblem(e *externaldns.Endpoint) dns.Problem {
	for _, key := range slices.Sorted(maps.Keys(e.Labels)) {
		if err := dns.CheckLabel(key, e.Labels[key]); err != nil && !dns.IsReservedLabel(key) {
			return dns.Problem{
				Subject: "labels", Value: key + ": " + e.Labels[key],
				Reason: err.Error() + "; the record set is published without this label",
			}
		}
	}
	return dns.Problem{}
}

func translate(e *externaldns.Endpoint, origin source.Origin) *dns.RecordSet {
	r := &dns.RecordSet{
		Name: e.DNSName, Type: e.RecordType, Targets: slices.Clone(e.Targets), SetIdentifier: e.SetIdentifier, TTL: e.RecordTTL,
		Labels: labelsOf(e), Objects: []dns.Object{origin.Object},
	}
	r.Labels[dns.LabelResource] = origin.Resource
	r.Properties = origin.Properties
	if recordTypeOf(e) == dns.TypeSRV {
		// These targets may be written without a final dot, but must be published with one.
		for i, target := range r.Targets {
			r.Targets[i] = strings.TrimSuffix(target, ".") + "."
		}
	}
	return r.Normal()
}

func (s *endpoints) evaluate(e *endpoint) source.Result {
	if e.unreadable != "" {
		return source.Result{Err: fmt.Errorf("read %s %s: %s; correct its spec", s.kind.Kind, e.Key, e.unreadable)}
	}
	result := source.Result{Records: e.records, Problems: e.problems}
	if len(e.records)+len(e.problems) == 0 {
		result.Skipped = []source.Skip{{Reason: source.SkipNoHostname, Subject: "spec.endpoints", Message: "the list is empty: add the record sets there"}}
	}
	return result
}

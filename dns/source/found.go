package source

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/internal/sanitize"
)

// Found collects names and targets from the fields of one version of an object. The zero value is
// empty. A Trim fills it, and afterwards it doesn't change.
type Found struct {
	// Names are the names of the object. Targets are their targets, unless annotations override them.
	Names, Targets []string
	// Findings are the problems of the fields.
	Findings
}

// AddName adds a name from a field. Empty names are ignored.
func (f *Found) AddName(field, name string) { f.add(&f.Names, NameLimit, "names", field, name) }

// AddNames adds the names of a list.
func (f *Found) AddNames(field string, names []string) {
	for _, name := range Cut(&f.Findings, names, NameLimit, field) {
		f.AddName(field, name)
	}
}

// AddTarget adds a target from a field. Empty targets are ignored.
func (f *Found) AddTarget(field, target string) {
	f.add(&f.Targets, AddressLimit, "targets", field, target)
}

// AddBalancer adds the addresses of a load balancer (status.loadBalancer.ingress): the IP and the
// hostname of each entry.
func AddBalancer[T any](f *Found, entries []T, addresses func(T) (ip, hostname string)) {
	const field = "status.loadBalancer.ingress"
	for _, entry := range Cut(&f.Findings, entries, AddressLimit, field) {
		ip, hostname := addresses(entry)
		f.AddTarget(field, ip)
		f.AddTarget(field, hostname)
	}
}

// With returns a copy with additional targets, which come from other objects.
func (f *Found) With(field string, targets []string) *Found {
	with := &Found{Names: f.Names, Targets: slices.Clip(f.Targets), Findings: *f.Copy()}
	for _, target := range Cut(&with.Findings, targets, AddressLimit, field) {
		with.AddTarget(field, target)
	}
	return with
}

func (f *Found) add(list *[]string, limit int, what, field, text string) {
	switch {
	case text == "" || slices.Contains(*list, text):
	case len(text) > TextLimit+1: // a dot may follow
		f.Problem(field, text, fmt.Sprintf("longer than %d bytes, so it is left out: no name of DNS is that long", TextLimit+1))
	case len(*list) == limit:
		f.Problem(field, text, fmt.Sprintf("more than %d %s: the others are left out; divide the object into several", limit, what))
	default:
		*list = append(*list, text)
	}
}

// Publish returns the result for an object whose names all have the same targets: the found names
// and those of templates, with the targets of the annotation target, else the found ones. If the
// source reads --target-template, the names of --fqdn-template have its targets instead
// (spec/dns.md §6.12). If it reads --fqdn-target-template, its pairs are added. An object without
// records has a [Skip], unless the found ones say why it has no names.
func (r *Reader) Publish(o *Object, found *Found) Result {
	if o.Unreadable != "" {
		return r.Result(o, nil, nil)
	}
	findings := found.Copy()
	names, targets := found.Names, found.Targets
	if len(o.Annotations.Targets) > 0 {
		targets = Cut(findings, o.Annotations.Targets, AddressLimit, "target")
	}
	records, err := r.templated(o, findings, names, targets)
	result := r.Result(o, records, err)
	findings.Into(&result, r.Ref(o))
	if err == nil && len(result.Records) == 0 && (len(names) > 0 || len(findings.skips) == 0) {
		result.Skipped = append([]Skip{r.skip(o, names, targets)}, result.Skipped...)
		result.Wanted = BoundedNames(names)
	}
	return result
}

// templated returns the record sets of names, and those of templates.
func (r *Reader) templated(o *Object, findings *Findings, names, targets []string) ([]*dns.RecordSet, error) {
	records, err := r.AddPairs(o, findings, r.Origin(o).All(names, targets))
	if err != nil {
		return nil, err
	}
	return r.AddNames(o, findings, records, targets)
}

// AddPairs adds the record sets of --fqdn-target-template, if the source reads it; see
// [Templates.Combine].
func (r *Reader) AddPairs(o *Object, findings *Findings, records []*dns.RecordSet) ([]*dns.RecordSet, error) {
	if !r.Templates.HasPairs() {
		return records, nil
	}
	return r.Templates.Combine(records, func() ([]*dns.RecordSet, error) {
		pairs, err := r.Templates.Pairs(o.FullObject)
		return r.Origin(o).pairs(findings, Cut(findings, pairs, NameLimit, "--fqdn-target-template")), err
	})
}

// AddNames adds the record sets of the names of --fqdn-template with these targets; see
// [Templates.Combine]. If the source reads --target-template, each name has its targets instead
// (spec/dns.md §6.12).
func (r *Reader) AddNames(o *Object, findings *Findings, records []*dns.RecordSet, targets []string) ([]*dns.RecordSet, error) {
	if !r.Templates.HasNames() {
		return records, nil
	}
	return r.Templates.Combine(records, func() ([]*dns.RecordSet, error) {
		names, err := r.Templates.Names(o.FullObject)
		if err == nil && r.Templates.HasTargets() {
			targets, err = r.Templates.Targets(o.FullObject)
			targets = Cut(findings, targets, AddressLimit, "--target-template")
		}
		return r.Origin(o).All(Cut(findings, names, NameLimit, "--fqdn-template"), targets), err
	})
}

// skip returns why an object with these names and targets has no record.
func (r *Reader) skip(o *Object, names, targets []string) Skip {
	switch {
	case len(targets) > 0 || len(names) == 0 && !r.Templates.HasNames():
		return r.NoHostname(o)
	case r.subject.Targets == "" && len(names) == 0:
		return Skip{Reason: SkipNoHostname, Message: "templates write no name for the object, or no target for its names: correct them"}
	case r.subject.Targets == "":
		return Skip{Reason: SkipNoTarget, Subject: sanitize.Name(firstName(names)), Message: "no field says where the name points to: " + r.setTarget()}
	case strings.HasPrefix(r.subject.Targets, "spec."), strings.HasPrefix(r.subject.Targets, "data."):
		return r.NoTarget(firstName(names), r.subject.Targets+" has no address: write one there")
	default:
		return r.NoTarget(firstName(names), r.subject.Targets+" has no address: wait until its controller has written one")
	}
}

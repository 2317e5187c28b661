package source

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// Found is what a source has found in the fields of one version of an object. The zero value is
// empty. A Trim fills it; then it doesn't change.
type Found struct {
	// Names are those under which the object is to be published, and Targets is where they point
	// unless annotations say otherwise.
	Names, Targets []string
	// Findings has what of the fields can't be used.
	Findings
}

// AddName adds a name that a field has. Empty texts are left out.
func (f *Found) AddName(field, name string) { f.add(&f.Names, NameLimit, "names", field, name) }

// AddNames adds the names that a list has.
func (f *Found) AddNames(field string, names []string) {
	for _, name := range Cut(&f.Findings, names, NameLimit, field) {
		f.AddName(field, name)
	}
}

// AddTarget adds a target that a field has. Empty texts are left out.
func (f *Found) AddTarget(field, target string) {
	f.add(&f.Targets, AddressLimit, "targets", field, target)
}

// AddBalancer adds the addresses of a load balancer, which status.loadBalancer.ingress has: of each entry its
// IP and its name.
func AddBalancer[T any](f *Found, entries []T, addresses func(T) (ip, hostname string)) {
	const field = "status.loadBalancer.ingress"
	for _, entry := range Cut(&f.Findings, entries, AddressLimit, field) {
		ip, hostname := addresses(entry)
		f.AddTarget(field, ip)
		f.AddTarget(field, hostname)
	}
}

// With returns a copy that has more targets, for objects that have them from other objects.
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

// Missing says for the objects of a source what to do if one has no name, or names and no target.
// Both are the Message of a [Skip]. The zero value stands for messages that name the places of the
// [Subject].
type Missing struct {
	// Name begins as a command, such as "set the annotation hostname".
	Name string
	// Target is a whole sentence, without its full stop.
	Target string
}

// Publish returns the result for an object whose names all have the same targets: the names that
// were found and those of templates, with the targets of the annotation target, or else those that
// were found. Where the source reads --target-template, the names of --fqdn-template have its
// targets instead (spec/dns.md §6.12), and where it reads --fqdn-target-template, there are its
// pairs. An object without records has a [Skip].
func (r *Reader) Publish(o *Object, found *Found, missing Missing) Result {
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
	if err == nil && len(result.Records) == 0 {
		result.Skipped = append([]Skip{r.skip(o, names, targets, missing)}, result.Skipped...)
	}
	return result
}

// templated returns the record sets of names, and those that templates make of the object.
func (r *Reader) templated(o *Object, findings *Findings, names, targets []string) ([]*dns.RecordSet, error) {
	records, err := r.AddPairs(o, findings, r.Origin(o).All(names, targets))
	if err != nil {
		return nil, err
	}
	return r.AddNames(o, findings, records, targets)
}

// AddPairs adds the record sets of --fqdn-target-template to records, if the source reads it; see
// [Templates.Combine].
func (r *Reader) AddPairs(o *Object, findings *Findings, records []*dns.RecordSet) ([]*dns.RecordSet, error) {
	if !r.subject.PairTemplates || !r.Templates.HasPairs() {
		return records, nil
	}
	return r.Templates.Combine(records, func() ([]*dns.RecordSet, error) {
		pairs, err := r.Templates.Pairs(o.Whole)
		return r.Origin(o).pairs(findings, Cut(findings, pairs, NameLimit, "--fqdn-target-template")), err
	})
}

// AddNames adds the record sets of the names of --fqdn-template, with these targets, to records; see
// [Templates.Combine]. Where the source reads --target-template, each name has the targets of that
// instead (spec/dns.md §6.12).
func (r *Reader) AddNames(o *Object, findings *Findings, records []*dns.RecordSet, targets []string) ([]*dns.RecordSet, error) {
	if !r.Templates.HasNames() {
		return records, nil
	}
	return r.Templates.Combine(records, func() ([]*dns.RecordSet, error) {
		names, err := r.Templates.Names(o.Whole)
		if err == nil && r.Templates.HasTargets() {
			targets, err = r.Templates.Targets(o.Whole)
			targets = Cut(findings, targets, AddressLimit, "--target-template")
		}
		return r.Origin(o).All(Cut(findings, names, NameLimit, "--fqdn-template"), targets), err
	})
}

// skip says why an object with these names and targets gives no record.
func (r *Reader) skip(o *Object, names, targets []string, missing Missing) Skip {
	switch {
	case missing == Missing{}:
		return r.skipByPlaces(o, names, targets)
	case len(names) > 0:
		return Skip{Reason: SkipNoTarget, Subject: shortened(names[0]), Message: missing.Target}
	case r.Templates != nil:
		return Skip{Reason: SkipNoHostname, Message: "templates write no name for the object, or no target for its names; correct them, or else " + missing.Name}
	}
	return Skip{Reason: SkipNoHostname, Message: "nothing says under which name to publish the object: " + missing.Name}
}

// skipByPlaces is skip with messages that name the places of the subject.
func (r *Reader) skipByPlaces(o *Object, names, targets []string) Skip {
	switch {
	case len(targets) > 0 || len(names) == 0 && !r.Templates.HasNames():
		return r.NoHostname(o)
	case r.subject.Targets == "":
		return r.NoTarget(firstName(names), "it has no address yet: wait until it has one")
	case strings.HasPrefix(r.subject.Targets, "spec."):
		return r.NoTarget(firstName(names), r.subject.Targets+" has no address: write one there")
	default:
		return r.NoTarget(firstName(names), r.subject.Targets+" has no address: wait until its controller has written one")
	}
}

package source

import (
	"fmt"
	"slices"

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
// Both are the Message of a [Skip].
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
		result.Skipped = append([]Skip{r.skip(names, missing)}, result.Skipped...)
	}
	return result
}

// templated returns the record sets of names, and those that templates make of the object.
func (r *Reader) templated(o *Object, findings *Findings, names, targets []string) ([]*dns.RecordSet, error) {
	origin := r.Origin(o)
	records := origin.All(names, targets)
	if r.subject.PairTemplates && r.Templates.HasPairs() {
		var err error
		if records, err = r.Templates.Combine(records, func() ([]*dns.RecordSet, error) {
			pairs, err := r.Templates.Pairs(o.Whole)
			return origin.Pairs(Cut(findings, pairs, NameLimit, "--fqdn-target-template")), err
		}); err != nil {
			return nil, err
		}
	}
	if !r.Templates.HasNames() {
		return records, nil
	}
	return r.Templates.Combine(records, func() ([]*dns.RecordSet, error) {
		names, err := r.Templates.Names(o.Whole)
		if err == nil && r.Templates.HasTargets() {
			targets, err = r.Templates.Targets(o.Whole)
		}
		names = Cut(findings, names, NameLimit, "--fqdn-template")
		targets = Cut(findings, targets, AddressLimit, "--target-template")
		return origin.All(names, targets), err
	})
}

// skip says why an object gives no record.
func (r *Reader) skip(names []string, missing Missing) Skip {
	switch {
	case len(names) > 0:
		return Skip{Reason: SkipNoTarget, Subject: shortened(names[0]), Message: missing.Target}
	case r.Templates != nil:
		return Skip{Reason: SkipNoHostname, Message: "templates write no name for the object, or no target for its names; correct them, or else " + missing.Name}
	}
	return Skip{Reason: SkipNoHostname, Message: "nothing says under which name to publish the object: " + missing.Name}
}

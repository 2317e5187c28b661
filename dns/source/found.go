package source

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/kube"
)

// What of one object is used, for the sources that call [Reader.Publish]. A tenant writes the
// object, so each list and each text has a limit.
const (
	// NamesLimit is for the names of an object, those of templates apart, and TargetsLimit for
	// its targets.
	NamesLimit   = 512
	TargetsLimit = 256
	// textLimit is for one name or target, in bytes: a name of DNS has 253, and a dot.
	textLimit = 254
	// valueLimit is how much of a text a problem quotes, in bytes.
	valueLimit = 64
)

// Found is what a source has found in the fields of one version of an object. The zero value is
// empty. A Trim fills it; then it doesn't change.
type Found struct {
	// Names are those under which the object is to be published, and Targets is where they point
	// unless annotations say otherwise.
	Names, Targets []string

	problems []dns.Problem
	// more is how many problems were left out.
	more int
}

// AddName adds a name that a field has. Empty texts are left out.
func (f *Found) AddName(field, name string) { f.add(&f.Names, NamesLimit, "names", field, name) }

// AddNames adds the names that a list has.
func (f *Found) AddNames(field string, names []string) {
	for _, name := range FirstOf(f, names, NamesLimit, field) {
		f.AddName(field, name)
	}
}

// AddTarget adds a target that a field has. Empty texts are left out.
func (f *Found) AddTarget(field, target string) {
	f.add(&f.Targets, TargetsLimit, "targets", field, target)
}

func (f *Found) add(list *[]string, limit int, what, field, text string) {
	switch {
	case text == "" || slices.Contains(*list, text):
	case len(text) > textLimit:
		f.Problem(field, text, fmt.Sprintf("longer than %d bytes, so it is left out: no name of DNS is that long", textLimit))
	case len(*list) == limit:
		f.Problem(field, text, fmt.Sprintf("more than %d %s: the others are left out; divide the object into several", limit, what))
	default:
		*list = append(*list, text)
	}
}

// Problem adds a problem of a field. Of a long value only the beginning is kept, and of many
// problems only the first.
func (f *Found) Problem(field, value, reason string) {
	if len(f.problems) == kube.ProblemLimit {
		f.more++
		return
	}
	f.problems = append(f.problems, dns.Problem{Subject: field, Value: beginningOf(value), Reason: reason})
}

// beginningOf returns the beginning of a text, as UTF-8.
func beginningOf(text string) string {
	if len(text) > valueLimit {
		text = text[:valueLimit] + "…"
	}
	return strings.ToValidUTF8(text, "\ufffd")
}

// FirstOf returns the first items of a list of an object, and adds a problem if there are more.
func FirstOf[T any](f *Found, list []T, limit int, field string) []T {
	if len(list) <= limit {
		return list
	}
	f.Problem(field, "", fmt.Sprintf("%d items: the first %d are used; shorten the list", len(list), limit))
	return list[:limit]
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
	out := Found{problems: slices.Clone(found.problems), more: found.more}
	names, targets := found.Names, found.Targets
	if len(o.Annotations.Targets) > 0 {
		targets = FirstOf(&out, o.Annotations.Targets, TargetsLimit, "target")
	}
	records, err := r.templated(o, &out, names, targets)
	result := r.Result(o, records, err)
	result.Problems = append(result.Problems, out.all(r.Ref(o))...)
	if err == nil && len(result.Records) == 0 {
		result.Skipped = append(result.Skipped, r.skip(names, missing))
	}
	return result
}

// templated returns the record sets of names, and those that templates make of the object.
func (r *Reader) templated(o *Object, out *Found, names, targets []string) ([]*dns.RecordSet, error) {
	origin := r.Origin(o)
	records := origin.All(names, targets)
	if r.subject.PairTemplates && r.Templates.HasPairs() {
		var err error
		if records, err = r.Templates.Combine(records, func() ([]*dns.RecordSet, error) {
			pairs, err := r.Templates.Pairs(o.Whole)
			return origin.Unlabelled().Pairs(FirstOf(out, pairs, NamesLimit, "--fqdn-target-template")), err
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
		names = FirstOf(out, names, NamesLimit, "--fqdn-template")
		targets = FirstOf(out, targets, TargetsLimit, "--target-template")
		return origin.All(names, targets), err
	})
}

// skip says why an object gives no record.
func (r *Reader) skip(names []string, missing Missing) Skip {
	switch {
	case len(names) > 0:
		return Skip{Reason: SkipNoTarget, Subject: beginningOf(names[0]), Message: missing.Target}
	case r.Templates != nil:
		return Skip{Reason: SkipNoHostname, Message: "templates write no name for the object, or no target for its names; correct them, or else " + missing.Name}
	}
	return Skip{Reason: SkipNoHostname, Message: "nothing says under which name to publish the object: " + missing.Name}
}

// all returns the problems, for an object.
func (f *Found) all(of dns.Object) []dns.Problem {
	list := f.problems
	if f.more > 0 {
		list = append(list, dns.Problem{Reason: fmt.Sprintf("and %d more problems; correct these first", f.more)})
	}
	for i := range list {
		list[i].Object = of
	}
	return list
}

package source

import (
	"strings"

	"github.com/signpostd/signpost/internal/sanitize"
)

// SkipReason says why an object, or a part of it, has no record.
type SkipReason string

// Reasons. Every object without a record has one.
const (
	// SkipFiltered: the settings exclude the object, by namespace, annotations, labels or class.
	SkipFiltered SkipReason = "Filtered"
	// SkipOtherController: the annotation controller leaves the object to another program.
	SkipOtherController SkipReason = "OtherController"
	// SkipNotPublished: the settings don't publish such objects.
	SkipNotPublished SkipReason = "NotPublished"
	// SkipNoHostname: nothing gives the object a name.
	SkipNoHostname SkipReason = "NoHostname"
	// SkipNoTarget: neither the object nor its dependencies have an address yet.
	SkipNoTarget SkipReason = "NoTarget"
	// SkipNotFound: an object that this one refers to doesn't exist.
	SkipNotFound SkipReason = "NotFound"
	// SkipNotAccepted: a parent object, such as a Gateway, doesn't accept this one.
	SkipNotAccepted SkipReason = "NotAccepted"
	// SkipUnknownAnnotation: an annotation resembles one of ours.
	SkipUnknownAnnotation SkipReason = "UnknownAnnotation"
	// SkipUnreadAnnotation: an annotation is one of ours, but not read on such objects.
	SkipUnreadAnnotation SkipReason = "UnreadAnnotation"
	// SkipWildcard: a wildcard is published that the object doesn't name.
	SkipWildcard SkipReason = "WildcardPublished"
	// SkipSpaces: an annotation has spaces inside of a name, which are removed.
	SkipSpaces SkipReason = "SpacesInName"
)

// Skip says why an object, or a part of it, has no record. It isn't a [dns.Problem], because that
// may be intended. With some reasons it is a hint about records that are published.
type Skip struct {
	Reason SkipReason
	// Subject is the field, annotation or name; empty means the whole object.
	Subject string
	// Message is a sentence with the cause, and what to do if a record is wanted. It begins with a
	// small letter and has no full stop.
	Message string
}

// BySettings reports whether the settings of the source leave the object out, so that another publisher may
// publish it.
func (s Skip) BySettings() bool {
	return s.Reason == SkipFiltered || s.Reason == SkipOtherController || s.Reason == SkipNotPublished
}

// Skips of excluded objects are shared to save memory.
var (
	skipNamespace     = &Skip{SkipFiltered, "metadata.namespace", "--namespace does not have the namespace of the object: add it there"}
	skipByAnnotations = &Skip{SkipFiltered, "metadata.annotations", "--annotation-filter does not match the annotations of the object: change one of them"}
	skipByLabels      = &Skip{SkipFiltered, "metadata.labels", "--label-filter does not match the labels of the object: change one of them"}
)

// otherControllerSkip is the skip of an object whose annotation controller names another program.
func otherControllerSkip(controller string) *Skip {
	return &Skip{
		SkipOtherController, "metadata.annotations",
		"the annotation controller is " + sanitize.Quote(controller) + ", which leaves the object to another program: remove it, or set it to dns-controller",
	}
}

// Exclude removes everything that an object asks for, and keeps the reason, which objects share. Only the
// key, the reason, remarks about annotations, and a few of the names in annotations are kept.
func (o *Object) Exclude(reason *Skip) {
	excluded := Object{Key: o.Key, excluded: reason, wanted: wantedOf(o.Annotations)}
	if o.Annotations != nil && len(o.Annotations.Remarks) > 0 {
		excluded.Annotations = &Annotations{Remarks: o.Annotations.Remarks}
	}
	*o = excluded
}

// Want stores a name in a field of an excluded object. Only a few are kept.
func (o *Object) Want(name string) {
	if name != "" && o.excluded != nil && len(o.wanted) < maxWanted {
		o.wanted = BoundedNames(append(o.wanted, name))
	}
}

// wantAt stores the names at a path of fields, which leads through lists. Istio writes a namespace before a
// name.
func (o *Object) wantAt(value any, path []string) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			o.wantAt(item, path)
		}
	case map[string]any:
		if len(path) > 0 {
			o.wantAt(v[path[0]], path[1:])
		}
	case string:
		if len(path) == 0 {
			o.Want(v[strings.LastIndexByte(v, '/')+1:])
		}
	}
}

// Excluded returns the result for an excluded object: no records, and the reason.
func (o *Object) Excluded() Result {
	if o.excluded == nil {
		return Result{}
	}
	result := Result{Skipped: []Skip{*o.excluded}, Wanted: o.wanted}
	if o.Annotations != nil {
		result.Skipped = append(result.Skipped, o.Annotations.Remarks...)
	}
	return result
}

// NoHostname returns the skip of an object without a name, with the fields that could set one.
func (r *Reader) NoHostname(o *Object) Skip {
	hostname, s := r.key(AnnotationHostname), Skip{Reason: SkipNoHostname}
	ignored := r.Settings.IgnoreHostnameAnnotation
	if ignored && o.Annotations != nil && len(o.Annotations.Hostnames) > 0 {
		s.Subject = hostname
		s.Message = "--ignore-hostname-annotation leaves out the names in this annotation: set the flag to false, or have --fqdn-template write the name"
		return s
	}
	var lacks []string
	if len(r.subject.Names) > 0 {
		lacks = append(lacks, "has no name in "+strings.Join(r.subject.Names, " or "))
	}
	if !ignored && r.Plugin.reads(AnnotationHostname) {
		lacks = append(lacks, "has no annotation "+hostname)
	}
	if r.Templates.HasNames() {
		lacks = append(lacks, "gets no name from --fqdn-template")
	}
	if r.Templates.HasPairs() {
		lacks = append(lacks, "gets no pair from --fqdn-target-template")
	}
	end := ": set it if a name is wanted"
	if len(lacks) > 1 || ignored {
		end = ": write the name at one of these places if one is wanted"
	}
	s.Message = "it " + strings.Join(lacks, ", and ") + end
	return s
}

// NoTarget returns the skip of an object with a name and no target. without is the cause, as a
// sentence without a full stop, such as "status.loadBalancer is empty".
func (r *Reader) NoTarget(name, without string) Skip {
	return Skip{Reason: SkipNoTarget, Subject: sanitize.Name(name), Message: without + ", or " + r.setTarget()}
}

// setTarget returns the advice for an object without a target.
func (r *Reader) setTarget() string {
	if r.Plugin.TargetTemplates {
		return "set the annotation " + r.key(AnnotationTarget) + ", or use --target-template"
	}
	return "set the annotation " + r.key(AnnotationTarget)
}

// key returns the key of an annotation with the preferred prefix.
func (r *Reader) key(name string) string {
	if len(r.Settings.Prefixes) == 0 {
		return name
	}
	return r.Settings.Prefixes[0] + name
}

// firstName returns the first name, for messages.
func firstName(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

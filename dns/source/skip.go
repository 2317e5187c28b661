package source

import (
	"strings"

	"github.com/signpostd/signpost/internal/sanitize"
)

// SkipReason is a word for why an object, or a part of it, gives no record.
type SkipReason string

// The reasons. Whoever asks "why is there no record?" gets one of them for each object.
const (
	// SkipFiltered: the settings exclude the object, by its namespace, annotations, labels or
	// class.
	SkipFiltered SkipReason = "Filtered"
	// SkipOtherController: the annotation controller leaves the object to another program.
	SkipOtherController SkipReason = "OtherController"
	// SkipNotPublished: objects like this one are not published with these settings.
	SkipNotPublished SkipReason = "NotPublished"
	// SkipNoHostname: nothing says under which name the object is to be published.
	SkipNoHostname SkipReason = "NoHostname"
	// SkipNoTarget: the object has no address yet, or nothing that it depends on has.
	SkipNoTarget SkipReason = "NoTarget"
	// SkipNotFound: an object that this one refers to doesn't exist.
	SkipNotFound SkipReason = "NotFound"
	// SkipNotAccepted: an object that this one wants to be attached to doesn't admit it, such as
	// a Gateway.
	SkipNotAccepted SkipReason = "NotAccepted"
	// SkipUnknownAnnotation: an annotation looks like one of ours, and isn't.
	SkipUnknownAnnotation SkipReason = "UnknownAnnotation"
	// SkipUnreadAnnotation: an annotation is one of ours, and not for objects like this one.
	SkipUnreadAnnotation SkipReason = "UnreadAnnotation"
	// SkipWildcard: a wildcard is published that the object names nowhere.
	SkipWildcard SkipReason = "WildcardPublished"
	// SkipSpaces: the value of an annotation has spaces inside of a name, which are left out.
	SkipSpaces SkipReason = "SpacesInName"
)

// Skip says why an object, or a part of it, gives no record. It is no [dns.Problem]: the object
// may be meant to be like this. With some reasons it is a remark about what is published all the same.
type Skip struct {
	Reason SkipReason
	// Subject is the field, the annotation or the name that it is about; empty for all of the
	// object.
	Subject string
	// Message says in a sentence what is so, and what to do if a record is wanted. It begins
	// with a small letter and has no full stop.
	Message string
}

// The skips of objects that the settings exclude. They are shared, because many objects are.
var (
	skipNamespace     = &Skip{SkipFiltered, "metadata.namespace", "--namespace does not have the namespace of the object: add it there"}
	skipByAnnotations = &Skip{SkipFiltered, "metadata.annotations", "--annotation-filter does not match the annotations of the object: change one of them"}
	skipByLabels      = &Skip{SkipFiltered, "metadata.labels", "--label-filter does not match the labels of the object: change one of them"}
)

// othersOf is the skip of an object that its annotation controller leaves to another program.
func othersOf(controller string) *Skip {
	return &Skip{
		SkipOtherController, "metadata.annotations",
		"the annotation controller is " + sanitize.Quote(controller) + ", which leaves the object to another program: remove it, or set it to dns-controller",
	}
}

// Exclude makes an object one that asks for nothing, for a reason that is shared by all objects
// for which it is true. Only the key and the reason are kept, the remarks about annotations, and a few
// of the names that annotations ask for.
func (o *Object) Exclude(reason *Skip) {
	excluded := Object{Key: o.Key, excluded: reason, wanted: wantedOf(o.Annotations)}
	if o.Annotations != nil && len(o.Annotations.Remarks) > 0 {
		excluded.Annotations = &Annotations{Remarks: o.Annotations.Remarks}
	}
	*o = excluded
}

// Want notes that an excluded object asks for a name with one of its fields. A few are kept.
func (o *Object) Want(name string) {
	if name != "" && o.excluded != nil && len(o.wanted) < maxWanted {
		o.wanted = boundedNames(append(o.wanted, name))
	}
}

// wantAt notes the names at a path of fields, which leads through lists. Istio writes a namespace before a name.
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

// Excluded returns the result for an object that isn't selected: no records, and why.
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

// NoHostname is the skip of an object that has no name to be published under. It says where a
// name could stand.
func (r *Reader) NoHostname(o *Object) Skip {
	hostname, s := r.key(AnnotationHostname), Skip{Reason: SkipNoHostname}
	ignored := r.settings.IgnoreHostnameAnnotation
	if ignored && o.Annotations != nil && len(o.Annotations.Hostnames) > 0 {
		s.Subject = hostname
		s.Message = "--ignore-hostname-annotation leaves out the names in this annotation: set the flag to false, or have --fqdn-template write the name"
		return s
	}
	var lacks []string
	if len(r.subject.Names) > 0 {
		lacks = append(lacks, "has no name in "+strings.Join(r.subject.Names, " or "))
	}
	if !ignored {
		lacks = append(lacks, "has no annotation "+hostname)
	}
	if r.Templates.HasNames() {
		lacks = append(lacks, "gets no name from --fqdn-template")
	}
	end := ": set it if a name is wanted"
	if len(lacks) > 1 || ignored {
		end = ": write the name at one of these places if one is wanted"
	}
	s.Message = "it " + strings.Join(lacks, ", and ") + end
	return s
}

// NoTarget is the skip of an object that has a name and nothing that the name could point to.
// Without says why, as a sentence without its end, such as "status.loadBalancer is empty".
func (r *Reader) NoTarget(name, without string) Skip {
	return Skip{Reason: SkipNoTarget, Subject: sanitize.Name(name), Message: without + ", or set the annotation " + r.key(AnnotationTarget)}
}

// key returns the key of an annotation, as it is written in a new object.
func (r *Reader) key(name string) string {
	if len(r.settings.Prefixes) == 0 {
		return name
	}
	return r.settings.Prefixes[0] + name
}

// firstName returns the first of several names, which stands for all.
func firstName(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

package source

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
)

// Skip says why an object, or a part of it, gives no record. It is no [dns.Problem]: the object
// may be meant to be like this.
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
	skipNamespace     = &Skip{SkipFiltered, "metadata.namespace", "--namespace excludes the namespace of the object: add it there"}
	skipByAnnotations = &Skip{SkipFiltered, "metadata.annotations", "--annotation-filter does not match the annotations of the object: change one of them"}
	skipByLabels      = &Skip{SkipFiltered, "metadata.labels", "--label-filter does not match the labels of the object: change one of them"}
	skipOthers        = &Skip{
		SkipOtherController, "controller",
		"the annotation controller leaves the object to another program: remove it, or set it to dns-controller",
	}
)

// Exclude makes an object one that asks for nothing, for a reason that is shared by all objects
// for which it is true. Only the key and the reason are kept.
func (o *Object) Exclude(reason *Skip) { *o = Object{Key: o.Key, excluded: reason} }

// Excluded returns the result for an object that isn't selected.
func (o *Object) Excluded() Result {
	if o.excluded == nil {
		return Result{}
	}
	return Result{Skipped: []Skip{*o.excluded}}
}

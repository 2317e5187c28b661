package workload

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is an object of Kubernetes with its kind set.
type Object interface {
	metav1.Object
	runtime.Object
}

// Verb is the kind of an edit.
type Verb string

// Verbs of edits.
const (
	Create    Verb = "create"     // creates the object, without its status
	Set       Verb = "set"        // replaces fields
	SetStatus Verb = "set status" // replaces fields through the status subresource
	Delete    Verb = "delete"     // deletes the object; it stays, terminating, while it has a grace period or a finalizer
)

// Edit is one request. Exactly one of Object and Zone is set.
type Edit struct {
	// Number counts from 1, in the order of At. The initial edits have their own numbers.
	Number int
	// At is when the edit is due, since the start of Play.
	At time.Duration

	Verb Verb
	// Object is the whole object after the edit or, if the edit deletes it, before. It must not be changed.
	Object Object
	// Gone is true if the object doesn't exist after the edit.
	Gone bool
	// Fields are the parts that Set and SetStatus replace, as JSON pointers (RFC 6901).
	Fields []string
	// Grace is the grace period of a Delete in seconds.
	Grace int64
	// After is the number of an earlier edit after which this one must wait for Gap: the deletion of the pod
	// whose address is reused. Zero means none.
	After int
	Gap   time.Duration

	Zone *ZoneEdit
}

func (e Edit) String() string {
	if e.Zone != nil {
		return fmt.Sprintf("%d %.3f s: %s", e.Number, e.At.Seconds(), e.Zone)
	}
	line := fmt.Sprintf("%d %.3f s: %s %s", e.Number, e.At.Seconds(), e.Verb, name(e.Object))
	if len(e.Fields) > 0 {
		line += " " + strings.Join(e.Fields, ", ")
	}
	if e.Grace > 0 {
		line += fmt.Sprintf(" with %d s of grace", e.Grace)
	}
	if e.After > 0 {
		line += fmt.Sprintf(", %s after edit %d", e.Gap, e.After)
	}
	return line
}

// name returns kind and name of an object for messages.
func name(o Object) string {
	return o.GetObjectKind().GroupVersionKind().Kind + " " + o.GetName()
}

// Requirement is the prerequisite of a zone edit. The name server checks it together with the change (RFC
// 2136, section 2.4), so that the person never overwrites a concurrent change.
type Requirement string

// Requirements of edits of a zone.
const (
	Unused Requirement = "unused" // the name has no records
	Mine   Requirement = "mine"   // the set has exactly the records Old
	Beside Requirement = "beside" // the name has addresses, and no set of the type
	Theirs Requirement = "theirs" // the set exists, with any records
)

// ZoneEdit is an edit of one record set.
type ZoneEdit struct {
	Name    string // absolute
	Type    string // A, TXT, …
	Require Requirement
	// Old are the records that Mine requires, in presentation form without name, TTL and type.
	Old []string
	// Keep is true if existing records stay. Otherwise New replaces them.
	Keep bool
	New  []string // empty to delete the set
	TTL  uint32
}

func (z ZoneEdit) String() string {
	verb := "replace"
	switch {
	case z.Keep || z.Require == Unused || z.Require == Beside:
		verb = "add"
	case len(z.New) == 0:
		verb = "remove"
	}
	line := fmt.Sprintf("%s %s %s (%s)", verb, z.Name, z.Type, z.Require)
	return strings.Join(append([]string{line}, z.New...), " ")
}

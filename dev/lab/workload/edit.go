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

// Verb is what an edit of an object does.
type Verb string

// The verbs of edits.
const (
	Create    Verb = "create"     // makes the object, without its status
	Set       Verb = "set"        // replaces fields
	SetStatus Verb = "set status" // replaces fields through the status subresource
	Delete    Verb = "delete"     // deletes the object; it stays, terminating, while it has a grace period or a finalizer
)

// Edit is one request that somebody makes. Exactly one of Object and Zone is set.
type Edit struct {
	// Number counts from 1, in the order of At. Those that make the beginning have their own numbers.
	Number int
	// At is when it is due, since the start of the play.
	At time.Duration

	Verb Verb
	// Object is all of the object as it should be after the edit; if it is gone then, as it was before. Nobody changes it.
	Object Object
	// Gone says that the object isn't there any more after the edit.
	Gone bool
	// Fields are the parts that Set and SetStatus replace, as JSON pointers (RFC 6901).
	Fields []string
	// Grace is the grace period of a Delete in seconds.
	Grace int64
	// After is the number of an edit that this one has to keep a distance of Gap from, however late that was made: the
	// deletion of the pod whose address is used again. It is zero if there is none.
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

// Requirement is what a zone must have for an edit to be made. The name server looks, together with the change
// (RFC 2136, section 2.4), so that the person never changes what somebody else has made meanwhile.
type Requirement string

// The requirements of edits of a zone.
const (
	Unused Requirement = "unused" // the name has no records
	Mine   Requirement = "mine"   // the set has exactly the records Old
	Beside Requirement = "beside" // the name has addresses, and no set of the type
	Theirs Requirement = "theirs" // the set exists, whatever its records are
)

// ZoneEdit is an edit of one record set by the person.
type ZoneEdit struct {
	Name    string // absolute
	Type    string // A, TXT, …
	Require Requirement
	// Old are the records that Mine requires, in presentation form without name, TTL and type.
	Old []string
	// Keep says that the records that are there stay. Otherwise New takes their place.
	Keep bool
	New  []string // none if the set goes
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

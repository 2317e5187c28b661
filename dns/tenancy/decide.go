package tenancy

import (
	"fmt"
	"slices"
	"strings"
)

// Policy says which namespace gets a name that several ask for. The zero value is [Shared].
type Policy string

const (
	// Shared merges the targets of all objects, as ExternalDNS does.
	Shared Policy = "shared"
	// Namespaced gives a name to the namespace that has it, and refuses it to all others.
	Namespaced Policy = "namespace"
)

// Reason says why a namespace doesn't get a name. It is also the reason of the Event.
type Reason string

const (
	// Taken: another namespace has the name.
	Taken Reason = "NameTaken"
	// NotAllowed: the name is in no domain of the namespace.
	NotAllowed Reason = "NameNotAllowed"
	// TooMany: the namespace has reached its limit of names.
	TooMany Reason = "TooManyNames"
)

// Case is the state of one name in one zone, for [Decide].
type Case struct {
	// Asking are the namespaces whose objects ask for the name, each once, in the order of the
	// objects. Objects without a namespace have the namespace "".
	Asking []string
	// Held is true if the zone has the name with the label of an object, whose namespace is Holder.
	Held   bool
	Holder string
	// Keeps is true if the holder keeps the name although it isn't in Asking, because an unread or
	// unresolved object of it may ask, or because it asked a moment ago.
	Keeps bool
	// DependsOn is the name that this name belongs to, such as www.example.org for
	// _acme-challenge.www.example.org, and DependsOnHolder the namespace that has it. DependsOn is
	// empty if there is none.
	DependsOn, DependsOnHolder string
	// Full reports whether a namespace may have no further name in the zone. Nil means no limit.
	Full func(namespace string) bool
	// Limit is the number of names that Full compares with, for messages.
	Limit int
}

// Refusal says that a namespace doesn't get a name, and why.
type Refusal struct {
	Namespace string
	Reason    Reason
	// Message names the cause and what to do, without a capital letter and a full stop.
	Message string
}

// Decision is the result of [Decide].
type Decision struct {
	// Granted are the namespaces whose objects count, in the order of [Case].Asking. Under
	// [Namespaced] there is at most one.
	Granted []string
	Refused []Refusal
}

// Decide returns which namespaces get a name. The holder keeps a name as long as it asks for it. A
// name without a holder goes to the first namespace that asks for it and may have it.
func Decide(p Policy, c Case) Decision {
	var d Decision
	owner, owned := c.keeper()
	for _, namespace := range c.Asking {
		gains := !c.Held || p == Namespaced && namespace != c.Holder
		switch {
		case p == Namespaced && owned && namespace != owner:
			d.refuse(namespace, Taken, fmt.Sprintf("%s has the name (--name-policy=%s): use another name, or have it removed there", Title(owner), Namespaced))
		case p == Namespaced && gains && c.DependsOn != "" && namespace != c.DependsOnHolder:
			d.refuse(namespace, Taken, fmt.Sprintf("it belongs to the name %s, which %s has: use another name", c.DependsOn, Title(c.DependsOnHolder)))
		case gains && c.Full != nil && c.Full(namespace):
			d.refuse(namespace, TooMany, fmt.Sprintf("%s has %d names in the zone, the limit (--max-names-per-namespace): remove names, or raise the limit", Title(namespace), c.Limit))
		default:
			d.Granted = append(d.Granted, namespace)
			owner, owned = namespace, true
		}
	}
	return d
}

// keeper returns the namespace that keeps the name under [Namespaced] regardless of other requests.
func (c *Case) keeper() (namespace string, keeps bool) {
	return c.Holder, c.Held && (c.Keeps || slices.Contains(c.Asking, c.Holder))
}

func (d *Decision) refuse(namespace string, reason Reason, message string) {
	d.Refused = append(d.Refused, Refusal{Namespace: namespace, Reason: reason, Message: message})
}

// Title returns a namespace for messages. The namespace "" stands for objects without one.
func Title(namespace string) string {
	if namespace == "" {
		return "an object without a namespace"
	}
	return "the namespace " + namespace
}

// HolderOf returns the namespace of the object in a label resource. The label has the form
// kind/namespace/name, or kind/name for an object without a namespace. It returns false for any
// other text.
func HolderOf(resource string) (namespace string, known bool) {
	parts := strings.Split(resource, "/")
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
		return "", false
	}
	if len(parts) == 2 {
		return "", true
	}
	return parts[1], true
}

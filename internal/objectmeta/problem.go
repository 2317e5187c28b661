package objectmeta

import "time"

// Problem is a part of an object that can't be used: an address, a port, a selector. The rest of the object
// stays in use.
type Problem struct {
	// Kind, Namespace and Name identify the object, spelled as a user would type them.
	Kind, Namespace, Name string
	// UID is metadata.uid; empty if unknown.
	UID string
	// Cluster is the cluster of the object; empty for our own.
	Cluster string
	// Field is the path of the field, such as "endpoints[3].addresses[0]".
	Field string
	// Reason is the cause and the allowed values, in one sentence without a full stop.
	Reason string
	// Conflict is true for a conflict with another object. A new version of one object does not fix it.
	Conflict bool
}

// Report receives problems. It is called from many goroutines, and repeatedly for the same problem; it must
// not block.
type Report func(Problem)

// Fixed receives an object, as a problem without field and reason, whose problems from before a
// time are fixed, or which is gone. Its conflicts with other objects are fixed separately: a conflict is
// received with its field. Fixed is called from many goroutines; it must not block.
type Fixed func(object Problem, before time.Time)

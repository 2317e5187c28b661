// Package history is what a run of the lab has seen: everything that the cluster stored, that clients were told, that
// replicas wrote, and that name servers published, each with its time. A run appends to a Recorder; the validators
// read the History afterwards, or that of a file.
//
// A Recorder may be used by many goroutines at once. A History is not changed after it was read.
package history

import (
	"encoding/json"
	"slices"
	"time"
)

// History is a run: what was set up, and what was seen.
type History struct {
	Setup   Setup
	Entries []Entry // in the order of At
}

// Setup is what a run was started with.
type Setup struct {
	Seed          uint64        `json:"seed"`
	Duration      time.Duration `json:"duration"`      // of edits and faults, without the calm afterwards
	LeaseDuration time.Duration `json:"leaseDuration"` // after which another replica may take a Lease that wasn't renewed
	Namespace     string        `json:"namespace"`     // in which the workload edits objects
	Zones         []string      `json:"zones"`         // absolute names: lab.example.
	Owner         string        `json:"owner"`         // the owner id of Signpost's records
	TrustDomain   string        `json:"trustDomain"`
	// UnsafeClock is true if the clock of a replica runs faster than a Lease stands. Two replicas may lead at once then.
	UnsafeClock bool `json:"unsafeClock,omitempty"`
}

// Entry is one thing that was seen. Exactly one of the pointers is set.
type Entry struct {
	// At is when it was seen, since the start of the run by the lab's own clock, which no fault touches.
	At     time.Duration `json:"at"`
	Object *Object       `json:"object,omitempty"`
	Stream *Stream       `json:"stream,omitempty"`
	Write  *Write        `json:"write,omitempty"`
	Zone   *Zone         `json:"zone,omitempty"`
	Fault  *Fault        `json:"fault,omitempty"`
	Calm   *Calm         `json:"calm,omitempty"`
}

// Object is a change of the cluster's state, as etcd stored it. The revisions of all objects are one order: the state
// of the cluster at a revision is the last change of each object up to it. They are etcd's own until etcd is restored from a
// copy. From then on they are higher than etcd's, so that the order continues although etcd's revision went back.
type Object struct {
	Resource  string `json:"resource"` // plural: pods
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Revision  int64  `json:"revision"`
	Deleted   bool   `json:"deleted,omitempty"`
	// Restored is true if nobody wrote this: etcd was restored from a copy, in which the object was so. All such changes of one
	// restore have the same revision.
	Restored bool `json:"restored,omitempty"`
	// Content is the object as JSON without its managed fields; nil if it was deleted.
	Content json.RawMessage `json:"content,omitempty"`
}

// StreamEvent is what happened to a stream.
type StreamEvent string

// What happens to streams.
const (
	StreamOpened  StreamEvent = "opened"  // the request was sent; a client of xDS then knows what it knew before
	StreamUpdated StreamEvent = "updated" // an answer was received
	StreamClosed  StreamEvent = "closed"  // nothing more comes, for the reason in Problem
)

// Stream is what a client of the Destination API saw, or a client of xDS of one of its names: an ADS stream
// with twenty names is twenty of these.
type Stream struct {
	ID      int         `json:"id"`     // of one call: a client that asks again has another
	Client  int         `json:"client"` // whose streams follow each other
	Replica string      `json:"replica"`
	Call    string      `json:"call"`            // Get, GetProfile, EDS or DeltaEDS
	Target  string      `json:"target"`          // the path of the request, or the name of the resource: web.lab.svc.cluster.local:80
	Token   string      `json:"token,omitempty"` // the context token of the request: {"ns":"lab","nodeName":"node-1"}
	Event   StreamEvent `json:"event"`
	// Exists is false after NoEndpoints with exists: false. It means nothing for GetProfile.
	Exists bool `json:"exists,omitempty"`
	// Addresses is everything that Get has said so far, as the client understands it after this update:
	// ip:port, and the rest of the WeightedAddr as canonical text. For xDS it is the ClusterLoadAssignment:
	// ip:port, and an AssignedEndpoint as text.
	Addresses map[string]string `json:"addresses,omitempty"`
	// Added and Removed are what this update said.
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
	// Profile is the whole answer of GetProfile, as canonical JSON.
	Profile json.RawMessage `json:"profile,omitempty"`
	// Version is that of the ClusterLoadAssignment which a client of xDS has; empty if it has none.
	Version string `json:"version,omitempty"`
	// Problem is why the stream ended, or what in an update contradicts those before: an address removed that wasn't there.
	Problem string `json:"problem,omitempty"`
}

// Person is the Replica of a Write that isn't one of Signpost: the person who edits the zone with a key of their own.
// All of this person's updates have to be in the history, because the validators learn from it who changed a record.
const Person = "person"

// Write is a request of a replica, or of the person, that changes something, as it arrived.
type Write struct {
	Replica string `json:"replica"` // or Person
	// Answered is when the answer was passed back; zero if there was none.
	Answered time.Duration `json:"answered,omitempty"`
	// Status is the HTTP status or the DNS response code; -1 without an answer.
	Status int `json:"status"`
	// Kubernetes is set if the API server was asked, Update if a name server was.
	Kubernetes *KubernetesWrite `json:"kubernetes,omitempty"`
	Update     *UpdateWrite     `json:"update,omitempty"`
}

// KubernetesWrite is a request to the API server.
type KubernetesWrite struct {
	Verb        string `json:"verb"` // create, update, patch, delete
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	Name        string `json:"name,omitempty"` // of a creation, from the body
	// Holder is the holder that a write of a Lease names; empty when it gives the Lease up.
	Holder string `json:"holder,omitempty"`
	// Precondition is the version that the object must have, by the resourceVersion in the body or the preconditions of a
	// deletion; empty if the request hits whatever is there.
	Precondition string `json:"precondition,omitempty"`
	// Reached is whether the API server may have got the request.
	Reached bool `json:"reached,omitempty"`
}

// UpdateWrite is a message by RFC 2136.
type UpdateWrite struct {
	Zone  string   `json:"zone"`
	Names []string `json:"names"` // of the update section
	// Message is the whole message as it was sent. With it the validators know which serial of the zone it made;
	// without it they go by Names.
	Message []byte `json:"message,omitempty"`
}

// Zone is what one serial of a zone changed, in the presentation format of records (RFC 1035, section 5).
type Zone struct {
	Name    string   `json:"name"`
	Serial  uint32   `json:"serial"`
	Removed []string `json:"removed,omitempty"`
	Added   []string `json:"added,omitempty"`
	// Whole is whether Added is all of the zone, as at the beginning.
	Whole bool `json:"whole,omitempty"`
}

// Fault is the beginning or the end of something that the lab broke.
type Fault struct {
	ID     int    `json:"id"`
	Kind   string `json:"kind"`   // kill, pause, cut, …
	Target string `json:"target"` // replica-a, kube-apiserver, replica-a→kube-apiserver, …
	Ended  bool   `json:"ended,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Calm says that no edit and no fault comes any more: Started when the last fault has ended, otherwise when everything has
// to be as the model says.
type Calm struct {
	Started bool `json:"started,omitempty"`
}

// Sorted returns the history with its entries in the order of time.
func (h History) Sorted() History {
	entries := slices.Clone(h.Entries)
	slices.SortStableFunc(entries, func(a, b Entry) int { return int(a.At - b.At) })
	return History{Setup: h.Setup, Entries: entries}
}

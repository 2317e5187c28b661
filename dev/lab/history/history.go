// Package history defines the record of a run of the lab: every change of the cluster, every update to
// clients, every write of replicas, and every change of a zone, each with its time. A run appends to a
// Recorder. The validators read the History afterwards, or one from a file.
//
// A Recorder is safe for concurrent use. A History is not changed after it was read.
package history

import (
	"encoding/json"
	"slices"
	"time"
)

// History is a run: its setup and its events.
type History struct {
	Setup   Setup
	Entries []Entry // in the order of At
}

// Setup has the parameters of a run.
type Setup struct {
	Seed          uint64        `json:"seed"`
	Duration      time.Duration `json:"duration"`      // of edits and faults, without the calm afterwards
	LeaseDuration time.Duration `json:"leaseDuration"` // after which another replica may take a Lease that wasn't renewed
	Namespace     string        `json:"namespace"`     // of the edited objects
	Zones         []string      `json:"zones"`         // absolute names: lab.example.
	Owner         string        `json:"owner"`         // the owner ID of Signpost's records
	TrustDomain   string        `json:"trustDomain"`
	// UnsafeClock is true if the clock of a replica is too fast for a Lease, so that two replicas may lead at
	// once.
	UnsafeClock bool `json:"unsafeClock,omitempty"`
}

// Entry is one event. Exactly one of the pointers is set.
type Entry struct {
	// At is the time since the start of the run, by the lab's own clock, which no fault affects.
	At     time.Duration `json:"at"`
	Object *Object       `json:"object,omitempty"`
	Stream *Stream       `json:"stream,omitempty"`
	Write  *Write        `json:"write,omitempty"`
	Zone   *Zone         `json:"zone,omitempty"`
	Fault  *Fault        `json:"fault,omitempty"`
	Calm   *Calm         `json:"calm,omitempty"`
}

// Object is a change of an object in etcd. The revisions of all objects form one order: the state of the
// cluster at a revision is the last change of each object up to it. They are etcd's own revisions until the
// first etcd restore. After that they are higher, so that the order continues although etcd's revision went
// back.
type Object struct {
	Resource  string `json:"resource"` // plural: pods
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Revision  int64  `json:"revision"`
	Deleted   bool   `json:"deleted,omitempty"`
	// Restored is true for a change by an etcd restore. All changes of one restore have the same revision.
	Restored bool `json:"restored,omitempty"`
	// Content is the object as JSON without its managed fields; nil if it was deleted.
	Content json.RawMessage `json:"content,omitempty"`
}

// StreamEvent is the kind of an event of a stream.
type StreamEvent string

// Events of streams.
const (
	StreamOpened  StreamEvent = "opened"  // the request was sent; an xDS client still knows its earlier endpoints
	StreamUpdated StreamEvent = "updated" // a response was received
	StreamClosed  StreamEvent = "closed"  // the stream has ended, for the reason in Problem
)

// Stream is an event that a client of the Destination API, or an xDS client for one of its names, has seen.
// An ADS stream with twenty names is recorded as twenty streams.
type Stream struct {
	ID      int         `json:"id"`     // of one call; a reconnect has another ID
	Client  int         `json:"client"` // the same for all its streams
	Replica string      `json:"replica"`
	Call    string      `json:"call"`            // Get, GetProfile, EDS or DeltaEDS
	Target  string      `json:"target"`          // the path of the request, or the name of the resource: web.lab.svc.cluster.local:80
	Token   string      `json:"token,omitempty"` // the context token of the request: {"ns":"lab","nodeName":"node-1"}
	Event   StreamEvent `json:"event"`
	// Exists is false after NoEndpoints with exists: false. It has no meaning for GetProfile.
	Exists bool `json:"exists,omitempty"`
	// Addresses has all endpoints that the client knows after this update. For Get, the key is ip:port, and
	// the value is the rest of the WeightedAddr as canonical text. For xDS, the value is an AssignedEndpoint
	// as text.
	Addresses map[string]string `json:"addresses,omitempty"`
	// Added and Removed are the addresses of this update.
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
	// Profile is the whole response of GetProfile, as canonical JSON.
	Profile json.RawMessage `json:"profile,omitempty"`
	// Version is that of the xDS client's ClusterLoadAssignment; empty without one.
	Version string `json:"version,omitempty"`
	// Problem is why the stream ended, or how an update contradicts the ones before, such as the removal of
	// an unknown address.
	Problem string `json:"problem,omitempty"`
}

// Person is the Replica of a Write by the person who edits the zone with another key. The history must have
// all updates of the person, because the validators find the author of a change in it.
const Person = "person"

// Write is a received write of a replica or of the person.
type Write struct {
	Replica string `json:"replica"` // or Person
	// Responded is when the response was sent; zero without response.
	Responded time.Duration `json:"answered,omitempty"`
	// Status is the HTTP status or the DNS response code; -1 without response.
	Status int `json:"status"`
	// Kubernetes is set for a request to the API server, and Update for one to a name server.
	Kubernetes *KubernetesWrite `json:"kubernetes,omitempty"`
	Update     *UpdateWrite     `json:"update,omitempty"`
}

// KubernetesWrite is a request to the API server.
type KubernetesWrite struct {
	Verb        string `json:"verb"` // create, update, patch, delete
	Resource    string `json:"resource"`
	Subresource string `json:"subresource,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	Name        string `json:"name,omitempty"` // for create, from the body
	// Holder is the holder in a write of a Lease; empty for a release.
	Holder string `json:"holder,omitempty"`
	// Precondition is the version that the object must have, from the resourceVersion in the body or the
	// preconditions of a deletion; empty if the request applies to any version.
	Precondition string `json:"precondition,omitempty"`
	// Reached is true if the API server may have received the request.
	Reached bool `json:"reached,omitempty"`
}

// UpdateWrite is an UPDATE message (RFC 2136).
type UpdateWrite struct {
	Zone  string   `json:"zone"`
	Names []string `json:"names"` // of the update section
	// Message is the whole message, by which the validators find the serial that the update made.
	Message []byte `json:"message,omitempty"`
}

// Zone is the change of one serial of a zone, in the presentation format of records (RFC 1035, section 5).
type Zone struct {
	Name    string   `json:"name"`
	Serial  uint32   `json:"serial"`
	Removed []string `json:"removed,omitempty"`
	Added   []string `json:"added,omitempty"`
	// Whole is true if Added is the whole zone, as at the beginning.
	Whole bool `json:"whole,omitempty"`
}

// Fault is the beginning or the end of a fault.
type Fault struct {
	ID     int    `json:"id"`
	Kind   string `json:"kind"`   // kill, pause, cut, …
	Target string `json:"target"` // replica-a, kube-apiserver, replica-a→kube-apiserver, …
	Ended  bool   `json:"ended,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Calm is the beginning (Started) or the end of the calm. In the calm, no edit and no fault is made. At its
// end, everything must match the model.
type Calm struct {
	Started bool `json:"started,omitempty"`
}

// Sorted returns the history with its entries in the order of time.
func (h History) Sorted() History {
	entries := slices.Clone(h.Entries)
	slices.SortStableFunc(entries, func(a, b Entry) int { return int(a.At - b.At) })
	return History{Setup: h.Setup, Entries: entries}
}

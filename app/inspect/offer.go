package inspect

import (
	"context"
	"net/netip"
	"time"
)

// Offer is what a role offers for inspection. What is nil, the role doesn't have. All of it is
// called from any goroutine, and has to return soon after the context ends.
type Offer struct {
	// Role is its name, as in a config.
	Role     string
	Streams  StreamsOf
	Services ServicesOf
	Records  RecordsOf
	Zones    ZonesOf
	Writes   WritesOf
	Explains Explainer
	// Publishers are those whose plans are served, and Leadership says whether this process makes
	// them.
	Publishers []Publisher
	Leadership Leadership
}

// StreamsOf has the open calls of a process.
type StreamsOf interface {
	// Streams returns all of them, in any order. The caller may change the slice.
	Streams() []Stream
	// CountStreams returns how many there are, and how many of them are behind: they lack an
	// answer for more than a second. It is cheap.
	CountStreams() (open, behind int)
}

// ServicesOf has the Services that are served.
type ServicesOf interface {
	// Services returns a page of the Services that pass the filter, sorted by namespace and name.
	Services(f ServiceFilter) ServiceList
	// CountServices returns how many there are. It is cheap.
	CountServices() int
	// HasService reports whether there is one of this name.
	HasService(namespace, name string) bool
}

// ServiceFilter says which Services are wanted.
type ServiceFilter struct {
	// Namespace is empty for all. Search is a part of NAMESPACE/NAME, in lower case.
	Namespace, Search string
	// States are those of the Services; none is for all. With states, the worst Services come first.
	States []ServiceState
	// Offset and Limit are the page: 0 ≤ Offset, and 0 < Limit ≤ PageSize.
	Offset, Limit int
}

// WritesOf has what can't be written for Services.
type WritesOf interface {
	// Waits returns what waits for the longest time, at most so much of it, and how much there is.
	Waits(most int) (some []Wait, all int)
}

// Wait is why something of a Service isn't written.
type Wait struct {
	Namespace, Name string
	// Reason is a sentence.
	Reason string
	Since  time.Time
}

// RecordsOf has the records of publishers.
type RecordsOf interface {
	// Records returns a page of the records that pass the filter, sorted by publisher, zone, name
	// and type. The error is a [*NotLeading] if another process knows them.
	Records(ctx context.Context, f RecordFilter) (RecordList, error)
}

// RecordChanges is what a [RecordsOf] may have in addition: it knows what has changed. Of one that
// lacks it, [ChangesPath] says only that something did.
type RecordChanges interface {
	// RecordChanges returns what has changed since a mark, and the next mark. Of more changes than
	// limit it says Reset. With the mark 0 it returns a mark only.
	RecordChanges(ctx context.Context, since uint64, limit int) (changes Delta[Record], mark uint64, err error)
}

// ZonesOf has the zones of publishers.
type ZonesOf interface {
	// Zones returns all of them, sorted by publisher and name. The error is a [*NotLeading] if
	// another process knows them.
	Zones(ctx context.Context) ([]Zone, error)
}

// NotLeading is the error of a process that doesn't know something because it doesn't lead.
type NotLeading struct {
	// Leader is who does; empty if that isn't known.
	Leader string
}

// Error implements error.
func (e *NotLeading) Error() string {
	if e.Leader == "" {
		return "this process does not lead, and it isn't known who does: signpost status says why, and which replicas there are"
	}
	return "this process does not lead: ask the leader, " + e.Leader
}

// Explainer says why something is so.
type Explainer interface {
	// Explain returns the steps of the way that it knows, in the order of the way, or none if it
	// has nothing to say about the subject. [Step.Role] is set by the caller if it is empty.
	Explain(ctx context.Context, q Query) []Step
}

// Query is what an explanation is about: exactly one of its fields is set.
type Query struct {
	Service *ServiceQuery
	// Address is an IP address, and a port or 0.
	Address netip.AddrPort
	// Name is a DNS name in lower case, without the dot at its end.
	Name string
	// Object is any other object. Its Kind is spelled as in Kubernetes, if we know it.
	Object *ObjectRef
}

// ServiceQuery asks about a Service.
type ServiceQuery struct {
	Namespace, Name string
	// Port is 0 for all. Hostname is that of one endpoint; empty for all.
	Port     uint16
	Hostname string
}

package inspect

import (
	"cmp"
	"context"
	"net/netip"
	"time"
)

// Offer is the data that a role offers for inspection; nil fields are not offered. All methods are
// called from any goroutine, and must return soon after the context ends.
type Offer struct {
	// Role is its name, as in a config.
	Role     string
	Streams  StreamsOf
	Services ServicesOf
	Records  RecordsOf
	Zones    ZonesOf
	Writes   WritesOf
	Explains Explainer
	// Publishers are those whose plans are served. Leadership says whether this process leads.
	Publishers []Publisher
	Leadership Leadership
}

// offered are the offers of all roles; nil where there is none.
type offered struct {
	streams allStreams
	// serving is the offer with Services, and planning the one with plans.
	serving, planning Offer
	records           RecordsOf
	zones             ZonesOf
	writes            WritesOf
}

// offeredBy joins the offers of roles. Except for streams, the first offer of a part counts.
func offeredBy(offers []Offer) (all offered) {
	for _, o := range offers {
		if o.Streams != nil {
			all.streams = append(all.streams, o.Streams)
		}
		if all.serving.Services == nil && o.Services != nil {
			all.serving = o
		}
		if all.planning.Leadership == nil && o.Leadership != nil {
			all.planning = o
		}
		all.records, all.zones, all.writes = cmp.Or(all.records, o.Records), cmp.Or(all.zones, o.Zones), cmp.Or(all.writes, o.Writes)
	}
	return all
}

// StreamsOf provides the open calls of a process.
type StreamsOf interface {
	// Streams returns all open calls, in any order. The caller may change the slice.
	Streams() []Stream
	// CountStreams returns the number of open calls, and of those that are behind: they have waited
	// for a response for more than a second. It is cheap.
	CountStreams() (open, behind int)
}

// ServicesOf provides the Services that are served.
type ServicesOf interface {
	// Services returns a page of the Services that pass the filter, sorted by namespace and name.
	Services(f ServiceFilter) ServiceList
	// CountServices returns the number of Services. It is cheap.
	CountServices() int
	// HasService reports whether a Service exists.
	HasService(namespace, name string) bool
}

// ServiceFilter selects Services.
type ServiceFilter struct {
	// Namespace is empty for all. Search is a part of NAMESPACE/NAME, in lower case.
	Namespace, Search string
	// States are those of the Services; none is for all. With states, the worst Services come first.
	States []ServiceState
	// Offset and Limit are the page: 0 ≤ Offset, and 0 < Limit ≤ PageSize.
	Offset, Limit int
}

// WritesOf provides the failing writes of Services.
type WritesOf interface {
	// Waits returns the writes that have waited longest, at most limit, and the number of all.
	Waits(limit int) (oldest []Wait, all int)
}

// Wait is a write for a Service that fails and waits for the next attempt.
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
	// RecordChanges returns the changes since its last call, or Reset if there are more than limit or
	// they are unknown, as at the first call. A process has one caller.
	RecordChanges(ctx context.Context, limit int) (Delta[Record], error)
}

// ZonesOf provides the zones of publishers.
type ZonesOf interface {
	// Zones returns all zones, sorted by publisher and name. It is called every few seconds, so counts
	// that take long have to be cached. The error is a [*NotLeading] if another process knows them.
	Zones(ctx context.Context) ([]Zone, error)
}

// NotLeading is the error of a process that lacks data because it doesn't lead.
type NotLeading struct {
	// Leader is the leader; empty if unknown.
	Leader string
}

// Error implements error.
func (e *NotLeading) Error() string {
	if e.Leader == "" {
		return "this process does not lead, and the leader is unknown: signpost status shows the replicas and the cause"
	}
	return "this process does not lead: ask the leader, " + e.Leader
}

// Explainer explains the state of a subject.
type Explainer interface {
	// Explain returns the steps that it knows, in order, or none. If [Step.Role] is empty, the caller
	// sets it.
	Explain(ctx context.Context, q Query) []Step
}

// Query is the subject of an explanation: exactly one field is set.
type Query struct {
	Service *ServiceQuery
	// Address is an IP address, and a port or 0.
	Address netip.AddrPort
	// Name is a DNS name in lower case, without a final dot.
	Name string
	// Object is any other object. The Kind of known kinds is spelled as in Kubernetes.
	Object *ObjectRef
}

// ServiceQuery is a query about a Service.
type ServiceQuery struct {
	Namespace, Name string
	// Port is 0 for all, unless PortName is the name of one. Hostname is that of one endpoint; empty for
	// all.
	Port     uint16
	PortName string
	Hostname string
}

// WantsPort reports whether the query is about a port of the Service.
func (q *ServiceQuery) WantsPort(number uint16, name string) bool {
	if q.PortName != "" {
		return q.PortName == name
	}
	return q.Port == 0 || q.Port == number
}

package inspect

import "time"

// ChangeKind says what a [PastChange] is about.
type ChangeKind string

// Kinds of changes.
const (
	// ChangeSent: streams were sent endpoints or a resource of a Service.
	ChangeSent ChangeKind = "told"
	// ChangeRecord: a record set of a zone was changed, or could not be.
	ChangeRecord ChangeKind = "record"
	// ChangeWrite: Endpoints or an EndpointSlice of a Service was written, or could not be, or another writer
	// changed it.
	ChangeWrite ChangeKind = "write"
)

// PastChange is a change of the last hour. Fields that don't apply to its kind are left out.
type PastChange struct {
	At time.Time `json:"at"`
	// Process is the process that made the change. Clients that query several processes set it.
	Process string     `json:"process,omitempty"`
	Kind    ChangeKind `json:"kind"`
	// Action is created, updated, deleted, failed or external.
	Action string `json:"action"`
	// Subject is NAMESPACE/NAME of a Service, or a DNS name. Cluster is empty for our own cluster.
	Subject string `json:"subject"`
	Cluster string `json:"cluster,omitempty"`
	// Text says what changed, and Why the cause if it is known. Both are one sentence at most.
	Text string `json:"text"`
	Why  string `json:"why,omitempty"`
	// Source is the role, the controller or the publisher that made the change.
	Source string `json:"source,omitempty"`
	// Streams is the number of streams that were sent the change. Port and Hostname are those of
	// the query. ClientZone and ClientNode are set if only clients there were sent it.
	Streams    int    `json:"streams,omitempty"`
	Port       int    `json:"port,omitempty"`
	Hostname   string `json:"hostname,omitempty"`
	ClientZone string `json:"clientZone,omitempty"`
	ClientNode string `json:"clientNode,omitempty"`
	// Endpoints is the number after the change: endpoints of the streams, or ready addresses of the
	// object.
	Endpoints *int `json:"endpoints,omitempty"`
	NotReady  int  `json:"notReady,omitempty"`
	// Added, Changed and Removed are addresses, at most 32 each. The numbers say how many more there are.
	Added       []string `json:"added,omitempty"`
	Changed     []string `json:"changed,omitempty"`
	Removed     []string `json:"removed,omitempty"`
	MoreAdded   int      `json:"moreAdded,omitempty"`
	MoreChanged int      `json:"moreChanged,omitempty"`
	MoreRemoved int      `json:"moreRemoved,omitempty"`
	// Object is the written object, or the xDS resource.
	Object string `json:"object,omitempty"`
	// Zone, Type, SetIdentifier and TTL are those of a record set. Old and New are its targets, at
	// most 16 each.
	Zone          string   `json:"zone,omitempty"`
	Type          string   `json:"type,omitempty"`
	SetIdentifier string   `json:"setIdentifier,omitempty"`
	TTL           int      `json:"ttl,omitempty"`
	Old           []string `json:"old,omitempty"`
	New           []string `json:"new,omitempty"`
	MoreOld       int      `json:"moreOld,omitempty"`
	MoreNew       int      `json:"moreNew,omitempty"`
	// Objects are those that ask for the record set, as KIND/NAMESPACE/NAME.
	Objects []string `json:"objects,omitempty"`
	// By is another writer.
	By string `json:"by,omitempty"`
}

// History is the response of [HistoryPath], the oldest change first.
type History struct {
	Changes []PastChange `json:"changes"`
	// Total is the number of changes. If it exceeds that of Changes, Changes has the newest ones.
	Total int `json:"total"`
	// Bytes is the memory of all kept changes, and Limit its limit (--history-bytes).
	Bytes int `json:"bytes"`
	Limit int `json:"limit"`
}

package inspect

import "time"

// Root is the prefix of all paths of the inspection API.
const Root = "/api/v1alpha1"

// Paths for GET. Lists have the parameters offset and limit, at most [PageSize], and those that are
// named here. A process without the required role responds with 404 and a [Failure].
const (
	// StatusPath has a [Status]: the process as a whole.
	StatusPath = Root + "/status"
	// NowPath has a [Now]: the current problems and their causes, the worst first. Parameters: each
	// (true: one finding for each subject, instead of one for each cause), known (true: an early
	// response, which may be a minute old and explains no Service whose cause isn't cached).
	NowPath = Root + "/now"
	// StreamsPath has a [StreamList]: the open calls of the Destination API, and the streams of xDS
	// clients. Parameters: service (NAMESPACE/NAME), pod (NAMESPACE/NAME), node, state (a
	// [StreamState]; several with commas, the worst first), search (a part of any of these texts).
	StreamsPath = Root + "/streams"
	// ServicesPath has a [ServiceList]: what is served. Parameters: namespace, state (a
	// [ServiceState]; several with commas, the worst first), search.
	ServicesPath = Root + "/services"
	// RecordsPath has a [RecordList]: the records of publishers. Parameters: publisher (400 if none
	// has the name), zone, state (a [RecordState]; several with commas), search (a part of a name, a
	// target or an object), object (KIND/NAMESPACE/NAME).
	RecordsPath = Root + "/records"
	// ZonesPath has a [ZoneList]: the zones of the publishers.
	ZonesPath = Root + "/zones"
	// ProblemsPath has a [ProblemList]: parts of objects that can't be used. Parameters: search.
	ProblemsPath = Root + "/problems"
	// ExplainPath has an [Explanation]. It has exactly one of the parameters service (NAMESPACE/NAME,
	// with port), address (IP or IP:PORT), name (a DNS name) and object (KIND/NAMESPACE/NAME, or
	// KIND/NAME), or q, which is any of them as free text.
	ExplainPath = Root + "/explain"
	// HistoryPath has a [History]: the changes of the last hour. Parameters: one of those of
	// ExplainPath, or none for all changes, and since (a duration, 1h at most) and limit.
	HistoryPath = Root + "/history"
	// FiguresPath has [Figures]: the numbers of the last 15 minutes that the web page draws.
	FiguresPath = Root + "/figures"
	// ConfigPath has the settings of the process as a config file in JSON, with defaults, without
	// secrets.
	ConfigPath = Root + "/config"
	// ChangesPath is a stream of server-sent events (HTML standard, 9.2), each with a [Delta] of a
	// topic. Parameters: topics, separated by commas.
	ChangesPath = Root + "/changes"
)

// Status is the state of a process.
type Status struct {
	Version string `json:"version"`
	// Process is the name of the pod, or of the host and the process. Roles are those that it runs.
	Process string    `json:"process"`
	Roles   []string  `json:"roles"`
	Started time.Time `json:"started"`
	Ready   bool      `json:"ready"`
	// Details are the lines of /ready.
	Details []string `json:"details,omitempty"`
	// Leading is the leader election of each role that needs a Lease.
	Leading []Leading `json:"leading,omitempty"`
	// Replicas are this process and the others of its installation, as far as this process knows them.
	Replicas []Replica `json:"replicas,omitempty"`
	// Tables are the informer caches.
	Tables []Table `json:"tables,omitempty"`
	// Clusters are the linked clusters.
	Clusters []Cluster `json:"clusters,omitempty"`
	// Counts are the numbers on the overview page.
	Counts Counts `json:"counts"`
}

// Leading is the state of a leader election.
type Leading struct {
	Role  string `json:"role"`
	Lease string `json:"lease"`
	// Leads is true if this process has the Lease. Leader is the holder; empty if unknown.
	Leads  bool       `json:"leads"`
	Leader string     `json:"leader,omitempty"`
	Since  *time.Time `json:"since,omitempty"`
	// Trouble says why requests for the Lease fail; empty if they don't.
	Trouble string `json:"trouble,omitempty"`
	// Unled are publishers or controllers of this process that the leader doesn't have, or publishers that it
	// has with other settings: nobody does their work.
	Unled []string `json:"unled,omitempty"`
}

// Replica is a process of an installation. Other processes are known from the Leases that they hold
// and, in the roles destination and xds, from the EndpointSlices that they share with this process.
type Replica struct {
	// Process is the name of the pod.
	Process string `json:"process"`
	// Here is true for the process that sends the response.
	Here bool `json:"here,omitempty"`
	// Ready is the condition Ready of the pod; nil if unknown.
	Ready *bool `json:"ready,omitempty"`
	// Version is that of the program; empty if unknown. A pod of the same pod template has the same version.
	Version string `json:"version,omitempty"`
	// Revision is the label pod-template-hash: two values mean that a rollout isn't complete. Node
	// is the node of the pod.
	Revision string `json:"revision,omitempty"`
	Node     string `json:"node,omitempty"`
	// Started is when the process was started or, for another one, when its pod was created; nil if unknown.
	Started *time.Time `json:"started,omitempty"`
	// Leads are the roles whose Lease the process holds.
	Leads []ReplicaLease `json:"leads,omitempty"`
}

// ReplicaLease is a Lease that a replica holds.
type ReplicaLease struct {
	Role  string     `json:"role"`
	Lease string     `json:"lease,omitempty"`
	Since *time.Time `json:"since,omitempty"`
}

// Table is the informer cache of a kind.
type Table struct {
	Kind  string `json:"kind"`
	Group string `json:"group,omitempty"`
	// State and Reason are those of package kube, such as "synced" or "waiting" and "forbidden".
	State    string `json:"state"`
	Reason   string `json:"reason,omitempty"`
	Detail   string `json:"detail,omitempty"`
	Required bool   `json:"required"`
	// Source is true for a kind that sources of DNS records read.
	Source  bool `json:"source,omitempty"`
	Objects int  `json:"objects"`
	// StaleSeconds is for how long changes may have been missed.
	StaleSeconds float64 `json:"staleSeconds"`
}

// Cluster is a linked cluster.
type Cluster struct {
	Name        string    `json:"name"`
	State       string    `json:"state"`
	Since       time.Time `json:"since"`
	Objects     int       `json:"objects"`
	Secret      string    `json:"secret"`
	Server      string    `json:"server,omitempty"`
	TrustDomain string    `json:"trustDomain,omitempty"`
	Reason      string    `json:"reason,omitempty"`
}

// Counts are numbers of items. Those that don't apply to the process are nil.
type Counts struct {
	Services *int `json:"services,omitempty"`
	// Streams are the open calls. StreamsBehind are those that have waited for a response for more
	// than a second.
	Streams       *int `json:"streams,omitempty"`
	StreamsBehind *int `json:"streamsBehind,omitempty"`
	// Records are the numbers of names in each state.
	Records map[RecordState]int `json:"records,omitempty"`
	// HeldPlans is the number of plans that wait for approval.
	HeldPlans *int `json:"heldPlans,omitempty"`
	Problems  *int `json:"problems,omitempty"`
}

// Page is a part of each list.
type Page struct {
	// Total is the number of items that pass the filters. Next is the offset of the next page; 0 if
	// this is the last.
	Total int `json:"total"`
	Next  int `json:"next,omitempty"`
}

// Problem is a part of an object that can't be used.
type Problem struct {
	// ID is unique in the process and constant for the problem.
	ID     string    `json:"id,omitempty"`
	Object ObjectRef `json:"object"`
	// Field is the field or annotation, Value its value, and Reason why that can't be used and what to
	// do.
	Field  string    `json:"field,omitempty"`
	Value  string    `json:"value,omitempty"`
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
	// Last is when the problem was last seen. If it was seen while a response was built, not while the
	// object was read, the object may have been fixed since.
	Last *time.Time `json:"last,omitempty"`
}

// ProblemList is the response of [ProblemsPath].
type ProblemList struct {
	Problems []Problem `json:"problems"`
	Page
}

// ObjectRef refers to a Kubernetes object.
type ObjectRef struct {
	Kind string `json:"kind"`
	// Group is the API group; empty for the core group.
	Group     string `json:"group,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Cluster is empty for our own cluster.
	Cluster string `json:"cluster,omitempty"`
}

// A Topic is a subject of changes.
type Topic string

// Topics of [ChangesPath].
const (
	// TopicStatus: the whole [Status], when it has changed.
	TopicStatus Topic = "status"
	// TopicStreams, TopicRecords, TopicPlans and TopicProblems: changed and deleted items.
	TopicStreams  Topic = "streams"
	TopicRecords  Topic = "records"
	TopicPlans    Topic = "plans"
	TopicProblems Topic = "problems"
)

// Delta is the data of an event of [ChangesPath]. The name of the event is its topic. The changes
// of a second are one event.
type Delta[T any] struct {
	// Changed are new or changed items, Gone the IDs of deleted ones.
	Changed []T      `json:"changed,omitempty"`
	Gone    []string `json:"gone,omitempty"`
	// GoneNames are the readable names of the deleted items, in the same order, such as
	// "www.example.org A"; nil where the IDs are readable.
	GoneNames []string `json:"goneNames,omitempty"`
	// Reset says that there were too many changes for an event: read the list again.
	Reset bool `json:"reset,omitempty"`
}

package inspect

import (
	"slices"
	"time"
)

// StreamState says how far a stream is.
type StreamState string

// The states of a stream.
const (
	// StreamSynced: the client was sent all that is known.
	StreamSynced StreamState = "synced"
	// StreamBehind: the client doesn't read as fast as there is something to send.
	StreamBehind StreamState = "behind"
	// StreamStale: the client has all that the process knows, and the process can't see changes
	// of the cluster concerned at the moment.
	StreamStale StreamState = "stale"
)

// Stream is an open call of the Destination API.
type Stream struct {
	// ID is unique in the process, and lasts as long as the call.
	ID string `json:"id"`
	// Process is where the call is; clients that ask several processes set it.
	Process string `json:"process,omitempty"`
	// Method is Get or GetProfile. Target is the authority that was asked for, in its normal form.
	Method string `json:"method"`
	Target string `json:"target"`
	// Service is NAMESPACE/NAME; empty for a profile of an address.
	Service string `json:"service,omitempty"`
	// Peer is the address of the client. Pod, Namespace and Node are what its token says.
	Peer      string `json:"peer,omitempty"`
	Pod       string `json:"pod,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Node      string `json:"node,omitempty"`
	// View says which clients have the same answers: all, those of a zone, or those of a node.
	View  string      `json:"view,omitempty"`
	State StreamState `json:"state"`
	// Endpoints are how many the last answer has. Sent is its version, and Current the newest
	// one; versions count the answers of a view.
	Endpoints int    `json:"endpoints"`
	Sent      uint64 `json:"sent"`
	Current   uint64 `json:"current"`
	// LagSeconds is for how long the answer that is being sent has been known.
	LagSeconds float64   `json:"lagSeconds"`
	Opened     time.Time `json:"opened"`
}

// StreamList is the answer of [StreamsPath], sorted by target and then by client.
type StreamList struct {
	Streams []Stream `json:"streams"`
	Page
}

// ServiceState says whether clients of a Service are told of endpoints, as the explanation of the Service does.
type ServiceState string

// The states of Services, the worst first.
const (
	// ServiceUnserved: there are ready endpoints, and clients of no port are told of one, such as when the targetPort
	// is wrong.
	ServiceUnserved ServiceState = "unserved"
	// ServiceEmpty: there is no ready endpoint.
	ServiceEmpty ServiceState = "no-endpoints"
	// ServicePartly: clients of some ports, or in some places, are told of no endpoint.
	ServicePartly ServiceState = "partly-served"
	// ServicePortless: it declares no port for TCP, so that there is nothing to serve.
	ServicePortless ServiceState = "no-ports"
	// ServiceExternal: it is of type ExternalName, which proxies don't ask for.
	ServiceExternal ServiceState = "external-name"
	// ServiceServed: clients of each port are told of endpoints.
	ServiceServed ServiceState = "served"
)

// Severity returns the position of the state, the worst first. What is no state is the least bad.
func (s ServiceState) Severity() int {
	if i := slices.Index(serviceStates, s); i >= 0 {
		return i
	}
	return len(serviceStates)
}

// Service is a Service that is served.
type Service struct {
	Namespace string       `json:"namespace"`
	Name      string       `json:"name"`
	State     ServiceState `json:"state"`
	// Ports are the declared ones, such as "http:80".
	Ports []string `json:"ports"`
	// Ready are the endpoints that are served, NotReady those that the slices have beside these.
	Ready    int `json:"ready"`
	NotReady int `json:"notReady"`
	Streams  int `json:"streams"`
	// Remote is the cluster that a remote Service is in; Federated is true for the union of several.
	Remote    string `json:"remote,omitempty"`
	Federated bool   `json:"federated,omitempty"`
}

// ServiceList is the answer of [ServicesPath], sorted by namespace and name.
type ServiceList struct {
	Services []Service `json:"services"`
	Page
}

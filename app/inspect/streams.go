package inspect

import (
	"slices"
	"time"
)

// StreamState is the progress of a stream.
type StreamState string

// States of a stream.
const (
	// StreamSynced: the client was sent the current state.
	StreamSynced StreamState = "synced"
	// StreamBehind: the client reads slower than there are messages to send.
	StreamBehind StreamState = "behind"
	// StreamStale: the client has the state that the process knows, but the process can't see changes
	// of the cluster now.
	StreamStale StreamState = "stale"
)

// Stream is an open call of the Destination API, or an open stream of an xDS client.
type Stream struct {
	// ID is unique in the process, and constant for the call.
	ID string `json:"id"`
	// Process is the process with the call. Clients that query several processes set it.
	Process string `json:"process,omitempty"`
	// Method is Get or GetProfile, or of xDS "xDS sotw CLIENT" or "xDS delta CLIENT", with the
	// client's name and version. Target is the requested authority in its canonical form; of xDS, the
	// first resource names, and which of them are unknown, rejected or left out.
	Method string `json:"method"`
	Target string `json:"target"`
	// Service is NAMESPACE/NAME; empty for a profile of an address.
	Service string `json:"service,omitempty"`
	// Peer is the address of the client. Pod, Namespace and Node come from its token; of xDS, from its
	// token, its certificate, its bootstrap file or the pod with its address.
	Peer      string `json:"peer,omitempty"`
	Pod       string `json:"pod,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Node      string `json:"node,omitempty"`
	// View says which clients get the same messages: all, those of a zone, or those of a node.
	View  string      `json:"view,omitempty"`
	State StreamState `json:"state"`
	// Endpoints is the number of endpoints in the last message. Sent is its version, and Current the
	// newest one; versions are per view. Of xDS, Sent counts responses, and Current also the resources
	// that wait to be sent.
	Endpoints int    `json:"endpoints"`
	Sent      uint64 `json:"sent"`
	Current   uint64 `json:"current"`
	// LagSeconds is the age of the state that is being sent.
	LagSeconds float64   `json:"lagSeconds"`
	Opened     time.Time `json:"opened"`
}

// StreamList is the response of [StreamsPath], sorted by target, then by client. With several
// states, the worst come first.
type StreamList struct {
	Streams []Stream `json:"streams"`
	Page
}

// ServiceState says whether clients of a Service get endpoints, consistent with the explanation of
// the Service.
type ServiceState string

// States of Services, worst first.
const (
	// ServiceUnserved: there are ready endpoints, but clients get none for any port, such as when the
	// targetPort is wrong.
	ServiceUnserved ServiceState = "unserved"
	// ServiceEmpty: there is no ready endpoint.
	ServiceEmpty ServiceState = "no-endpoints"
	// ServicePartly: clients of some ports, or in some zones or nodes, get no endpoint.
	ServicePartly ServiceState = "partly-served"
	// ServicePortless: the Service declares no TCP port, so there is nothing to serve.
	ServicePortless ServiceState = "no-ports"
	// ServiceExternal: the Service is of type ExternalName, which proxies don't ask for.
	ServiceExternal ServiceState = "external-name"
	// ServiceServed: clients of each port get endpoints.
	ServiceServed ServiceState = "served"
)

// Severity returns the position of the state, worst first. An unknown state is last.
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
	// Ready is the number of served endpoints, NotReady that of the slices' other endpoints.
	Ready    int `json:"ready"`
	NotReady int `json:"notReady"`
	Streams  int `json:"streams"`
	// Remote is the cluster of a remote Service. Federated is true for the union of several.
	Remote    string `json:"remote,omitempty"`
	Federated bool   `json:"federated,omitempty"`
}

// ServiceList is the response of [ServicesPath], sorted by namespace and name.
type ServiceList struct {
	Services []Service `json:"services"`
	Page
}

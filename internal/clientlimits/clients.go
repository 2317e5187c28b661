package clientlimits

import (
	"context"
	"net"
	"net/netip"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// ClientID identifies the client that limits apply to. For another host it is the address of the host. For a
// connection from our own host it includes the port, because the proxy of our pod may carry the calls of
// others.
type ClientID = netip.AddrPort

// ClientOf returns the client of a connection between two addresses. All connections without TCP, such as
// those of tests, are one client.
func ClientOf(remote, local net.Addr) ClientID {
	far, ok := AddrPortOfTCP(remote)
	if !ok {
		return ClientID{}
	}
	near, _ := AddrPortOfTCP(local)
	if far.Addr().IsLoopback() || far.Addr() == near.Addr() {
		return far
	}
	return netip.AddrPortFrom(far.Addr(), 0)
}

// AddrPortOfTCP returns the address and port of a TCP address. It returns false for other addresses.
func AddrPortOfTCP(a net.Addr) (netip.AddrPort, bool) {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}, false
	}
	at := tcp.AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port()), true
}

// ClientIDFrom returns the client of a call.
func ClientIDFrom(ctx context.Context) ClientID {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return ClientID{}
	}
	return ClientOf(p.Addr, p.LocalAddr)
}

// PeerFrom returns the remote address of a call; invalid without TCP.
func PeerFrom(ctx context.Context) (at netip.AddrPort) {
	if p, ok := peer.FromContext(ctx); ok {
		at, _ = AddrPortOfTCP(p.Addr)
	}
	return at
}

// Clients counts the resources of the server that each client uses. Clients that use none are forgotten.
type Clients struct {
	// refused is called for each refusal.
	refused func(Refusal, ClientID)
	bounds  [resources]bound

	mu sync.Mutex
	m  map[ClientID]usage
	// all is the usage of all clients together.
	all usage
}

// resource is a kind of resource that clients use.
type resource uint8

const (
	openStream resource = iota
	pendingRequest
	query
	responseByte
	resources // the number of kinds
)

// usage counts the resources in use, by kind.
type usage [resources]int

// bound limits a resource for one client and, unless all is 0, for all clients together. The messages are
// those of the statuses.
type bound struct {
	one, all               int
	refusedOne, refusedAll Refusal
	messageOne, messageAll string
}

// pendingClients is how many clients may reach MaxPendingRequests at the same time. A call without its
// request costs a goroutine and buffers, about 20 kB.
const pendingClients = 2

// memoryClients is how many clients may reach MaxResponseBytesPerClient at the same time, as with
// MaxQueries.
const memoryClients = 10

// NewClients returns the counters for a server with these limits. They call refused for each refusal.
func NewClients(limits *Limits, refused func(Refusal, ClientID)) *Clients {
	return &Clients{refused: refused, m: map[ClientID]usage{}, bounds: [resources]bound{
		// A mesh has more calls than any number that would save memory, so only one host is limited.
		openStream: {
			one: limits.MaxConcurrentStreamsPerHost, refusedOne: RefusedStreamOfHost,
			messageOne: "%d calls of this host are open; retry later or ask another replica",
		},
		pendingRequest: {
			one: limits.MaxPendingRequests, all: pendingClients * limits.MaxPendingRequests,
			refusedOne: RefusedPending, refusedAll: RefusedPending,
			messageOne: "%d calls of this client have not sent their request yet",
			messageAll: "%d calls have not sent their request yet; retry later",
		},
		query: {
			one: limits.MaxQueriesPerClient, all: limits.MaxQueries,
			refusedOne: RefusedQueryOfClient, refusedAll: RefusedQuery,
			messageOne: "%d different queries are being served that this client was the first to make",
			messageAll: "%d different queries are being served; retry later or ask another replica",
		},
		responseByte: {
			one: limits.MaxResponseBytesPerClient, all: memoryClients * limits.MaxResponseBytesPerClient,
			refusedOne: RefusedMemoryOfClient, refusedAll: RefusedMemory,
			messageOne: "the responses that this client was the first to need have %d bytes already; query fewer or smaller Services",
			messageAll: "the responses of all queries have %d bytes already; retry later or ask another replica",
		},
	}}
}

// Idle reports whether no client uses a resource.
func (c *Clients) Idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.m) == 0 && c.all == usage{}
}

// BeginStream counts an open call of another host. A connection from our own host is only limited by gRPC,
// because it may carry the calls of many clients. If BeginStream returns nil, EndStream must follow.
func (c *Clients) BeginStream(id ClientID) error {
	if !isOtherHost(id) {
		return nil
	}
	return c.use(id, openStream, 1)
}

// EndStream undoes BeginStream.
func (c *Clients) EndStream(id ClientID) {
	if isOtherHost(id) {
		c.free(id, openStream, 1)
	}
}

// BeginRequest counts a call that has not sent its request. If it returns nil, EndRequest must follow.
func (c *Clients) BeginRequest(id ClientID) error { return c.use(id, pendingRequest, 1) }

// EndRequest undoes BeginRequest.
func (c *Clients) EndRequest(id ClientID) { c.free(id, pendingRequest, 1) }

// BeginQuery counts a query that no other client has open. If it returns nil, EndQuery must follow.
func (c *Clients) BeginQuery(id ClientID) error { return c.use(id, query, 1) }

// EndQuery undoes BeginQuery.
func (c *Clients) EndQuery(id ClientID) { c.free(id, query, 1) }

// use counts n more of a resource. Above a limit it returns a status error.
func (c *Clients) use(id ClientID, of resource, n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, limit := c.m[id], c.bounds[of]
	switch {
	case h[of]+n > limit.one:
		c.refused(limit.refusedOne, id)
		return status.Errorf(codes.ResourceExhausted, limit.messageOne, h[of])
	case limit.all > 0 && c.all[of]+n > limit.all:
		c.refused(limit.refusedAll, id)
		return status.Errorf(codes.ResourceExhausted, limit.messageAll, c.all[of])
	}
	c.all[of] += n
	h[of] += n
	c.m[id] = h
	return nil
}

// free undoes use.
func (c *Clients) free(id ClientID, of resource, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.m[id]
	c.all[of] -= n
	h[of] -= n
	if h == (usage{}) {
		delete(c.m, id)
		return
	}
	c.m[id] = h
}

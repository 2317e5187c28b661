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

// ClientID is who is held to the limits of a client. Another host is one client. From our own
// host, where the proxy of our pod may carry the calls of others, each connection is one.
type ClientID = netip.AddrPort

// ClientOf returns the client of a connection between two addresses. Connections without TCP,
// such as those of tests, are all of one client.
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

// AddrPortOfTCP returns the address and port of a TCP address. It is false for any other.
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

// Clients counts what each client makes the server hold. Those that make it hold nothing are
// forgotten.
type Clients struct {
	// refused is told of what is refused.
	refused func(Refusal)
	bounds  [things]bound

	mu sync.Mutex
	m  map[ClientID]held
	// all is what all clients hold.
	all held
}

// thing is what a client makes the server hold.
type thing uint8

const (
	pendingRequest thing = iota
	question
	things // how many there are
)

// held is how many of each thing are held.
type held [things]int

// bound is how many of a thing one client and all clients may make the server hold, and what others are told.
type bound struct {
	one, all               int
	refusedOne, refusedAll Refusal
	saysOne, saysAll       string
}

// pendingClients is how many clients may have as many calls as they may without their request. Each
// such call has a goroutine and buffers, some 20 kB.
const pendingClients = 2

// NewClients returns the counts for a server with these limits. It calls refused for each refusal.
func NewClients(limits *Limits, refused func(Refusal)) *Clients {
	return &Clients{refused: refused, m: map[ClientID]held{}, bounds: [things]bound{
		pendingRequest: {
			one: limits.MaxPendingRequests, all: pendingClients * limits.MaxPendingRequests,
			refusedOne: RefusedPending, refusedAll: RefusedPending,
			saysOne: "%d calls of this client have not sent their request yet",
			saysAll: "%d calls have not sent their request yet; ask again",
		},
		question: {
			one: limits.MaxQuestionsPerClient, all: limits.MaxQuestions,
			refusedOne: RefusedQuestionOfClient, refusedAll: RefusedQuestion,
			saysOne: "%d different questions are being answered that this client was the first to ask",
			saysAll: "%d different questions are being answered; ask later or ask another replica",
		},
	}}
}

// Idle reports whether no client makes the server hold anything.
func (c *Clients) Idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.m) == 0 && c.all == held{}
}

// BeginRequest counts a call that has not sent its request. If it returns nil, EndRequest
// follows.
func (c *Clients) BeginRequest(id ClientID) error { return c.begin(id, pendingRequest) }

// EndRequest takes back a BeginRequest.
func (c *Clients) EndRequest(id ClientID) { c.end(id, pendingRequest) }

// BeginQuestion counts a question that nobody asks yet. If it returns nil, EndQuestion follows.
func (c *Clients) BeginQuestion(id ClientID) error { return c.begin(id, question) }

// EndQuestion takes back a BeginQuestion.
func (c *Clients) EndQuestion(id ClientID) { c.end(id, question) }

// begin counts a thing. The error is a status, of a thing that is one too many.
func (c *Clients) begin(id ClientID, of thing) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, limit := c.m[id], c.bounds[of]
	switch {
	case h[of] >= limit.one:
		c.refused(limit.refusedOne)
		return status.Errorf(codes.ResourceExhausted, limit.saysOne, h[of])
	case c.all[of] >= limit.all:
		c.refused(limit.refusedAll)
		return status.Errorf(codes.ResourceExhausted, limit.saysAll, c.all[of])
	}
	c.all[of]++
	h[of]++
	c.m[id] = h
	return nil
}

// end takes back a begin.
func (c *Clients) end(id ClientID, of thing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.m[id]
	c.all[of]--
	h[of]--
	if h == (held{}) {
		delete(c.m, id)
		return
	}
	c.m[id] = h
}

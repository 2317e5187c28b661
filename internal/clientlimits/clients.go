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
	limits *Limits
	// refused is told of what is refused.
	refused func(Refusal)

	mu sync.Mutex
	m  map[ClientID]held
	// What all clients hold.
	pending, questions int
}

// NewClients returns the counts for a server with these limits. It calls refused for each refusal.
func NewClients(limits *Limits, refused func(Refusal)) *Clients {
	return &Clients{limits: limits, refused: refused, m: map[ClientID]held{}}
}

// Idle reports whether no client makes the server hold anything.
func (c *Clients) Idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.m) == 0 && c.pending == 0 && c.questions == 0
}

// pendingClients is how many clients may have as many calls as they may without their request. Each
// such call has a goroutine and buffers, some 20 kB.
const pendingClients = 2

// held is what one client makes the server hold.
type held struct{ pending, questions int }

// BeginRequest counts a call that has not sent its request. If it returns nil, EndRequest
// follows.
func (c *Clients) BeginRequest(id ClientID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.m[id]
	switch {
	case h.pending >= c.limits.MaxPendingRequests:
		c.refused(RefusedPending)
		return status.Errorf(codes.ResourceExhausted, "%d calls of this client have not sent their request yet", h.pending)
	case c.pending >= pendingClients*c.limits.MaxPendingRequests:
		c.refused(RefusedPending)
		return status.Errorf(codes.ResourceExhausted, "%d calls have not sent their request yet; ask again", c.pending)
	}
	c.pending++
	h.pending++
	c.m[id] = h
	return nil
}

// EndRequest takes back a BeginRequest.
func (c *Clients) EndRequest(id ClientID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.m[id]
	c.pending--
	h.pending--
	c.set(id, h)
}

// BeginQuestion counts a question that nobody asks yet. If it returns nil, EndQuestion follows.
func (c *Clients) BeginQuestion(id ClientID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.m[id]
	switch {
	case c.questions >= c.limits.MaxQuestions:
		c.refused(RefusedQuestion)
		return status.Errorf(codes.ResourceExhausted, "%d different questions are being answered; ask later or ask another replica", c.questions)
	case h.questions >= c.limits.MaxQuestionsPerClient:
		c.refused(RefusedQuestionOfClient)
		return status.Errorf(codes.ResourceExhausted, "%d different questions are being answered that this client was the first to ask", h.questions)
	}
	c.questions++
	h.questions++
	c.m[id] = h
	return nil
}

// EndQuestion takes back a BeginQuestion.
func (c *Clients) EndQuestion(id ClientID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.questions--
	h := c.m[id]
	h.questions--
	c.set(id, h)
}

// set stores what a client holds. The caller holds the lock.
func (c *Clients) set(id ClientID, h held) {
	if h == (held{}) {
		delete(c.m, id)
		return
	}
	c.m[id] = h
}

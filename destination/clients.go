package destination

import (
	"context"
	"net"
	"net/netip"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// clientID is who is held to the limits of a client. Another host is one client. From our own
// host, where the proxy of our pod may carry the calls of others, each connection is one.
type clientID = netip.AddrPort

// clientOf returns the client of a connection between two addresses. Connections without TCP,
// such as those of tests, are all of one client.
func clientOf(remote, local net.Addr) clientID {
	far, ok := addrPortOfTCP(remote)
	if !ok {
		return clientID{}
	}
	near, _ := addrPortOfTCP(local)
	if far.Addr().IsLoopback() || far.Addr() == near.Addr() {
		return far
	}
	return netip.AddrPortFrom(far.Addr(), 0)
}

func addrPortOfTCP(a net.Addr) (netip.AddrPort, bool) {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}, false
	}
	at := tcp.AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port()), true
}

// callerFrom returns the client of a call.
func clientIDFrom(ctx context.Context) clientID {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return clientID{}
	}
	return clientOf(p.Addr, p.LocalAddr)
}

// clients counts what each client makes the server hold. Those that make it hold nothing are
// forgotten.
type clients struct {
	limits *Limits
	// refused is told of what is refused.
	refused func(refusal)

	mu sync.Mutex
	m  map[clientID]held
	// What all clients hold.
	pending, questions int
}

// pendingClients is how many clients may have as many calls as they may without their request. Each
// such call has a goroutine and buffers, some 20 kB.
const pendingClients = 2

// held is what one client makes the server hold.
type held struct{ pending, questions int }

// beginRequest counts a call that has not sent its request. If it returns nil, endRequest
// follows.
func (c *clients) beginRequest(id clientID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.m[id]
	switch {
	case h.pending >= c.limits.MaxPendingRequests:
		c.refused(refusedPending)
		return status.Errorf(codes.ResourceExhausted, "%d calls of this client have not sent their request yet", h.pending)
	case c.pending >= pendingClients*c.limits.MaxPendingRequests:
		c.refused(refusedPending)
		return status.Errorf(codes.ResourceExhausted, "%d calls have not sent their request yet; ask again", c.pending)
	}
	c.pending++
	h.pending++
	c.m[id] = h
	return nil
}

func (c *clients) endRequest(id clientID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.m[id]
	c.pending--
	h.pending--
	c.set(id, h)
}

// beginQuestion counts a question that nobody asks yet. If it returns nil, endQuestion follows.
func (c *clients) beginQuestion(id clientID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.m[id]
	switch {
	case c.questions >= c.limits.MaxQuestions:
		c.refused(refusedQuestion)
		return status.Errorf(codes.ResourceExhausted, "%d different questions are being answered; ask later or ask another replica", c.questions)
	case h.questions >= c.limits.MaxQuestionsPerClient:
		c.refused(refusedQuestionOfClient)
		return status.Errorf(codes.ResourceExhausted, "%d different questions are being answered that this client was the first to ask", h.questions)
	}
	c.questions++
	h.questions++
	c.m[id] = h
	return nil
}

func (c *clients) endQuestion(id clientID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.questions--
	h := c.m[id]
	h.questions--
	c.set(id, h)
}

// set stores what a client holds. The caller holds the lock.
func (c *clients) set(id clientID, h held) {
	if h == (held{}) {
		delete(c.m, id)
		return
	}
	c.m[id] = h
}

package destination

import (
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/internal/clientlimits"
)

// limitCall is a stream interceptor that bounds how many calls a host has open, how many of them wait for
// their request, and for how long. Otherwise a call without a request would stay as long as its connection.
func (s *Server) limitCall(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	s.workers.enter()
	defer s.workers.leave()
	limited := &limitedStream{ServerStream: stream, server: s}
	defer limited.end()
	return handler(srv, limited)
}

// limitedStream is a stream with a time limit for its request.
type limitedStream struct {
	grpc.ServerStream
	server *Server
	// client is set once state is streamCounted.
	client clientlimits.ClientID
	state  atomic.Int32
}

// The states of a limitedStream.
const (
	streamNew     = iota
	streamCounted // it counts against the limits of its host
	streamEnded
)

// begin counts the stream. The worker that receives the request calls it, because looking up the client needs
// more stack than a handler should keep (decision 0071).
func (s *limitedStream) begin(client clientlimits.ClientID) error {
	if err := s.server.clients.BeginStream(client); err != nil {
		return err
	}
	s.client = client
	if !s.state.CompareAndSwap(streamNew, streamCounted) { // the time limit has ended it
		s.server.clients.EndStream(client)
	}
	return nil
}

// end undoes begin.
func (s *limitedStream) end() {
	if s.state.Swap(streamEnded) == streamCounted {
		s.server.clients.EndStream(s.client)
	}
}

// RecvMsg implements grpc.ServerStream. It is called once, because all methods have one request message.
func (s *limitedStream) RecvMsg(m any) error {
	var err error
	w := s.server.workers.begin(func() { err = s.receive(m) })
	limit := time.NewTimer(s.server.config.Limits.RequestTimeout)
	defer limit.Stop()
	select {
	case panicked := <-w.done:
		s.server.workers.end(w, panicked)
		return err
	case <-limit.C:
		close(w.jobs) // w ends after its job, and nothing waits for that
		s.server.refusedClient(clientlimits.RefusedSlow, clientlimits.ClientIDFrom(s.Context()))
		return clientlimits.ErrSlowRequest
	}
}

// receive receives the request of a call. If the time limit ends the call first, the message is
// ignored.
func (s *limitedStream) receive(m any) error {
	client := clientlimits.ClientIDFrom(s.Context())
	if err := s.begin(client); err != nil {
		return err
	}
	if err := s.server.clients.BeginRequest(client); err != nil {
		return err
	}
	defer s.server.clients.EndRequest(client)
	err := s.ServerStream.RecvMsg(m)
	if status.Code(err) == codes.ResourceExhausted {
		s.server.refusedClient(clientlimits.RefusedMessage, client)
	}
	return err
}

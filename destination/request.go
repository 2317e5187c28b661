package destination

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/internal/clientlimits"
)

// errSlowRequest is the status of a call that sends no request.
var errSlowRequest = status.Error(codes.DeadlineExceeded, "the request did not arrive in time")

// limitCall is a stream interceptor that bounds how many calls a host has open, how many of them wait for
// their request, and for how long. Otherwise a call without a request would stay as long as its connection.
func (s *Server) limitCall(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	client := clientlimits.ClientIDFrom(stream.Context())
	if err := s.clients.BeginStream(client); err != nil {
		return err
	}
	defer s.clients.EndStream(client)
	s.workers.enter()
	defer s.workers.leave()
	return handler(srv, &limitedStream{ServerStream: stream, server: s})
}

// limitedStream is a stream with a time limit for its request.
type limitedStream struct {
	grpc.ServerStream
	server *Server
}

// RecvMsg implements grpc.ServerStream. It is called once, because all methods have one request message.
func (s *limitedStream) RecvMsg(m any) error {
	r := &reception{stream: s, message: m}
	w := s.server.workers.begin(r)
	limit := time.NewTimer(s.server.config.Limits.RequestTimeout)
	defer limit.Stop()
	select {
	case panicked := <-w.done:
		s.server.workers.end(w, panicked)
		return r.err
	case <-limit.C:
		w.abandon()
		s.server.refused(clientlimits.RefusedSlow)
		return errSlowRequest
	}
}

// reception is the job that receives the request of a call. If the time limit ends the call first, the
// message is ignored.
type reception struct {
	stream  *limitedStream
	message any
	err     error
}

// work implements job.
func (r *reception) work() {
	s := r.stream.server
	client := clientlimits.ClientIDFrom(r.stream.Context())
	if r.err = s.clients.BeginRequest(client); r.err != nil {
		return
	}
	defer s.clients.EndRequest(client)
	r.err = r.stream.ServerStream.RecvMsg(r.message)
	if status.Code(r.err) == codes.ResourceExhausted {
		s.refused(clientlimits.RefusedMessage)
	}
}

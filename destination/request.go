package destination

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// errSlowRequest is the status of a call that sends no request.
var errSlowRequest = status.Error(codes.DeadlineExceeded, "the request did not arrive in time")

// limitRequest is a stream interceptor that bounds how many calls wait for their request, and for
// how long. A call without a request costs as much as one with an answer, and otherwise stays for
// as long as its connection.
func (s *Server) limitRequest(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return handler(srv, &limitedStream{ServerStream: stream, server: s})
}

// limitedStream is a stream whose request has to arrive in time.
type limitedStream struct {
	grpc.ServerStream
	server *Server
}

// RecvMsg implements grpc.ServerStream. It is called once, because all calls are answered with
// streams and asked with one message.
func (s *limitedStream) RecvMsg(m any) error {
	client := callerOf(s.Context())
	if err := s.server.clients.beginRequest(client); err != nil {
		return err
	}
	defer s.server.clients.endRequest(client)
	// The message belongs to this goroutine until it is received. When the call ends first, the
	// message is never read.
	received := make(chan error, 1)
	go func() { received <- s.ServerStream.RecvMsg(m) }()
	limit := time.NewTimer(s.server.config.Limits.RequestTimeout)
	defer limit.Stop()
	select {
	case err := <-received:
		if status.Code(err) == codes.ResourceExhausted {
			s.server.refused(refusedMessage)
		}
		return err
	case <-limit.C:
		s.server.refused(refusedSlow)
		return errSlowRequest
	}
}

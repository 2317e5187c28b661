package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var (
	// errEnded is the end of a stream that the server ended without an error.
	errEnded = errors.New("the server ended the stream")
	// errOutput is the failure to print.
	errOutput = errors.New("can't write the output")
)

// finalCodes are answers that won't change when the question is repeated; proxies take
// the first two for final as well.
var finalCodes = []codes.Code{codes.InvalidArgument, codes.FailedPrecondition, codes.Unimplemented}

// updateStream is a stream being read.
type updateStream struct {
	// updates is closed at the end of the stream.
	updates chan *pb.Update
	// end is why the stream ended; it is set before updates is closed.
	end error
}

// open starts a stream, which is read only as fast as its channel and ends with ctx.
func (g *getter) open(ctx context.Context) *updateStream {
	s := &updateStream{updates: make(chan *pb.Update)}
	go func() {
		defer close(s.updates)
		s.end = g.read(ctx, s.updates)
	}()
	return s
}

func (g *getter) read(ctx context.Context, updates chan<- *pb.Update) error {
	stream, err := g.client.Get(ctx, &pb.GetDestination{Scheme: "k8s", Path: g.Authority, ContextToken: g.Token})
	for err == nil {
		var u *pb.Update
		if u, err = stream.Recv(); err != nil {
			break
		}
		select {
		case updates <- u:
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
	if errors.Is(err, io.EOF) {
		return errEnded
	}
	return err
}

// once prints the first answer.
func (g *getter) once(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, g.Timeout)
	defer cancel()
	s := g.open(limited)
	err := g.collect(s)
	cancel()
	for range s.updates { // until the stream has ended
	}
	switch {
	case ctx.Err() != nil:
		return nil
	case err == nil:
		err = g.print(g.printer.done())
	}
	if err != nil {
		return g.explain(err)
	}
	return nil
}

// collect hands over all messages until nothing comes for a while.
func (g *getter) collect(s *updateStream) error {
	quiet := time.NewTimer(math.MaxInt64)
	defer quiet.Stop()
	for n := 0; ; n++ {
		select {
		case <-quiet.C:
			return nil
		case u, ok := <-s.updates:
			switch {
			case !ok && n == 0:
				return s.end
			case !ok:
				return nil
			}
			if err := g.print(g.printer.message(u)); err != nil {
				return err
			}
			quiet.Reset(g.quiet)
		}
	}
}

// watch prints changes until ctx ends.
func (g *getter) watch(ctx context.Context) error {
	for failures := 0; ; failures++ {
		n, err := g.follow(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errOutput) || slices.Contains(finalCodes, status.Code(err)):
			return g.explain(err)
		case n > 0:
			failures = 0
		}
		delay := g.backoff(failures)
		fmt.Fprintf(g.err, "signpost: %v; asking again in %v\n", g.explain(err), delay)
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return nil
		}
	}
}

// follow prints what one stream brings, and returns the number of messages and why the
// stream ended.
func (g *getter) follow(ctx context.Context) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := g.open(ctx)
	g.printer.restart()
	n := 0
	for u := range s.updates {
		n++
		if err := g.print(g.printer.message(u)); err != nil {
			cancel()
			for range s.updates { // until the stream has ended
			}
			return n, err
		}
	}
	return n, s.end
}

// print marks an error of the printer as one of the output.
func (g *getter) print(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errOutput, err)
}

// explain makes an error one line that names the question.
func (g *getter) explain(err error) error {
	st, isStatus := status.FromError(err)
	reason := err.Error()
	switch {
	case !isStatus:
	case st.Code() == codes.DeadlineExceeded:
		reason = fmt.Sprintf("%s: no answer within %v: check the address, or give it a longer --timeout", st.Code(), g.Timeout)
	case st.Code() == codes.Unavailable:
		reason = fmt.Sprintf("%s: %s: check that a Destination server listens there", st.Code(), oneLine(st.Message()))
	default:
		reason = fmt.Sprintf("%s: %s", st.Code(), oneLine(st.Message()))
	}
	return fmt.Errorf("get %s from %s: %s", g.Authority, g.Addr, reason)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

package destclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/internal/pause"
)

var (
	// errEnded: the server ended the stream without an error.
	errEnded = errors.New("the server ended the stream")
	// errOutput: printing failed.
	errOutput = errors.New("can't write the output")
)

// finalCodes are the codes of errors that a retry won't change. Linkerd's proxies don't retry after
// the first two either.
var finalCodes = []codes.Code{codes.InvalidArgument, codes.FailedPrecondition, codes.Unimplemented}

// openStream is a stream that is being read.
type openStream[M any] struct {
	// messages is closed at the end of the stream.
	messages chan *M
	// end says why the stream ended. It is set before messages is closed.
	end error
}

// open starts a stream, which ends with ctx. It is read only as fast as its messages are taken.
func (a *call[M]) open(ctx context.Context) *openStream[M] {
	s := &openStream[M]{messages: make(chan *M)}
	go func() {
		defer close(s.messages)
		s.end = a.read(ctx, s.messages)
	}()
	return s
}

func (a *call[M]) read(ctx context.Context, messages chan<- *M) error {
	stream, err := a.call(ctx, &pb.GetDestination{Scheme: "k8s", Path: a.Authority, ContextToken: a.Token})
	for err == nil {
		var m *M
		if m, err = stream.Recv(); err != nil {
			break
		}
		select {
		case messages <- m:
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
	if errors.Is(err, io.EOF) {
		return errEnded
	}
	return err
}

// once prints the first response.
func (a *call[M]) once(ctx context.Context) error {
	// The deadline isn't sent to the server, because Linkerd's controller would then end the stream
	// with OK, possibly before our own timer expires.
	limited, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(a.Timeout, func() { cancel(context.DeadlineExceeded) })
	defer timer.Stop()
	s := a.open(limited)
	err := a.collect(s)
	late := errors.Is(context.Cause(limited), context.DeadlineExceeded)
	cancel(nil)
	for range s.messages { // until the stream has ended
	}
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil && late && !errors.Is(err, errOutput):
		err = status.FromContextError(context.DeadlineExceeded).Err()
	case err == nil:
		err = a.print(a.printer.done())
	}
	if err != nil {
		return a.explain(ctx, err)
	}
	return nil
}

// collect passes the messages of the first response to the printer.
func (a *call[M]) collect(s *openStream[M]) error {
	quiet := time.NewTimer(math.MaxInt64)
	defer quiet.Stop()
	for n := 0; ; n++ {
		select {
		case <-quiet.C:
			return nil
		case m, ok := <-s.messages:
			switch {
			case !ok && n == 0:
				return s.end
			case !ok:
				return nil
			}
			if err := a.print(a.printer.message(m)); err != nil {
				return err
			}
			if a.quiet == 0 {
				return nil
			}
			quiet.Reset(a.quiet)
		}
	}
}

// watch prints changes until ctx ends.
func (a *call[M]) watch(ctx context.Context) error {
	for failures := 0; ; failures++ {
		n, err := a.follow(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errOutput) || slices.Contains(finalCodes, status.Code(err)):
			return a.explain(ctx, err)
		case n > 0:
			failures = 0
		}
		delay := a.backoff(failures)
		fmt.Fprintf(a.err, "signpost: %v; asking again in %v\n", a.explain(ctx, err), delay)
		if pause.For(ctx, delay) != nil {
			return nil
		}
	}
}

// follow prints the messages of one stream. It returns their number, and why the stream ended.
func (a *call[M]) follow(ctx context.Context) (int, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := a.open(ctx)
	a.printer.restart()
	n := 0
	for m := range s.messages {
		n++
		if err := a.print(a.printer.message(m)); err != nil {
			cancel()
			for range s.messages { // until the stream has ended
			}
			return n, err
		}
	}
	return n, s.end
}

// print wraps an error of the printer in errOutput.
func (a *call[M]) print(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errOutput, err)
}

// explain returns a one-line error with the query.
func (a *call[M]) explain(ctx context.Context, err error) error {
	st, isStatus := status.FromError(err)
	reason := output.Clean(err.Error())
	switch {
	case !isStatus:
	case st.Code() == codes.DeadlineExceeded:
		reason = fmt.Sprintf("%s: no response within %v: %s", st.Code(), a.Timeout, a.waiting(ctx, "check the address, or set a longer --timeout"))
	case st.Code() == codes.Unavailable && strings.Contains(st.Message(), "server preface") && isAdmin(ctx, a.Addr):
		reason = "this is the port of an admin server: the Destination API has another one, 8086 unless set otherwise"
	case st.Code() == codes.Unavailable:
		text, otherwise := ConnectionError(st.Message(), "check that a Destination server listens there")
		reason = fmt.Sprintf("%s: %s", st.Code(), output.Clean(text))
		if hint := a.waiting(ctx, otherwise); hint != "" {
			reason += ": " + hint
		}
	default:
		reason = fmt.Sprintf("%s: %s", st.Code(), output.Clean(st.Message()))
	}
	return fmt.Errorf("%s %s from %s: %s", a.command, a.Authority, a.Addr, reason)
}

// connectionErrors are how messages of grpc-go about a connection begin. Other messages are the server's.
var connectionErrors = []string{dialError, "error reading from server", "name resolver error"}

const dialError = "connection error: desc = "

// ConnectionError returns grpc-go's message about a connection without its wrapping, and advice about such a
// message. For a message of the server, the advice is empty.
func ConnectionError(message, advice string) (text, then string) {
	if !slices.ContainsFunc(connectionErrors, func(begin string) bool { return strings.HasPrefix(message, begin) }) {
		return message, ""
	}
	text, err := strconv.Unquote(strings.TrimPrefix(message, dialError))
	if err != nil {
		return message, advice
	}
	return strings.TrimPrefix(strings.TrimPrefix(text, "transport: "), "Error while dialing: "), advice
}

// waiting says what the server waits for or, if that is unknown, what else to do.
func (a *call[M]) waiting(ctx context.Context, otherwise string) string {
	if a.Waiting != nil {
		if what := a.Waiting(context.WithoutCancel(ctx)); what != "" {
			return "the server is there and not ready: " + what + ": its admin server has the rest under /ready"
		}
	}
	return otherwise
}

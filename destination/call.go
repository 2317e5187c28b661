package destination

import (
	"context"
	"errors"
	"runtime"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// call is one open call of either method. The goroutine of its handler only waits, and workers run its steps.
type call struct {
	server *Server
	ctx    context.Context
	method string
	// request is nil once it is parsed, because a stream may stay open for long.
	request *pb.GetDestination
	out     sender
	trail   *trail

	next     stage
	followed followed // nil until opened
	wait     wait
	ended    bool
	err      error // a status, or that of a failed send

	// woken is when there was something new last, and often how many times in a row it came within busyInterval.
	woken time.Time
	often int
}

// A stream is busy when something new came busyTimes in a row within busyInterval after what came before. Its handler then
// sends by itself, which takes 0.9 µs less of CPU and 4 kB more of stack.
const (
	busyTimes    = 8
	busyInterval = time.Second
)

// stage is what the next step of a call does.
type stage int

const (
	beginning stage = iota // begins the trail
	opening                // makes the first answer, and sends nothing
	following              // sends what is new
	closing
)

// followed is the stream of a call.
type followed interface {
	// step sends what the client lacks. It returns what to wait for then, or that the stream has ended: with an error, or
	// with nil for the status OK.
	step() (w wait, ended bool, err error)
	// close gives back what the stream holds, also if it was not opened because of a panic.
	close()
}

// wait has the channels of which one closes when there is something to do. A nil channel never does.
type wait struct{ changed, moved <-chan struct{} }

// serve serves a call until it ends. It and what it calls run on the stack of the handler, except the steps. That stack
// has to stay small: see [workers].
func (s *Server) serve(c *call) error {
	if !s.calls.begin() {
		return s.late()
	}
	defer s.calls.end()
	defer c.run(closing)
	if s.leavesTrails(c.ctx) {
		c.run(beginning)
	}
	if c.open() {
		c.follow()
	}
	return c.err
}

// run lets a worker run one step.
func (c *call) run(next stage) {
	c.next = next
	c.server.workers.do(c)
}

// open waits until calls can be answered, and opens the stream. It returns false if the call has ended.
//
// Few streams are opened at a time. A goroutine that is ready waits for all that were ready before it, so without this
// bound an update of an open stream would wait until a whole reconnect storm has its first answers.
func (c *call) open() bool {
	if !c.server.ready(c.ctx) {
		c.end(errNeverSynced)
		return false
	}
	select {
	case c.server.opening <- struct{}{}:
	case <-c.ctx.Done():
		c.end(nil)
		return false
	}
	defer func() { <-c.server.opening }()
	runtime.Gosched() // updates that wait for a processor go first
	c.run(opening)
	return !c.ended
}

// follow sends what is new until the stream ends.
func (c *call) follow() {
	for c.run(following); !c.ended; c.send() {
		select {
		case <-c.wait.changed:
		case <-c.wait.moved:
		case <-c.ctx.Done():
			c.end(nil)
			return
		}
	}
}

// send sends what is new, on the stack of the handler if the stream is busy.
func (c *call) send() {
	if c.often == busyTimes || c.isBusy(time.Now()) {
		c.sendNew()
		return
	}
	c.run(following)
}

// isBusy notes that there is something new, and reports whether the stream is busy from now on. It stays so, because the
// stack does.
func (c *call) isBusy(now time.Time) bool {
	c.often++
	if now.Sub(c.woken) > busyInterval {
		c.often = 0
	}
	c.woken = now
	return c.often == busyTimes
}

// end ends the call, with nil for the status OK.
func (c *call) end(err error) { c.ended, c.err = true, endOf(c.ctx, err) }

// work implements job.
func (c *call) work() {
	switch c.next {
	case beginning:
		c.trail = c.server.newTrail(c.ctx, c.method, c.request)
	case opening:
		c.makeStream()
	case following:
		c.sendNew()
	case closing:
		c.close()
	}
}

func (c *call) makeStream() {
	a, err := c.server.accept(c.request)
	if err == nil && c.method == methodGet {
		err = c.server.openGet(c, a)
	} else if err == nil {
		err = c.server.openProfile(c, a)
	}
	c.request = nil
	if err != nil {
		c.end(err)
	}
}

// sendNew sends what the client lacks.
func (c *call) sendNew() {
	w, ended, err := c.followed.step()
	if ended || err != nil {
		c.end(err)
		return
	}
	c.wait = w
}

func (c *call) close() {
	if c.followed != nil {
		c.followed.close()
	}
	// A call that panicked has not ended, and its status isn't known here.
	if c.ended {
		c.trail.end(c.ctx, c.err)
	}
}

// endOf returns the status of a call that has ended with an error or nil. At the deadline of the
// client it says so. It drops the error of a send that failed because the client left, which is
// how most streams end.
func endOf(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errDeadline
	case err == nil || ctx.Err() != nil || errors.Is(err, context.Canceled):
		return nil
	default:
		return err
	}
}

var (
	// errNeverSynced is the status of calls that the server can't answer because it stopped first.
	errNeverSynced = status.Error(codes.Unavailable, "the server stopped before it knew the cluster")
	// errDeadline is the status of calls that have lasted until the deadline of the client.
	errDeadline = status.Error(codes.DeadlineExceeded, "the deadline of the client has passed")
)

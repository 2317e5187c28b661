package caller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	xdscreds "google.golang.org/grpc/credentials/xds"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	_ "google.golang.org/grpc/xds" // resolves xds:///
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Caller makes calls. Its zero value is ready for use.
type Caller struct {
	channels map[string]*grpc.ClientConn
	load     *load
}

// Serve reads requests and writes replies, until there are no more requests.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	var c Caller
	defer c.Close()
	requests, replies := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var r Request
		if err := requests.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		reply, err := c.Ask(ctx, r)
		if err != nil {
			return err
		}
		if err := replies.Encode(reply); err != nil {
			return fmt.Errorf("write a reply: %w", err)
		}
	}
}

// Close ends the load and closes the channels.
func (c *Caller) Close() {
	if c.load != nil {
		_ = c.load.end()
	}
	for _, channel := range c.channels {
		_ = channel.Close()
	}
}

// Ask does what a request says.
func (c *Caller) Ask(ctx context.Context, r Request) (Reply, error) {
	if r.Do == Stop {
		if c.load == nil {
			return Reply{}, errors.New("stop a load: none has been started")
		}
		reply := c.load.end()
		c.load = nil
		return reply, nil
	}
	attempt, err := c.attempt(r)
	if err != nil {
		return Reply{}, err
	}
	if r.Do == Start {
		c.load = begin(ctx, r.PerSecond, attempt)
		return Reply{}, nil
	}
	var reply Reply
	for range r.Count {
		begun := time.Now()
		by, failure := attempt(ctx)
		reply.count(by, failure, time.Since(begun))
	}
	return reply, nil
}

// attempt returns the function that makes one call. It returns the name of the backend, or the failure.
func (c *Caller) attempt(r Request) (func(context.Context) (by, failure string), error) {
	call, err := c.method(r)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (by, failure string) {
		ctx, cancel := context.WithTimeout(ctx, time.Duration(r.TimeoutMS)*time.Millisecond)
		defer cancel()
		return call(ctx)
	}, nil
}

func (c *Caller) method(r Request) (func(context.Context) (by, failure string), error) {
	if strings.HasPrefix(r.Target, "http://") {
		return func(ctx context.Context) (by, failure string) { return callHTTP(ctx, r) }, nil
	}
	channel, err := c.channel(r)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (by, failure string) { return callGRPC(ctx, channel, r) }, nil
}

// channel returns the channel of the target of a request.
func (c *Caller) channel(r Request) (*grpc.ClientConn, error) {
	if channel := c.channels[r.Target]; channel != nil {
		return channel, nil
	}
	creds := insecure.NewCredentials()
	if r.XDSCredentials {
		var err error
		if creds, err = xdscreds.NewClientCredentials(xdscreds.ClientOptions{FallbackCreds: creds}); err != nil {
			return nil, fmt.Errorf("make xDS credentials: %w", err)
		}
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(creds)}
	if r.IdleMS > 0 {
		options = append(options, grpc.WithIdleTimeout(time.Duration(r.IdleMS)*time.Millisecond))
	}
	channel, err := grpc.NewClient(r.Target, options...)
	if err != nil {
		return nil, fmt.Errorf("make a channel to %s: %w", r.Target, err)
	}
	if c.channels == nil {
		c.channels = map[string]*grpc.ClientConn{}
	}
	c.channels[r.Target] = channel
	return channel, nil
}

func callGRPC(ctx context.Context, channel *grpc.ClientConn, r Request) (by, failure string) {
	for key, value := range r.Headers {
		ctx = metadata.AppendToOutgoingContext(ctx, key, value)
	}
	var name wrapperspb.StringValue
	if err := channel.Invoke(ctx, "/"+Service+"/"+r.Method, &emptypb.Empty{}, &name); err != nil {
		s := status.Convert(err)
		return "", codeName(s.Code()) + ": " + s.Message()
	}
	return name.GetValue(), ""
}

// codeName returns a code in the form that the other languages have.
func codeName(c codes.Code) string {
	for name, code := range map[string]codes.Code{"UNAVAILABLE": codes.Unavailable, "DEADLINE_EXCEEDED": codes.DeadlineExceeded} {
		if c == code {
			return name
		}
	}
	return c.String()
}

func callHTTP(ctx context.Context, r Request) (by, failure string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.Target+"/"+r.Method, nil)
	if err != nil {
		return "", err.Error()
	}
	for key, value := range r.Headers {
		req.Header.Set(key, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err.Error()
	}
	defer res.Body.Close()
	const maxBody = 1 << 10
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	switch {
	case err != nil:
		return "", err.Error()
	case res.StatusCode != http.StatusOK:
		return "", res.Status + ": " + string(body)
	}
	return string(body), ""
}

// load makes calls at a constant rate. Each call has its own goroutine, so that a slow one delays no other.
type load struct {
	stop    chan struct{}
	stopped chan struct{}
	running sync.WaitGroup

	mu    sync.Mutex
	reply Reply
}

func begin(ctx context.Context, perSecond int, attempt func(context.Context) (by, failure string)) *load {
	l := &load{stop: make(chan struct{}), stopped: make(chan struct{})}
	go func() {
		defer close(l.stopped)
		tick := time.NewTicker(time.Second / time.Duration(perSecond))
		defer tick.Stop()
		begun := time.Now()
		for made := 0; ; {
			select {
			case <-l.stop:
				return
			case <-tick.C:
			}
			// A ticker drops ticks on a busy machine.
			for ; float64(made) < time.Since(begun).Seconds()*float64(perSecond); made++ {
				l.running.Go(func() { l.once(ctx, attempt) })
			}
		}
	}()
	return l
}

func (l *load) once(ctx context.Context, attempt func(context.Context) (by, failure string)) {
	begun := time.Now()
	by, failure := attempt(ctx)
	took := time.Since(begun)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reply.count(by, failure, took)
}

// end stops the load, and returns its outcome when all calls have ended.
func (l *load) end() Reply {
	close(l.stop)
	<-l.stopped
	l.running.Wait()
	return l.reply
}

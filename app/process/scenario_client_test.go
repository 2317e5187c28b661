package process

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc"
)

// scenarioClient is one stream and what it has brought.
type scenarioClient struct {
	scenarioStream
	cancel context.CancelFunc

	mu       sync.Mutex
	pending  string // not yet in a transcript
	known    knowledge
	profile  string // the last one
	messages int
	over     bool
	why      string // it is over; empty if the client ended it
	// err is the first message that was wrong in itself.
	err error
}

// scenarioStream is what a client asks for: a profile if the verb is profile, otherwise
// endpoints.
type scenarioStream struct {
	verb, name string
	query      *pb.GetDestination
}

// stream returns the stream that a section opens.
func (a scenarioAction) stream(names scenarioNames) scenarioStream {
	path, token, _ := strings.Cut(names.real(a.body), "\n")
	return scenarioStream{a.verb, a.name, &pb.GetDestination{Path: path, ContextToken: token}}
}

// openScenarioClient starts a stream and reads it until it ends.
func openScenarioClient(client pb.DestinationClient, s scenarioStream) *scenarioClient {
	ctx, cancel := context.WithCancel(context.Background())
	c := &scenarioClient{scenarioStream: s, cancel: cancel, known: knowledge{}}
	go func() {
		if s.verb == "profile" {
			stream, err := client.GetProfile(ctx, s.query)
			c.end(ctx, receive(stream, err, c.receivedProfile))
		} else {
			stream, err := client.Get(ctx, s.query)
			c.end(ctx, receive(stream, err, c.received))
		}
	}()
	return c
}

// receive reads a stream until it ends, unless err is already set.
func receive[M any](stream grpc.ServerStreamingClient[M], err error, received func(*M)) error {
	for err == nil {
		var m *M
		if m, err = stream.Recv(); err == nil {
			received(m)
		}
	}
	return err
}

func (c *scenarioClient) receivedProfile(p *pb.DestinationProfile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := profileMessageText(p)
	if text == c.profile {
		c.err = errors.New("a profile came twice")
	}
	c.messages++
	c.profile = text
	c.pending += c.name + ": " + text
}

func (c *scenarioClient) received(u *pb.Update) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.known.learn(u, c.messages == 0); err != nil && c.err == nil {
		c.err = err
	}
	c.messages++
	c.pending += c.name + ": " + messageText(u)
}

// end records that the stream has ended and, unless the client ended it, why.
func (c *scenarioClient) end(ctx context.Context, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if ctx.Err() == nil {
		c.why = endText(err)
		c.pending += c.name + ": " + c.why
	}
}

func (c *scenarioClient) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// answered reports whether the server has sent anything, even if only an error.
func (c *scenarioClient) answered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over || c.messages > 0
}

// wrong returns the error of the first message that was wrong in itself.
func (c *scenarioClient) wrong() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// take returns what is not yet in a transcript.
func (c *scenarioClient) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := c.pending
	if text == "" && !c.over {
		text = c.name + ": nothing\n"
	}
	c.pending = ""
	return text
}

// differsFrom compares what two streams know. A stream that ended with an error knows nothing.
// If that is the other stream and both are about a profile, nothing is compared: a live stream
// keeps its profile.
func (c *scenarioClient) differsFrom(other *scenarioClient) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	other.mu.Lock()
	defer other.mu.Unlock()
	if c.verb == "profile" && other.over {
		return ""
	}
	return gocmp.Diff(c.knows(), other.knows())
}

// knows returns all that the client knows. The caller holds the lock.
func (c *scenarioClient) knows() string { return c.known.lines() + c.profile }

// scenarioClients are the streams of a scenario, in the order in which they were opened.
type scenarioClients []*scenarioClient

func (cs scenarioClients) close(t *testing.T, name string) {
	t.Helper()
	for _, c := range cs {
		if c.name == name {
			c.cancel()
			return
		}
	}
	t.Fatalf("close %s: there is no such stream", name)
}

// unanswered returns a client that has no answer yet; nil if there is none.
func (cs scenarioClients) unanswered() *scenarioClient {
	for _, c := range cs {
		if !c.answered() {
			return c
		}
	}
	return nil
}

// known returns what the clients know, and how streams ended.
func (cs scenarioClients) known() string {
	var text strings.Builder
	for _, c := range cs {
		c.mu.Lock()
		switch {
		case !c.over:
			text.WriteString(c.name + " knows\n" + c.knows())
		case c.why != "":
			text.WriteString(c.name + ": " + c.why)
		}
		c.mu.Unlock()
	}
	return text.String()
}

package main

import (
	"context"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
)

// scenarioClient is one stream.
type scenarioClient struct {
	name   string
	asked  *pb.GetDestination
	cancel context.CancelFunc

	mu       sync.Mutex
	pending  string // not yet in a transcript
	known    knowledge
	messages int
	over     bool
	why      string // it is over; empty if the client ended it
	// err is the first message that was wrong in itself.
	err error
}

// openScenarioClient starts a stream and reads it until it ends.
func openScenarioClient(client pb.DestinationClient, name string, asked *pb.GetDestination) *scenarioClient {
	ctx, cancel := context.WithCancel(context.Background())
	c := &scenarioClient{name: name, asked: asked, cancel: cancel, known: knowledge{}}
	go func() {
		stream, err := client.Get(ctx, asked)
		for err == nil {
			var u *pb.Update
			if u, err = stream.Recv(); err == nil {
				c.received(u)
			}
		}
		c.end(ctx, err)
	}()
	return c
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

// end notes the end of the stream, and why, unless the client itself ended it.
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

// answered reports whether anything came back, if only an error.
func (c *scenarioClient) answered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over || c.messages > 0
}

// wrong returns what was wrong with a message in itself.
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

// differsFrom compares what two streams know. Who gets an error should know nothing.
func (c *scenarioClient) differsFrom(other *scenarioClient) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	other.mu.Lock()
	defer other.mu.Unlock()
	return gocmp.Diff(c.known.lines(), other.known.lines())
}

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

// known returns what the clients know, and how streams ended.
func (cs scenarioClients) known() string {
	var text strings.Builder
	for _, c := range cs {
		c.mu.Lock()
		switch {
		case !c.over:
			text.WriteString(c.name + " knows\n" + c.known.lines())
		case c.why != "":
			text.WriteString(c.name + ": " + c.why)
		}
		c.mu.Unlock()
	}
	return text.String()
}

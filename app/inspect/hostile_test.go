package inspect

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/internal/httplimits"
	"github.com/signpostd/signpost/testkit/pipetest"
)

// client is a connection of an HTTP client.
type client struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func clientFrom(t *testing.T, l *pipetest.Listener, ip string) *client {
	conn := l.DialFrom(t, ip)
	return &client{t, conn, bufio.NewReader(conn)}
}

// send sends the request of a client with a valid token, without reading the response.
func (c *client) send(path string) {
	if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer t\r\n\r\n"); err != nil {
		c.t.Error(err)
	}
}

// get returns the status of a response, and its body.
func (c *client) get(path string) (int, string) {
	c.send(path)
	r, err := http.ReadResponse(c.in, nil)
	if err != nil {
		c.t.Errorf("%s: %v", path, err)
		return 0, ""
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Errorf("%s: %v", path, err)
	}
	return r.StatusCode, string(text)
}

// withClients calls test with a running server in virtual time.
func withClients(t *testing.T, s *Server, test func(*testing.T, *pipetest.Listener)) {
	l := pipetest.NewListener()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	mux := http.NewServeMux()
	for pattern, h := range s.Handlers() {
		mux.Handle(pattern, h)
	}
	go func() { done <- s.Run(ctx) }()
	go func() {
		done <- httplimits.Serve(ctx, &http.Server{Handler: mux, ReadTimeout: 10 * time.Second}, "test", l, time.Second)
	}()
	test(t, l)
	stop()
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// slowExplainer explains in 15 seconds, if nobody ends it.
type slowExplainer struct{ fixture }

func (*slowExplainer) Explain(ctx context.Context, _ Query) []Step {
	select {
	case <-ctx.Done():
		return []Step{{Text: "ended"}}
	case <-time.After(15 * time.Second):
		return []Step{{Text: "complete"}}
	}
}

// An explanation may take longer than ReadTimeout, also after a request that was refused on the
// same connection.
func TestLongExplanations(t *testing.T) {
	for name, before := range map[string]string{"first": "", "after another": StatusPath, "after a refused one": StatusPath + "/refused"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(Config{Offers: []Offer{{Role: "destination", Explains: &slowExplainer{}}}, Access: decide(func(_, _, path string) error {
					if strings.HasSuffix(path, "/refused") {
						return &Refused{Reason: "not you"}
					}
					return nil
				})})
				withClients(t, s, func(t *testing.T, l *pipetest.Listener) {
					c := clientFrom(t, l, "192.0.2.1")
					if before != "" {
						c.get(before)
					}
					for range 2 {
						if code, body := c.get(ExplainPath + "?service=shop/web"); code != 200 || !strings.Contains(body, "complete") {
							t.Errorf("%d %s", code, body)
						}
					}
				})
			})
		})
	}
}

// One host can't take all requests, or all places of listeners, by reading slowly.
func TestSlowReadersOfOneHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{
			Offers: (&fixture{streams: streamsNumbered(1000)}).offers(),
			Access: decide(func(string, string, string) error { return nil }),
		})
		withClients(t, s, func(t *testing.T, l *pipetest.Listener) {
			for range 30 {
				clientFrom(t, l, "192.0.2.1").send(StreamsPath)
				clientFrom(t, l, "192.0.2.1").send(ChangesPath)
			}
			synctest.Wait()
			if code, body := clientFrom(t, l, "192.0.2.2").get(StreamsPath); code != 200 {
				t.Errorf("a list: %d %s", code, body)
			}
			listener := clientFrom(t, l, "192.0.2.2")
			listener.send(ChangesPath)
			if r, err := http.ReadResponse(listener.in, nil); err != nil || r.StatusCode != 200 {
				t.Errorf("a listener: %+v %v", r, err)
			}
		})
	})
}

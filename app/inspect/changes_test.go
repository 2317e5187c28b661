package inspect

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"github.com/signpostd/signpost/app/admin"
)

// changing is a fixture whose lists change between requests.
type changing struct {
	fixture
	mu     sync.Mutex
	listed int
}

func (c *changing) Streams() []Stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listed++
	return c.fixture.Streams()
}

func (c *changing) CountStreams() (open, behind int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fixture.CountStreams()
}

func (c *changing) edit(f func(*fixture)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.fixture)
}

func (c *changing) listings() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listed
}

// live is an admin server with an inspection API, in a synctest bubble.
type live struct {
	t        *testing.T
	listener *bufconn.Listener
	stop     func()
	done     sync.WaitGroup
}

func serveLive(t *testing.T, c Config) *live {
	t.Helper()
	l := &live{t: t, listener: bufconn.Listen(1 << 10)}
	inspector := New(c)
	s, err := admin.New(admin.Config{Listener: local{l.listener}, Handlers: inspector.Handlers()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	for _, run := range []func(context.Context) error{s.Run, inspector.Run} {
		l.done.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	l.stop = func() { stop(); l.done.Wait() }
	return l
}

// listen opens a stream of changes and returns the connection and what is read from it.
func (l *live) listen(topics string) (net.Conn, *bufio.Reader) {
	l.t.Helper()
	conn, err := l.listener.DialContext(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET %s?topics=%s HTTP/1.0\r\nHost: localhost\r\n\r\n", ChangesPath, topics); err != nil {
		l.t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// headers reads the response up to its first comment.
func headers(t *testing.T, in *bufio.Reader) (code int) {
	t.Helper()
	status, _ := in.ReadString('\n')
	if _, err := fmt.Sscanf(status, "HTTP/1.0 %d", &code); err != nil {
		t.Fatalf("%q: %v", status, err)
	}
	for {
		line, err := in.ReadString('\n')
		if err != nil || strings.HasPrefix(line, ":") || strings.HasPrefix(line, "{") {
			return code
		}
	}
}

// nextEvent returns the next event: its name and its data. The name is empty at the end.
func nextEvent(in *bufio.Reader) (name, data string) {
	for {
		line, err := in.ReadString('\n')
		switch text := strings.TrimSuffix(line, "\n"); {
		case err != nil:
			return "", ""
		case strings.HasPrefix(text, "event: "):
			name = strings.TrimPrefix(text, "event: ")
		case strings.HasPrefix(text, "data: "):
			data = strings.TrimPrefix(text, "data: ")
		case text == "" && name != "":
			return name, data
		}
	}
}

// The changes of a second are one event, and nothing is listed without listeners.
func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &changing{fixture: fixture{streams: streamsNumbered(20)}}
		l := serveLive(t, Config{Offers: []Offer{{Role: "destination", Streams: c}}})
		time.Sleep(time.Minute)
		if n := c.listings(); n != 0 {
			t.Errorf("%d listed without a listener", n)
		}
		conn, in := l.listen("streams")
		if code := headers(t, in); code != 200 {
			t.Fatal(code)
		}
		begun := time.Now()
		c.edit(func(w *fixture) { w.streams[3].Sent = 7; w.streams = w.streams[:19] })
		c.edit(func(w *fixture) { w.streams[4].LagSeconds = 3; w.streams = append(w.streams, Stream{ID: "new"}) })
		name, data := nextEvent(in)
		var d Delta[Stream]
		if err := json.Unmarshal([]byte(data), &d); err != nil || name != "streams" || time.Since(begun) > changesEvery {
			t.Fatalf("%s %s after %v: %v", name, data, time.Since(begun), err)
		}
		if len(d.Changed) != 2 || d.Changed[0].Sent != 7 || d.Changed[1].ID != "new" || len(d.Gone) != 1 || d.Gone[0] != "19" || d.Reset {
			t.Errorf("%s", data)
		}
		c.edit(func(w *fixture) { w.streams = streamsNumbered(maxChanges + 30) })
		if name, data = nextEvent(in); name != "streams" || data != `{"reset":true}` {
			t.Errorf("too many changes: %s %.100s", name, data)
		}
		_ = conn.Close()
		time.Sleep(time.Minute) // a heartbeat finds out that nobody listens
		listed := c.listings()
		time.Sleep(time.Minute)
		if n := c.listings(); n != listed {
			t.Errorf("%d listed after the listener has left", n-listed)
		}
		l.stop()
	})
}

// slow takes a while to list streams.
type slow struct {
	changing
	takes time.Duration
}

func (s *slow) Streams() []Stream {
	time.Sleep(s.takes)
	return s.changing.Streams()
}

// A topic whose comparison takes long is compared less often.
func TestSlowComparisonsPause(t *testing.T) {
	for takes, rests := range map[time.Duration]time.Duration{time.Millisecond: 0, 60 * time.Millisecond: 3 * time.Second, time.Second: maxComparePause} {
		synctest.Test(t, func(t *testing.T) {
			s := &slow{takes: takes}
			l := serveLive(t, Config{Offers: []Offer{{Role: "destination", Streams: s}}})
			conn, in := l.listen("streams")
			defer conn.Close()
			headers(t, in)
			begun := time.Now()
			s.edit(func(w *fixture) { w.streams = streamsNumbered(1) })
			if name, _ := nextEvent(in); name != "streams" {
				t.Errorf("no event has come: %q", name)
			}
			if took := time.Since(begun); took < rests || took > rests+takes+2*changesEvery {
				t.Errorf("the event came after %v, want about %v", took, rests)
			}
			l.stop()
		})
	}
}

// A new listener gets the status at once, and again when it changes.
func TestStatusChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &changing{}
		l := serveLive(t, Config{Offers: []Offer{{Role: "destination", Streams: c}}, Status: func() Status { return Status{Process: "p"} }})
		var all []*bufio.Reader
		for range 3 {
			conn, in := l.listen("status")
			defer conn.Close()
			headers(t, in)
			all = append(all, in)
			if name, data := nextEvent(in); name != "status" || !strings.Contains(data, `"process":"p"`) {
				t.Errorf("%s %s", name, data)
			}
		}
		c.edit(func(w *fixture) { w.streams = streamsNumbered(5) })
		for _, in := range all {
			if name, data := nextEvent(in); name != "status" || !strings.Contains(data, `"streams":5`) {
				t.Errorf("%s %s", name, data)
			}
		}
		l.stop()
		for _, in := range all {
			if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 {
				t.Errorf("at the end: %q, %v", rest, err)
			}
		}
	})
}

// tenants S7: a stream ends within 30 s when its token is revoked, and outlasts an API server that is
// unreachable for a while, but not for ever.
func TestRevokedListener(t *testing.T) {
	for name, test := range map[string]struct {
		err         error
		least, most time.Duration
	}{
		"revoked":                       {&Refused{"the token is no longer valid"}, 0, admitAgain},
		"the API server is unreachable": {errors.New("connection refused"), admitAgain, (maxUnchecked + 1) * admitAgain},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var now error
				l := serveLive(t, Config{Access: decide(func(string, string, string) error {
					mu.Lock()
					defer mu.Unlock()
					return now
				})})
				conn, err := l.listener.DialContext(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.0\r\nHost: signpost\r\nAuthorization: Bearer x\r\n\r\n", ChangesPath); err != nil {
					t.Fatal(err)
				}
				in := bufio.NewReader(conn)
				if code := headers(t, in); code != 200 {
					t.Fatal(code)
				}
				ended := make(chan time.Time, 1)
				go func() {
					_, _ = io.Copy(io.Discard, in)
					ended <- time.Now()
				}()
				time.Sleep(10 * time.Minute)
				select {
				case <-ended:
					t.Fatal("a stream with a valid token ended")
				default:
				}
				mu.Lock()
				now = test.err
				mu.Unlock()
				changed := time.Now()
				if took := (<-ended).Sub(changed); took < test.least || took > test.most {
					t.Errorf("the stream ended after %v, want %v to %v", took, test.least, test.most)
				}
				l.stop()
			})
		})
	}
}

// A listener that doesn't read is disconnected, delays no other listener, and frees its slot.
func TestSlowListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &changing{fixture: fixture{streams: streamsNumbered(400)}}
		l := serveLive(t, Config{Offers: []Offer{{Role: "destination", Streams: c}}})
		slow, unreadSlow := l.listen("streams")
		defer slow.Close()
		headers(t, unreadSlow)
		conn, in := l.listen("streams")
		defer conn.Close()
		headers(t, in)
		for i := range 30 {
			c.edit(func(w *fixture) {
				for k := range w.streams {
					w.streams[k].Sent = uint64(i + 1)
				}
			})
			begun := time.Now()
			if name, _ := nextEvent(in); name != "streams" || time.Since(begun) > 2*changesEvery {
				t.Fatalf("event %d: %q after %v", i, name, time.Since(begun))
			}
		}
		// The rest of what it was sent before it was cut off, and no more.
		rest, _ := io.ReadAll(unreadSlow)
		if n := strings.Count(string(rest), "event:"); n > 10 {
			t.Errorf("the slow one was sent %d events", n)
		}
		l.stop()
	})
}

// always is a topic that has changed at each comparison.
type always struct{}

func (always) next(context.Context) any { return Delta[Stream]{Reset: true} }

// A listener gets the changes of a topic although the only other listener is disconnected while it joins.
func TestJoinWhileSlowListenerLeaves(t *testing.T) {
	h := newHub(map[Topic]func() watch{TopicStreams: func() watch { return always{} }})
	slow := h.listen(t.Context(), []Topic{TopicStreams})
	for len(slow.events) < cap(slow.events) {
		h.notify(t.Context(), TopicStreams)
	}
	l := h.listen(t.Context(), []Topic{TopicStreams})
	if len(h.listeners) != 1 {
		t.Fatalf("%d listeners, want the new one", len(h.listeners))
	}
	before := len(l.events)
	h.nextCompare[TopicStreams] = time.Time{}
	h.compare(t.Context())
	if len(l.events) != before+1 {
		t.Error("the new listener gets no changes")
	}
}

// Listeners beyond the limit are refused, and don't use up the slots of other requests.
func TestManyListeners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &changing{}
		l := serveLive(t, Config{Offers: []Offer{{Role: "destination", Streams: c}}})
		var conns []net.Conn
		for i := range maxListeners + 5 {
			conn, in := l.listen("streams")
			defer conn.Close()
			if code := headers(t, in); (code == 200) != (i < maxListeners) {
				t.Errorf("listener %d: %d", i, code)
			}
			conns = append(conns, conn)
		}
		_ = conns[0].Close()
		time.Sleep(time.Minute)
		conn, in := l.listen("streams")
		defer conn.Close()
		if code := headers(t, in); code != 200 {
			t.Errorf("after one has left: %d", code)
		}
		l.stop()
	})
}

// 1,000 parallel requests are served or refused at once, and only a few get a long list at a time.
func TestManyRequests(t *testing.T) {
	s := New(Config{Offers: []Offer{{Role: "destination", Streams: &fixture{streams: streamsNumbered(2000)}}}})
	mux := http.NewServeMux()
	for path, handler := range s.Handlers() {
		mux.Handle(path, handler)
	}
	var all sync.WaitGroup
	codes := make(chan int, 1000)
	for range cap(codes) {
		all.Go(func() {
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, request(http.MethodGet, StreamsPath, ""))
			codes <- w.Code
		})
	}
	all.Wait()
	close(codes)
	got := map[int]int{}
	for code := range codes {
		got[code]++
	}
	if got[200]+got[503] != 1000 || got[200] == 0 {
		t.Errorf("%v", got)
	}
}

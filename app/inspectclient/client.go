package inspectclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/app/portforward"
	"github.com/signpostd/signpost/internal/ownsocket"
)

const (
	// maxResponse limits a response in bytes.
	maxResponse = 16 << 20
	// maxRefusal limits the stored part of an unexpected response, in bytes.
	maxRefusal = 64 << 10
	// greetingTimeout limits how long a server may take to show its protocol, after a request failed.
	greetingTimeout = time.Second
	// maxNotes limits the notes that are written.
	maxNotes = 20
)

// Client queries processes.
type Client struct {
	processes []portforward.Process
	timeout   time.Duration
	notes     io.Writer
	mu        sync.Mutex
	noted     int
	// tooMany writes the note about a truncated list once.
	tooMany sync.Once
	http    *http.Client
	// token creates a token for an audience, to be sent to a process in a pod.
	token func(ctx context.Context, p portforward.Process, audience string) (string, error)
}

// New returns a client of the found processes. The timeout limits each request. Notes are written
// about processes that can't be reached or can't respond.
func New(found *portforward.Found, timeout time.Duration, notes io.Writer) *Client {
	c := &Client{
		processes: found.Processes, timeout: timeout, notes: notes, token: found.Token,
		// Connections use no proxy, which would respond in place of the server.
		http: &http.Client{
			Transport:     &http.Transport{DisableKeepAlives: true, DialContext: dialer(found.Processes)},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	for _, note := range found.Notes {
		c.note("%s", note)
	}
	return c
}

// dialer returns the function that connects to processes. If a process on this host has a socket
// for its own user, the socket is used, because it needs no token.
func dialer(processes []portforward.Process) func(ctx context.Context, network, addr string) (net.Conn, error) {
	given := map[string]int{}
	for _, p := range processes {
		if p.Pod == nil {
			if port, ok := portOfThisHost(p.Addr); ok {
				given[p.Addr] = port
			}
		}
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if port, ok := given[addr]; ok {
			if conn, err := ownsocket.Dial(ctx, port); err == nil {
				return conn, nil
			}
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
}

// portOfThisHost returns the port of an address; false if it isn't on the loopback interface.
func portOfThisHost(addr string) (int, bool) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil || (host != "localhost" && host != "127.0.0.1" && host != "::1") {
		return 0, false
	}
	port, err := strconv.Atoi(text)
	return port, err == nil
}

// note writes a note. Any goroutine may call it.
func (c *Client) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.noted++; c.noted <= maxNotes {
		// Errors of writing notes are ignored.
		_, _ = fmt.Fprintf(c.notes, "signpost: note: %s\n", output.Clean(fmt.Sprintf(format, args...)))
	}
}

// refusal is an unexpected response.
type refusal struct {
	code    int
	failure inspect.Failure
	// text is the whole response.
	text []byte
}

// Error implements error.
func (r *refusal) Error() string {
	if r.failure.Error != "" {
		return output.Clean(r.failure.Error)
	}
	return fmt.Sprintf("the response is %d %s: is that the admin server of a signpost of this version?", r.code, http.StatusText(r.code))
}

// asRefusal returns the response that an error wraps, or nil.
func asRefusal(err error) *refusal {
	if r := new(refusal); errors.As(err, &r) {
		return r
	}
	return nil
}

// isRefusal reports whether an error is a response with the code.
func isRefusal(err error, code int) bool {
	r := asRefusal(err)
	return r != nil && r.code == code
}

// call sends a request to a process and decodes the response into result. With a body it is a POST.
func (c *Client) call(ctx context.Context, p portforward.Process, path string, query url.Values, body, result any) error {
	return c.callWithToken(ctx, p, "", path, query, body, result)
}

func (c *Client) callWithToken(ctx context.Context, p portforward.Process, token, path string, query url.Values, body, result any) error {
	text, err := c.raw(ctx, p, token, path, query, body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, result); err != nil {
		return fmt.Errorf("read the response of %s: %w: is that the admin server of a signpost of this version?", path, err)
	}
	return nil
}

// raw is call that returns the text of the response.
func (c *Client) raw(ctx context.Context, p portforward.Process, token, path string, query url.Values, body any) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request, err := newRequest(ctx, p, path, query, body)
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, explain(ctx, p, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the response of %s: %w", path, err)
	case response.StatusCode != http.StatusOK:
		r := &refusal{code: response.StatusCode, text: text[:min(len(text), maxRefusal)]}
		// A response that isn't JSON can't be shown.
		_ = json.Unmarshal(text, &r.failure)
		return nil, r
	case len(text) > maxResponse:
		return nil, fmt.Errorf("the response of %s is longer than %d MB", path, maxResponse>>20)
	}
	return text, nil
}

func newRequest(ctx context.Context, p portforward.Process, path string, query url.Values, body any) (*http.Request, error) {
	target := url.URL{Scheme: "http", Host: p.Addr, Path: path, RawQuery: query.Encode()}
	method, content := http.MethodGet, []byte(nil)
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("write a request to %s: %w", path, err)
		}
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("make a request to %s: %w", p.Addr, err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return request, nil
}

// explain adds what to do to an error of a connection.
func explain(ctx context.Context, p portforward.Process, err error) error {
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err
	}
	switch {
	case speaksHTTP2(ctx, p.Addr):
		return fmt.Errorf("%s is no admin server, but the port of a Destination API, as it seems: the admin server has another port, 9996 unless set otherwise", p.Addr)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s does not respond in time: set a longer --timeout, or check the address", p.Addr)
	case p.Pod != nil && errors.Is(err, io.EOF):
		return errors.New("nothing listens on the port of the pod: name the port of the admin server with --port")
	case p.Pod == nil:
		return fmt.Errorf("%w: name the address of an admin server with --addr, or leave it out to find the pods", err)
	}
	return err
}

// speaksHTTP2 reports whether the server at an address greets with a SETTINGS frame, the first
// frame of an HTTP/2 server (RFC 9113 §3.4 and RFC 9113 §4.1). The error of an HTTP/1.1 client for
// such a greeting depends on timing, so it isn't used.
func speaksHTTP2(ctx context.Context, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, greetingTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	// Without a deadline the connection is closed, and the read fails too.
	_ = conn.SetReadDeadline(time.Now().Add(greetingTimeout))
	const frameHeader, settings = 9, 4
	var header [frameHeader]byte
	_, err = io.ReadFull(conn, header[:])
	return err == nil && header[3] == settings && [4]byte(header[5:]) == [4]byte{}
}

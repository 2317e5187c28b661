package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/handlertransport"
)

// body is the body of an answer. It remembers whether it was closed.
type body struct {
	io.Reader
	closed bool
}

func (b *body) Close() error {
	b.closed = true
	return nil
}

func client(t *testing.T, dry bool, o Options, f handlertransport.Func) *http.Client {
	t.Helper()
	in := provider.Input{DryRun: dry, Wrap: func(http.RoundTripper) http.RoundTripper { return f }}
	c, err := NewClient(t.Context(), in, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func request(t *testing.T, method, path string, message any) *http.Request {
	t.Helper()
	req, err := NewRequest(t.Context(), method, &url.URL{Scheme: "http", Host: "api.test", User: url.UserPassword("me", "the-secret"), Path: path}, message, "application/json")
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestDo(t *testing.T) {
	response := &body{Reader: strings.NewReader("what nobody reads")}
	c := client(t, false, Options{}, func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {"http://elsewhere.test/"}}, Body: response, Request: req}, nil
	})
	wrong := errors.New("wrong")
	err := Do(c, request(t, http.MethodGet, "/a", nil), func(resp *http.Response) error {
		if resp.StatusCode != http.StatusFound {
			t.Errorf("status %d: a redirection was followed", resp.StatusCode)
		}
		return wrong
	})
	if !errors.Is(err, wrong) || !strings.Contains(err.Error(), "GET http://me:xxxxx@api.test/a: wrong") {
		t.Errorf("error %v", err)
	}
	if rest, _ := io.ReadAll(response); !response.closed || len(rest) > 0 {
		t.Errorf("the body was left with %q, closed: %v", rest, response.closed)
	}
}

func TestDryRun(t *testing.T) {
	reads := func(req *http.Request) bool { return req.URL.Path == "/query" }
	for _, test := range []struct {
		method, path string
		reads        func(*http.Request) bool
		sent         bool
	}{
		{"GET", "/a", nil, true},
		{"HEAD", "/a", nil, true},
		{"POST", "/query", nil, false},
		{"DELETE", "/a", nil, false},
		{"POST", "/query", reads, true},
		{"GET", "/a", reads, false},
	} {
		sent := false
		c := client(t, true, Options{Reads: test.reads}, func(req *http.Request) (*http.Response, error) {
			sent = true
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, nil
		})
		err := Do(c, request(t, test.method, test.path, struct{}{}), func(*http.Response) error { return nil })
		if sent != test.sent || errors.Is(err, provider.ErrDryRun) == test.sent || Passing(err) {
			t.Errorf("%s %s: sent: %v, error %v", test.method, test.path, sent, err)
		}
	}
}

func TestOutcome(t *testing.T) {
	for want, statuses := range map[error][]int{
		provider.ErrCredentials: {401, 403},
		provider.ErrRejected:    {400, 404, 405, 409, 413, 422},
		provider.ErrThrottled:   {429},
		nil:                     {200, 302, 408, 425, 500, 502, 503},
	} {
		for _, status := range statuses {
			if got := Outcome(status, nil); !errors.Is(got, want) {
				t.Errorf("%d is %v, want %v", status, got, want)
			}
		}
	}
}

func TestStatusError(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "soon": 0, "99999999999": 0,
		now.Add(time.Minute).Format(http.TimeFormat): time.Minute, now.Add(-time.Minute).Format(http.TimeFormat): 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("Retry-After %q is %v, want %v", value, got, want)
		}
	}
	e := NewStatusError("The API", &http.Response{
		StatusCode: http.StatusForbidden, Header: http.Header{"Retry-After": {"7"}}, Body: io.NopCloser(strings.NewReader("no " + strings.Repeat("x", 2*maxMessage))),
	})
	if len(e.Said) != maxMessage || e.RetryAfter != 7*time.Second || !errors.Is(e, provider.ErrCredentials) {
		t.Errorf("got %+v", e)
	}
	// An answer that says when to come back says that nothing was made (D17).
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		busy := NewStatusError("The API", &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {"7"}}, Body: http.NoBody})
		if throttled, ok := errors.AsType[*provider.ThrottledError](busy); !ok || throttled.After != 7*time.Second || !errors.Is(busy, provider.ErrThrottled) {
			t.Errorf("%d with Retry-After is %v", status, busy.Outcome)
		}
	}
	// With any other status, Retry-After says nothing about the changes.
	if got := Outcome(http.StatusInternalServerError, http.Header{"Retry-After": {"7"}}); got != nil {
		t.Errorf("500 with Retry-After is %v", got)
	}
	e.Said, e.Advice = "no", "look at --key"
	if got, want := e.Error(), `The API answered with status 403 and "no": look at --key`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRetry(t *testing.T) {
	const ms = time.Millisecond
	status := func(status int, after time.Duration) error { return &StatusError{Status: status, RetryAfter: after} }
	lost := &url.Error{Err: errors.New("connection refused")}
	tests := map[string]struct {
		errs  []error
		again func(error) bool
		want  []time.Duration
		fails bool
	}{
		"at once":             {[]error{nil}, nil, []time.Duration{0}, false},
		"pauses double":       {[]error{status(500, 0), lost, status(429, 0), nil}, nil, []time.Duration{0, 100 * ms, 300 * ms, 700 * ms}, false},
		"tries end":           {[]error{lost, lost, lost, lost, nil}, nil, []time.Duration{0, 100 * ms, 300 * ms, 700 * ms}, true},
		"of no use":           {[]error{status(404, 0), nil}, nil, []time.Duration{0}, true},
		"a provider decides":  {[]error{status(404, 0), nil}, func(error) bool { return true }, []time.Duration{0, 100 * ms}, false},
		"the server decides":  {[]error{status(503, time.Second), nil}, nil, []time.Duration{0, time.Second}, false},
		"a shorter pause":     {[]error{status(503, ms), nil}, nil, []time.Duration{0, 100 * ms}, false},
		"a pause of too long": {[]error{status(503, time.Minute), nil}, nil, []time.Duration{0}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var tried []time.Duration
				start := time.Now()
				err := Retry{Tries: 4, FirstPause: 100 * ms, Again: test.again}.Do(t.Context(), func() error {
					tried = append(tried, time.Since(start))
					return test.errs[len(tried)-1]
				})
				if !slices.Equal(tried, test.want) || (err != nil) != test.fails {
					t.Errorf("tried at %v, want %v; error %v", tried, test.want, err)
				}
			})
		})
	}
}

func TestRetryEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start, failed := time.Now(), &StatusError{Server: "The API", Status: 500}
		err := Retry{Tries: 3, FirstPause: time.Minute}.Do(ctx, func() error { return failed })
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, failed) || time.Since(start) != time.Second {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
	})
}

func TestParseURL(t *testing.T) {
	for value, want := range map[string]string{
		"http://localhost:8081/api":       "",
		"https://api.test":                "",
		"http://u:the-secret@h:port":      "--api-url: not a URL: give one such as https://api.test",
		"ftp://u:the-secret@api.test":     "--api-url ftp://u:xxxxx@api.test: give a URL that begins with http://",
		"localhost:8081":                  "give a URL that begins with http://",
		"http:///the-secret-is-no-secret": "names a host",
	} {
		base, err := ParseURL("--api-url", value, "https://api.test")
		if want == "" && (err != nil || base.String() != value) {
			t.Errorf("%s: got %v, %v", value, base, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "the-secret@")) {
			t.Errorf("%s: error %v, want one with %q", value, err, want)
		}
	}
}

// The pauses without a time double, up to a minute, and end with an answer.
func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := Throttle{MaxWait: 15 * time.Second}
		for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
			want *= time.Second
			if got := h.Pause(0); got < want || got > want*5/4+1 {
				t.Errorf("a pause of %v, want %v", got, want)
			}
			// Another answer of the same moment counts no second time.
			h.Pause(0)
			if err := h.Wait(t.Context()); (err != nil) != (h.left() > h.MaxWait) || err != nil && !errors.Is(err, provider.ErrThrottled) {
				t.Errorf("waiting for %v: %v", h.left(), err)
			}
			time.Sleep(h.left())
		}
		time.Sleep(time.Second)
		h.Passed()
		if got := h.Pause(0); got > 2*time.Second {
			t.Errorf("after an answer the pause is %v", got)
		}
		if got := h.Pause(3 * time.Second); got != 3*time.Second {
			t.Errorf("a pause of %v, want the 3 s that were asked for", got)
		}
		if got := h.Pause(365 * 24 * time.Hour); got != time.Hour {
			t.Errorf("a pause of %v, want an hour, however long the service asks for", got)
		}
	})
}

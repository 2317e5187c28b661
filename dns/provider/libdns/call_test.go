package libdns_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	lib "github.com/libdns/libdns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/libdns/module"
	"github.com/signpostd/signpost/testkit/libdnstest"
)

// asking is a module that sends requests as most modules do, and makes texts of all errors.
type asking struct {
	libdnstest.Client
	client *http.Client
	times  int
}

func (a *asking) GetRecords(ctx context.Context, _ string) ([]lib.Record, error) {
	var last error
	for range a.times {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example.invalid/zone", http.NoBody)
		if err != nil {
			return nil, err
		}
		req.Header.Set("X-Api-Key", "secret-token")
		resp, err := a.client.Do(req)
		if err != nil {
			last = fmt.Errorf("asking: %v", err)
			continue
		}
		_ = resp.Body.Close()
		last = fmt.Errorf("asking: %s", resp.Status)
	}
	return nil, last
}

// answers is a server that always answers the same.
type answers struct {
	status int
	header http.Header
	asked  []string
}

func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	a.asked = append(a.asked, req.URL.Host)
	return &http.Response{Status: http.StatusText(a.status), StatusCode: a.status, Header: a.header, Body: http.NoBody, Request: req}, nil
}

// What a status says is known, although the module makes a text of it. After an answer that there
// are too many requests, none is sent any more, and redirections aren't followed. All this holds
// for each client that a module can have.
func TestStatuses(t *testing.T) {
	for _, test := range []struct {
		status int
		header http.Header
		want   error
		after  time.Duration
		sent   int
	}{
		{status: http.StatusUnauthorized, want: provider.ErrCredentials, sent: 3},
		{status: http.StatusUnprocessableEntity, want: provider.ErrRejected, sent: 3},
		{status: http.StatusTooManyRequests, header: http.Header{"Retry-After": {"7200"}}, want: provider.ErrThrottled, after: 2 * time.Hour, sent: 1},
		{status: http.StatusServiceUnavailable, header: http.Header{"Retry-After": {"60"}}, want: provider.ErrThrottled, after: time.Minute, sent: 1},
		{status: http.StatusInternalServerError, sent: 3},
		{status: http.StatusFound, header: http.Header{"Location": {"https://elsewhere.invalid/"}}, sent: 3},
	} {
		for name, client := range map[string]*http.Client{"default": http.DefaultClient, "own": {}} {
			t.Run(fmt.Sprint(test.status, " ", name), func(t *testing.T) {
				server := &answers{status: test.status, header: test.header}
				in := input()
				in.Wrap = func(http.RoundTripper) http.RoundTripper { return server }
				m := module.Module{Name: "asking", New: func() module.Client { return &asking{client: client, times: 3} }, Types: []string{dns.TypeA}}
				_, err := open(t, in, m, zoneName).Records(t.Context(), zone)
				for _, class := range []error{provider.ErrCredentials, provider.ErrRejected, provider.ErrThrottled} {
					if err == nil || errors.Is(err, class) != (class == test.want) {
						t.Errorf("error %v is %v: %v", err, class, class != test.want)
					}
				}
				if throttled, ok := errors.AsType[*provider.ThrottledError](err); ok && throttled.After != test.after {
					t.Errorf("the pause is %v, want %v", throttled.After, test.after)
				}
				if len(server.asked) != test.sent || strings.Contains(fmt.Sprint(server.asked), "elsewhere") {
					t.Errorf("sent to %v, want %d requests to one server", server.asked, test.sent)
				}
			})
		}
	}
}

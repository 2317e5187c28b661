package webhook

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

func TestCase215Negotiation(t *testing.T) {
	const ms = time.Millisecond
	five := []time.Duration{0, 500 * ms, 1500 * ms, 3500 * ms, 7500 * ms}
	ok := reply{status: 200, body: `{"include":["example.test"]}`}
	tests := map[string]struct {
		replies []reply
		asked   []time.Duration
		ok      bool
	}{
		"at once":                         {[]reply{ok}, five[:1], true},
		"case 215: 5 tries on 500":        {[]reply{{status: 500}}, five, false},
		"5 tries without an answer":       {[]reply{{}}, five, false},
		"the fifth try":                   {[]reply{{}, {status: 502}, {}, {status: 599}, ok}, five, true},
		"case 215: 404 fails at once":     {[]reply{{status: 404}}, five[:1], false},
		"a status below 200":              {[]reply{{status: 199}}, five[:1], false},
		"case 215: wrong content type":    {[]reply{{status: 200, body: `{}`, media: "application/json"}}, five[:1], false},
		"a parameter more":                {[]reply{{status: 200, body: `{}`, media: MediaType + ";charset=utf-8"}}, five[:1], false},
		"no content type":                 {[]reply{{status: 200, body: `{}`, media: "-"}}, five[:1], false},
		"not JSON":                        {[]reply{{status: 200, body: `<`}}, five[:1], false},
		"not a filter":                    {[]reply{{status: 200, body: `{"include":["a"],"regexInclude":"b"}`}}, five[:1], false},
		"two values":                      {[]reply{{status: 200, body: `{}{}`}}, five[:1], false},
		"another status of success":       {[]reply{{status: 206, body: `{"filters":["example.test"]}`}}, five[:1], true},
		"a redirection without an answer": {[]reply{{status: 302}}, five[:1], false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sidecar := speaking().with("GET /", tt.replies...)
				p := open(t, input(sidecar))
				zones, err := p.Zones(t.Context())
				if (err == nil) != tt.ok || tt.ok && len(zones) != 1 {
					t.Errorf("zones %v, error %v", zones, err)
				}
				var at []time.Duration
				for _, r := range sidecar.asked {
					if r.what == "GET /" {
						at = append(at, r.after)
					}
				}
				if diff := cmp.Diff(tt.asked, at); diff != "" {
					t.Errorf("asked at (-want +got):\n%s", diff)
				}
				if errors.Is(err, provider.ErrRejected) {
					t.Errorf("error %v is about changes", err)
				}
				if got := sidecar.asked[0].header.Get("Accept"); got != MediaType {
					t.Errorf("Accept is %q", got)
				}
				if !tt.ok {
					sidecar.with("GET /", reply{status: 404})
				}
				filter := p.DomainFilter(t.Context())
				if filter.Match("www.example.test") != tt.ok || filter.Match("www.elsewhere.test") {
					t.Error("the filter is not the one that was negotiated")
				}
			})
		})
	}
}

// A program that starts late, or restarts, is asked again. Until then its last filter stays.
func TestNegotiationAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sidecar := speaking().with("GET /", reply{})
		p := open(t, input(sidecar))
		if _, err := p.Records(t.Context(), dns.Zone{}); err == nil {
			t.Fatal("a listing without a program")
		}
		if p.DomainFilter(t.Context()).Match("www.one.test") {
			t.Error("a name passes although nothing is known")
		}
		sidecar.with("GET /", reply{status: 200, body: `{"include":["one.test"]}`}).with("GET /records", reply{}, reply{status: 200, body: `[]`})
		if _, err := p.Records(t.Context(), dns.Zone{}); err == nil {
			t.Fatal("a listing without an answer")
		}
		sidecar.with("GET /", reply{status: 500})
		if !p.DomainFilter(t.Context()).Match("www.one.test") {
			t.Error("what was negotiated is forgotten while the program is away")
		}
		sidecar.with("GET /", reply{status: 200, body: `{"include":["two.test"]}`})
		sidecar.asked = nil
		for range 2 {
			if _, err := p.Records(t.Context(), dns.Zone{}); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]string{"GET /", "GET /records", "GET /records"}, sidecar.requests()); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		if filter := p.DomainFilter(t.Context()); filter.Match("www.one.test") || !filter.Match("www.two.test") {
			t.Error("the filter is not that of the program that runs now")
		}
	})
}

func TestNegotiationEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, input(speaking().with("GET /", reply{status: 503, body: "starting"})))
		ctx, cancel := context.WithTimeout(t.Context(), 800*time.Millisecond)
		defer cancel()
		start := time.Now()
		errs := make(chan error)
		for range 3 {
			go func() {
				_, err := p.Zones(ctx)
				errs <- err
			}()
		}
		for range 3 {
			if err := <-errs; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
		}
		if took := time.Since(start); took != 800*time.Millisecond {
			t.Errorf("ended after %v", took)
		}
	})
}

// A program that restarts between two calls with another filter, and so is never unreachable, is asked again
// with the zones, but not at each listing of them.
func TestNegotiationOutdated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sidecar := speaking().with("GET /", reply{status: 200, body: `{"include":["one.test"]}`}, reply{status: 200, body: `{"include":["two.test"]}`})
		p := open(t, input(sidecar))
		for range 30 {
			if _, err := p.Zones(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		if filter := p.DomainFilter(t.Context()); filter.Match("www.one.test") || !filter.Match("www.two.test") {
			t.Error("the filter is not that of the program that runs now")
		}
		if n := len(sidecar.requests()); n != 3 {
			t.Errorf("%d requests", n)
		}
		sidecar.with("GET /", reply{})
		time.Sleep(negotiationTime)
		if _, err := p.Zones(t.Context()); err == nil || !p.DomainFilter(t.Context()).Match("www.two.test") {
			t.Errorf("error %v, or the last filter is forgotten", err)
		}
	})
}

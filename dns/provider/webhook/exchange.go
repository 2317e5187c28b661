package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider/httpapi"
)

// maxRedirects limits the redirects of a GET.
const maxRedirects = 10

// ErrBodyTooLarge is the error for a response that exceeds --webhook-provider-max-body-size.
var ErrBodyTooLarge = errors.New("the response has more bytes than --webhook-provider-max-body-size allows")

// exchange is a request of the protocol and its response.
type exchange struct {
	method string
	// path is appended to the base URL.
	path string
	// message is the body to send, or nil.
	message any
	// accepts reports whether a status means success.
	accepts func(status int) bool
	// typed is true if the media type of the response is checked.
	typed bool
	// decode reads the response; it is nil if there is none.
	decode func(body io.Reader) error
}

// is returns a function that accepts one status.
func is(want int) func(int) bool { return func(status int) bool { return status == want } }

// recordSets returns a function that decodes a response with record sets one by one. The listing
// counts them.
func recordSets(l *listlimit.Listing, into *[]*dns.RecordSet) func(io.Reader) error {
	return func(body io.Reader) error {
		s := listlimit.NewStream(body, l)
		err := s.Array(func() error {
			var r *dns.RecordSet
			if err := s.Value(&r); err != nil {
				return err
			}
			*into = append(*into, r)
			return l.Add(1, listlimit.SetSize(r))
		})
		if err != nil {
			return err
		}
		if *into == nil {
			*into = []*dns.RecordSet{}
		}
		return s.End()
	}
}

// do sends a request and reads the response. Its errors are those of [provider.Provider]'s Apply,
// or wrap [ErrBodyTooLarge], or a *url.Error without a response.
func (p *remote) do(ctx context.Context, e exchange) error {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	req, err := e.request(ctx, p.base)
	if err != nil {
		return err
	}
	return httpapi.Do(p.client, req, func(resp *http.Response) error { return e.read(resp) })
}

func (e exchange) request(ctx context.Context, base *url.URL) (*http.Request, error) {
	target := base
	if e.path != "" {
		target = base.JoinPath(e.path)
	}
	req, err := httpapi.NewRequest(ctx, e.method, target, e.message, MediaType)
	if err == nil && e.decode != nil {
		req.Header.Set("Accept", MediaType)
	}
	return req, err
}

func (e exchange) read(resp *http.Response) error {
	if !e.accepts(resp.StatusCode) {
		refused := httpapi.NewStatusError("the webhook provider", resp)
		if resp.StatusCode/100 == 3 {
			refused.Advice = "it redirects to another host, or a change, and that isn't followed: give the final URL as --webhook-provider-url"
		}
		return refused
	}
	if got := resp.Header.Get("Content-Type"); e.typed && got != MediaType {
		return fmt.Errorf("the media type is %q, and must be %q: the program doesn't support version 1 of the webhook protocol", got, MediaType)
	}
	if e.decode == nil {
		return nil
	}
	if err := e.decode(resp.Body); err != nil {
		if errors.Is(err, httpapi.ErrTooLarge) {
			err = ErrBodyTooLarge
		}
		return fmt.Errorf("decode the response: %w", err)
	}
	return nil
}

// followReads follows redirects of GET to the same host only. A change must not be sent anywhere
// else, nor become a GET.
func followReads(req *http.Request, via []*http.Request) error {
	if via[0].Method != http.MethodGet || len(via) > maxRedirects || !httpapi.SameHost(req, via) {
		return http.ErrUseLastResponse
	}
	return nil
}

// reads reports whether a request changes nothing.
func reads(req *http.Request) bool {
	return req.Method == http.MethodGet || req.Method == http.MethodPost && isAdjust(req.URL)
}

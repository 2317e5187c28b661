package pdns

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/signpostd/signpost/dns/provider"
)

const (
	// tries is how often a request is sent, with firstPause and then twice as long each time
	// in between.
	tries      = 3
	firstPause = 250 * time.Millisecond
	// tryTimeout ends a try that the server doesn't answer.
	tryTimeout = time.Minute
	// drainSize is how much of an answer is read for nothing, so that its connection can
	// be used again; saidSize how much of what is said of an error is repeated.
	drainSize = 1 << 20
	saidSize  = 1024
)

// api sends requests to one server.
type api struct {
	// base is the URL of the server in the API.
	base   *url.URL
	key    string
	client *http.Client
}

// zoneInfo is a zone in the API. Record sets are there when it is asked for alone.
type zoneInfo struct {
	ID     string  `json:"id"`
	Name   string  `json:"name"`
	RRSets []rrset `json:"rrsets,omitempty"`
}

// rrset is a record set in the API.
type rrset struct {
	Name       string   `json:"name"`
	Type       string   `json:"type"`
	TTL        int64    `json:"ttl,omitempty"`
	ChangeType string   `json:"changetype,omitempty"`
	Records    []record `json:"records,omitempty"`
}

type record struct {
	Content  string `json:"content"`
	Disabled bool   `json:"disabled"`
}

func (a *api) zones(ctx context.Context) ([]zoneInfo, error) {
	var zones []zoneInfo
	return zones, a.retry(ctx, http.MethodGet, a.base.JoinPath("zones"), nil, &zones)
}

func (a *api) zone(ctx context.Context, id string) (zoneInfo, error) {
	var zone zoneInfo
	return zone, a.retry(ctx, http.MethodGet, a.zoneURL(id), nil, &zone)
}

// patch makes changes in a zone, all or none. The outcome doesn't depend on how often they
// are made, and so they may be sent again.
func (a *api) patch(ctx context.Context, id string, sets []rrset) error {
	body, err := json.Marshal(zonePatch{RRSets: sets})
	if err != nil {
		return fmt.Errorf("encode %d changes: %w", len(sets), err)
	}
	return a.retry(ctx, http.MethodPatch, a.zoneURL(id), body, nil)
}

type zonePatch struct {
	RRSets []rrset `json:"rrsets"`
}

func (a *api) zoneURL(id string) *url.URL { return a.base.JoinPath("zones", url.PathEscape(id)) }

// retry sends a request until there is an answer that counts.
func (a *api) retry(ctx context.Context, method string, target *url.URL, body []byte, answer any) error {
	pause := firstPause
	for try := 1; ; try++ {
		err := a.send(ctx, method, target, body, answer)
		if err == nil || try == tries || !passing(err) || ctx.Err() != nil {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w, after %w", ctx.Err(), err)
		}
		pause *= 2
	}
}

func (a *api) send(ctx context.Context, method string, target *url.URL, body []byte, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make a request to %s: %w", target.Redacted(), err)
	}
	req.Header.Set("X-API-Key", a.key)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return err
	}
	defer func() {
		_, _ = io.CopyN(io.Discard, resp.Body, drainSize)
		_ = resp.Body.Close()
	}()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %w", method, target.Redacted(), newStatusError(resp))
	}
	if answer == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		return fmt.Errorf("%s %s: decode the answer: %w", method, target.Redacted(), err)
	}
	return nil
}

// statusError is a status that is not that of success.
type statusError struct {
	status int
	said   string
}

func newStatusError(resp *http.Response) error {
	// Without what it says the status has to do.
	text, _ := io.ReadAll(io.LimitReader(resp.Body, saidSize))
	var message struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(text, &message) == nil && message.Error != "" {
		return &statusError{status: resp.StatusCode, said: message.Error}
	}
	return &statusError{status: resp.StatusCode, said: string(text)}
}

// Error implements error.
func (e *statusError) Error() string {
	return fmt.Sprintf("PowerDNS answered with status %d and %q%s", e.status, e.said, e.advice())
}

func (e *statusError) advice() string {
	switch e.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return ": look at --pdns-api-key"
	case http.StatusNotFound:
		return ": look at --pdns-server and --pdns-server-id, and whether the zone is there"
	}
	if e.status/100 == 3 {
		return ": give the URL where it leads as --pdns-server"
	}
	return ""
}

// Unwrap says what became of changes: nothing, when their transaction was refused.
func (e *statusError) Unwrap() error {
	switch e.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return provider.ErrCredentials
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return provider.ErrRejected
	}
	return nil
}

// passing reports whether sending the request again may help.
func passing(err error) bool {
	var status *statusError
	if errors.As(err, &status) {
		return status.status >= 500 || status.status == http.StatusTooManyRequests
	}
	var certificate *tls.CertificateVerificationError
	if errors.Is(err, provider.ErrDryRun) || errors.As(err, &certificate) {
		return false
	}
	var transport *url.Error
	return errors.As(err, &transport)
}

// stay follows no redirection, because the key would go along.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// dryRun is a transport that only asks.
type dryRun struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (d dryRun) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet {
		return d.next.RoundTrip(req)
	}
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return nil, provider.ErrDryRun
}

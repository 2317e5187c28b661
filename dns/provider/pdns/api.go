package pdns

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/signpostd/signpost/dns/provider/httpapi"
)

// attempts is how requests are sent that change nothing.
var attempts = httpapi.Retry{Tries: 3, FirstPause: 250 * time.Millisecond}

// maxAnswer is how large a zone may be that is read, in bytes: some two million records.
const maxAnswer = 512 << 20

// tryTimeout is how long one try may take.
const tryTimeout = time.Minute

// api sends requests to one server.
type api struct {
	// base is the URL of the server in the API.
	base   *url.URL
	key    string
	client *http.Client
}

// zoneInfo is a zone in the API. It has record sets only if this zone was asked for.
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

// patch makes changes in a zone, all or none. It is sent once: before another time, somebody
// else may have changed the zone.
func (a *api) patch(ctx context.Context, id string, sets []rrset) error {
	body, err := json.Marshal(zonePatch{RRSets: sets})
	if err != nil {
		return fmt.Errorf("encode %d changes: %w", len(sets), err)
	}
	return a.send(ctx, http.MethodPatch, a.zoneURL(id), body, nil)
}

type zonePatch struct {
	RRSets []rrset `json:"rrsets"`
}

func (a *api) zoneURL(id string) *url.URL { return a.base.JoinPath("zones", url.PathEscape(id)) }

// retry sends a request, several times if necessary.
func (a *api) retry(ctx context.Context, method string, target *url.URL, body []byte, answer any) error {
	return attempts.Do(ctx, func() error { return a.send(ctx, method, target, body, answer) })
}

func (a *api) send(ctx context.Context, method string, target *url.URL, body []byte, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	req, err := httpapi.NewRequest(ctx, method, target, body)
	if err != nil {
		return err
	}
	req.Header.Set("X-API-Key", a.key)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return httpapi.Do(a.client, req, func(resp *http.Response) error {
		if resp.StatusCode/100 != 2 {
			return newStatusError(resp)
		}
		if answer == nil {
			return nil
		}
		if err := httpapi.Decode(resp.Body, answer); err != nil {
			return fmt.Errorf("decode the answer: %w", err)
		}
		return nil
	})
}

// newStatusError returns the error for an answer, with the message of PowerDNS.
func newStatusError(resp *http.Response) error {
	e := httpapi.NewStatusError("PowerDNS", resp)
	var message struct {
		Error string `json:"error"`
	}
	if json.Unmarshal([]byte(e.Said), &message) == nil && message.Error != "" {
		e.Said = message.Error
	}
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		e.Advice = "check --pdns-api-key"
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		// These are the answers to a transaction that is refused.
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		// A proxy before PowerDNS says so.
	default:
		e.Outcome = nil
	}
	switch {
	case e.Status == http.StatusNotFound:
		e.Advice = "check --pdns-server and --pdns-server-id, and whether the zone exists"
	case e.Status/100 == 3:
		e.Advice = "give the URL of the redirection as --pdns-server"
	}
	return e
}

package pdns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider/httpapi"
)

// attempts is the retry policy of requests that change nothing.
var attempts = httpapi.Retry{Tries: 3, FirstPause: 250 * time.Millisecond}

// tryTimeout limits one attempt.
const tryTimeout = time.Minute

// api sends requests to one server.
type api struct {
	// base is the URL of the server in the API.
	base   *url.URL
	key    string
	client *http.Client
	budget *listlimit.Budget
}

type zoneInfo struct {
	ID   string `json:"id"`
	Name string `json:"name"`
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

// zones lists the zones of the server, without their record sets.
func (a *api) zones(ctx context.Context) (zones []zoneInfo, err error) {
	err = a.retry(ctx, a.base.JoinPath("zones"), func(body io.Reader) error {
		zones = nil
		l := a.budget.Zones("PowerDNS")
		defer l.End(nil)
		s := listlimit.NewStream(body, l)
		err := s.Array(func() error {
			var z zoneInfo
			if err := s.Value(&z); err != nil {
				return err
			}
			zones = append(zones, zoneInfo{ID: z.ID, Name: z.Name})
			return l.Add(1, listlimit.ZoneSize+len(z.ID)+len(z.Name))
		})
		if err != nil {
			return err
		}
		return s.End()
	})
	if err != nil {
		return nil, err
	}
	return zones, nil
}

func (a *api) zone(ctx context.Context, zone dns.Zone) (sets []rrset, err error) {
	err = a.retry(ctx, a.zoneURL(zone.ID), func(body io.Reader) error {
		sets = nil
		l := a.budget.Zone(zone)
		err := decodeSets(listlimit.NewStream(body, l), l, &sets)
		l.End(err)
		return err
	})
	if err != nil {
		return nil, err
	}
	return sets, nil
}

// decodeSets decodes a zone, of which it keeps the record sets.
func decodeSets(s *listlimit.Stream, l *listlimit.Listing, into *[]rrset) error {
	found := false
	err := s.Object(map[string]func() error{"rrsets": func() error {
		found = true
		return s.Array(func() error {
			var set rrset
			if err := s.Value(&set); err != nil {
				return err
			}
			*into = append(*into, set)
			return l.Add(1, set.size())
		})
	}})
	switch {
	case err != nil:
		return err
	case !found:
		// Such a zone isn't empty. A record set that seems to be missing would be overwritten.
		return errors.New(`the zone has no member "rrsets": the response may come from a proxy or from another server than PowerDNS: check --pdns-server`)
	}
	return s.End()
}

// size returns the memory of a record set in bytes, including its listed form.
func (s rrset) size() int {
	const own, each = 96, 32
	n := own + listlimit.EmptySetSize(s.Name)
	for _, r := range s.Records {
		n += each + listlimit.TargetSize(r.Content)
	}
	return n
}

// patch makes changes in a zone, all or none. It isn't retried, because another writer may have
// changed the zone meanwhile.
func (a *api) patch(ctx context.Context, id string, sets []rrset) error {
	return a.send(ctx, http.MethodPatch, a.zoneURL(id), zonePatch{RRSets: sets}, nil)
}

type zonePatch struct {
	RRSets []rrset `json:"rrsets"`
}

func (a *api) zoneURL(id string) *url.URL { return a.base.JoinPath("zones", url.PathEscape(id)) }

// retry sends a read request, with retries.
func (a *api) retry(ctx context.Context, target *url.URL, decode func(io.Reader) error) error {
	return attempts.Do(ctx, func() error { return a.send(ctx, http.MethodGet, target, nil, decode) })
}

// send sends a request. decode reads the response. It is nil for changes, to which PowerDNS responds without a
// body.
func (a *api) send(ctx context.Context, method string, target *url.URL, message any, decode func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	req, err := httpapi.NewRequest(ctx, method, target, message, "application/json")
	if err != nil {
		return err
	}
	req.Header.Set("X-API-Key", a.key)
	req.Header.Set("Accept", "application/json")
	return httpapi.Do(a.client, req, func(resp *http.Response) error {
		if resp.StatusCode/100 != 2 {
			return newStatusError(resp)
		}
		switch {
		case decode == nil && resp.StatusCode != http.StatusNoContent:
			return httpapi.Incomplete(fmt.Sprintf("the response of status %d", resp.StatusCode), fmt.Sprintf("status %d", http.StatusNoContent), "PowerDNS")
		case decode == nil:
			return nil
		}
		if err := decode(resp.Body); err != nil {
			return fmt.Errorf("decode the response: %w", err)
		}
		return nil
	})
}

// newStatusError returns the error for a response, with the message of PowerDNS.
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
		// PowerDNS refuses a transaction with these.
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		// The status comes from a proxy before PowerDNS.
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

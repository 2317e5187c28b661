package cloudflare

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
	"github.com/signpostd/signpost/internal/sanitize"
)

// timeout limits one try of a request.
const timeout = time.Minute

var (
	// reads is the retry policy of requests that change nothing.
	reads = httpapi.Retry{Tries: 3, FirstPause: 500 * time.Millisecond}
	// writes is the retry policy of the others, except batches: they are only retried if the response says
	// that nothing was changed.
	writes = httpapi.Retry{Tries: 4, FirstPause: time.Second, Again: func(err error) bool { return errors.Is(err, provider.ErrThrottled) }}
)

// api sends requests.
type api struct {
	client *http.Client
	base   *url.URL
	pace   *pace
	access credentials
	// perPage is the page size of records.
	perPage int
	budget  *listlimit.Budget
}

// send sends a request within the rate limit, and decodes the response. A failed response becomes an error.
func (a *api) send(ctx context.Context, method, path string, query url.Values, message, response any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	target := a.base.JoinPath(path)
	target.RawQuery = query.Encode()
	req, err := httpapi.NewRequest(ctx, method, target, message, "application/json")
	if err != nil {
		return err
	}
	u := writing
	if method == http.MethodGet {
		u = reading
	}
	if err := a.pace.wait(ctx, u); err != nil {
		return err
	}
	if err := a.access.show(req.Header); err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := a.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	a.pace.observe(resp)
	if resp.StatusCode/100 != 2 {
		return failure(resp)
	}
	if err := httpapi.Decode(resp.Body, response); err != nil {
		return fmt.Errorf("decode the response: %w", err)
	}
	return nil
}

// envelope is the outer object of every response.
type envelope[T any] struct {
	Success bool      `json:"success"`
	Errors  []message `json:"errors"`
	Result  T         `json:"result"`
	Info    struct {
		TotalCount int `json:"total_count"`
		TotalPages int `json:"total_pages"`
	} `json:"result_info"`
}

// call sends a request with a message, if it isn't nil, and returns the decoded response.
func call[T any](ctx context.Context, a *api, method, path string, query url.Values, message any) (envelope[T], error) {
	var response envelope[T]
	err := a.send(ctx, method, path, query, message, &response)
	if err == nil && !response.Success {
		err = unsuccessful(response.Errors)
	}
	return response, err
}

// maxListings limits the attempts to read a list that changes meanwhile.
const maxListings = 3

// validID matches the IDs that are accepted, because IDs become parts of paths.
var validID = regexp.MustCompile(`^[0-9A-Za-z_-]{1,64}$`)

// listKind describes a list of the API: how to identify its entries, and how to limit it.
type listKind[T any] struct {
	path    string
	query   url.Values
	perPage int
	id      func(T) string
	// size returns the memory of an entry in bytes. count starts a listing that counts entries.
	size  func(T) int
	count func() *listlimit.Listing
}

// pages reads all pages of a list. If the list changes meanwhile, an entry may move to a page that was read
// before. The list is then read again.
func pages[T any](ctx context.Context, a *api, k listKind[T]) ([]T, error) {
	var last map[string]bool
	for range maxListings {
		l := k.count()
		rows, complete, err := readOnce(ctx, a, k, l)
		l.End(err)
		if err != nil {
			return nil, err
		}
		ids := make(map[string]bool, len(rows))
		for _, r := range rows {
			ids[k.id(r)] = true
		}
		if complete || maps.Equal(ids, last) {
			return rows, nil
		}
		last = ids
	}
	return nil, fmt.Errorf("the list changed each time while it was read, %d times", maxListings)
}

// readOnce reads all pages once. complete is false if entries may be missing.
func readOnce[T any](ctx context.Context, a *api, k listKind[T], l *listlimit.Listing) (rows []T, complete bool, err error) {
	seen := map[string]bool{}
	count := -1
	for n := 1; ; n++ {
		query := url.Values{"page": {fmt.Sprint(n)}, "per_page": {fmt.Sprint(k.perPage)}}
		maps.Copy(query, k.query)
		var response envelope[[]T]
		err := reads.Do(ctx, func() (err error) {
			response, err = call[[]T](ctx, a, http.MethodGet, k.path, query, nil)
			return err
		})
		if err != nil {
			return nil, false, err
		}
		for _, r := range response.Result {
			id := k.id(r)
			if !validID.MatchString(id) {
				return nil, false, fmt.Errorf("an entry of the list has the ID %s, which can't be one", sanitize.Quote(id))
			}
			if seen[id] {
				continue
			}
			seen[id], rows = true, append(rows, r)
			if err := l.Add(1, k.size(r)); err != nil {
				return nil, false, err
			}
		}
		complete = n == 1 || complete && count == response.Info.TotalCount
		count = response.Info.TotalCount
		last := n >= response.Info.TotalPages
		if response.Info.TotalPages == 0 {
			last = len(response.Result) < k.perPage
		}
		if last || len(response.Result) == 0 {
			return rows, n == 1 || complete && count == len(rows), nil
		}
		if err := l.Page(fmt.Sprint(n + 1)); err != nil {
			return nil, false, err
		}
	}
}

package cloudflare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/cloudflare/cloudflare-go/v7/addressing"
	"github.com/cloudflare/cloudflare-go/v7/custom_hostnames"
	cfdns "github.com/cloudflare/cloudflare-go/v7/dns"
	"github.com/cloudflare/cloudflare-go/v7/option"
	"github.com/cloudflare/cloudflare-go/v7/zones"

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

// api sends requests through the services of the SDK. The SDK's own retries are off, because they would also
// repeat a write whose response was lost.
type api struct {
	zoneService *zones.ZoneService
	rows        *cfdns.RecordService
	hostnames   *custom_hostnames.CustomHostnameService
	regional    *addressing.RegionalHostnameService
	pace        *pace
	access      credentials
	// perPage is the page size of records.
	perPage int
	budget  *listlimit.Budget
}

func newAPI(client *http.Client, base *url.URL, access credentials, pace *pace, perPage int, budget *listlimit.Budget) *api {
	a := &api{pace: pace, access: access, perPage: perPage, budget: budget}
	options := []option.RequestOption{
		option.WithHTTPClient(client), option.WithBaseURL(base.String()), option.WithMaxRetries(0), option.WithRequestTimeout(timeout),
		option.WithMiddleware(a.send),
	}
	a.zoneService, a.rows = zones.NewZoneService(options...), cfdns.NewRecordService(options...)
	a.hostnames, a.regional = custom_hostnames.NewCustomHostnameService(options...), addressing.NewRegionalHostnameService(options...)
	return a
}

// send sends a request of the SDK within the rate limit. A failed response becomes an error.
func (a *api) send(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	u := writing
	if req.Method == http.MethodGet {
		u = reading
	}
	if err := a.pace.wait(req.Context(), u); err != nil {
		return nil, err
	}
	if err := a.access.show(req.Header); err != nil {
		return nil, err
	}
	resp, err := next(req)
	if err != nil {
		return nil, err
	}
	a.pace.observe(resp)
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	return nil, failure(resp)
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

// call makes a request with a body, if it isn't nil, and returns the decoded response.
func call[T any](body any, request func(options ...option.RequestOption) error) (envelope[T], error) {
	var response envelope[T]
	options := []option.RequestOption{option.WithResponseBodyInto(&response)}
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return response, fmt.Errorf("encode the request: %w", err)
		}
		options = append(options, option.WithRequestBody("application/json", text))
	}
	if err := request(options...); err != nil {
		return response, err
	}
	if !response.Success {
		return response, unsuccessful(response.Errors)
	}
	return response, nil
}

// maxListings limits the attempts to read a list that changes meanwhile.
const maxListings = 3

// validID matches the IDs that are accepted, because IDs become parts of paths.
var validID = regexp.MustCompile(`^[0-9A-Za-z_-]{1,64}$`)

// listKind describes a list of the API: how to identify its entries, and how to limit it.
type listKind[T any] struct {
	perPage int
	id      func(T) string
	// size returns the memory of an entry in bytes. count starts a listing that counts entries.
	size  func(T) int
	count func() *listlimit.Listing
}

// pages reads all pages of a list. If the list changes meanwhile, an entry may move to a page that was read
// before. The list is then read again.
func pages[T any](ctx context.Context, k listKind[T], page func(options ...option.RequestOption) (envelope[[]T], error)) ([]T, error) {
	var last map[string]bool
	for range maxListings {
		l := k.count()
		rows, complete, err := readOnce(ctx, k, l, page)
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
func readOnce[T any](ctx context.Context, k listKind[T], l *listlimit.Listing, page func(options ...option.RequestOption) (envelope[[]T], error)) (rows []T, complete bool, err error) {
	seen := map[string]bool{}
	count := -1
	for n := 1; ; n++ {
		var response envelope[[]T]
		err := reads.Do(ctx, func() (err error) {
			response, err = page(option.WithQuery("page", fmt.Sprint(n)), option.WithQuery("per_page", fmt.Sprint(k.perPage)))
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

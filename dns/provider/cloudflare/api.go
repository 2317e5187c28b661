package cloudflare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/cloudflare/cloudflare-go/v7/addressing"
	"github.com/cloudflare/cloudflare-go/v7/custom_hostnames"
	cfdns "github.com/cloudflare/cloudflare-go/v7/dns"
	"github.com/cloudflare/cloudflare-go/v7/option"
	"github.com/cloudflare/cloudflare-go/v7/zones"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
	"github.com/signpostd/signpost/internal/foreign"
)

// timeout ends a request that isn't answered.
const timeout = time.Minute

var (
	// reads says how often a request is sent that changes nothing.
	reads = httpapi.Retry{Tries: 3, FirstPause: 500 * time.Millisecond}
	// writes says so for the others, except batches: only an answer that says that nothing was changed is a reason to
	// send one again.
	writes = httpapi.Retry{Tries: 4, FirstPause: time.Second, Again: func(err error) bool { return errors.Is(err, provider.ErrThrottled) }}
)

// api sends requests through the services of the SDK. That itself repeats none of them: it would
// also repeat those whose answer was lost.
type api struct {
	zoneService *zones.ZoneService
	rows        *cfdns.RecordService
	hostnames   *custom_hostnames.CustomHostnameService
	regional    *addressing.RegionalHostnameService
	pace        *pace
	access      credentials
	// perPage is how many records a page has.
	perPage int
}

func newAPI(client *http.Client, base *url.URL, access credentials, perPage int) *api {
	a := &api{pace: newPace(), access: access, perPage: perPage}
	options := []option.RequestOption{
		option.WithHTTPClient(client), option.WithBaseURL(base.String()), option.WithMaxRetries(0), option.WithRequestTimeout(timeout),
		option.WithMiddleware(a.send),
	}
	a.zoneService, a.rows = zones.NewZoneService(options...), cfdns.NewRecordService(options...)
	a.hostnames, a.regional = custom_hostnames.NewCustomHostnameService(options...), addressing.NewRegionalHostnameService(options...)
	return a
}

// send sends a request of the SDK when its turn comes. An answer that isn't success becomes an error.
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

// envelope is what every answer has.
type envelope[T any] struct {
	Success bool      `json:"success"`
	Errors  []message `json:"errors"`
	Result  T         `json:"result"`
	Info    struct {
		TotalCount int `json:"total_count"`
		TotalPages int `json:"total_pages"`
	} `json:"result_info"`
}

// call makes a request with options that have the SDK send the body, if there is one, and return the
// answer as it is.
func call[T any](body any, request func(options ...option.RequestOption) error) (envelope[T], error) {
	var answer envelope[T]
	options := []option.RequestOption{option.WithResponseBodyInto(&answer)}
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return answer, fmt.Errorf("encode the request: %w", err)
		}
		options = append(options, option.WithRequestBody("application/json", text))
	}
	if err := request(options...); err != nil {
		return answer, err
	}
	if !answer.Success {
		return answer, unsuccessful(answer.Errors)
	}
	return answer, nil
}

const (
	// mostPages and mostRows are how much of a list is read.
	mostPages = 2000
	mostRows  = 500_000
	// listings is how often a list is read that changes while it is read.
	listings = 3
)

// properID is what an ID may look like. IDs become parts of paths.
var properID = regexp.MustCompile(`^[0-9A-Za-z_-]{1,64}$`)

// errTooLong is for a list with more than mostRows rows, or more than mostPages pages.
var errTooLong = fmt.Errorf("the list is longer than %d entries or %d pages", mostRows, mostPages)

// pages reads all pages of a list. A list that changes while it is read may lack what has moved to
// a page that was read before, so it is read again then.
func pages[T any](ctx context.Context, perPage int, id func(T) string, page func(options ...option.RequestOption) (envelope[[]T], error)) ([]T, error) {
	var last map[string]bool
	for range listings {
		rows, whole, err := attempt(ctx, perPage, id, page)
		if err != nil {
			return nil, err
		}
		ids := make(map[string]bool, len(rows))
		for _, r := range rows {
			ids[id(r)] = true
		}
		if whole || sameIDs(ids, last) {
			return rows, nil
		}
		last = ids
	}
	return nil, fmt.Errorf("the list changed each time while it was read, %d times", listings)
}

// attempt reads all pages once. Whole is false if the list may lack something.
func attempt[T any](ctx context.Context, perPage int, id func(T) string, page func(options ...option.RequestOption) (envelope[[]T], error)) (rows []T, whole bool, err error) {
	seen := map[string]bool{}
	count := -1
	for n := 1; ; n++ {
		var answer envelope[[]T]
		err := reads.Do(ctx, func() (err error) {
			answer, err = page(option.WithQuery("page", fmt.Sprint(n)), option.WithQuery("per_page", fmt.Sprint(perPage)))
			return err
		})
		if err != nil {
			return nil, false, err
		}
		for _, r := range answer.Result {
			if !properID.MatchString(id(r)) {
				return nil, false, fmt.Errorf("an entry of the list has the ID %s, which can't be one", foreign.Quote(id(r)))
			}
			if !seen[id(r)] {
				seen[id(r)], rows = true, append(rows, r)
			}
		}
		whole = n == 1 || whole && count == answer.Info.TotalCount
		count = answer.Info.TotalCount
		if n > mostPages || len(rows) > mostRows {
			return nil, false, errTooLong
		}
		last := n >= answer.Info.TotalPages
		if answer.Info.TotalPages == 0 {
			last = len(answer.Result) < perPage
		}
		if last || len(answer.Result) == 0 {
			return rows, n == 1 || whole && count == len(rows), nil
		}
	}
}

func sameIDs(a, b map[string]bool) bool {
	if len(a) != len(b) {
		return false
	}
	for id := range a {
		if !b[id] {
			return false
		}
	}
	return true
}

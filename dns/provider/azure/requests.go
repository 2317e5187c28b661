package azure

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
)

// pageSize is the page size of listings.
const pageSize = 1000

// request is a request that needs a permission.
type request struct {
	right, method, target string
	// condition is a header and its value, or empty.
	condition, value string
	// body is sent as JSON, unless it is nil.
	body any
}

// send gets a token, sends a request and decodes the response, unless into is nil. The token comes first, so
// that its failure is not reported as one of the request.
func (a *account) send(ctx context.Context, r request, into any) (*http.Response, error) {
	// With the options of the SDK, the request uses the same token.
	options := policy.TokenRequestOptions{Scopes: []string{a.scope}, EnableCAE: true}
	if _, err := a.credential.GetToken(ctx, options); err != nil {
		return nil, tokenFailure(ctx, err)
	}
	req, err := runtime.NewRequest(ctx, r.method, r.target)
	if err != nil {
		return nil, err
	}
	req.Raw().Header.Set("Accept", "application/json")
	if r.condition != "" {
		req.Raw().Header.Set(r.condition, r.value)
	}
	if r.body != nil {
		if err := runtime.MarshalAsJSON(req, r.body); err != nil {
			return nil, err
		}
	}
	resp, err := a.client.Pipeline().Do(req)
	if err == nil && !runtime.HasStatusCode(resp, http.StatusOK, http.StatusCreated, http.StatusNoContent) {
		err = runtime.NewResponseError(resp)
	}
	if err != nil {
		return nil, failure(err, r.right)
	}
	if into == nil {
		return resp, nil
	}
	return resp, runtime.UnmarshalAsJSON(resp, into)
}

// url returns the URL of what is below the zones of the resource group.
func (a *account) url(below, query string) string {
	path := "subscriptions/" + url.PathEscape(a.subscription) + "/resourceGroups/" + url.PathEscape(a.group) +
		"/providers/Microsoft.Network/" + a.kind.zones
	return runtime.JoinPaths(a.client.Endpoint(), path, below) + "?api-version=" + a.kind.version + query
}

// setURL returns the URL of a record set. The API wants its name unescaped, which has no special characters.
func (a *account) setURL(zone string, k key) string {
	return a.url(url.PathEscape(zone)+"/"+k.recordType+"/"+k.name, "")
}

// pages returns the entries of all pages of a listing. what is in the error if a response has no list.
func pages[T, R any](
	ctx context.Context, a *account, l *listlimit.Listing, r request, what string, size func(R) int, convert func(*T) (R, error),
) ([]R, error) {
	return listlimit.Pages(l, size, func(next string) (list []R, following string, err error) {
		if next != "" {
			if r.target, err = runtime.EncodeQueryParams(next); err != nil {
				return nil, "", err
			}
		}
		var page struct {
			Value    []*T   `json:"value"`
			NextLink string `json:"nextLink"`
		}
		if _, err = a.send(ctx, r, &page); err != nil {
			return nil, "", err
		}
		if page.Value == nil {
			return nil, "", incomplete(what)
		}
		for _, v := range page.Value {
			if v == nil {
				continue
			}
			one, err := convert(v)
			if err != nil {
				return nil, "", err
			}
			list = append(list, one)
		}
		return list, page.NextLink, nil
	})
}

// listRequest returns the request for the first page of a listing.
func (a *account) listRequest(what, below string) request {
	target := a.url(below, "&%24top="+strconv.Itoa(pageSize))
	return request{right: a.kind.right(what, "read"), method: http.MethodGet, target: target}
}

type zoneResource struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Properties struct {
		RecordSets *int64 `json:"numberOfRecordSets"`
	} `json:"properties"`
}

// zones lists the zones. Their version is the number of record sets, or "" if it is unknown.
func (a *account) zones(ctx context.Context) ([]dns.Zone, error) {
	l := a.budget.Zones("the resource group " + a.group)
	defer l.End(nil)
	convert := func(z *zoneResource) (dns.Zone, error) {
		zone := dns.Zone{ID: z.ID, Name: z.Name, Private: a.kind.private}
		if n := z.Properties.RecordSets; n != nil {
			zone.Version = strconv.FormatInt(*n, 10)
		}
		return zone, nil
	}
	return pages(ctx, a, l, a.listRequest("zone", ""), "list of zones", zoneSize, convert)
}

func (a *account) list(ctx context.Context, zone dns.Zone, name string) (sets []*stored, err error) {
	l := a.budget.Zone(zone)
	defer func() { l.End(err) }()
	first := a.listRequest("set", url.PathEscape(name)+"/"+a.kind.sets)
	return pages(ctx, a, l, first, "list of record sets", (*stored).size, a.kind.decode)
}

// get returns a record set, or nil if there is none.
func (a *account) get(ctx context.Context, zone string, k key) (*stored, error) {
	var r recordSet
	read := request{right: a.kind.right("set", "read"), method: http.MethodGet, target: a.setURL(zone, k)}
	_, err := a.send(ctx, read, &r)
	switch {
	case missing(err):
		return nil, nil
	case err == nil && r.Name == "":
		err = incomplete("record set")
	}
	if err != nil {
		return nil, err
	}
	s, err := a.kind.decode(&r)
	s.key = k
	return s, err
}

// put creates a record set, or replaces the one with an ETag. It returns it with its new ETag.
func (a *account) put(ctx context.Context, zone string, s *stored, etag string) (*stored, error) {
	r := request{
		right: a.kind.right("set", "write"), method: http.MethodPut, target: a.setURL(zone, s.key),
		condition: "If-None-Match", value: "*", body: a.kind.encode(s),
	}
	if etag != "" {
		r.condition, r.value = "If-Match", etag
	}
	now := *s
	var response recordSet
	_, err := a.send(policy.WithRetryOptions(ctx, a.writing), r, &response)
	switch {
	case err == nil && response.Name == "":
		err = incomplete("record set")
	case err == nil:
		now.etag = response.ETag
	}
	return &now, err
}

// headerRequestID is in each response of the resource manager.
const headerRequestID = "x-ms-request-id"

// remove deletes a record set. A missing one is no error.
func (a *account) remove(ctx context.Context, zone string, k key, etag string) error {
	r := request{
		right: a.kind.right("set", "delete"), method: http.MethodDelete, target: a.setURL(zone, k), condition: "If-Match", value: etag,
	}
	resp, err := a.send(policy.WithRetryOptions(ctx, a.writing), r, nil)
	if err == nil && resp.Header.Get(headerRequestID) == "" {
		// The response to a deletion has no body, so another server's success looks the same.
		err = incomplete("header " + headerRequestID)
	}
	return err
}

package cloudflare

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/internal/sanitize"
)

// Maximum page sizes of the other lists.
const (
	zonesPage     = 50
	hostnamesPage = 50
)

type zone struct {
	ID     string       `json:"id"`
	Name   string       `json:"name"`
	Status string       `json:"status"`
	Plan   subscription `json:"plan"`
}

func (z zone) size() int { return listlimit.ZoneSize + len(z.ID) + len(z.Name) }

func (z zone) active() bool { return z.Status == "active" }

// zones lists the zones that the credentials can read.
func (a *api) zones(ctx context.Context) ([]zone, error) {
	return pages(ctx, a, listKind[zone]{
		path: "zones", perPage: zonesPage, id: func(z zone) string { return z.ID }, size: zone.size,
		count: func() *listlimit.Listing { return a.budget.Zones("Cloudflare") },
	})
}

// zonePath returns the path of a zone, or of what is below it.
func zonePath(id, below string) string { return "zones/" + url.PathEscape(id) + below }

func (a *api) zone(ctx context.Context, id string) (z zone, err error) {
	err = reads.Do(ctx, func() error {
		response, err := call[zone](ctx, a, http.MethodGet, zonePath(id, ""), nil, nil)
		if z = response.Result; err == nil && z.ID != id {
			err = fmt.Errorf("the response is about the zone %s", sanitize.Name(z.ID))
		}
		return err
	})
	return z, err
}

// query selects records by name. If both fields are empty, it selects all.
type query struct {
	// exact is a full name, and ending a suffix of names.
	exact, ending string
}

func (q query) values() url.Values {
	// Without an order, a record may be missing from all pages.
	values := url.Values{"order": {"name"}}
	if q.exact != "" {
		values.Set("name.exact", q.exact)
	}
	if q.ending != "" {
		values.Set("name.endswith", q.ending)
	}
	return values
}

func (a *api) records(ctx context.Context, z dns.Zone, q query) ([]record, error) {
	k := listKind[record]{
		path: zonePath(z.ID, "/dns_records"), query: q.values(), perPage: a.perPage, id: func(r record) string { return r.ID }, size: record.size,
		count: func() *listlimit.Listing { return a.budget.Zone(z) },
	}
	if q != (query{}) {
		k.count = func() *listlimit.Listing { return a.budget.Part("a part of zone " + z.Name) }
	}
	rows, err := pages(ctx, a, k)
	for i := range rows {
		rows[i] = rows[i].normal()
	}
	return rows, err
}

// operations is the body of a batch request, and of its response.
type operations[T any] struct {
	Deletes []T `json:"deletes,omitempty"`
	Patches []T `json:"patches,omitempty"`
	Posts   []T `json:"posts,omitempty"`
}

// change makes changes in a zone, all or none. It sends the request once. The caller must read the records
// before it sends another one.
func (a *api) change(ctx context.Context, zoneID string, changes operations[outgoing]) (made operations[record], err error) {
	response, err := call[operations[record]](ctx, a, http.MethodPost, zonePath(zoneID, "/dns_records/batch"), nil, changes)
	return response.Result, err
}

// hostname is a custom hostname of a zone.
type hostname struct {
	ID       string `json:"id,omitempty"`
	Hostname string `json:"hostname"`
	Origin   string `json:"custom_origin_server"`
	SSL      *ssl   `json:"ssl,omitempty"`
}

// entrySize is the memory of a list entry in bytes without its texts, with the maps that refer to it.
const entrySize = 192

func (h hostname) size() int { return entrySize + len(h.ID) + len(h.Hostname) + len(h.Origin) }

// ssl describes the certificate of a custom hostname.
type ssl struct {
	Type         string      `json:"type"`
	Method       string      `json:"method"`
	BundleMethod string      `json:"bundle_method"`
	Authority    string      `json:"certificate_authority,omitempty"`
	Settings     sslSettings `json:"settings"`
}

type sslSettings struct {
	MinTLS string `json:"min_tls_version"`
}

// customHostnames lists the custom hostnames of a zone, only those with an origin unless it is empty.
func (a *api) customHostnames(ctx context.Context, z dns.Zone, origin string) ([]hostname, error) {
	k := listKind[hostname]{
		path: zonePath(z.ID, "/custom_hostnames"), perPage: hostnamesPage, id: func(h hostname) string { return h.ID }, size: hostname.size,
		count: func() *listlimit.Listing { return a.budget.Part("the custom hostnames of zone " + z.Name) },
	}
	if origin != "" {
		k.query = url.Values{"custom_origin_server": {origin}}
	}
	return pages(ctx, a, k)
}

func (a *api) createHostname(ctx context.Context, zoneID string, h hostname) error {
	return a.write(ctx, http.MethodPost, zonePath(zoneID, "/custom_hostnames"), h)
}

// deleteHostname deletes a custom hostname. A missing one is no error.
func (a *api) deleteHostname(ctx context.Context, zoneID, id string) error {
	return a.remove(ctx, zonePath(zoneID, "/custom_hostnames/"+url.PathEscape(id)))
}

// regionsPath is the path of the regions below a zone.
const regionsPath = "/addressing/regional_hostnames"

// region is the region of a name.
type region struct {
	Hostname string `json:"hostname,omitempty"`
	Key      string `json:"region_key"`
}

// regions lists the regions of a zone's names. The list has one page.
func (a *api) regions(ctx context.Context, z dns.Zone) (list []region, err error) {
	l := a.budget.Part("the regional hostnames of zone " + z.Name)
	defer l.End(nil)
	err = reads.Do(ctx, func() error {
		response, err := call[[]region](ctx, a, http.MethodGet, zonePath(z.ID, regionsPath), nil, nil)
		list = response.Result
		return err
	})
	for _, r := range list {
		if err := l.Add(1, entrySize+len(r.Hostname)+len(r.Key)); err != nil {
			return nil, err
		}
	}
	return list, err
}

func (a *api) createRegion(ctx context.Context, zoneID string, r region) error {
	return a.write(ctx, http.MethodPost, zonePath(zoneID, regionsPath), r)
}

func (a *api) editRegion(ctx context.Context, zoneID string, r region) error {
	return a.write(ctx, http.MethodPatch, zonePath(zoneID, regionsPath+"/"+url.PathEscape(r.Hostname)), region{Key: r.Key})
}

// deleteRegion removes the region of a name. A missing one is no error.
func (a *api) deleteRegion(ctx context.Context, zoneID, name string) error {
	return a.remove(ctx, zonePath(zoneID, regionsPath+"/"+url.PathEscape(name)))
}

// write sends a request that changes something, and ignores the result.
func (a *api) write(ctx context.Context, method, path string, message any) error {
	return writes.Do(ctx, func() error {
		_, err := call[struct{}](ctx, a, method, path, nil, message)
		return err
	})
}

// remove deletes an object. A missing one is no error. The response may have no envelope.
func (a *api) remove(ctx context.Context, path string) error {
	err := writes.Do(ctx, func() error { return a.send(ctx, http.MethodDelete, path, nil, nil, &struct{}{}) })
	if e, ok := errors.AsType[*apiError](err); ok && e.Status == http.StatusNotFound {
		return nil
	}
	return err
}

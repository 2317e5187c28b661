package cloudflare

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/cloudflare/cloudflare-go/v7/addressing"
	"github.com/cloudflare/cloudflare-go/v7/custom_hostnames"
	cfdns "github.com/cloudflare/cloudflare-go/v7/dns"
	"github.com/cloudflare/cloudflare-go/v7/option"
	"github.com/cloudflare/cloudflare-go/v7/zones"

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
	k := listKind[zone]{perPage: zonesPage, id: func(z zone) string { return z.ID }, size: zone.size, count: func() *listlimit.Listing { return a.budget.Zones("Cloudflare") }}
	return pages(ctx, k, func(options ...option.RequestOption) (envelope[[]zone], error) {
		return call[[]zone](nil, func(o ...option.RequestOption) error {
			_, err := a.zoneService.List(ctx, zones.ZoneListParams{}, append(o, options...)...)
			return err
		})
	})
}

func (a *api) zone(ctx context.Context, id string) (z zone, err error) {
	var params zones.ZoneGetParams
	params.ZoneID.Value, params.ZoneID.Present = id, true
	err = reads.Do(ctx, func() error {
		response, err := call[zone](nil, func(o ...option.RequestOption) error {
			_, err := a.zoneService.Get(ctx, params, o...)
			return err
		})
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

func (q query) options() []option.RequestOption {
	// Without an order, a record may be missing from all pages.
	options := []option.RequestOption{option.WithQuery("order", "name")}
	if q.exact != "" {
		options = append(options, option.WithQuery("name.exact", q.exact))
	}
	if q.ending != "" {
		options = append(options, option.WithQuery("name.endswith", q.ending))
	}
	return options
}

func (a *api) records(ctx context.Context, z dns.Zone, q query) ([]record, error) {
	var params cfdns.RecordListParams
	params.ZoneID.Value, params.ZoneID.Present = z.ID, true
	k := listKind[record]{perPage: a.perPage, id: func(r record) string { return r.ID }, size: record.size, count: func() *listlimit.Listing { return a.budget.Zone(z) }}
	if q != (query{}) {
		k.count = func() *listlimit.Listing { return a.budget.Part("a part of zone " + z.Name) }
	}
	rows, err := pages(ctx, k, func(options ...option.RequestOption) (envelope[[]record], error) {
		return call[[]record](nil, func(o ...option.RequestOption) error {
			_, err := a.rows.List(ctx, params, append(append(o, q.options()...), options...)...)
			return err
		})
	})
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
	var params cfdns.RecordBatchParams
	params.ZoneID.Value, params.ZoneID.Present = zoneID, true
	response, err := call[operations[record]](changes, func(o ...option.RequestOption) error {
		_, err := a.rows.Batch(ctx, params, o...)
		return err
	})
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
	var params custom_hostnames.CustomHostnameListParams
	params.ZoneID.Value, params.ZoneID.Present = z.ID, true
	k := listKind[hostname]{
		perPage: hostnamesPage, id: func(h hostname) string { return h.ID }, size: hostname.size,
		count: func() *listlimit.Listing { return a.budget.Part("the custom hostnames of zone " + z.Name) },
	}
	return pages(ctx, k, func(options ...option.RequestOption) (envelope[[]hostname], error) {
		if origin != "" {
			options = append(options, option.WithQuery("custom_origin_server", origin))
		}
		return call[[]hostname](nil, func(o ...option.RequestOption) error {
			_, err := a.hostnames.List(ctx, params, append(o, options...)...)
			return err
		})
	})
}

func (a *api) createHostname(ctx context.Context, zoneID string, h hostname) error {
	var params custom_hostnames.CustomHostnameNewParams
	params.ZoneID.Value, params.ZoneID.Present = zoneID, true
	return write(ctx, h, func(o ...option.RequestOption) error {
		_, err := a.hostnames.New(ctx, params, o...)
		return err
	})
}

// deleteHostname deletes a custom hostname. A missing one is no error. The response has no envelope.
func (a *api) deleteHostname(ctx context.Context, zoneID, id string) error {
	var params custom_hostnames.CustomHostnameDeleteParams
	params.ZoneID.Value, params.ZoneID.Present = zoneID, true
	return ignoreMissing(writes.Do(ctx, func() error {
		_, err := a.hostnames.Delete(ctx, id, params)
		return err
	}))
}

// region is the region of a name.
type region struct {
	Hostname string `json:"hostname,omitempty"`
	Key      string `json:"region_key"`
}

// regions lists the regions of a zone's names. The list has one page.
func (a *api) regions(ctx context.Context, z dns.Zone) (list []region, err error) {
	var params addressing.RegionalHostnameListParams
	params.ZoneID.Value, params.ZoneID.Present = z.ID, true
	l := a.budget.Part("the regional hostnames of zone " + z.Name)
	defer l.End(nil)
	err = reads.Do(ctx, func() error {
		response, err := call[[]region](nil, func(o ...option.RequestOption) error {
			_, err := a.regional.List(ctx, params, o...)
			return err
		})
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
	var params addressing.RegionalHostnameNewParams
	params.ZoneID.Value, params.ZoneID.Present = zoneID, true
	return write(ctx, r, func(o ...option.RequestOption) error {
		_, err := a.regional.New(ctx, params, o...)
		return err
	})
}

func (a *api) editRegion(ctx context.Context, zoneID string, r region) error {
	var params addressing.RegionalHostnameEditParams
	params.ZoneID.Value, params.ZoneID.Present = zoneID, true
	return write(ctx, region{Key: r.Key}, func(o ...option.RequestOption) error {
		_, err := a.regional.Edit(ctx, r.Hostname, params, o...)
		return err
	})
}

// deleteRegion removes the region of a name. A missing one is no error. The response has no result.
func (a *api) deleteRegion(ctx context.Context, zoneID, name string) error {
	var params addressing.RegionalHostnameDeleteParams
	params.ZoneID.Value, params.ZoneID.Present = zoneID, true
	return ignoreMissing(writes.Do(ctx, func() error {
		_, err := a.regional.Delete(ctx, name, params)
		return err
	}))
}

// write sends a request that changes something, and ignores the result.
func write(ctx context.Context, body any, request func(options ...option.RequestOption) error) error {
	return writes.Do(ctx, func() error {
		_, err := call[struct{}](body, request)
		return err
	})
}

// ignoreMissing returns nil for an error that says that the object doesn't exist.
func ignoreMissing(err error) error {
	if e, ok := errors.AsType[*apiError](err); ok && e.Status == http.StatusNotFound {
		return nil
	}
	return err
}

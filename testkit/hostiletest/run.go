package hostiletest

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
)

// mostSent is the largest number of bytes that a client may read in an attack under the limits of [Run]: a
// response that an SDK decodes as a whole, and what connections buffer.
const mostSent = 64 << 20

// Limits are the limits of [Run].
var Limits = listlimit.Limits{ZoneRecords: 2000, Records: 3000, Zones: 1000}

// Run runs all attacks on a provider. Open opens it; its requests must go through in.Wrap. Each attack must
// be detected, be named in an error, and leave nothing counted as kept.
func Run(t *testing.T, name string, open func(t *testing.T, in provider.Input) provider.Provider) {
	for _, a := range Attacks(name) {
		t.Run(a.Name, func(t *testing.T) {
			server := a.Serve()
			web := httptest.NewServer(server)
			defer web.Close()
			direct := &http.Transport{}
			defer direct.CloseIdleConnections()
			budget := listlimit.New(Limits)
			p := open(t, provider.Input{
				Domains: dns.MatchAll(), Log: slog.New(slog.DiscardHandler), Budget: budget,
				Wrap: func(http.RoundTripper) http.RoundTripper { return To(web.URL, direct) },
			})
			err := List(t.Context(), p)
			if err == nil || !strings.Contains(err.Error(), a.Want) || len(err.Error()) > 2000 {
				t.Errorf("want an error with %q, got %v", a.Want, err)
			}
			if !errors.Is(err, listlimit.ErrExceeded) && !errors.Is(err, httpapi.ErrTooLarge) {
				t.Errorf("the error is of no limit: %v", err)
			}
			if sent := server.Sent(); sent > mostSent {
				t.Errorf("the server could send %d bytes", sent)
			}
			if records, bytes := budget.Used(); records != 0 || bytes != 0 {
				t.Errorf("%d record sets and %d bytes count as kept", records, bytes)
			}
		})
	}
}

// List lists the zones of a provider, and the record sets of the first one.
func List(ctx context.Context, p provider.Provider) error {
	zones, err := p.Zones(ctx)
	if err != nil {
		return err
	}
	if len(zones) == 0 {
		return errors.New("there are no zones")
	}
	sets, err := p.Records(ctx, zones[0])
	runtime.KeepAlive(sets)
	return err
}

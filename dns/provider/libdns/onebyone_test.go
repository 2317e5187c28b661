package libdns_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	lib "github.com/libdns/libdns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/libdns/module"
	"github.com/signpostd/signpost/testkit/libdnstest"
)

// status is the header in which a request of the module answering says which status the response shall have.
const status = "X-Status"

// answering is a module whose service answers by the names of the appended records: r* is refused, f* fails, and
// s* seems to succeed. A call with one of these names and others is refused. calls has the names of each call.
type answering struct {
	libdnstest.Client
	calls *[]string
}

func (a *answering) AppendRecords(ctx context.Context, zone string, records []lib.Record) ([]lib.Record, error) {
	var names []string
	bad := ""
	for _, r := range records {
		name := r.RR().Name
		if names = append(names, name); strings.ContainsAny(name[:1], "rfs") {
			bad = name[:1]
		}
	}
	*a.calls = append(*a.calls, strings.Join(names, "+"))
	switch {
	case bad == "":
		return a.Client.AppendRecords(ctx, zone, records)
	case len(records) > 1:
		bad = "r"
	}
	code := map[string]int{"r": http.StatusUnprocessableEntity, "f": http.StatusInternalServerError, "s": http.StatusOK}[bad]
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.example.invalid/", http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set(status, strconv.Itoa(code))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	_ = resp.Body.Close()
	if code == http.StatusOK {
		return records, nil
	}
	return nil, fmt.Errorf("the service answers with %d", code)
}

// echo answers with the status that a request asks for.
type echo struct{}

// RoundTrip implements [http.RoundTripper].
func (echo) RoundTrip(req *http.Request) (*http.Response, error) {
	code, err := strconv.Atoi(req.Header.Get(status))
	return &http.Response{StatusCode: code, Body: http.NoBody, Request: req}, err
}

// After a refused call the names are written one by one. After three failures in a row that aren't refusals, the
// others aren't sent, and each name that wasn't sent has an error that says so.
func TestOneByOne(t *testing.T) {
	for _, test := range []struct {
		names string
		// applies is how often the changes are applied. A name that fails five times in the same way counts as rejected.
		applies int
		// sent are the names of the last call of Apply that were sent alone, and want is the outcome of each name.
		sent, want string
	}{
		{"a r1 b r2 r3 r4 c", 1, "a r1 b r2 r3 r4 c", "made rejected made rejected rejected rejected made"},
		{"s1 r1 s2 s3 r2 s4 a", 5, "s1 r1 s2 s3 r2 s4", "rejected rejected rejected rejected rejected rejected stale"},
		{"s1 s2 s3 a b", 5, "s1 s2 s3", "rejected rejected rejected not-tried not-tried"},
		{"r1 r2 r3 f1 f2 f3 a", 5, "r1 r2 r3 f1 f2 f3", "rejected rejected rejected rejected rejected rejected not-tried"},
	} {
		t.Run(test.names, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls []string
				m := libdnstest.NewService(zoneName).Module(module.ReplacingAtOnce)
				inner := m.New
				m.New = func() module.Client { return &answering{Client: inner().(*libdnstest.Lister).Client, calls: &calls} }
				in := input()
				in.Wrap = func(http.RoundTripper) http.RoundTripper { return echo{} }
				p := open(t, in, m, zoneName)
				var changes []dns.Change
				for name := range strings.FieldsSeq(test.names) {
					changes = append(changes, dns.Change{New: set(name, dns.TypeA, 300, "192.0.2.1")})
				}
				var err error
				for range test.applies {
					calls = nil
					err = p.Apply(t.Context(), zone, changes)
				}
				each, whole := provider.Outcomes(err, len(changes))
				if whole != nil {
					t.Fatal(err)
				}
				var got []string
				for _, err := range each {
					switch {
					case err == nil:
						got = append(got, "made")
					case errors.Is(err, provider.ErrNotTried):
						got = append(got, "not-tried")
					case errors.Is(err, provider.ErrRejected):
						got = append(got, "rejected")
					case errors.Is(err, provider.ErrStale):
						got = append(got, "stale")
					default:
						t.Error(err)
					}
				}
				if diff := cmp.Diff([]string{test.sent, test.want}, []string{strings.Join(calls[1:], " "), strings.Join(got, " ")}); diff != "" {
					t.Errorf("sent and outcomes (-want +got):\n%s", diff)
				}
			})
		})
	}
}

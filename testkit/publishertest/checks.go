package publishertest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/provider"
)

// CheckPolicies checks the policies upsert-only and create-only, in the zone shop.test. So many requests
// create two records, update one, and create another.
func (w *Fixture) CheckPolicies(create, update, another int) {
	w.T.Helper()
	w.Settle(create, Set("a.shop.test", "A", "192.0.2.1"), Set("b.shop.test", "A", "192.0.2.1"))
	w.Policy = plan.UpsertOnly
	w.Settle(update, Set("a.shop.test", "A", "192.0.2.2"))
	w.Policy = plan.CreateOnly
	w.Settle(another, Set("a.shop.test", "A", "192.0.2.3"), Set("c.shop.test", "A", "192.0.2.1"))
	w.Expect("a A 192.0.2.2", "b A 192.0.2.1", "c A 192.0.2.1")
}

// CheckOneRefused checks, with a server that refuses bad.shop.test, that the name is reported and that 13
// other names are published, in so many requests at most.
func (w *Fixture) CheckOneRefused(most int) {
	w.T.Helper()
	wanted := []*dns.RecordSet{Set("bad.shop.test", "A", "192.0.2.7")}
	var want []string
	for i := range 13 {
		wanted = append(wanted, Set(fmt.Sprintf("n%d.shop.test", i), "A", "192.0.2.1"))
		want = append(want, fmt.Sprintf("n%d A 192.0.2.1", i))
	}
	requests, err := w.Run(wanted...)
	if err == nil || !strings.Contains(err.Error(), "bad.shop.test") || count(requests, w.Writes) > most {
		w.T.Errorf("%v, error %v", requests, err)
	}
	w.Expect(want...)
	if w.OwnershipRecords() != len(want) {
		w.T.Errorf("%d ownership records, want %d", w.OwnershipRecords(), len(want))
	}
}

// CheckListingsBehind checks, with listings that are three seconds behind, that no request is refused and
// that each change of a name in the zone shop.test is made once.
func (w *Fixture) CheckListingsBehind() {
	w.T.Helper()
	w.Server.SetLag(3 * time.Second)
	w.Provider = w.Open()
	for _, step := range []*dns.RecordSet{
		Set("a.shop.test", "A", "192.0.2.1"), Set("a.shop.test", "A", "192.0.2.2,192.0.2.3"), Set("a.shop.test", "CNAME", "lb.example.net"), Set("a.shop.test", "A", "192.0.2.2"),
	} {
		w.Settle(1, step)
	}
	w.Gone(1)
	w.Publish(0)
	if n := w.Server.Refused(); n > 0 {
		w.T.Errorf("%d requests were refused", n)
	}
}

// CheckDryRun checks that a dry run changes nothing for a record set, not even if Apply is called.
func (w *Fixture) CheckDryRun(r *dns.RecordSet) {
	w.T.Helper()
	w.DryRun = true
	w.Settle(0, r)
	p := w.Open()
	zones, err := p.Zones(w.T.Context())
	if err != nil || len(zones) != 1 {
		w.T.Fatalf("zones %v, %v", zones, err)
	}
	if err := p.Apply(w.T.Context(), zones[0], []dns.Change{{New: r}}); !errors.Is(err, provider.ErrDryRun) {
		w.T.Errorf("Apply: %v", err)
	}
	if requests := w.Server.Operations(); count(requests, w.changes()) > 0 {
		w.T.Errorf("requests that change something were sent: %v", requests)
	}
}

// CheckZoneDeleted checks that a zone that is deleted while it is used is missed by Apply and by Records
// alike: the call fails with ErrStale, names of the zone still pass the filter, and the next call lists the
// zones.
func (w *Fixture) CheckZoneDeleted(r *dns.RecordSet, remove func()) {
	w.T.Helper()
	providers := []provider.Provider{w.Open(), w.Open()}
	var zone dns.Zone
	for _, p := range providers {
		zones, err := p.Zones(w.T.Context())
		if err != nil || len(zones) != 1 {
			w.T.Fatalf("zones %v, %v", zones, err)
		}
		zone = zones[0]
	}
	remove()
	for i, p := range providers {
		apply := func() error { return p.Apply(w.T.Context(), zone, []dns.Change{{New: r}}) }
		records := func() error {
			_, err := p.Records(w.T.Context(), zone)
			return err
		}
		calls := [][]func() error{{apply, records}, {records, apply}}[i]
		if err := calls[0](); !errors.Is(err, provider.ErrStale) {
			w.T.Errorf("the first call returns %v, want ErrStale", err)
		}
		if !p.(provider.DomainFilterer).DomainFilter(w.T.Context()).Match(r.Name) {
			w.T.Error("names of the zone pass no more before the zones are listed again")
		}
		if err := calls[1](); !errors.Is(err, provider.ErrRejected) {
			w.T.Errorf("the second call returns %v, want ErrRejected", err)
		}
		if zones, err := p.Zones(w.T.Context()); err != nil || len(zones) > 0 {
			w.T.Errorf("zones %v, %v, want none", zones, err)
		}
	}
}

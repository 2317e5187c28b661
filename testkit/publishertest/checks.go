package publishertest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/apitest"
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
	if err != nil && strings.Contains(err.Error(), "n1.shop.test") {
		w.T.Errorf("the error is about other names: %v", err)
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

// CheckManyNames checks how many requests it takes at most to create so many names in the zone shop.test, to
// change all of them, and to delete them: those that change records, and the others.
func (w *Fixture) CheckManyNames(names, create, change, remove, others int) {
	w.T.Helper()
	wanted := func(target string) (sets []*dns.RecordSet) {
		for i := range names {
			sets = append(sets, Set(fmt.Sprintf("n%d.shop.test", i), "A", target))
		}
		return sets
	}
	for _, step := range []struct {
		wanted []*dns.RecordSet
		most   int
	}{{wanted("192.0.2.1"), create}, {wanted("192.0.2.2"), change}, {nil, remove}} {
		requests, err := w.Run(step.wanted...)
		if n := count(requests, w.Writes); err != nil || n > step.most || Total(requests)-n > others {
			w.T.Errorf("%v, %v: want at most %d requests that change records, and %d others", requests, err, step.most, others)
		}
		if n := len(w.Lines()); n != len(step.wanted) {
			w.T.Errorf("%d names, want %d", n, len(step.wanted))
		}
	}
}

// CheckLockedZone checks that the zone locked.test, to which rights are missing, doesn't keep shop.test from
// being published, and that the error has some texts. sets returns how many record sets the zone has.
func (w *Fixture) CheckLockedZone(sets func() int, texts ...string) {
	w.T.Helper()
	_, err := w.Run(Set("a.locked.test", "A", "192.0.2.1"), Set("a.shop.test", "A", "192.0.2.1"))
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			w.T.Errorf("error %v, want one with %q", err, text)
		}
	}
	w.Expect("a A 192.0.2.1")
	if sets() != 0 {
		w.T.Error("the zone was changed")
	}
}

// CheckZonesOfExternalDNS checks that nothing changes in the zone shop.test as ExternalDNS has
// written it, in each form of its ownership records. Where only the form without a type is there,
// the other one is added, once. Each run has a new fixture; put adds a record set to its zone.
func CheckZonesOfExternalDNS(t *testing.T, run func(t *testing.T, check func(w *Fixture, put func(*dns.RecordSet)))) {
	for name, test := range map[string]struct {
		prefix, suffix, wildcard string
		// records are the names of the ownership records of shop A, shop AAAA, docs CNAME and *.any A.
		records []string
		writes  int
	}{
		"now":                {records: []string{"a-shop", "aaaa-shop", "cname-docs", "a-*.any"}},
		"0.12 to 0.15":       {records: []string{"a-shop", "aaaa-shop", "cname-docs", "a-*.any", "shop", "*.any"}},
		"prefix":             {prefix: "txt.", records: []string{"txt.a-shop", "txt.aaaa-shop", "txt.cname-docs", "txt.a-*.any"}},
		"prefix, both forms": {prefix: "own-", records: []string{"own-a-shop", "own-aaaa-shop", "own-cname-docs", "own-a-*.any", "own-shop", "own-docs", "own-*.any"}},
		"suffix":             {suffix: "-txt", wildcard: "wild", records: []string{"a-shop-txt", "aaaa-shop-txt", "cname-docs-txt", "a-wild-txt.any"}},
		"template":           {prefix: "%{record_type}-own.", records: []string{"a-own.shop", "aaaa-own.shop", "cname-own.docs", "a-own.*.any"}},
		"before 0.12":        {prefix: "own-", records: []string{"own-shop", "own-docs", "own-*.any"}, writes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(w *Fixture, put func(*dns.RecordSet)) {
				w.Prefix, w.Suffix, w.Wildcard = test.prefix, test.suffix, test.wildcard
				put(Set("shop.shop.test", "A", "192.0.2.2,192.0.2.1", "ttl=300"))
				put(Set("shop.shop.test", "AAAA", "2001:db8::1", "ttl=60"))
				put(Set("docs.shop.test", "CNAME", "pages.example.net", "ttl=300"))
				put(Set("*.any.shop.test", "A", "192.0.2.3", "ttl=300"))
				put(Set("shop.test", "TXT", `"v=spf1 -all"`, "ttl=300"))
				for _, name := range test.records {
					r := Set(name+".shop.test", "TXT", "", "ttl=300")
					r.Targets = []string{`"heritage=external-dns,external-dns/owner=me,external-dns/resource=service/default/web"`}
					put(r)
				}
				w.Settle(
					test.writes, Set("shop.shop.test", "A", "192.0.2.1,192.0.2.2"), Set("shop.shop.test", "AAAA", "2001:db8:0::1", "ttl=60"),
					Set("docs.shop.test", "CNAME", "pages.example.net"), Set("*.any.shop.test", "A", "192.0.2.3"),
				)
			})
		})
	}
}

// CheckLostAnswers checks changes in the zone shop.test whose request fails once, with each of some
// faults: if it had its effect, and only its answer was lost, it is done; otherwise it is sent
// again. with runs a check with a new fixture and the control of its server.
func CheckLostAnswers[C apitest.Call, F any](t *testing.T, faults map[string]*F, with func(t *testing.T, check func(*Fixture, *apitest.Control[C, F]))) {
	for name, fault := range faults {
		for _, made := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, made %t", name, made), func(t *testing.T) {
				with(t, func(w *Fixture, control *apitest.Control[C, F]) {
					fail, requests := control.FailOnce, 2
					if made {
						fail, requests = control.LoseOnce, 1
					}
					for _, step := range [][]*dns.RecordSet{
						{Set("a.shop.test", "A", "192.0.2.1,192.0.2.2"), Set("b.shop.test", "CNAME", "lb.example.net")},
						{Set("a.shop.test", "A", "192.0.2.1"), Set("b.shop.test", "A", "192.0.2.7")},
						{Set("a.shop.test", "A", "192.0.2.9"), Set("b.shop.test", "A", "192.0.2.7,192.0.2.8")},
						nil,
					} {
						fail(fault, func(call C) bool { return w.Writes(call.Op()) })
						w.Settle(requests, step...)
					}
					if w.Server.Refused() > 0 || w.Count() > 0 {
						w.T.Errorf("%d requests were refused, and %v is left", w.Server.Refused(), w.Lines())
					}
				})
			})
		}
	}
}

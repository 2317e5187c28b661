package libdns_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	lib "github.com/libdns/libdns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/libdns/module"
	"github.com/signpostd/signpost/testkit/libdnstest"
)

// settings are what SetRecords can be good for.
var settings = map[string]module.Replacing{"sets nothing": module.NotReplacing, "sets with gap": module.ReplacingWithGap, "sets at once": module.ReplacingAtOnce}

// latency is how long calls take where time is fake.
const latency = 20 * time.Millisecond

// each runs a test with fake time for each of the settings, with a service that has an empty zone.
func each(t *testing.T, test func(t *testing.T, s *libdnstest.Service, m module.Module)) {
	for name, setting := range settings {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := libdnstest.NewService(zoneName)
				s.Delay = latency
				test(t, s, s.Module(setting))
			})
		})
	}
}

func expect(t *testing.T, s *libdnstest.Service, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, s.Records(zoneName)); diff != "" {
		t.Fatalf("the zone has (-want +got):\n%s", diff)
	}
}

// failing returns an error for the records that a function is true for, once or always.
func failing(err error, times int, which func(method string, rr lib.RR) bool) func(string, lib.RR) error {
	return func(method string, rr lib.RR) error {
		if times == 0 || !which(method, rr) {
			return nil
		}
		times--
		return err
	}
}

const (
	ours   = "heritage=external-dns,external-dns/owner=me"
	always = -1
)

// A module that can't list zones needs --libdns-zone (LD1).
func TestLD1ZonesMustBeNamed(t *testing.T) {
	s := libdnstest.NewService(zoneName)
	c := configure(t, s.WithoutListing(module.ReplacingAtOnce), `{"token": "secret-token"}`)
	if _, err := c.Open(t.Context(), input()); err == nil || !strings.Contains(err.Error(), "--libdns-zone") {
		t.Fatalf("Open without zones: %v", err)
	}
	p := open(t, input(), s.WithoutListing(module.ReplacingAtOnce), "Shop.Test.", "shop.test")
	zones, err := p.Zones(t.Context())
	if diff := cmp.Diff([]dns.Zone{zone}, zones); diff != "" || err != nil {
		t.Fatalf("Zones: %v (-want +got):\n%s", err, diff)
	}
}

// The ownership record is made first. If the record fails, it stays, and the next cycle makes the
// record alone (LD2).
func TestLD2OwnershipRecordFirst(t *testing.T) {
	each(t, func(t *testing.T, s *libdnstest.Service, m module.Module) {
		p := open(t, input(), m)
		www, note := set("www", dns.TypeA, 300, "192.0.2.1"), ownershipRecord("www", ours)
		s.Fail = failing(errors.New("boom"), 1, func(_ string, rr lib.RR) bool { return rr.Type == dns.TypeA })
		err := p.Apply(t.Context(), zone, []dns.Change{{New: www}, {New: note}})
		if err == nil || errors.Is(err, provider.ErrRejected) {
			t.Fatalf("Apply: %v, want an error that says nothing", err)
		}
		expect(t, s, "a-www TXT 300 "+ours)
		s.Calls()
		if err := p.Apply(t.Context(), zone, []dns.Change{{New: www}}); err != nil {
			t.Fatal(err)
		}
		if calls := writes(s); len(calls) != 1 || calls[0].Records[0].Type != dns.TypeA {
			t.Fatalf("the second cycle writes %v", calls)
		}
		expect(t, s, "a-www TXT 300 "+ours, "www A 300 192.0.2.1")
	})
}

// LD2, §0.2: on the way out the record goes first, and if that fails, its ownership record stays.
func TestLD2RecordGoesFirst(t *testing.T) {
	each(t, func(t *testing.T, s *libdnstest.Service, m module.Module) {
		p := open(t, input(), m)
		www, note := set("www", dns.TypeA, 300, "192.0.2.1"), ownershipRecord("www", ours)
		if err := p.Apply(t.Context(), zone, []dns.Change{{New: www}, {New: note}}); err != nil {
			t.Fatal(err)
		}
		s.Fail = failing(errors.New("boom"), 1, func(method string, _ lib.RR) bool { return method == "DeleteRecords" })
		gone := []dns.Change{{Old: note}, {Old: www}}
		if err := p.Apply(t.Context(), zone, gone); err == nil {
			t.Fatal("Apply: no error")
		}
		expect(t, s, "a-www TXT 300 "+ours, "www A 300 192.0.2.1")
		if err := p.Apply(t.Context(), zone, gone); err != nil {
			t.Fatal(err)
		}
		expect(t, s)
	})
}

// No field is empty in what DeleteRecords is given. If the module lists no TTL, nothing is deleted
// at all (LD3).
func TestLD3DeletesAreExact(t *testing.T) {
	each(t, func(t *testing.T, s *libdnstest.Service, m module.Module) {
		p := open(t, input(), m)
		one, two := set("www", dns.TypeA, 300, "192.0.2.1", "192.0.2.2"), set("www", dns.TypeA, 60, "192.0.2.2", "192.0.2.3")
		aaaa := set("www", dns.TypeAAAA, 300, "2001:db8::1")
		for _, changes := range [][]dns.Change{{{New: one}, {New: aaaa}}, {{Old: one, New: two}}, {{Old: two}}} {
			if err := p.Apply(t.Context(), zone, changes); err != nil {
				t.Fatal(err)
			}
		}
		deleted := 0
		for _, c := range writes(s) {
			for _, rr := range c.Records {
				if c.Method == "DeleteRecords" {
					deleted++
				}
				if rr.Name == "" || rr.Type == "" || rr.TTL == 0 || rr.Data == "" {
					t.Errorf("%s is given %+v", c.Method, rr)
				}
			}
		}
		if deleted == 0 {
			t.Error("nothing was deleted")
		}
		s.Faults.HidesTTL = true
		if err := p.Apply(t.Context(), zone, []dns.Change{{Old: aaaa}}); !errors.Is(err, provider.ErrRejected) {
			t.Errorf("delete what is listed without a TTL: %v, want ErrRejected", err)
		}
		expect(t, s, "www AAAA 300 2001:db8::1")
	})
}

// An error after some of the values were appended, with and without an AtomicErr, which says that
// nothing was changed. The others are appended, and none twice (LD4).
func TestLD4PartialAppend(t *testing.T) {
	for _, atomic := range []bool{false, true} {
		each(t, func(t *testing.T, s *libdnstest.Service, m module.Module) {
			s.Faults.Atomic = atomic
			p := open(t, input(), m)
			www, note := set("www", dns.TypeA, 300, "192.0.2.1", "192.0.2.2", "192.0.2.3"), ownershipRecord("www", ours)
			s.Fail = failing(errors.New("boom"), 1, func(_ string, rr lib.RR) bool { return rr.Data == "192.0.2.2" })
			if err := p.Apply(t.Context(), zone, []dns.Change{{New: note}, {New: www}}); err != nil {
				t.Fatal(err)
			}
			expect(t, s, "a-www TXT 300 "+ours, "www A 300 192.0.2.1", "www A 300 192.0.2.2", "www A 300 192.0.2.3")
		})
	}
}

// If the others can't be appended, those that were are taken back. A set that is half made would
// seem to be somebody else's. The ownership record is for the next cycle (LD4).
func TestLD4PartialAppendIsTakenBack(t *testing.T) {
	each(t, func(t *testing.T, s *libdnstest.Service, m module.Module) {
		p := open(t, input(), m)
		www, note := set("www", dns.TypeA, 300, "192.0.2.1", "192.0.2.2"), ownershipRecord("www", ours)
		s.Fail = failing(errors.New("boom"), always, func(method string, rr lib.RR) bool { return rr.Data == "192.0.2.2" && method != "DeleteRecords" })
		if err := p.Apply(t.Context(), zone, []dns.Change{{New: note}, {New: www}}); err == nil {
			t.Fatal("Apply: no error")
		}
		expect(t, s, "a-www TXT 300 "+ours)
		s.Fail = nil
		if err := p.Apply(t.Context(), zone, []dns.Change{{New: www}}); err != nil {
			t.Fatal(err)
		}
		expect(t, s, "a-www TXT 300 "+ours, "www A 300 192.0.2.1", "www A 300 192.0.2.2")
	})
}

// A CNAME isn't made beside records of others, nor others beside a CNAME. Nothing of it is made,
// and others go on (LD6).
func TestLD6CNAMEBesideOthers(t *testing.T) {
	each(t, func(t *testing.T, s *libdnstest.Service, m module.Module) {
		s.Put(zoneName, lib.RR{Name: "text", Type: "TXT", TTL: time.Minute, Data: "hers"})
		s.Put(zoneName, lib.RR{Name: "caa", Type: "CAA", TTL: time.Minute, Data: `0 issue "ca.example"`})
		s.Put(zoneName, lib.RR{Name: "alias", Type: "CNAME", TTL: time.Minute, Data: "lb.example.net."})
		p := open(t, input(), m)
		changes := []dns.Change{
			{New: set("text", dns.TypeCNAME, 300, "lb.example.net")},
			{New: ownershipRecord("text", ours)},
			{New: set("caa", dns.TypeCNAME, 300, "lb.example.net")},
			{New: ownershipRecord("caa", ours)},
			{New: set("alias", dns.TypeA, 300, "192.0.2.1")},
			{New: ownershipRecord("alias", ours)},
			{New: set("www", dns.TypeA, 300, "192.0.2.1")},
			{New: ownershipRecord("www", ours)},
		}
		err := p.Apply(t.Context(), zone, changes)
		var each *provider.ApplyError
		if !errors.As(err, &each) {
			t.Fatalf("Apply: %v, want an ApplyError", err)
		}
		for i, err := range each.Errs {
			if errors.Is(err, provider.ErrRejected) != (i < 6) {
				t.Errorf("the error of %s: %v", changes[i].New.Name, err)
			}
		}
		expect(t, s, "a-www TXT 300 "+ours, "alias CNAME 60 lb.example.net.", `caa CAA 60 0 issue "ca.example"`, "text TXT 60 hers", "www A 300 192.0.2.1")
	})
}

// One record that the service refuses doesn't keep others from being made. The error of a module is
// only a text, so the publisher halves the batch; here it has been halved already.
func TestOneRefused(t *testing.T) {
	each(t, func(t *testing.T, s *libdnstest.Service, m module.Module) {
		p := open(t, input(), m)
		s.Fail = failing(errors.New("never"), always, func(_ string, rr lib.RR) bool { return rr.Name == "bad" })
		bad := []dns.Change{{New: set("bad", dns.TypeA, 300, "192.0.2.1")}}
		for n := 1; n <= 5; n++ {
			if err := p.Apply(t.Context(), zone, bad); err == nil || errors.Is(err, provider.ErrRejected) != (n == 5) {
				t.Fatalf("failure %d: %v", n, err)
			}
		}
	})
}

// §7: texts about too many requests say when to come back. Nothing was made.
func TestThrottledTexts(t *testing.T) {
	synctest.Test(t, testThrottledTexts)
}

func testThrottledTexts(t *testing.T) {
	for text, after := range map[string]time.Duration{
		"status 429":                              time.Minute,
		"Too Many Requests, Retry-After: 17":      17 * time.Second,
		"rate limit exceeded":                     time.Minute,
		"Throttling.User: retry after 5s":         5 * time.Second,
		"the record has the value 192.0.2.42 9":   0,
		"corporate rates differ, ratelessness":    0,
		`got "429 Too Many"; retry_after=30, bye`: 30 * time.Second,
	} {
		s := libdnstest.NewService(zoneName)
		p := open(t, input(), s.Module(module.ReplacingAtOnce))
		s.Fail = failing(errors.New(text), always, func(method string, _ lib.RR) bool { return method != "GetRecords" })
		err := p.Apply(t.Context(), zone, []dns.Change{{New: set("www", dns.TypeA, 300, "192.0.2.1")}, {New: ownershipRecord("www", ours)}})
		throttled, ok := errors.AsType[*provider.ThrottledError](err)
		if ok != (after > 0) || ok && throttled.After != after {
			t.Errorf("%q: %v, want a pause of %v", text, err, after)
		}
	}
}

// Services that store texts in lower case, or make one of several values, can't keep ownership.
// What was made is taken back as far as that is safe, and the change is refused.
func TestAlteredValues(t *testing.T) {
	each(t, func(t *testing.T, s *libdnstest.Service, m module.Module) {
		p := open(t, input(), m)
		s.Faults = libdnstest.Faults{LowerCase: true}
		loud := ownershipRecord("www", ours+",external-dns/resource=Service")
		err := p.Apply(t.Context(), zone, []dns.Change{{New: set("www", dns.TypeA, 300, "192.0.2.1")}, {New: loud}})
		if !errors.Is(err, provider.ErrRejected) {
			t.Fatalf("texts in lower case: %v, want ErrRejected", err)
		}
		expect(t, s)
		s.Faults = libdnstest.Faults{Merges: true}
		err = p.Apply(t.Context(), zone, []dns.Change{{New: set("text", dns.TypeTXT, 300, `"one"`, `"two"`)}, {New: ownershipRecord("text", ours)}})
		if !errors.Is(err, provider.ErrRejected) {
			t.Fatalf("merged values: %v, want ErrRejected", err)
		}
		expect(t, s, "text TXT 300 one two")
		// Nothing but the text can tell whose it is. It has no ownership record, so it is nobody's.
	})
}

// A module that says that it appended records, and didn't, is found out.
func TestSilentFailure(t *testing.T) {
	each(t, func(t *testing.T, s *libdnstest.Service, m module.Module) {
		p := open(t, input(), m)
		s.Faults.Silent = true
		s.Fail = failing(errors.New("boom"), always, func(_ string, rr lib.RR) bool { return rr.Type == dns.TypeA })
		if err := p.Apply(t.Context(), zone, []dns.Change{{New: set("www", dns.TypeA, 300, "192.0.2.1")}}); err == nil {
			t.Fatal("Apply says that it made what isn't there")
		}
	})
}

// Listings that lag behind are looked at again.
func TestLaggingListings(t *testing.T) {
	each(t, func(t *testing.T, s *libdnstest.Service, m module.Module) {
		p := open(t, input(), m)
		s.Lag = 3 * time.Second
		one, two := set("www", dns.TypeA, 300, "192.0.2.1"), set("www", dns.TypeA, 300, "192.0.2.2")
		for i, c := range []dns.Change{{New: one}, {Old: one, New: two}, {Old: two}} {
			if err := p.Apply(t.Context(), zone, []dns.Change{c}); err != nil {
				t.Fatalf("change %d: %v", i, err)
			}
		}
		expect(t, s)
	})
}

// No name is without records while its values change, unless a CNAME or a TTL changes.
func TestValuesChangeWithoutGap(t *testing.T) {
	each(t, func(t *testing.T, s *libdnstest.Service, m module.Module) {
		p := open(t, input(), m)
		one, two := set("www", dns.TypeA, 300, "192.0.2.1"), set("www", dns.TypeA, 300, "192.0.2.2")
		if err := p.Apply(t.Context(), zone, []dns.Change{{New: one}}); err != nil {
			t.Fatal(err)
		}
		s.Calls()
		if err := p.Apply(t.Context(), zone, []dns.Change{{Old: one, New: two}}); err != nil {
			t.Fatal(err)
		}
		if calls := writes(s); calls[0].Method == "DeleteRecords" {
			t.Fatalf("the values go before others come: %v", calls)
		}
	})
}

// A dry run changes nothing, whatever the module sends with. A cancelled context stops all calls.
func TestDryRun(t *testing.T) {
	s := libdnstest.NewService(zoneName)
	in := input()
	in.DryRun = true
	p := open(t, in, s.Module(module.ReplacingAtOnce))
	err := p.Apply(t.Context(), zone, []dns.Change{{New: set("www", dns.TypeA, 300, "192.0.2.1")}})
	if calls := writes(s); !errors.Is(err, provider.ErrDryRun) || len(calls) > 0 {
		t.Fatalf("Apply: %v, and the calls %v", err, calls)
	}
}

// Secrets are in no error, also if the module shows them.
func TestSecretsAreNotShown(t *testing.T) {
	s := libdnstest.NewService(zoneName)
	s.Token = "another"
	p := open(t, input(), s.Module(module.ReplacingAtOnce))
	if _, err := p.Records(t.Context(), zone); err == nil || strings.Contains(err.Error(), "secret-token") || !strings.Contains(err.Error(), "[...]") {
		t.Fatalf("Records: %v", err)
	}
	s.Token = "secret-token"
	s.Fail = failing(errors.New(strings.Repeat("x", 1<<20)+"\n"), 1, func(string, lib.RR) bool { return true })
	if _, err := p.Records(t.Context(), zone); err == nil || len(err.Error()) > 1000 || strings.Contains(err.Error(), "\n") {
		t.Fatalf("Records: an error of %d bytes", len(fmt.Sprint(err)))
	}
}

// panicking is a module that panics.
type panicking struct{ libdnstest.Client }

func (panicking) GetRecords(context.Context, string) ([]lib.Record, error) { panic("boom") }

// A panic of a module is an error.
func TestPanic(t *testing.T) {
	m := module.Module{Name: "panicking", New: func() module.Client { return &panicking{} }, Types: []string{dns.TypeA}}
	p := open(t, input(), m, zoneName)
	if _, err := p.Records(t.Context(), zone); err == nil || !strings.Contains(err.Error(), "panic") {
		t.Fatalf("Records: %v", err)
	}
}

// A TTL that the service raises is learned, and noted once (LD5).
func TestLD5LearnedTTL(t *testing.T) {
	each(t, func(t *testing.T, s *libdnstest.Service, m module.Module) {
		s.Faults.MinTTL = 10 * time.Minute
		var log bytes.Buffer
		in := input()
		in.Log = slog.New(slog.NewTextHandler(&log, nil))
		p := open(t, in, m)
		adjust := func(r *dns.RecordSet) *dns.RecordSet {
			answers, err := p.(provider.Adjuster).Adjust(t.Context(), zone, []*dns.RecordSet{r})
			if err != nil || answers[0].Err != nil {
				t.Fatal(err, answers[0].Err)
			}
			return answers[0].Sets[0]
		}
		one, other := set("one", dns.TypeA, 60, "192.0.2.1"), set("other", dns.TypeA, 60, "192.0.2.1")
		if err := p.Apply(t.Context(), zone, []dns.Change{{New: adjust(one)}, {New: adjust(other)}}); err != nil {
			t.Fatal(err)
		}
		if got := adjust(one).TTL; got != 600 {
			t.Fatalf("the TTL is adjusted to %d, and 600 is listed", got)
		}
		// Somebody asks for another TTL, which comes out as the same one.
		changed := adjust(set("one", dns.TypeA, 120, "192.0.2.1"))
		if err := p.Apply(t.Context(), zone, []dns.Change{{Old: adjust(one), New: changed}}); err != nil {
			t.Fatal(err)
		}
		if got := adjust(changed).TTL; got != 600 {
			t.Fatalf("the TTL of 120 is adjusted to %d", got)
		}
		if n := strings.Count(log.String(), "another TTL"); n != 2 {
			t.Fatalf("two TTLs were learned, and %d noted:\n%s", n, &log)
		}
	})
}

// A failed write teaches nothing about TTLs: the zone may show what an earlier write made (LD5).
func TestLD5NothingLearnedFromAFailure(t *testing.T) {
	each(t, func(t *testing.T, s *libdnstest.Service, m module.Module) {
		p := open(t, input(), m)
		s.Fail = func(method string, rr lib.RR) error {
			if method == "GetRecords" {
				return nil
			}
			s.Put(zoneName, lib.RR{Name: "www", Type: dns.TypeA, TTL: 5 * time.Minute, Data: "192.0.2.1"})
			return errors.New("status 500: " + rr.Name)
		}
		wanted := set("www", dns.TypeA, 60, "192.0.2.1")
		// The zone has the wanted values, so there may be no error.
		_ = p.Apply(t.Context(), zone, []dns.Change{{New: wanted}})
		answers, err := p.(provider.Adjuster).Adjust(t.Context(), zone, []*dns.RecordSet{wanted})
		if err != nil || answers[0].Err != nil || answers[0].Sets[0].TTL != 60 {
			t.Errorf("after a failed write, Adjust returns %v, %v; want the TTL 60", answers, err)
		}
	})
}

// An ownership record with another TTL and text gets the new text before it loses the old one, so that
// it is never missing.
func TestOwnershipRecordKeepsTTLRatherThanAGap(t *testing.T) {
	each(t, func(t *testing.T, s *libdnstest.Service, m module.Module) {
		p := open(t, input(), m)
		s.Put(zoneName, lib.RR{Name: "a-www", Type: dns.TypeTXT, TTL: time.Hour, Data: ours})
		old := ownershipRecord("www", ours)
		old.TTL = 3600
		updated := ownershipRecord("www", ours+",external-dns/resource=service/default/web")
		s.After = func(string, lib.RR) error {
			if !slices.ContainsFunc(s.Peek(zoneName), func(rr lib.RR) bool { return rr.Name == "a-www" }) {
				t.Errorf("%v leaves no ownership record", s.Calls())
			}
			return nil
		}
		if err := p.Apply(t.Context(), zone, []dns.Change{{Old: old, New: updated}}); err != nil {
			t.Error(err)
		}
		if got := s.Records(zoneName); len(got) != 1 || !strings.Contains(got[0], "resource=service") {
			t.Errorf("the zone has %v, want the new text", got)
		}
	})
}

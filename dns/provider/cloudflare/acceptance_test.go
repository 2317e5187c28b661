package cloudflare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/apitest"
	"github.com/signpostd/signpost/testkit/cloudflaretest"
	"github.com/signpostd/signpost/testkit/providertest"
	"github.com/signpostd/signpost/testkit/publishertest"
)

// The plans of zones, and how many operations a batch of a free one has.
const (
	free       = cloudflaretest.Free
	paid       = cloudflaretest.Pro
	enterprise = cloudflaretest.Enterprise
	freeBatch  = 200
)

// Records and their ownership records are created, changed and removed in one batch each, and a second run
// changes nothing (CF1, CF2, CF3, CF4 of spec/clouds.md).
func TestPlainRecords(t *testing.T) {
	withFixture(t, free, func(w *fixture) {
		w.Settle(1, want("a.shop.test", "A", "192.0.2.1"), want("a.shop.test", "AAAA", "2001:db8::1", "ttl=60"), want("c.shop.test", "CNAME", "lb.example.net", "ttl=120"))
		w.Expect("a A 192.0.2.1", "a AAAA 2001:db8::1 ttl=60", "c CNAME lb.example.net ttl=120")
		if w.OwnershipRecords() != 3 {
			t.Errorf("%d ownership records, want 3", w.OwnershipRecords())
		}
		id := w.server.Get(w.zone, "a.shop.test", "A").ID
		w.Settle(1, want("a.shop.test", "A", "192.0.2.2,192.0.2.3"), want("a.shop.test", "AAAA", "2001:db8::1", "ttl=90"), want("c.shop.test", "CNAME", "lb2.example.net", "ttl=120"))
		w.Expect("a A 192.0.2.2", "a A 192.0.2.3", "a AAAA 2001:db8::1 ttl=90", "c CNAME lb2.example.net ttl=120")
		if now := w.server.Get(w.zone, "a.shop.test", "A").ID; now != id {
			t.Errorf("the record has the ID %s, had %s", now, id)
		}
		w.Settle(1, want("a.shop.test", "A", "192.0.2.3"), want("c.shop.test", "CNAME", "lb2.example.net", "ttl=120"))
		w.Expect("a A 192.0.2.3", "c CNAME lb2.example.net ttl=120")
		w.Gone(1)
	})
}

// Wildcards, the apex, names with underscores or capital letters (CF4 of spec/clouds.md).
func TestNames(t *testing.T) {
	withFixture(t, free, func(w *fixture) {
		w.Prefix = "%{record_type}-."
		w.Settle(1, want("*.shop.test", "A", "192.0.2.1"), want("shop.test", "A", "192.0.2.2"), want("_x._tcp.shop.test", "CNAME", "lb.example.net"), want("CamelCase.shop.test", "A", "192.0.2.3"))
		w.Expect("* A 192.0.2.1", "shop.test A 192.0.2.2", "_x._tcp CNAME lb.example.net", "camelcase A 192.0.2.3")
		w.Gone(1)
	})
}

// Proxied by annotation and by flag. The TTL doesn't matter then (CF5 of spec/clouds.md).
func TestProxied(t *testing.T) {
	withFixture(t, free, func(w *fixture) {
		w.Settle(1, want("a.shop.test", "A", "192.0.2.1", "proxied=true", "ttl=300"), want("b.shop.test", "A", "192.0.2.1", "proxied=true"), want("c.shop.test", "A", "192.0.2.1", "proxied=perhaps"))
		w.Expect("a A 192.0.2.1 proxied", "b A 192.0.2.1 proxied", "c A 192.0.2.1")
		w.arguments = []string{"--cloudflare-proxied"}
		w.Settle(1, want("a.shop.test", "A", "192.0.2.1", "ttl=600"), want("b.shop.test", "A", "192.0.2.1", "proxied=false"), want("c.shop.test", "A", "192.0.2.1", "proxied=perhaps"))
		w.Expect("a A 192.0.2.1 proxied", "b A 192.0.2.1", "c A 192.0.2.1 proxied")
		for _, r := range w.server.Records(w.zone) {
			if isText(r) && r.Proxied {
				t.Errorf("%s is proxied", r.Name)
			}
		}
		w.Gone(1)
	})
}

// If one of three values is no longer as the others, it is repaired, and only it (CF5 of spec/clouds.md).
func TestDrift(t *testing.T) {
	drifts := map[string]func(r *cloudflaretest.Record){
		"proxied": func(r *cloudflaretest.Record) { r.Proxied, r.TTL = true, 1 },
		"TTL":     func(r *cloudflaretest.Record) { r.TTL = 900 },
		"comment": func(r *cloudflaretest.Record) { comment := "x"; r.Comment = &comment },
		"value":   func(r *cloudflaretest.Record) { r.Content = "192.0.2.9" },
	}
	for name, drift := range drifts {
		t.Run(name, func(t *testing.T) {
			withFixture(t, paid, func(w *fixture) {
				three := want("a.shop.test", "A", "192.0.2.1,192.0.2.2,192.0.2.3", "ttl=300")
				w.Settle(1, three)
				for i := range 3 {
					rows := slices.DeleteFunc(w.server.Records(w.zone), isText)
					drift(&rows[i])
					w.server.Put(w.zone, rows[i])
					w.Settle(1, three)
					w.Expect("a A 192.0.2.1 ttl=300", "a A 192.0.2.2 ttl=300", "a A 192.0.2.3 ttl=300")
				}
				if n := len(w.server.Records(w.zone)); n != 4 {
					t.Errorf("%d records", n)
				}
			})
		})
	}
}

// The other types, with and without dots at the ends of names (CF6 of spec/clouds.md).
func TestOtherTypes(t *testing.T) {
	withFixture(t, free, func(w *fixture) {
		w.Managed = handled
		for _, dot := range []string{"", "."} {
			w.Settle(1-len(dot),
				want("m.shop.test", "MX", "10 mx1.example.net"+dot+",20 mx2.example.net"+dot), want("n.shop.test", "NS", "ns1.example.net"+dot), want("_s._tcp.shop.test", "SRV", "1 2 80 sip.example.net."),
				want("t.shop.test", "TXT", `"one" "two"`), want("u.shop.test", "TXT", `v=spf1 -all`), want("l.shop.test", "TXT", `"`+strings.Repeat("x", 300)+`"`))
		}
		w.Expect("m MX 10 mx1.example.net", "m MX 20 mx2.example.net", "n NS ns1.example.net", "_s._tcp SRV 1 2 80 sip.example.net", `t TXT "one" "two"`, `u TXT "v=spf1 -all"`,
			`l TXT "`+strings.Repeat("x", 255)+`" "`+strings.Repeat("x", 45)+`"`)
		// What changes and what goes are batches of their own.
		w.Settle(2, want("m.shop.test", "MX", "15 mx1.example.net,20 mx2.example.net"), want("n.shop.test", "NS", "ns2.example.net"), want("_s._tcp.shop.test", "SRV", "1 2 81 sip.example.net.,2 2 80 sip2.example.net."),
			want("t.shop.test", "TXT", `"one two"`))
		w.Expect("m MX 15 mx1.example.net", "m MX 20 mx2.example.net", "n NS ns2.example.net", "_s._tcp SRV 1 2 81 sip.example.net", "_s._tcp SRV 2 2 80 sip2.example.net", `t TXT "one two"`)
		w.Gone(1)
	})
}

// Comments by flag and annotation, which are cut to what the plan allows (CF7 of spec/clouds.md).
func TestComments(t *testing.T) {
	long := strings.Repeat("ä", 54) + "x"
	withFixture(t, free, func(w *fixture) {
		w.arguments = []string{"--cloudflare-record-comment=by default"}
		w.Settle(1, want("a.shop.test", "A", "192.0.2.1"), want("b.shop.test", "A", "192.0.2.1", "record-comment=mine\n"), want("c.shop.test", "A", "192.0.2.1", "record-comment="+long))
		w.Expect("a A 192.0.2.1 (by default)", "b A 192.0.2.1 (mine)", "c A 192.0.2.1 ("+strings.Repeat("ä", 50)+")")
		if ownership := w.server.Get(w.zone, "a-b.shop.test", "TXT"); ownership.Comment == nil || *ownership.Comment != "mine" {
			t.Errorf("the ownership record has the comment %v", ownership.Comment)
		}
		if !strings.Contains(w.log.String(), "The comment is longer") {
			t.Error("no warning that a comment was cut")
		}
		w.Settle(1, want("a.shop.test", "A", "192.0.2.1", "record-comment="), want("b.shop.test", "A", "192.0.2.1", "record-comment=ours"), want("c.shop.test", "A", "192.0.2.1", "record-comment=c"))
		w.Expect("a A 192.0.2.1", "b A 192.0.2.1 (ours)", "c A 192.0.2.1 (c)")
	})
	withFixture(t, paid, func(w *fixture) {
		w.Settle(1, want("c.shop.test", "A", "192.0.2.1", "record-comment="+long))
		w.Expect("c A 192.0.2.1 (" + long + ")")
	})
}

// Tags on a paid zone; a free one publishes without. A difference of an ownership record alone is no reason
// for a change (CF8 of spec/clouds.md).
func TestTags(t *testing.T) {
	withFixture(t, paid, func(w *fixture) {
		w.Settle(1, want("a.shop.test", "A", "192.0.2.1", "tags= team:web , Env:Live,"))
		w.Expect("a A 192.0.2.1 env:Live|team:web")
		ownership := w.server.Get(w.zone, "a-a.shop.test", "TXT")
		ownership.Tags = []string{"other:x"}
		w.server.Put(w.zone, *ownership)
		w.Settle(0, want("a.shop.test", "A", "192.0.2.1", "tags=env:Live,team:web"))
		w.Settle(1, want("a.shop.test", "A", "192.0.2.1"))
		w.Expect("a A 192.0.2.1")
		w.Gone(1)
	})
	withFixture(t, free, func(w *fixture) {
		w.Settle(1, want("a.shop.test", "A", "192.0.2.1", "tags=team:web"))
		w.Expect("a A 192.0.2.1")
		if n := strings.Count(w.log.String(), "has no tags"); n != 2 {
			t.Errorf("%d warnings in two processes, want 2", n)
		}
	})
}

// A TTL that is too low or too high becomes the lowest or highest one (CF9 of spec/clouds.md).
func TestTTL(t *testing.T) {
	for zonePlan, lowest := range map[string]string{free: "60", paid: "60", enterprise: "30"} {
		withFixture(t, zonePlan, func(w *fixture) {
			w.Settle(1, want("a.shop.test", "A", "192.0.2.1", "ttl=30"), want("b.shop.test", "A", "192.0.2.1", "ttl=1"), want("c.shop.test", "A", "192.0.2.1", "ttl=604800"))
			w.Expect("a A 192.0.2.1 ttl="+lowest, "b A 192.0.2.1", "c A 192.0.2.1 ttl=86400")
		})
	}
}

// A name that changes its type is there all the time, because deletion and creation are in one batch (CF10 of
// spec/clouds.md).
func TestTypeChanges(t *testing.T) {
	withFixture(t, free, func(w *fixture) {
		for _, next := range []*dns.RecordSet{
			want("a.shop.test", "A", "192.0.2.1,192.0.2.2"), want("a.shop.test", "CNAME", "lb.example.net"), want("a.shop.test", "AAAA", "2001:db8::1"), want("a.shop.test", "A", "192.0.2.1"),
		} {
			w.Settle(1, next)
		}
		w.Expect("a A 192.0.2.1")
	})
}

// One record that Cloudflare refuses, among 14 names, doesn't keep the others from being published, and
// nothing of it stays. The error says what Cloudflare says (CF11 of spec/clouds.md).
func TestOneRefused(t *testing.T) {
	withFixture(t, free, func(w *fixture) {
		w.server.SetHooks(cloudflaretest.Hooks{Before: func(c cloudflaretest.Call) *cloudflaretest.Fault {
			for _, p := range c.Changes.Posts {
				if p.Name != nil && *p.Name == "bad.shop.test" {
					return &cloudflaretest.Fault{Status: 400, Code: 1004, Message: "DNS Validation Error", CauseCode: 9003, Cause: "Target is not allowed for a proxied record."}
				}
			}
			return nil
		}})
		w.CheckOneRefused(13)
		if _, err := w.Run(w.Asked()...); err == nil || !strings.Contains(err.Error(), "9003 Target is not allowed") {
			t.Errorf("the error is %v", err)
		}
	})
}

// What others have made stays as it is, and their names get no other type. So do records that another product
// of Cloudflare keeps, even if their name was ours (CF12 of spec/clouds.md).
func TestUnownedRecords(t *testing.T) {
	withFixture(t, free, func(w *fixture) {
		w.Managed = handled
		w.Settle(1, want("d.shop.test", "A", "192.0.2.1"))
		for _, r := range []cloudflaretest.Record{
			{Name: "a.shop.test", Type: "A", Content: "203.0.113.1"},
			{Name: "b.shop.test", Type: "A", Content: "192.0.2.1"},
			{Name: "c.shop.test", Type: "A", Content: "203.0.113.2"},
			{Name: "a-c.shop.test", Type: "TXT", Content: `"heritage=external-dns,external-dns/owner=other"`},
			{Name: "d.shop.test", Type: "A", Content: "203.0.113.3", Meta: map[string]any{"read_only": true, "email_routing": true}},
			{Name: "e.shop.test", Type: "CAA", Content: `0 issue "ca.example.net"`},
		} {
			w.server.Put(w.zone, r)
		}
		before := fmt.Sprint(w.server.Records(w.zone))
		for range 2 {
			_, err := w.Run(want("a.shop.test", "A", "192.0.2.1"), want("a.shop.test", "AAAA", "2001:db8::1"), want("b.shop.test", "A", "192.0.2.1"), want("c.shop.test", "A", "192.0.2.1"), want("c.shop.test", "AAAA", "2001:db8::1"),
				want("d.shop.test", "A", "192.0.2.2"))
			if err == nil || !strings.Contains(err.Error(), "another product of Cloudflare") {
				t.Errorf("error %v", err)
			}
		}
		if after := fmt.Sprint(w.server.Records(w.zone)); after != before {
			t.Errorf("the zone has\n%v, had\n%v", after, before)
		}
	})
}

// A record that another product of Cloudflare keeps doesn't prevent other types of its name, which a CNAME
// would be in the way of.
func TestKeptRecordAlone(t *testing.T) {
	withFixture(t, free, func(w *fixture) {
		w.Managed = handled
		w.Settle(1, want("d.shop.test", "A", "192.0.2.1"), want("d.shop.test", "AAAA", "2001:db8::1"))
		for _, r := range w.server.Records(w.zone) {
			if r.Name == "d.shop.test" && r.Type == "A" {
				r.Meta = map[string]any{"read_only": true}
				w.server.Put(w.zone, r)
			}
		}
		for range 2 {
			_, err := w.Run(want("d.shop.test", "A", "192.0.2.2"), want("d.shop.test", "AAAA", "2001:db8::2"), want("d.shop.test", "TXT", "new"))
			if err == nil || !strings.Contains(err.Error(), "d.shop.test A: another product of Cloudflare") {
				t.Errorf("error %v", err)
			}
			w.Expect("d A 192.0.2.1", "d AAAA 2001:db8::2", `d TXT "new"`)
		}
		if _, err := w.Run(want("d.shop.test", "CNAME", "lb.example.net")); err == nil || !strings.Contains(err.Error(), "another product") {
			t.Errorf("a CNAME: %v", err)
		}
		w.Expect("d A 192.0.2.1", "d AAAA 2001:db8::2", `d TXT "new"`)
	})
}

// Many names take few batches, none larger than the plan allows, and no name is gone for a moment while its
// value changes (CF13 of spec/clouds.md).
func TestManyNames(t *testing.T) {
	withFixture(t, free, func(w *fixture) {
		w.server.SetHooks(cloudflaretest.Hooks{After: func(c cloudflaretest.Call) *cloudflaretest.Fault {
			if c.Changes.Size() > freeBatch {
				t.Errorf("a batch has %d operations", c.Changes.Size())
			}
			if n := len(w.has()); len(c.Changes.Patches) > 0 && n != 450 {
				t.Errorf("%d names", n)
			}
			return nil
		}})
		w.CheckManyNames(450, 5, 3, 5, 4)
	})
}

// If the second batch fails, no record is without its ownership record, and the next run completes (CF14 of
// spec/clouds.md).
func TestSecondBatchFails(t *testing.T) {
	for name, fault := range map[string]*cloudflaretest.Fault{"failed": cloudflaretest.Failed, "lost": cloudflaretest.Lost} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, free, func(w *fixture) {
				var wanted []*dns.RecordSet
				for i := range 150 {
					wanted = append(wanted, want(fmt.Sprintf("n%d.shop.test", i), "A", "192.0.2.1"))
				}
				batches, broken := 0, true
				w.server.SetHooks(cloudflaretest.Hooks{Before: func(c cloudflaretest.Call) *cloudflaretest.Fault {
					if c.Operation != cloudflaretest.Batch {
						return nil
					}
					if batches++; batches > 1 && broken {
						return fault
					}
					return nil
				}})
				if _, err := w.Run(wanted...); err == nil {
					t.Error("no error")
				}
				if n := len(w.has()); n != 100 || w.OwnershipRecords() != 100 {
					t.Errorf("%d records and %d ownership records, want 100 of each", n, w.OwnershipRecords())
				}
				broken = false
				w.Settle(1, wanted...)
			})
		})
	}
}

// What another writer changes after the names were read and before they are written is never written over, even if
// the requests take long.
func TestChangedMeanwhile(t *testing.T) {
	for name, test := range map[string]struct {
		// operation is the one in which the writer changes the record, once. after says that its response is made before.
		operation string
		after     bool
		takes     time.Duration
		fault     *cloudflaretest.Fault
	}{
		"throttled":        {operation: cloudflaretest.Batch, fault: cloudflaretest.Throttled(2 * time.Second)},
		"slow first batch": {operation: cloudflaretest.Batch, takes: maxReadAge},
		"slow reading":     {operation: cloudflaretest.ListRecords, after: true, takes: slowRead},
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, free, func(w *fixture) {
				id := w.server.Put(w.zone, cloudflaretest.Record{Name: "z.shop.test", Type: "A", Content: "192.0.2.1", TTL: 300})
				p := w.open()
				zones, err := p.Zones(w.T.Context())
				if err != nil {
					t.Fatal(err)
				}
				var changes []dns.Change
				for i := range freeBatch {
					changes = append(changes, dns.Change{New: want(fmt.Sprintf("n%d.shop.test", i), "A", "192.0.2.1")})
				}
				changes = append(changes, dns.Change{Old: want("z.shop.test", "A", "192.0.2.1", "ttl=300"), New: want("z.shop.test", "A", "192.0.2.2", "ttl=300")})
				once := true
				hook := func(after bool) func(cloudflaretest.Call) *cloudflaretest.Fault {
					return func(c cloudflaretest.Call) *cloudflaretest.Fault {
						if c.Operation != test.operation || after != test.after || !once {
							return nil
						}
						once = false
						w.server.Put(w.zone, cloudflaretest.Record{ID: id, Name: "z.shop.test", Type: "A", Content: "203.0.113.1", TTL: 300})
						time.Sleep(test.takes)
						return test.fault
					}
				}
				w.server.SetHooks(cloudflaretest.Hooks{Before: hook(false), After: hook(true)})
				each, whole := provider.Outcomes(p.Apply(w.T.Context(), zones[0], changes), len(changes))
				if len(each) == 0 {
					t.Fatalf("error %v", whole)
				}
				if !errors.Is(each[freeBatch], provider.ErrStale) || each[0] != nil {
					t.Errorf("error of the first name %v, of the changed name %v", each[0], each[freeBatch])
				}
				if got := w.server.Get(w.zone, "z.shop.test", "A"); got == nil || got.Content != "203.0.113.1" {
					t.Errorf("the record is %v", got)
				}
			})
		})
	}
}

// While Cloudflare goes on with throttling, or wants a long pause, Apply ends soon. If it lets nothing be read, no
// name is to blame.
func TestCannotSend(t *testing.T) {
	denied := &cloudflaretest.Fault{Status: 400, Code: 1004, Message: "Bad request"}
	for _, test := range []struct {
		operation string
		fault     *cloudflaretest.Fault
		tries     int
		takes     time.Duration
		want      error
	}{
		{cloudflaretest.Batch, cloudflaretest.Throttled(2 * time.Second), 1 + maxPauses, 10 * time.Second, provider.ErrThrottled},
		{cloudflaretest.Batch, cloudflaretest.Throttled(maxHold + time.Second), 1, time.Second, provider.ErrThrottled},
		{cloudflaretest.ListRecords, denied, 1, time.Second, provider.ErrUnread},
	} {
		withFixture(t, free, func(w *fixture) {
			p := w.open()
			zones, err := p.Zones(w.T.Context())
			if err != nil {
				t.Fatal(err)
			}
			tries := 0
			w.server.SetHooks(cloudflaretest.Hooks{Before: func(c cloudflaretest.Call) *cloudflaretest.Fault {
				if c.Operation != test.operation {
					return nil
				}
				tries++
				return test.fault
			}})
			begun := time.Now()
			err = p.Apply(w.T.Context(), zones[0], []dns.Change{{New: want("a.shop.test", "A", "192.0.2.1")}})
			if took := time.Since(begun); !errors.Is(err, test.want) || !provider.StopsAll(err) || tries != test.tries || took > test.takes {
				t.Errorf("%s: error %v after %d tries and %v", test.operation, err, tries, took)
			}
		})
	}
}

// pausing is a context whose Err takes time, so that fake time goes on in a loop that does nothing else.
type pausing struct{ context.Context }

// Err implements [context.Context].
func (p pausing) Err() error {
	time.Sleep(time.Millisecond)
	return p.Context.Err()
}

// A context that ends between two batches ends Apply at once.
func TestEndBetweenBatches(t *testing.T) {
	withFixture(t, free, func(w *fixture) {
		p := w.open()
		zones, err := p.Zones(w.T.Context())
		if err != nil {
			t.Fatal(err)
		}
		var changes []dns.Change
		for i := range 2 * freeBatch {
			changes = append(changes, dns.Change{New: want(fmt.Sprintf("n%d.shop.test", i), "A", "192.0.2.1")})
		}
		ctx, end := context.WithCancel(w.T.Context())
		var ended time.Time
		w.server.SetHooks(cloudflaretest.Hooks{After: func(c cloudflaretest.Call) *cloudflaretest.Fault {
			if c.Operation == cloudflaretest.Batch {
				// By then the response has arrived, and the names of the second batch are looked at.
				time.AfterFunc(freeBatch/2*time.Millisecond, func() {
					ended = time.Now()
					end()
				})
			}
			return nil
		}})
		err = p.Apply(pausing{ctx}, zones[0], changes)
		if took := time.Since(ended); !errors.Is(err, context.Canceled) || took > time.Second {
			t.Errorf("error %v, %v after the end", err, took)
		}
		if n := len(w.has()); n != freeBatch {
			t.Errorf("%d records, want %d", n, freeBatch)
		}
	})
}

// After a 429 with Retry-After, nothing is sent before that time, and the run succeeds (CF15 of
// spec/clouds.md).
func TestThrottled(t *testing.T) {
	for _, operation := range []string{cloudflaretest.Batch, cloudflaretest.ListRecords, cloudflaretest.ListZones} {
		withFixture(t, free, func(w *fixture) {
			var until time.Time
			failures := 0
			w.server.SetHooks(cloudflaretest.Hooks{Before: func(c cloudflaretest.Call) *cloudflaretest.Fault {
				if time.Now().Before(until) {
					t.Errorf("%s: a request for %s before the time", operation, c.Operation)
				}
				if c.Operation != operation || failures == 2 {
					return nil
				}
				failures++
				until = time.Now().Add(2 * time.Second)
				return cloudflaretest.Throttled(2 * time.Second)
			}})
			w.Publish(map[bool]int{true: 3, false: 1}[operation == cloudflaretest.Batch], want("a.shop.test", "A", "192.0.2.1"))
			w.Expect("a A 192.0.2.1")
		})
	}
}

// After a 429, another publisher with the same token sends nothing before that time either.
func TestPauseOfAnAccount(t *testing.T) {
	withFixture(t, free, func(w *fixture) {
		w.Accounts = new(provider.Accounts)
		var until time.Time
		w.server.SetHooks(cloudflaretest.Hooks{Before: func(c cloudflaretest.Call) *cloudflaretest.Fault {
			switch {
			case until.IsZero():
				until = time.Now().Add(10 * time.Second)
				return cloudflaretest.Throttled(10 * time.Second)
			case time.Now().Before(until):
				t.Errorf("a request for %s before the time", c.Operation)
			}
			return nil
		}})
		limited, end := context.WithTimeout(w.T.Context(), 5*time.Second)
		defer end()
		for range 2 {
			if _, err := w.open().Zones(limited); err == nil {
				t.Error("no error in the pause")
			}
		}
		if _, err := w.open().Zones(w.T.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A batch that was made, and whose answer was lost, is done. One that wasn't made is sent again (CF16 of
// spec/clouds.md).
func TestLostAnswer(t *testing.T) {
	faults := map[string]*cloudflaretest.Fault{"failed": cloudflaretest.Failed, "lost": cloudflaretest.Lost}
	publishertest.CheckLostAnswers(t, faults, func(t *testing.T, check func(*publishertest.Fixture, *apitest.Control[cloudflaretest.Call, cloudflaretest.Fault])) {
		withFixture(t, free, func(w *fixture) { check(w.Fixture, &w.server.Control) })
	})
}

// Nested zones, and filters of zones (CF17 of spec/clouds.md).
func TestZones(t *testing.T) {
	environment(t, "https://api.test/client/v4")
	server := cloudflaretest.New()
	shop := server.AddZone(cloudflaretest.Zone{Name: "shop.test"})
	twin := server.AddZone(cloudflaretest.Zone{ID: "00000000000000000000000000000000", Name: "shop.test", Pending: true})
	sub := server.AddZone(cloudflaretest.Zone{Name: "sub.shop.test"})
	other := server.AddZone(cloudflaretest.Zone{Name: "other.test"})
	for i := range 60 {
		server.AddZone(cloudflaretest.Zone{ID: fmt.Sprintf("%032x", 1<<20+i<<8), Name: fmt.Sprintf("many%d.test", i)})
	}
	for _, test := range []struct {
		domains, ids, names []string
		want                string
	}{
		{domains: []string{"shop.test"}, want: shop + " " + sub},
		{ids: []string{twin}, want: twin},
		{domains: []string{"sub.shop.test"}, want: sub},
		{domains: []string{"a.sub.shop.test"}, want: ""},
		{domains: []string{"a.shop.test"}, ids: []string{shop}, want: shop},
		{ids: []string{sub, shop}, want: shop + " " + sub},
		{ids: []string{sub, "ffffffffffffffffffffffffffffffff"}, want: sub},
		{ids: []string{"0" + strings.TrimLeft(other, "0")}, want: other},
		{domains: []string{"many59.test", "other.test"}, names: []string{"other.test"}, want: other},
	} {
		in := input()
		in.Domains, in.ZoneIDs, in.ZoneNames, in.Wrap = dns.NewDomainFilter(test.domains, nil), test.ids, test.names, providertest.Through(server.Transport())
		zones, err := open(t, in).Zones(t.Context())
		var ids []string
		for _, z := range zones {
			ids = append(ids, z.ID)
		}
		if got := strings.Join(ids, " "); err != nil || got != test.want {
			t.Errorf("%v: zones %s, %v, want %s", test, got, err, test.want)
		}
	}
	// A name in a zone that isn't managed isn't published to the one above.
	in := input()
	in.ZoneNames, in.Domains, in.Wrap = []string{"other.test"}, dns.NewDomainFilter([]string{"shop.test", "other.test"}, nil), providertest.Through(server.Transport())
	p := open(t, in)
	if p.DomainFilter(t.Context()).Match("a.other.test") {
		t.Error("before the zones are known, the filter passes names")
	}
	if _, err := p.Zones(t.Context()); err != nil {
		t.Fatal(err)
	}
	filter := p.DomainFilter(t.Context())
	if !filter.Match("a.other.test") || filter.Match("a.sub.shop.test") || filter.Match("a.shop.test") {
		t.Error("the filter passes names of zones that aren't managed")
	}
}

// A zone of --zone-id-filter that Cloudflare doesn't answer about for a moment stays as it is
// known, so that its names go neither unpublished nor to the zone above. One that Cloudflare
// refuses goes. Either is said.
func TestZoneOfFilterFails(t *testing.T) {
	environment(t, "https://api.test/client/v4")
	server := cloudflaretest.New()
	shop := server.AddZone(cloudflaretest.Zone{Name: "shop.test"})
	sub := server.AddZone(cloudflaretest.Zone{Name: "sub.shop.test", Plan: paid})
	in := input()
	in.ZoneIDs, in.Wrap = []string{shop, sub}, providertest.Through(server.Transport())
	p := open(t, in)
	list := func() string {
		t.Helper()
		zones, err := p.Zones(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, z := range zones {
			names = append(names, z.Name)
		}
		return strings.Join(names, " ")
	}
	all := "shop.test sub.shop.test"
	if got := list(); got != all || p.Unlisted() != nil {
		t.Fatalf("zones %s, unlisted %v", got, p.Unlisted())
	}
	before := p.Last().Get(sub)
	for name, test := range map[string]struct {
		fault *cloudflaretest.Fault
		want  string
	}{
		"a failure":   {cloudflaretest.Failed, all},
		"a lost one":  {cloudflaretest.Lost, all},
		"a refusal":   {&cloudflaretest.Fault{Status: 403, Code: 10000, Message: "Authentication error"}, "shop.test"},
		"a gone zone": {&cloudflaretest.Fault{Status: 404, Code: 7003, Message: "Could not route"}, "shop.test"},
	} {
		server.SetHooks(cloudflaretest.Hooks{Before: func(c cloudflaretest.Call) *cloudflaretest.Fault {
			if c.Operation == cloudflaretest.GetZone && c.Zone == sub {
				return test.fault
			}
			return nil
		}})
		for range 2 {
			if got := list(); got != test.want || p.Unlisted() == nil || !strings.Contains(p.Unlisted().Error(), sub) {
				t.Errorf("%s: zones %s, want %s; unlisted %v", name, got, test.want, p.Unlisted())
			}
		}
		if test.want == all && (p.Last().Get(sub) != before || !p.DomainFilter(t.Context()).Match("a.sub.shop.test")) {
			t.Errorf("%s: what is known of the zone is lost", name)
		}
		server.SetHooks(cloudflaretest.Hooks{})
		if got := list(); got != all || p.Unlisted() != nil {
			t.Errorf("after %s: zones %s, unlisted %v", name, got, p.Unlisted())
		}
		before = p.Last().Get(sub)
	}
}

// If the context ends between the zones of --zone-id-filter, the zones that weren't read aren't gone.
func TestEndBetweenZones(t *testing.T) {
	withFixture(t, free, func(w *fixture) {
		w.ids = []string{w.zone, w.server.AddZone(cloudflaretest.Zone{Name: "other.test"})}
		ctx, end := context.WithCancel(w.T.Context())
		w.server.SetHooks(cloudflaretest.Hooks{After: func(cloudflaretest.Call) *cloudflaretest.Fault {
			// By then the response has arrived.
			time.AfterFunc(time.Microsecond, end)
			return nil
		}})
		if zones, err := w.open().Zones(pausing{ctx}); !errors.Is(err, context.Canceled) {
			t.Errorf("zones %v, error %v", zones, err)
		}
	})
}

// A zone that may not be changed, or not be listed, doesn't keep the others from being published, and the
// error names the permission and the zone (CF17 of spec/clouds.md).
func TestZoneWithoutPermission(t *testing.T) {
	for _, operation := range []string{cloudflaretest.Batch, cloudflaretest.ListRecords} {
		withFixture(t, free, func(w *fixture) {
			locked := w.server.AddZone(cloudflaretest.Zone{Name: "locked.test"})
			w.server.Deny(operation, locked)
			w.CheckLockedZone(func() int { return len(w.server.Records(locked)) }, "DNS:Edit", "locked.test")
		})
	}
}

// With a wrong token there is one request. The error says so, and has no secret in it. A key and an e-mail
// address are as good as a token (CF17 of spec/clouds.md).
func TestCredentials(t *testing.T) {
	for name, test := range map[string]struct {
		token, key, email string
		ok                bool
	}{
		"token":         {token: cloudflaretest.Token, ok: true},
		"wrong token":   {token: "the-secret-of-somebody"},
		"short token":   {token: "secret"},
		"key":           {key: cloudflaretest.Key, email: cloudflaretest.Email, ok: true},
		"wrong key":     {key: "the-secret-of-somebody", email: cloudflaretest.Email},
		"wrong address": {key: cloudflaretest.Key, email: "other@example.net"},
	} {
		t.Run(name, func(t *testing.T) {
			server := start(t)
			t.Setenv("CF_API_TOKEN", test.token)
			t.Setenv("CF_API_KEY", test.key)
			t.Setenv("CF_API_EMAIL", test.email)
			sent := 0
			in := input()
			in.Wrap = providertest.Through(providertest.Counting(server.Transport(), &sent))
			_, err := open(t, in).Zones(t.Context())
			if test.ok != (err == nil) || !test.ok && !errors.Is(err, provider.ErrCredentials) || strings.Contains(fmt.Sprint(err), "secret") || sent != 1 {
				t.Errorf("%d requests, %v", sent, err)
			}
		})
	}
}

// Custom hostnames are created after their record, changed and removed before it. Those of others stay (CF18
// of spec/clouds.md).
func TestCustomHostnames(t *testing.T) {
	withFixture(t, paid, func(w *fixture) {
		w.arguments = []string{"--cloudflare-custom-hostnames", "--cloudflare-custom-hostnames-min-tls-version=1.2", "--cloudflare-custom-hostnames-certificate-authority=google"}
		w.server.PutHostname(w.zone, cloudflaretest.Hostname{Hostname: "hers.customer.io", Origin: "x.shop.test"})
		hostnames := func(want ...string) {
			t.Helper()
			var got []string
			for _, h := range w.server.Hostnames(w.zone) {
				got = append(got, h.Hostname+" "+h.Origin)
			}
			if want = append(want, "hers.customer.io x.shop.test"); strings.Join(got, ",") != strings.Join(want, ",") {
				t.Fatalf("custom hostnames %q, want %q\n%s", got, want, w.log.String())
			}
		}
		w.Settle(1, want("a.shop.test", "A", "192.0.2.1,192.0.2.2", "custom-hostname=b.customer.io, a.customer.io"), want("a.shop.test", "AAAA", "2001:db8::1", "custom-hostname=b.customer.io, a.customer.io"))
		hostnames("a.customer.io a.shop.test", "b.customer.io a.shop.test")
		if ssl := w.server.Hostnames(w.zone)[0].SSL; ssl.Settings.MinTLS != "1.2" || ssl.Authority != "google" || ssl.Method != "http" {
			t.Errorf("SSL %+v", ssl)
		}
		// A change of hostnames alone needs no batch.
		w.Settle(0, want("a.shop.test", "A", "192.0.2.1,192.0.2.2", "custom-hostname=a.customer.io,c.customer.io"), want("a.shop.test", "AAAA", "2001:db8::1"))
		hostnames("a.customer.io a.shop.test", "c.customer.io a.shop.test")
		// Another type keeps them, and another name gets them.
		w.Settle(1, want("a.shop.test", "CNAME", "lb.example.net", "custom-hostname=a.customer.io,c.customer.io"))
		hostnames("a.customer.io a.shop.test", "c.customer.io a.shop.test")
		w.Settle(1, want("b.shop.test", "CNAME", "lb.example.net", "custom-hostname=a.customer.io"), want("a.shop.test", "CNAME", "lb.example.net"))
		hostnames("a.customer.io b.shop.test")
		w.Gone(1)
		hostnames()
	})
}

// A custom hostname that Cloudflare refuses is said to whom it belongs. The record is published, and the
// others are (CF18 of spec/clouds.md).
func TestCustomHostnameRefused(t *testing.T) {
	withFixture(t, paid, func(w *fixture) {
		w.arguments = []string{"--cloudflare-custom-hostnames"}
		w.server.PutHostname(w.zone, cloudflaretest.Hostname{Hostname: "hers.customer.io", Origin: "x.shop.test"})
		for name, code := range map[string]string{"shop.example.com": "1411", "hers.customer.io": "1406"} {
			_, err := w.Run(want("a.shop.test", "A", "192.0.2.1", "custom-hostname="+name), want("b.shop.test", "A", "192.0.2.1"))
			if err == nil || !strings.Contains(err.Error(), code) || !strings.Contains(err.Error(), "a.shop.test") {
				t.Errorf("%s: %v", name, err)
			}
			w.Expect("a A 192.0.2.1", "b A 192.0.2.1")
		}
		if all := w.server.Hostnames(w.zone); len(all) != 1 || all[0].Origin != "x.shop.test" {
			t.Errorf("custom hostnames %v", all)
		}
		// Without the permission the rest is published, too.
		w.server.Deny(cloudflaretest.CreateHostname, w.zone)
		if _, err := w.Run(want("c.shop.test", "A", "192.0.2.1", "custom-hostname=c.customer.io"), want("b.shop.test", "A", "192.0.2.2")); err == nil {
			t.Error("a custom hostname without the permission is no error")
		}
		w.Expect("b A 192.0.2.2", "c A 192.0.2.1")
		w.server.Permit(cloudflaretest.CreateHostname, w.zone)
		w.Settle(0, want("c.shop.test", "A", "192.0.2.1", "custom-hostname=c.customer.io"), want("b.shop.test", "A", "192.0.2.2"))
	})
}

// A batch that is refused is halved. If Cloudflare throttles the second half, the custom hostnames of the
// first one are created nevertheless, because its records are made and count as such (CF18 of
// spec/clouds.md).
func TestCustomHostnamesOfHalf(t *testing.T) {
	withFixture(t, paid, func(w *fixture) {
		w.arguments = []string{"--cloudflare-custom-hostnames"}
		batches := 0
		w.server.SetHooks(cloudflaretest.Hooks{Before: func(c cloudflaretest.Call) *cloudflaretest.Fault {
			if c.Operation != cloudflaretest.Batch {
				return nil
			}
			switch batches++; batches {
			case 1:
				return &cloudflaretest.Fault{Status: 400, Code: 1004, Message: "DNS Validation Error"}
			case 2:
				return nil
			}
			return cloudflaretest.Throttled(time.Hour)
		}})
		p := w.open()
		zones, err := p.Zones(w.T.Context())
		if err != nil {
			t.Fatal(err)
		}
		err = p.Apply(w.T.Context(), zones[0], []dns.Change{
			{New: want("a.shop.test", "A", "192.0.2.1", "custom-hostname=a.customer.io")}, {New: want("b.shop.test", "A", "192.0.2.1", "custom-hostname=b.customer.io")},
		})
		each, ok := errors.AsType[*provider.ApplyError](err)
		if !ok || each.Errs[0] != nil || !errors.Is(each.Errs[1], provider.ErrThrottled) {
			t.Errorf("error %v", err)
		}
		w.Expect("a A 192.0.2.1")
		if all := w.server.Hostnames(w.zone); len(all) != 1 || all[0].Hostname != "a.customer.io" {
			t.Errorf("custom hostnames %v", all)
		}
	})
}

// The answers of requests about hostnames and regions get lost (CF18 of spec/clouds.md).
func TestLostSides(t *testing.T) {
	for _, operation := range []string{cloudflaretest.CreateHostname, cloudflaretest.DeleteHostname, cloudflaretest.CreateRegion, cloudflaretest.DeleteRegion} {
		withFixture(t, paid, func(w *fixture) {
			w.arguments = []string{"--cloudflare-custom-hostnames", "--cloudflare-regional-services"}
			lost := 0
			w.server.SetHooks(cloudflaretest.Hooks{After: func(c cloudflaretest.Call) *cloudflaretest.Fault {
				if c.Operation == operation && lost == 0 {
					lost++
					return cloudflaretest.Lost
				}
				return nil
			}})
			// The publisher tries again what isn't known to be made, in the same run or in the next one.
			for _, wanted := range [][]*dns.RecordSet{{want("a.shop.test", "A", "192.0.2.1", "custom-hostname=a.customer.io", "region-key=eu")}, {want("a.shop.test", "A", "192.0.2.1")}, nil} {
				for range 2 {
					_, _ = w.Run(wanted...)
				}
				w.Settle(0, wanted...)
			}
			if lost == 0 || len(w.server.Records(w.zone)) > 0 || len(w.server.Hostnames(w.zone)) > 0 || len(w.server.Regions(w.zone)) > 0 {
				t.Errorf("%s: left over: %v, %v, %v", operation, w.server.Records(w.zone), w.server.Hostnames(w.zone), w.server.Regions(w.zone))
			}
		})
	}
}

// Regions by annotation and flag are created, changed and removed. Those of names that aren't ours stay (CF18
// of spec/clouds.md).
func TestRegions(t *testing.T) {
	withFixture(t, enterprise, func(w *fixture) {
		w.arguments = []string{"--cloudflare-region-key=us"}
		w.server.PutRegion(w.zone, "hers.shop.test", "ca")
		w.server.PutRegion(w.zone, "b.shop.test", "ca")
		regions := func(want string) {
			t.Helper()
			if got := fmt.Sprint(w.server.Regions(w.zone)); got != "map["+want+"hers.shop.test:ca]" {
				t.Fatalf("regions %s, want %s\n%s", got, want, w.log.String())
			}
		}
		w.Settle(1, want("a.shop.test", "A", "192.0.2.1", "region-key=eu"), want("a.shop.test", "AAAA", "2001:db8::1", "region-key=eu"), want("b.shop.test", "A", "192.0.2.1"), want("c.shop.test", "A", "192.0.2.1", "region-key="))
		regions("a.shop.test:eu b.shop.test:us ")
		w.Settle(0, want("a.shop.test", "A", "192.0.2.1", "region-key=in"), want("a.shop.test", "AAAA", "2001:db8::1", "region-key=in"), want("b.shop.test", "A", "192.0.2.1", "region-key="), want("c.shop.test", "A", "192.0.2.1"))
		regions("a.shop.test:in c.shop.test:us ")
		// The other type keeps it.
		w.Settle(2, want("a.shop.test", "AAAA", "2001:db8::1", "region-key=in"), want("c.shop.test", "A", "192.0.2.1"))
		regions("a.shop.test:in c.shop.test:us ")
		if _, err := w.Run(want("a.shop.test", "A", "192.0.2.1", "region-key=eu"), want("a.shop.test", "AAAA", "2001:db8::1", "region-key=in"), want("c.shop.test", "A", "192.0.2.2")); err == nil || !strings.Contains(err.Error(), "a name has one region") {
			t.Errorf("two regions: %v", err)
		}
		w.Expect("a AAAA 2001:db8::1", "c A 192.0.2.2")
		if _, err := w.Run(want("a.shop.test", "AAAA", "2001:db8::1", "region-key=mars"), want("c.shop.test", "A", "192.0.2.2")); err == nil || !strings.Contains(err.Error(), "region key is unknown") {
			t.Errorf("an unknown region: %v", err)
		}
		w.Gone(1)
		regions("")
	})
}

// A dry run changes nothing, not even if Apply is called (spec/clouds.md §6.5).
func TestDryRun(t *testing.T) {
	withFixture(t, free, func(w *fixture) {
		w.arguments = []string{"--cloudflare-custom-hostnames"}
		w.CheckDryRun(want("a.shop.test", "A", "192.0.2.1", "custom-hostname=a.customer.io"))
	})
}

// The policies upsert-only and create-only.
func TestPolicies(t *testing.T) {
	withFixture(t, free, func(w *fixture) { w.CheckPolicies(1, 1, 1) })
}

// Listings that are three seconds behind lead to no request that is refused, and each change is made once
// (spec/clouds.md §6.5).
func TestListingsBehind(t *testing.T) {
	withFixture(t, free, func(w *fixture) { w.CheckListingsBehind() })
}

// If the answer of a batch is lost, and then nothing can be read, nobody knows what was made. The error
// doesn't say that nothing was (spec/clouds.md §0.3).
func TestUnknownOutcome(t *testing.T) {
	for name, fault := range map[string]*cloudflaretest.Fault{
		"throttled": cloudflaretest.Throttled(time.Hour), "denied": {Status: 403, Code: 10000, Message: "Authentication error"}, "failed": cloudflaretest.Failed,
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, free, func(w *fixture) {
				p := w.open()
				zones, err := p.Zones(w.T.Context())
				if err != nil {
					t.Fatal(err)
				}
				lost := false
				w.server.SetHooks(cloudflaretest.Hooks{
					Before: func(c cloudflaretest.Call) *cloudflaretest.Fault {
						if lost && c.Operation == cloudflaretest.ListRecords {
							return fault
						}
						return nil
					},
					After: func(c cloudflaretest.Call) *cloudflaretest.Fault {
						if lost = c.Operation == cloudflaretest.Batch; lost {
							return cloudflaretest.Lost
						}
						return nil
					},
				})
				err = p.Apply(w.T.Context(), zones[0], []dns.Change{{New: want("a.shop.test", "A", "192.0.2.1")}})
				if err == nil || provider.NothingMade(err) || errors.As(err, new(*provider.ApplyError)) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

// What somebody else makes under a name in the moment in which the publisher makes its own is neither written
// over nor deleted, although the ownership record says that the name is the publisher's
// (docs/decisions/0032).
func TestSameMoment(t *testing.T) {
	withFixture(t, free, func(w *fixture) {
		w.Provider = w.open()
		once := true
		w.server.SetHooks(cloudflaretest.Hooks{Before: func(c cloudflaretest.Call) *cloudflaretest.Fault {
			if c.Operation == cloudflaretest.Batch && once {
				once = false
				w.server.Put(w.zone, cloudflaretest.Record{Name: "a.shop.test", Type: "A", Content: "203.0.113.1"})
			}
			return nil
		}})
		w.Publish(1, want("a.shop.test", "A", "192.0.2.1"))
		for range 3 {
			time.Sleep(time.Minute)
			if _, err := w.Run(want("a.shop.test", "A", "192.0.2.2")); err == nil || !strings.Contains(err.Error(), "another program has created a record") {
				t.Errorf("error %v", err)
			}
			w.Expect("a A 192.0.2.1", "a A 203.0.113.1")
		}
		w.Publish(1)
		w.Expect("a A 203.0.113.1")
		if w.OwnershipRecords() != 0 {
			t.Errorf("%d ownership records", w.OwnershipRecords())
		}
	})
}

// A region takes the place of the one that was listed, with one request. One that Cloudflare doesn't know is
// refused once. Before, there was a refused request more each time (clouds F8).
func TestRegionChangesWithOneRequest(t *testing.T) {
	withFixture(t, paid, func(w *fixture) {
		w.arguments = []string{"--cloudflare-regional-services"}
		asked := func(key string) *dns.RecordSet { return want("a.shop.test", "A", "192.0.2.1", "region-key="+key) }
		w.Settle(1, asked("eu"))
		requests, err := w.Run(asked("us"))
		if err != nil || requests[cloudflaretest.EditRegion] != 1 || requests[cloudflaretest.CreateRegion] != 0 {
			t.Errorf("%v, %v", requests, err)
		}
		w.Settle(1)
		requests, err = w.Run(asked("mars"))
		if err == nil || requests[cloudflaretest.CreateRegion] != 1 || requests[cloudflaretest.EditRegion] != 0 {
			t.Errorf("an unknown region: %v, %v", requests, err)
		}
		w.Expect("a A 192.0.2.1")
		// Somebody has given the name a region since it was listed.
		w.server.SetHooks(cloudflaretest.Hooks{Before: func(c cloudflaretest.Call) *cloudflaretest.Fault {
			if c.Operation == cloudflaretest.CreateRegion {
				w.server.PutRegion(w.zone, "a.shop.test", "ca")
			}
			return nil
		}})
		w.Publish(0, asked("eu"))
		if got := w.server.Regions(w.zone)["a.shop.test"]; got != "eu" {
			t.Errorf("the region is %q", got)
		}
	})
}

// The advice is about the request that was refused (clouds F9).
func TestAdvice(t *testing.T) {
	for name, test := range map[string]struct {
		fault     *cloudflaretest.Fault
		operation string
		says      string
		not       string
	}{
		"authority": {
			&cloudflaretest.Fault{Status: 403, Code: 1459, Message: "Certificate Authority selection is only available on an Enterprise plan."},
			cloudflaretest.CreateHostname, "--cloudflare-custom-hostnames-certificate-authority=none", "CF_API_TOKEN",
		},
		"duplicate": {
			&cloudflaretest.Fault{Status: 409, Code: 1406, Message: "Duplicate custom hostname found."}, cloudflaretest.CreateHostname, "another name has this custom hostname", "CF_API_TOKEN",
		},
		"hostname": {&cloudflaretest.Fault{Status: 403, Code: 10000, Message: "Authentication error"}, cloudflaretest.CreateHostname, "SSL and Certificates:Edit", "Regional"},
		"region":   {&cloudflaretest.Fault{Status: 403, Code: 10000, Message: "Authentication error"}, cloudflaretest.CreateRegion, "has Regional Services", "SSL"},
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, paid, func(w *fixture) {
				w.arguments = []string{"--cloudflare-regional-services", "--cloudflare-custom-hostnames"}
				w.server.SetHooks(cloudflaretest.Hooks{Before: func(c cloudflaretest.Call) *cloudflaretest.Fault {
					if c.Operation == test.operation {
						return test.fault
					}
					return nil
				}})
				_, err := w.Run(want("a.shop.test", "A", "192.0.2.1", "region-key=eu", "custom-hostname=a.customer.io"))
				if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), test.not) {
					t.Errorf("error %v, want %q without %q", err, test.says, test.not)
				}
				w.Expect("a A 192.0.2.1")
			})
		})
	}
}

// A token without the right to custom hostnames or regions doesn't keep the records of the zone from being
// published. The names that ask for them wait for that alone, and get it when the token has the right (clouds
// F10).
func TestSidesWithoutPermission(t *testing.T) {
	for _, operation := range []string{cloudflaretest.ListHostnames, cloudflaretest.ListRegions} {
		withFixture(t, paid, func(w *fixture) {
			w.arguments = []string{"--cloudflare-regional-services", "--cloudflare-custom-hostnames"}
			w.server.Deny(operation, w.zone)
			asked := []*dns.RecordSet{want("a.shop.test", "A", "192.0.2.1", "region-key=eu", "custom-hostname=a.customer.io"), want("b.shop.test", "A", "192.0.2.2")}
			for range 2 {
				_, err := w.Run(asked...)
				if err == nil || !strings.Contains(err.Error(), "a.shop.test") || strings.Contains(err.Error(), "b.shop.test") {
					t.Errorf("%s: %v", operation, err)
				}
				w.Expect("a A 192.0.2.1", "b A 192.0.2.2")
			}
			w.server.Permit(operation, w.zone)
			w.Publish(0, asked...)
			if len(w.server.Hostnames(w.zone)) != 1 || w.server.Regions(w.zone)["a.shop.test"] != "eu" {
				t.Errorf("custom hostnames %v, regions %v", w.server.Hostnames(w.zone), w.server.Regions(w.zone))
			}
		})
	}
}

// A zone that is deleted while it is used is missed at once.
func TestZoneDeleted(t *testing.T) {
	withFixture(t, free, func(w *fixture) {
		w.CheckZoneDeleted(want("a.shop.test", "A", "192.0.2.1"), func() { w.server.DeleteZone(w.zone) })
	})
}

// A listing that is throttled at a page continues with this page after the pause, and doesn't begin anew.
func TestListingContinues(t *testing.T) {
	withFixture(t, paid, func(w *fixture) {
		for i := range 950 {
			w.server.Put(w.zone, cloudflaretest.Record{Name: fmt.Sprintf("n%d.shop.test", i), Type: "A", Content: "192.0.2.1"})
		}
		w.arguments = append(w.arguments, "--cloudflare-dns-records-per-page=100")
		p := w.open()
		zones, err := p.Zones(w.T.Context())
		if err != nil {
			w.T.Fatal(err)
		}
		refused := false
		w.server.SetHooks(cloudflaretest.Hooks{Before: func(c cloudflaretest.Call) *cloudflaretest.Fault {
			if c.Query.Get("page") == "7" && !refused {
				refused = true
				return cloudflaretest.Throttled(20 * time.Second)
			}
			return nil
		}})
		w.server.Operations()
		sets, err := p.Records(w.T.Context(), zones[0])
		if requests := w.server.Operations(); err != nil || len(sets) != 950 || requests[cloudflaretest.ListRecords] != 11 {
			w.T.Errorf("%d record sets with %v, %v", len(sets), requests, err)
		}
	})
}

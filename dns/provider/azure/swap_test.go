package azure

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/testkit/azuretest"
)

const oldText = `"heritage=external-dns,external-dns/owner=me,external-dns/resource=service/default/web"`

// address and text are record sets that were made before the test.
func address(name, target string) azuretest.RecordSet {
	ttl := int64(300)
	return azuretest.RecordSet{Name: name, Type: "A", Properties: azuretest.Properties{TTL: &ttl, A: []azuretest.A{{Address: target}}}}
}

func text(name string, values ...string) azuretest.RecordSet {
	ttl := int64(300)
	r := azuretest.RecordSet{Name: name, Type: "TXT", Properties: azuretest.Properties{TTL: &ttl}}
	for _, v := range values {
		r.TXT = append(r.TXT, azuretest.TXT{Strings: []string{v}})
	}
	return r
}

func caa(name string) azuretest.RecordSet {
	ttl := int64(300)
	return azuretest.RecordSet{Name: name, Type: "CAA", Properties: azuretest.Properties{TTL: &ttl, CAA: []azuretest.CAA{{Tag: "issue", Value: "ca.example.net"}}}}
}

// deletionsOf returns how many requests have deleted a record set.
func deletionsOf(calls []azuretest.Call, name, recordType string) int {
	n := 0
	for _, c := range calls {
		if c.Operation == azuretest.Delete && c.Name == name && c.Type == recordType {
			n++
		}
	}
	return n
}

// A CNAME replaces an A record that has an ownership text of the format without a type beside it. The text is
// ours, so it is deleted before the A record is. At every moment the A record has an ownership record (clouds
// F2).
func TestCNAMEReplacesOldFormat(t *testing.T) {
	inBoth(t, func(w *fixture) {
		w.server.Set(zoneName, address("old", "192.0.2.1"))
		w.server.Set(zoneName, text("old", oldText))
		w.server.SetHooks(azuretest.Hooks{After: func(c azuretest.Call) *azuretest.Fault {
			marked := w.server.Get(zoneName, "old", "TXT") != nil || w.server.Get(zoneName, "a-old", "TXT") != nil
			if w.server.Get(zoneName, "old", "A") != nil && !marked {
				t.Errorf("after %v the A record has no ownership record", c)
			}
			return nil
		}})
		w.Ask(set("old.shop.test", "CNAME", "lb.example.net"))
		w.server.Calls()
		if err := w.Once(); err != nil {
			t.Fatal(err)
		}
		calls := w.server.Calls()
		if n := deletionsOf(calls, "old", "A"); n != 1 {
			t.Errorf("the A record was deleted %d times, want once: %v", n, calls)
		}
		if w.server.Refused() > 0 {
			t.Errorf("%d requests were refused: %v", w.server.Refused(), calls)
		}
		w.Expect("old CNAME lb.example.net")
		if w.OwnershipRecords() != 1 {
			t.Errorf("the zone has %v", w.server.Sets(zoneName))
		}
		w.Gone(2)
	})
}

// What is in the way of a CNAME and isn't ours stays, and so does the A record: no request changes anything,
// whether our provider handles the type or not, and the error says what is in the way (clouds F2).
func TestCNAMEBesideUnowned(t *testing.T) {
	for name, conflict := range map[string]azuretest.RecordSet{
		"text": text("a", "v=spf1 -all"), "text of two owners": text("a", oldText, strings.Replace(oldText, "=me", "=they", 1)), "CAA": caa("a"),
	} {
		t.Run(name, func(t *testing.T) {
			inKind(t, false, func(w *fixture) {
				w.Settle(2, set("a.shop.test", "A", "192.0.2.1"))
				w.server.Set(zoneName, conflict)
				before := w.server.Sets(zoneName)
				requests, err := w.Run(set("a.shop.test", "CNAME", "lb.example.net"))
				if err == nil || !strings.Contains(err.Error(), conflict.Type+" record") {
					t.Errorf("error %v, want one about the %s record", err, conflict.Type)
				}
				if writes(requests) > 0 {
					t.Errorf("%v", requests)
				}
				if after := w.server.Sets(zoneName); !slices.EqualFunc(before, after, func(a, b azuretest.RecordSet) bool { return a.ETag == b.ETag }) {
					t.Errorf("the zone has %v, had %v", after, before)
				}
			})
		})
	}
}

// A refusal that can't be known beforehand costs the A record one gap, and the next try comes after delays
// that grow. Before, there were 9 gaps in two minutes (clouds F2).
func TestRefusedSwapBacksOff(t *testing.T) {
	for name, fault := range map[string]*azuretest.Fault{
		"conflict": {Status: 409, Code: "Conflict", Message: "another record is there", Bare: true}, "refused": azuretest.Refused,
	} {
		t.Run(name, func(t *testing.T) {
			inBoth(t, func(w *fixture) {
				w.Log = slog.New(slog.DiscardHandler)
				w.Settle(2, set("a.shop.test", "A", "192.0.2.1"))
				w.before(func(c azuretest.Call) *azuretest.Fault {
					if c.Operation == azuretest.Put && c.Type == "CNAME" {
						return fault
					}
					return nil
				})
				w.Ask(set("a.shop.test", "CNAME", "lb.example.net"))
				w.server.Calls()
				stop := w.Start()
				time.Sleep(2 * time.Minute)
				if n := deletionsOf(w.server.Calls(), "a", "A"); n < 1 || n > 2 {
					t.Errorf("the A record was deleted %d times in two minutes, want once or twice", n)
				}
				w.Expect("a A 192.0.2.1")
				time.Sleep(2 * time.Hour)
				if n := deletionsOf(w.server.Calls(), "a", "A"); n < 3 || n > 8 {
					t.Errorf("the A record was deleted %d times in two hours", n)
				}
				w.Expect("a A 192.0.2.1")
				w.endFaults()
				time.Sleep(provider.LongestSwapPause + 2*publisher.DefaultInterval)
				w.Expect("a CNAME lb.example.net")
				stop()
			})
		})
	}
}

package azure

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/azuretest"
)

// ownership returns an ownership record of a.shop.test.
func ownership(name string) *dns.RecordSet {
	r := set(name, "TXT", "")
	r.Targets = []string{oldText}
	r.Labels[dns.LabelOwnedRecord] = "a.shop.test"
	return r
}

// outcomesOf returns the outcome of each change of a call of Apply, or "unknown".
func outcomesOf(err error, n int) string {
	each, whole := provider.Outcomes(err, n)
	switch {
	case err == nil:
		return "made"
	case whole != nil && provider.NothingMade(whole):
		return "nothing made: " + whole.Error()
	case whole != nil:
		return "unknown"
	}
	var list []string
	for _, err := range each {
		switch {
		case err == nil:
			list = append(list, "made")
		case errors.Is(err, provider.ErrRejected):
			list = append(list, "rejected")
		case errors.Is(err, provider.ErrThrottled):
			list = append(list, "throttled")
		case errors.Is(err, provider.ErrStale):
			list = append(list, "stale")
		default:
			list = append(list, err.Error())
		}
	}
	return strings.Join(list, " ")
}

// After a failure in the middle, Apply undoes no more than it has made, and says of no change that it wasn't made if
// it may have been.
func TestOutcomes(t *testing.T) {
	a, other := set("a.shop.test", "A", "192.0.2.1"), set("a.shop.test", "A", "192.0.2.2")
	create := []dns.Change{{New: a}, {New: ownership("a-a.shop.test")}}
	for name, test := range map[string]struct {
		there   []azuretest.RecordSet
		changes []dns.Change
		// on is the request in which do is called, once: "Put A". Its fault is the response to the request, after its
		// effect if lost is true. then is the response to all later reads of a record set.
		on   string
		lost bool
		do   func(w *fixture, end func()) *azuretest.Fault
		then *azuretest.Fault
		// want are the outcomes, and has what the zone has, with ownership records.
		want string
		has  []string
	}{
		"deletion lost": {
			there: []azuretest.RecordSet{address("a", "192.0.2.1")}, changes: []dns.Change{{Old: a}},
			on: "Delete A", lost: true, do: fails(azuretest.Lost), want: "made",
		},
		"lost, and changed by another writer": {
			there: []azuretest.RecordSet{address("a", "192.0.2.1")}, changes: []dns.Change{{Old: a, New: other}},
			on: "Put A", lost: true, do: func(w *fixture, _ func()) *azuretest.Fault {
				w.server.Set(zoneName, address("a", "203.0.113.1"))
				return azuretest.Lost
			},
			want: "stale", has: []string{"a A 203.0.113.1"},
		},
		"lost, then denied": {
			changes: create, on: "Put A", lost: true, do: fails(azuretest.Lost), then: &azuretest.Fault{Status: 403, Code: "AuthorizationFailed"},
			want: "unknown", has: []string{"a A 192.0.2.1", "a-a TXT"},
		},
		"lost, then throttled": {
			changes: create, on: "Put A", lost: true, do: fails(azuretest.Lost), then: azuretest.Throttled(4000),
			want: "unknown", has: []string{"a A 192.0.2.1", "a-a TXT"},
		},
		"context ended": {
			changes: create, on: "Put A", lost: true, do: func(_ *fixture, end func()) *azuretest.Fault {
				end()
				return nil
			},
			want: "unknown", has: []string{"a A 192.0.2.1", "a-a TXT"},
		},
		"throttled after the ownership record": {
			changes: create, on: "Put A", do: fails(azuretest.Throttled(4000)),
			want: "throttled made", has: []string{"a-a TXT"},
		},
		"refused": {changes: create, on: "Put A", do: fails(azuretest.Refused), want: "rejected rejected"},
		"refused, and the ownership record changed by another writer": {
			changes: create, on: "Put A", do: func(w *fixture, _ func()) *azuretest.Fault {
				w.server.Set(zoneName, text("a-a", strings.Replace(oldText, "=me", "=they", 1)))
				return azuretest.Refused
			},
			want: "rejected made", has: []string{"a-a TXT"},
		},
		"refused, and another record changed by another writer": {
			changes: append(create, dns.Change{New: set("a.shop.test", "AAAA", "2001:db8::1")}),
			on:      "Put AAAA", do: func(w *fixture, _ func()) *azuretest.Fault {
				w.server.Set(zoneName, address("a", "203.0.113.1"))
				return azuretest.Refused
			},
			want: "made made rejected", has: []string{"a A 203.0.113.1", "a-a TXT"},
		},
		"type change made, and the old ownership record stays": {
			there: []azuretest.RecordSet{address("a", "192.0.2.1"), text("a-a", oldText)},
			changes: []dns.Change{
				{Old: a}, {New: set("a.shop.test", "CNAME", "lb.example.net")}, {New: ownership("cname-a.shop.test")}, {Old: ownership("a-a.shop.test")},
			},
			on: "Delete TXT", do: fails(azuretest.Refused),
			want: "made made made rejected", has: []string{"a CNAME lb.example.net", "a-a TXT", "cname-a TXT"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBoth(t, func(w *fixture) {
				for _, r := range test.there {
					w.server.Set(zoneName, r)
				}
				p := w.open()
				zones, err := p.Zones(w.T.Context())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := p.Records(w.T.Context(), zones[0]); err != nil {
					t.Fatal(err)
				}
				w.server.SetLag(2 * time.Hour)
				ctx, end := context.WithCancel(w.T.Context())
				defer end()
				done := false
				hook := func(after bool) func(azuretest.Call) *azuretest.Fault {
					return func(c azuretest.Call) *azuretest.Fault {
						switch {
						case !done && c.Operation+" "+c.Type == test.on && after == test.lost:
							done = true
							return test.do(w, end)
						case done && c.Operation == azuretest.Get && !after:
							return test.then
						}
						return nil
					}
				}
				w.server.SetHooks(azuretest.Hooks{Before: hook(false), After: hook(true)})
				err = p.Apply(ctx, zones[0], test.changes)
				if got := outcomesOf(err, len(test.changes)); got != test.want {
					t.Errorf("%s, want %s: %v", got, test.want, err)
				}
				var has []string
				for _, r := range w.server.Sets(zoneName) {
					if isOwnershipRecord(r) {
						r.TXT = nil
					}
					has = append(has, line(r))
				}
				if strings.Join(has, ", ") != strings.Join(test.has, ", ") {
					t.Errorf("the zone has %q, want %q", has, test.has)
				}
				if test.want != "unknown" {
					return
				}
				// What may have been made is read, although the listing is older, after the longest pause.
				w.endFaults()
				time.Sleep(4001 * time.Second)
				listed, err := p.Records(w.T.Context(), zones[0])
				if err != nil || !slices.ContainsFunc(listed, func(r *dns.RecordSet) bool { return r.Key() == a.Key() }) {
					t.Errorf("listed %d record sets without %v, error %v", len(listed), a, err)
				}
			})
		})
	}
}

// fails returns a function that returns a fault.
func fails(fault *azuretest.Fault) func(*fixture, func()) *azuretest.Fault {
	return func(*fixture, func()) *azuretest.Fault { return fault }
}

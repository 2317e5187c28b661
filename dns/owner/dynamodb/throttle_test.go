package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/dynamodbtest"
)

// After a throttled statement, the publisher tries again later, and the table isn't read again. The batches after
// one that was throttled as a whole aren't sent.
func TestThrottledStatement(t *testing.T) {
	for name, test := range map[string]struct {
		capacity int
		calls    []string
	}{
		"all":  {0, []string{"batch of 25"}},
		"some": {batchSize + 1, []string{"batch of 25", "batch of 25", "batch of 10"}},
	} {
		t.Run(name, func(t *testing.T) {
			o, f := newOwner(t, Options{}, map[string]row{})
			left := test.capacity
			f.Throttled = func(string) bool { left--; return left < 0 }
			var changes []dns.Change
			for i := range 2*batchSize + 10 {
				changes = append(changes, dns.Change{New: set(fmt.Sprintf("n%d.z.org A 1.1.1.1", i))})
			}
			if _, _, err := o.Before(t.Context(), zone{}.lookup, changes); !errors.Is(err, provider.ErrThrottled) {
				t.Errorf("error %v, want that there were too many requests", err)
			}
			compare(t, "batches", test.calls, batchesOf(f))
			f.Throttled = nil
			if err := o.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			if apply, _, err := o.Before(t.Context(), zone{}.lookup, changes); err != nil || len(apply) != len(changes) {
				t.Errorf("again: %d of %d changes, error %v", len(apply), len(changes), err)
			}
			if n := len(f.Rows()); n != len(changes) {
				t.Errorf("the table has %d items, want %d", n, len(changes))
			}
			for _, call := range f.Take() {
				if call == "Scan" {
					t.Error("the table was read again")
				}
			}
		})
	}
}

// batchesOf returns the requests with statements since the last call.
func batchesOf(f *dynamodbtest.Table) (batches []string) {
	for _, call := range f.Take() {
		var n int
		if _, err := fmt.Sscanf(call, "batch of %d", &n); err == nil {
			batches = append(batches, call)
		}
	}
	return batches
}

// A record that was created is ours although its claim can't be confirmed at once. That isn't an error of the
// changes, which were made.
func TestThrottledConfirmation(t *testing.T) {
	o, f := newOwner(t, Options{}, map[string]row{})
	r := set("www.z.org A 1.1.1.1")
	apply, _, err := o.Before(t.Context(), zone{}.lookup, []dns.Change{{New: r}})
	if err != nil {
		t.Fatal(err)
	}
	f.Throttled = func(string) bool { return true }
	if err := o.After(t.Context(), apply); err != nil {
		t.Error(err)
	}
	if got, _ := o.Labels(zone{r}.lookup, r); got[dns.LabelOwner] != "me" {
		t.Errorf("labels %v, want that the record is ours", got)
	}
}

// A scan goes on with the page that was throttled, until there is no time left.
func TestThrottledScan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, client := newTable(t)
		f.PageSize = 1
		const pages = 5
		for i := range pages {
			f.Put(fmt.Sprintf("n%d.z.org#A#", i), dynamodbtest.Row{Owner: "me"})
		}
		requests := 0
		f.Throttled = func(string) bool { requests++; return requests%3 != 0 }
		o, err := New(client, Options{OwnerID: "me"})
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(f.Take()) - 1; n != pages {
			t.Errorf("%d pages were read, want %d", n, pages)
		}
		f.Throttled = func(string) bool { return true }
		o.Outdate()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := o.Load(ctx); !errors.Is(err, provider.ErrThrottled) {
			t.Errorf("error %v, want that there were too many requests", err)
		}
	})
}

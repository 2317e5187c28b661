package cloudflare

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// addresses returns n A records of one name as listed and as wanted, whose addresses are counted from a number.
func addresses(n, from int) (there []record, wanted []outgoing) {
	for i := range n {
		address := fmt.Sprintf("10.%d.%d.%d", (i+from)>>16, (i+from)>>8&255, (i+from)&255)
		there = append(there, record{ID: fmt.Sprint(i), Type: "A", Name: "nodes.shop.test", Content: address, TTL: 300})
		wanted = append(wanted, outgoing{Type: "A", Name: "nodes.shop.test", Content: address, TTL: 300})
	}
	return there, wanted
}

// The work for a record set grows with its number of targets, not with the square of that, which would take
// minutes here.
func TestManyTargets(t *testing.T) {
	const n, fresh = 50_000, 1000
	there, _ := addresses(n, 0)
	_, wanted := addresses(n, fresh)
	begun := time.Now()
	u := &unit{Group: &batch.Group{}}
	u.swap(there, wanted, false)
	if o := u.operations; len(o.Patches) != fresh || len(o.Deletes) != 0 || len(o.Posts) != 0 {
		t.Errorf("%d patches, %d deletions, %d posts", len(o.Patches), len(o.Deletes), len(o.Posts))
	}
	if state := u.state(there); state != batch.Undone {
		t.Errorf("state %v before the changes", state)
	}
	after, _ := addresses(n, fresh)
	for i, o := range u.operations.Patches {
		after[n-fresh+i].ID = o.ID
	}
	if state := u.state(after); state != batch.Done {
		t.Errorf("state %v after the changes", state)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

// Records with other values than the recently written ones count as another writer's, until a listing shows only
// ours.
func TestCreations(t *testing.T) {
	begun := time.Now()
	later := begun.Add(batch.Lag + time.Second)
	one, two := want("a.shop.test", "A", "192.0.2.1"), want("a.shop.test", "A", "192.0.2.2")
	key := one.Key()
	rows := func(n ...int) (list []record) {
		for _, i := range n {
			list = append(list, record{Type: "A", Name: key.Name, Content: fmt.Sprintf("192.0.2.%d", i)})
		}
		return list
	}
	created := func(c creations) {
		c.intend(dns.Change{New: one}, begun)
		c.note(dns.Change{New: one})
	}
	for name, test := range map[string]struct {
		do   func(c creations)
		ours []record
	}{
		"listed before": {func(c creations) { c.intend(dns.Change{Old: one, New: two}, begun) }, rows(1, 2, 3)},
		"unknown outcome, then another value": {func(c creations) {
			c.intend(dns.Change{New: one}, begun)
			c.intend(dns.Change{New: two}, begun)
		}, rows(1, 2)},
		"unknown update": {func(c creations) {
			created(c)
			c.intend(dns.Change{Old: one, New: two}, begun)
		}, rows(1, 2)},
		"updated": {func(c creations) {
			created(c)
			c.intend(dns.Change{Old: one, New: two}, begun)
			c.note(dns.Change{Old: one, New: two})
		}, rows(2)},
		"deleted": {func(c creations) {
			created(c)
			c.note(dns.Change{Old: one})
		}, rows(1, 2, 3)},
		"in a listing that may lag": {func(c creations) {
			created(c)
			c.check(groups{key: rows(1)}, begun.Add(time.Second))
		}, rows(1)},
		"in a listing that may lag behind the update": {func(c creations) {
			created(c)
			c.intend(dns.Change{Old: one, New: two}, later)
			c.check(groups{key: rows(1)}, later)
		}, rows(1, 2)},
		"listed with another writer's record": {func(c creations) {
			created(c)
			c.check(groups{key: rows(1, 3)}, later)
		}, rows(1)},
		"listed alone": {func(c creations) {
			created(c)
			c.check(groups{key: rows(1)}, later)
		}, rows(1, 2, 3)},
	} {
		t.Run(name, func(t *testing.T) {
			c := creations{}
			test.do(c)
			if diff := cmp.Diff(test.ours, c[key].ours(rows(1, 2, 3)), cmp.AllowUnexported(record{})); diff != "" {
				t.Errorf("our records (-want +got):\n%s", diff)
			}
		})
	}
}

// A batch is filled up to the limit. A name that needs more operations than a batch has fails, and the others don't
// wait for it.
func TestFill(t *testing.T) {
	var all []*unit
	for i, size := range []int{4, 2, 1, 1} {
		u := &unit{Group: &batch.Group{Subject: fmt.Sprint(i)}}
		u.operations.Posts = make([]outgoing, size)
		all = append(all, u)
	}
	if next := fill(all, 3); !slices.Equal(next, all[1:3]) {
		t.Errorf("%d names in the batch", len(next))
	}
	for i, u := range all {
		if errors.Is(u.Err, provider.ErrRejected) != (i == 0) {
			t.Errorf("name %d: %v", i, u.Err)
		}
	}
}

// If the records of a name are made and its settings aren't, only the changes that ask for settings have failed, even
// if there are no others and the reason would stop all.
func TestOutcomeOfSettings(t *testing.T) {
	with := dns.Change{New: want("a.shop.test", "A", "192.0.2.1", "region-key=eu")}
	without := dns.Change{New: want("a.shop.test", "AAAA", "2001:db8::1")}
	for _, changes := range [][]dns.Change{{with}, {without, with}} {
		u := &unit{Group: batch.BySubject(changes)[0], settingsErr: provider.ErrCredentials}
		each, whole := provider.Outcomes(outcome([]*unit{u}, len(changes)), len(changes))
		if whole != nil || !errors.Is(each[len(each)-1], provider.ErrCredentials) || len(each) > 1 && each[0] != nil {
			t.Errorf("error %v, of the changes %v", whole, each)
		}
	}
}

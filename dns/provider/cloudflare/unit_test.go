package cloudflare

import (
	"fmt"
	"testing"
	"time"

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

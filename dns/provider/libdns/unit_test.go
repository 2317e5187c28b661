package libdns

import (
	"fmt"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// The work for a record set grows with its number of targets, not with the square of that, which would take
// minutes here.
func TestManyTargets(t *testing.T) {
	r := &dns.RecordSet{Name: "nodes.shop.test", Type: dns.TypeA}
	for i := range 30_000 {
		r.Targets = append(r.Targets, fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255))
	}
	u := &unit{Group: &batch.Group{Changes: []dns.Change{{Old: r, New: r}}}}
	begun := time.Now()
	if _, value, found := u.unexpectedValue(&content{by: map[dns.Key]*dns.RecordSet{r.Key(): r}}); found {
		t.Errorf("%s isn't expected", value)
	}
	other := r.Clone()
	other.Targets[29_999] = "192.0.2.1"
	if _, value, found := u.unexpectedValue(&content{by: map[dns.Key]*dns.RecordSet{r.Key(): other}}); !found || value != "192.0.2.1" {
		t.Errorf("the unexpected value is %q", value)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

// Names are compared without case, texts with it.
func TestTargetsOf(t *testing.T) {
	for recordType, want := range map[string]bool{"CNAME": true, "TXT": false} {
		if got := targetsOf(&dns.RecordSet{Type: recordType, Targets: []string{`"A.b"`}}).has(`"a.B"`); got != want {
			t.Errorf("%s: %v", recordType, got)
		}
	}
	if targetsOf(nil).has("a") {
		t.Error("no record set has a target")
	}
}

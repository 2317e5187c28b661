package desired_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
)

// TestManyUnresolvedNames shows that the cost of an object with invalid record sets grows with their number,
// not with its square. The limit is far above the usual tenth of a second; before, a change took 45 s.
func TestManyUnresolvedNames(t *testing.T) {
	s := newSet(t, desired.Options{CreatePTR: true, ManagedTypes: []string{"A", "PTR"}})
	var requested []*dns.RecordSet
	for i := range 30_000 {
		requested = append(requested, &dns.RecordSet{Name: fmt.Sprintf("%05d.shop.test", i), Type: "A", Targets: []string{fmt.Sprintf("10.%d.%d.1", i/250, i%250), "x"}})
	}
	begin := cpuTime(t)
	for range 2 {
		s.Put(desired.Origin{Source: "crd", Namespace: "d", Name: "db"}, requested)
	}
	if took := cpuTime(t) - begin; took > 8*time.Second {
		t.Errorf("30,000 invalid record sets took %s of CPU time", took)
	}
	if !s.Unresolved("29999.shop.test") {
		t.Error("the last name is not unresolved")
	}
}

// cpuTime returns the CPU time of the process, which other processes don't change.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

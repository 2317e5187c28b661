package publisher

import (
	"testing"

	"github.com/signpostd/signpost/dns"
)

// A record set that may have been created is decided once it was written or deleted.
func TestAttemptsAreDecided(t *testing.T) {
	r := &dns.RecordSet{Name: "a." + zoneName, Type: dns.TypeA, Targets: []string{"192.0.2.1"}}
	for name, made := range map[string]dns.Change{"created": {New: r}, "updated": {Old: r, New: r}, "deleted": {Old: r}} {
		t.Run(name, func(t *testing.T) {
			names := newNames(noMetrics)
			names.touch(r.Name)
			n := names.all[r.Name]
			names.attempt(n, group{name: r.Name, changes: []dns.Change{{New: r}}}, nil)
			if !n.attempted(r) {
				t.Fatal("nothing was attempted")
			}
			names.attempt(n, group{name: r.Name, changes: []dns.Change{made}}, map[dns.Key]struct{}{r.Key(): {}})
			if n.attempted(r) {
				t.Error("the record set still counts as attempted")
			}
		})
	}
}

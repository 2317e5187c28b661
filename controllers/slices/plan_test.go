package slices_test

import (
	"fmt"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/signpostd/signpost/controllers/reconcile"
	store "github.com/signpostd/signpost/controllers/slices"
)

func family(of discoveryv1.AddressType, address string) func(*discoveryv1.EndpointSlice) {
	return func(e *discoveryv1.EndpointSlice) { e.AddressType, e.Endpoints[0].Addresses = of, []string{address} }
}

// After a refused write, deletions of the address type are skipped; with FailFast its creates and
// updates, too.
func TestApplyAfterARefusedWrite(t *testing.T) {
	v4, v6 := family(discoveryv1.AddressTypeIPv4, "10.0.0.1"), family(discoveryv1.AddressTypeIPv6, "fd00::1")
	for failFast, want := range map[bool][]string{false: {"old4", "new4", "new6"}, true: {"old4", "new6"}} {
		t.Run(fmt.Sprint("fail fast ", failFast), func(t *testing.T) {
			s := newFixture(t)
			var planned []string
			s.Store = store.NewStore(store.Options{
				ManagedBy: us, Client: s.requests, Table: s.table, Loop: reconcile.New(reconcile.Options{Name: "test", Workers: 1}),
				FailFast: failFast, Planned: func(operation string) { planned = append(planned, operation) },
			})
			s.create(named("old4"), v4)
			s.create(named("old6"), v6)
			refreshed, err := s.Apply(s.Context(), s.service, func(existing []*discoveryv1.EndpointSlice) store.Plan {
				return store.Plan{Create: []*discoveryv1.EndpointSlice{
					s.slice(named("bad"), family(discoveryv1.AddressTypeIPv4, "none")), s.slice(named("new4"), v4), s.slice(named("new6"), v6),
				}, Delete: existing}
			})
			if !refreshed || !reconcile.IsRefused(err) || len(planned) != len(want) {
				t.Errorf("refreshed is %t, the error %v, and the writes are %q", refreshed, err, planned)
			}
			s.want(want...)
		})
	}
}

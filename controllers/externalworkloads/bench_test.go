package externalworkloads

import "testing"

// BenchmarkCompute measures plans for 250 workloads in three slices.
func BenchmarkCompute(b *testing.B) {
	service, list := serviceWith(), machines(0, 250)
	s := settled(b, service, list...)
	changed := machines(0, 250)
	changed[100].Ready = false

	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Compute(service, list, nil, 0)
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if plan := Compute(service, list, s.slices, 0); writes(plan) > 0 {
				b.Fatal("plan is not empty")
			}
		}
	})
	b.Run("one changed", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if plan := Compute(service, changed, s.slices, 0); len(plan.Update) != 1 {
				b.Fatal("plan is not one update")
			}
		}
	})
}

package kube

import (
	"runtime"
	"testing"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/testkit/heaptest"
)

// BenchmarkPodMemory reports what a pod costs in a table, interned strings included.
func BenchmarkPodMemory(b *testing.B) {
	const pods = 20000
	for b.Loop() {
		before := heaptest.InUse()
		table := Pods().Table()
		store := storeOf(b, binding{
			scope:  NewScope(catalog.LocalCluster),
			report: func(p objectmeta.Problem) { b.Fatal(p) },
		}, table)
		for i := range pods {
			if err := store.Add(somePod(i)); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(heaptest.InUse()-before)/pods, "B/pod")
		runtime.KeepAlive(table)
	}
}

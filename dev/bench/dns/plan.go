package dns

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/signpostd/signpost/dev/bench/measure"
)

// dnsPlans are the benchmarks of the plan, which stands apart from all else: no publisher
// needs to run for it.
var dnsPlans = []struct{ benchmark, name string }{
	{"BenchmarkDirty/0", "100,000 names, none dirty"},
	{"BenchmarkDirty/10", "100,000 names, 10 dirty"},
	{"BenchmarkDirty/1000", "100,000 names, 1,000 dirty"},
	{dnsPlanUnchanged, "all 100,000 names looked at, nothing to change"},
	{"BenchmarkAll/1000", "all 100,000 names looked at, 1,000 to change"},
}

// dnsPlanUnchanged decides all names and finds nothing to do.
const dnsPlanUnchanged = "BenchmarkAll/0"

// measurePlan runs the benchmarks of package plan.
func measurePlan(ctx context.Context, r *measure.Report, _ measure.Options) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^Benchmark(Dirty|All)$", "./dns/plan")
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go test -bench ./dns/plan: %w: %s%s", err, out, failed.Bytes())
	}
	found := map[string]planCost{}
	for line := range strings.Lines(string(out)) {
		if name, cost, ok := parsePlanCost(line); ok {
			found[name] = cost
		}
	}
	fmt.Fprintf(r.Out, "\nPlan of DNS records, two record sets under each name\n")
	for _, p := range dnsPlans {
		cost, ok := found[p.benchmark]
		if !ok {
			return fmt.Errorf("go test -bench ./dns/plan: its output has no line for %s: %s", p.benchmark, out)
		}
		r.Note("%-52s %9.3f ms %9d allocations", p.name, measure.Ms(cost.took), cost.allocations)
	}
	allocations := found[dnsPlanUnchanged].allocations
	r.None("allocations for names with nothing to change", allocations, strconv.Itoa(allocations))
	return nil
}

type planCost struct {
	took        time.Duration
	allocations int
}

// parsePlanCost reads a line of `go test -bench`: name-cpus, iterations, time, "ns/op",
// bytes, "B/op", allocations, "allocs/op".
func parsePlanCost(line string) (string, planCost, bool) {
	f := strings.Fields(line)
	if len(f) != 8 || f[3] != "ns/op" || f[7] != "allocs/op" {
		return "", planCost{}, false
	}
	name := f[0]
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		name = name[:i]
	}
	nanoseconds, err := strconv.ParseFloat(f[2], 64)
	if err != nil {
		return "", planCost{}, false
	}
	allocations, err := strconv.Atoi(f[6])
	return name, planCost{time.Duration(nanoseconds), allocations}, err == nil
}

package dns

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/signpostd/signpost/dev/bench/measure"
)

// planBenchmarks are those of the plan, which needs no publisher.
var planBenchmarks = []struct{ name, shows string }{
	{"BenchmarkDirty/0", "100,000 names, none dirty"},
	{"BenchmarkDirty/10", "100,000 names, 10 dirty"},
	{"BenchmarkDirty/1000", "100,000 names, 1,000 dirty"},
	{planUnchanged, "all 100,000 names looked at, nothing to change"},
	{"BenchmarkAll/1000", "all 100,000 names looked at, 1,000 to change"},
}

const (
	// planUnchanged plans all names and finds nothing to do.
	planUnchanged = "BenchmarkAll/0"
	// callsLimit is the limit in the names of BenchmarkIdleHour, in calls a second.
	callsLimit = 5
)

// goBenchmark is the result of a benchmark of a package: the value of each unit.
type goBenchmark struct {
	name   string
	values map[string]float64
}

// runGoBenchmarks runs benchmarks of a package, and returns their results in order.
func runGoBenchmarks(ctx context.Context, args ...string) ([]goBenchmark, error) {
	out, err := exec.CommandContext(ctx, "go", append([]string{"test", "-run", "^$", "-bench"}, args...)...).Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			out = append(out, exit.Stderr...)
		}
		return nil, fmt.Errorf("go test -bench %s: %w: %s", strings.Join(args, " "), err, out)
	}
	var all []goBenchmark
	for line := range strings.Lines(string(out)) {
		if b, ok := parseGoBenchmark(line); ok {
			all = append(all, b)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("go test -bench %s: its output has no line of a benchmark: %s", strings.Join(args, " "), out)
	}
	return all, nil
}

// parseGoBenchmark reads a line of `go test -bench`: name-cpus, iterations, and pairs of a value and its
// unit.
func parseGoBenchmark(line string) (goBenchmark, bool) {
	f := strings.Fields(line)
	if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
		return goBenchmark{}, false
	}
	b := goBenchmark{name: f[0], values: map[string]float64{}}
	if i := strings.LastIndexByte(b.name, '-'); i > 0 {
		b.name = b.name[:i]
	}
	for i := 2; i+1 < len(f); i += 2 {
		value, err := strconv.ParseFloat(f[i], 64)
		if err != nil {
			return goBenchmark{}, false
		}
		b.values[f[i+1]] = value
	}
	return b, true
}

// measurePlan runs the benchmarks of package plan.
func measurePlan(ctx context.Context, r *measure.Report, _ measure.Options) error {
	all, err := runGoBenchmarks(ctx, "^Benchmark(Dirty|All)$", "./dns/plan")
	if err != nil {
		return err
	}
	found := map[string]map[string]float64{}
	for _, b := range all {
		found[b.name] = b.values
	}
	fmt.Fprintf(r.Out, "\nPlan of DNS records, two record sets under each name\n")
	for _, p := range planBenchmarks {
		values, ok := found[p.name]
		if !ok {
			return fmt.Errorf("the benchmarks of ./dns/plan have no result of %s", p.name)
		}
		r.Note("%-52s %9.3f ms %9.0f allocations", p.shows, values["ns/op"]/1e6, values["allocs/op"])
	}
	allocations := int(found[planUnchanged]["allocs/op"])
	r.None("allocations for names with nothing to change", allocations, strconv.Itoa(allocations))
	return nil
}

// measureCalls counts the calls of a provider while nothing changes, in a synctest bubble, in which an hour
// takes no time.
func measureCalls(ctx context.Context, r *measure.Report, _ measure.Options) error {
	all, err := runGoBenchmarks(ctx, "^BenchmarkIdleHour$", "-benchtime", "1x", "./dns/publisher")
	if err != nil {
		return err
	}
	fmt.Fprintf(r.Out, "\nCalls of a DNS provider in an hour in which nothing changes, with an interval of a minute\n")
	for _, b := range all {
		name, total := strings.TrimPrefix(b.name, "BenchmarkIdleHour/"), b.values["calls/hour"]
		text := fmt.Sprintf("%.0f, at most %.0f in a second", total, b.values["most/s"])
		if strings.Contains(name, fmt.Sprintf("limit=%d", callsLimit)) {
			// The limiter lets the calls of one second through at once, at the beginning.
			r.Check(name, total, 1, (3600+1)*callsLimit, text)
		} else {
			r.Note("%-52s %s", name, text)
		}
	}
	return nil
}

package dns

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/signpostd/signpost/dev/bench/measure"
)

// dnsCallsLimit is the limit in the names of the benchmark, in calls a second.
const dnsCallsLimit = 5

// measureCalls counts what the publisher calls a provider while nothing changes, in a bubble in
// which an hour takes no time.
func measureCalls(ctx context.Context, r *measure.Report, _ measure.Options) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkIdleHour$", "-benchtime", "1x", "./dns/publisher")
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go test -bench ./dns/publisher: %w: %s%s", err, out, failed.Bytes())
	}
	fmt.Fprintf(r.Out, "\nCalls of a DNS provider in an hour in which nothing changes, with an interval of a minute\n")
	found := 0
	for line := range strings.Lines(string(out)) {
		name, calls, ok := parseIdleCalls(line)
		if !ok {
			continue
		}
		found++
		if limited := strings.Contains(name, fmt.Sprintf("limit=%d", dnsCallsLimit)); limited {
			// The limiter lets the calls of one second through at once, at the beginning.
			r.Check(name, calls.total, 1, (3600+1)*dnsCallsLimit, fmt.Sprintf("%.0f, at most %.0f in a second", calls.total, calls.most))
		} else {
			r.Note("%-52s %.0f, at most %.0f in a second", name, calls.total, calls.most)
		}
	}
	if found == 0 {
		return fmt.Errorf("go test -bench ./dns/publisher: its output has no line of the benchmark: %s", out)
	}
	return nil
}

type idleCalls struct{ total, most float64 }

// parseIdleCalls reads a line of `go test -bench`: name-cpus, iterations, time, "ns/op", and pairs
// of a value and its unit.
func parseIdleCalls(line string) (string, idleCalls, bool) {
	f := strings.Fields(line)
	if len(f) < 4 || !strings.HasPrefix(f[0], "BenchmarkIdleHour/") {
		return "", idleCalls{}, false
	}
	var c idleCalls
	for i := 2; i+1 < len(f); i += 2 {
		value, err := strconv.ParseFloat(f[i], 64)
		if err != nil {
			return "", c, false
		}
		switch f[i+1] {
		case "calls/hour":
			c.total = value
		case "most/s":
			c.most = value
		}
	}
	name := strings.TrimPrefix(f[0], "BenchmarkIdleHour/")
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		name = name[:i]
	}
	return name, c, true
}

// Command bench measures Signpost on this machine and prints what it measured
// beside what it has to reach, as ratios within one run.
//
//	go run ./dev/bench                 everything (what `make bench` does)
//	go run ./dev/bench --only stall    one part: fanout, stall, outage, profiles, proxies
//	go run ./dev/bench floor …         the yardstick server, started by the rest
//
// Each part starts an API server of its own from bin/localcluster and the servers
// that it measures as processes of their own, so that their CPU time and memory
// can be told apart; the clients run inside this process. All of it stays on
// 127.0.0.1 and ends with this process.
//
// Parts run one after the other; nothing here is meant to run concurrently with
// anything else on the machine.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// part is one thing to measure.
type part struct {
	name string
	run  func(context.Context, *report) error
}

var parts = []part{
	{"fanout", measureFanout},
	{"stall", measureStall},
	{"outage", measureOutage},
	{"profiles", measureProfiles},
	{"proxies", measureProxies},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == "floor" {
		exit(serveFloor(ctx, os.Args[2:]))
	}
	only := flag.String("only", "", "comma separated parts to measure; all if empty")
	flag.Parse()
	exit(measure(ctx, *only))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func measure(ctx context.Context, only string) error {
	r := &report{out: os.Stdout}
	for _, p := range parts {
		if only != "" && !slices.Contains(strings.Split(only, ","), p.name) {
			continue
		}
		start := time.Now()
		if err := p.run(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		r.note("%s took %s", p.name, time.Since(start).Round(time.Second))
	}
	if r.missed > 0 {
		return fmt.Errorf("%d figures miss what they must reach", r.missed)
	}
	return nil
}

// report prints figures as they come.
type report struct {
	out    io.Writer
	missed int
}

func (r *report) title(format string, args ...any) {
	fmt.Fprintf(r.out, "\n"+format+"\n", args...)
	fmt.Fprintf(r.out, "  %-52s %14s %14s %9s %12s\n", "", "floor", "signpost", "ratio", "must reach")
}

func (r *report) note(format string, args ...any) { fmt.Fprintf(r.out, "  "+format+"\n", args...) }

// ratio reports a figure beside that of the floor, which it may exceed by limit
// at most; a limit of 0 means that the figure is for information.
func (r *report) ratio(name, unit string, f figures) {
	ratio := f.signpost / f.floor
	must, verdict := "", ""
	if f.limit > 0 {
		must = fmt.Sprintf("≤ %.2f", f.limit)
		verdict = r.verdict(ratio <= f.limit)
	}
	fmt.Fprintf(r.out, "  %-52s %11.2f %-2s %11.2f %-2s %9.2f %12s %s\n", name, f.floor, unit, f.signpost, unit, ratio, must, verdict)
}

type figures struct{ floor, signpost, limit float64 }

// atMost reports a figure that has a limit of its own.
func (r *report) atMost(name, unit string, value, limit float64) {
	fmt.Fprintf(r.out, "  %-52s %14s %11.2f %-2s %9s %12s %s\n", name, "", value, unit, "", fmt.Sprintf("≤ %g %s", limit, unit), r.verdict(value <= limit))
}

func (r *report) check(name string, ok bool, detail string) {
	fmt.Fprintf(r.out, "  %-52s %-52s %s\n", name, detail, r.verdict(ok))
}

func (r *report) verdict(ok bool) string {
	if ok {
		return "ok"
	}
	r.missed++
	return "MISSED"
}

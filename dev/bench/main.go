// Command bench measures Signpost on this machine and prints what it measured
// beside what it has to reach, as ratios within one run.
//
//	go run ./dev/bench                 everything (what `make bench` does)
//	go run ./dev/bench --only stall    one part: fanout, stall, rollout, outage, compaction, profiles, proxies,
//	                                   controllers, failover, dns, abuse, inspect, history, scale, xds
//	go run ./dev/bench --only controllers:cold --scale 0.05
//	                                   one half of a part (the others are controllers:flips, stall:some, stall:all,
//	                                   failover:kills, failover:handovers, failover:pause, dns:publish, dns:idle,
//	                                   dns:plan, dns:calls, dns:webhook, dns:kill, dns:hostile, dns:tenants, those of scale.go and xds.go,
//	                                   and each attack: abuse:silent), with fewer objects
//	go run ./dev/bench floor …         the server that others are measured against (xdsfloor for xDS); the parts start it
//	go run ./dev/bench attack …        a hostile client or tenant; abuse starts it, with nice 10 and one core
//	go run ./dev/bench hostile …       a provider that reads a hostile server; dns starts it
//	go run ./dev/bench apiserver …     an API server with a large simulated cluster; scale starts it
//	go run ./dev/bench herd …          proxies that come at once; scale starts them, with nice 19 and one core
//
// Each part but scale starts an API server of its own from bin/localcluster, and all start the servers
// that it measures as processes of their own, so that their CPU time and memory
// can be told apart; the clients run inside this process. All of it stays on
// 127.0.0.1 and ends with this process. Parts run one after the other; nothing
// else should run on the machine meanwhile.
//
// In reading order: main.go has the parts and the report; process.go starts
// processes, gateway.go stands between them and admin.go asks Signpost's admin server. fanout.go, stall.go and
// rollout.go measure streams of Get, with the objects of load.go, the streams of
// clients.go and the server of floor.go beside them; profiles.go and proxies.go
// measure GetProfile. outage.go and compaction.go measure streams whose API server goes away, with the cluster of real.go.
// inspect.go measures the inspection API, and history.go what the history costs. The files controllers*.go,
// failover*.go, dns*.go, abuse*.go, scale*.go and xds*.go have one part each, which begins in the file without a further word in its name.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
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
	run  func(context.Context, *report, choice) error
}

var parts = []part{
	{"fanout", whole(measureFanout)},
	{"stall", measureStall},
	{"rollout", whole(measureRollout)},
	{"outage", whole(measureOutage)},
	{"compaction", whole(measureCompaction)},
	{"profiles", whole(measureProfiles)},
	{"proxies", whole(measureProxies)},
	{"controllers", measureControllers},
	{"failover", measureFailover},
	{"dns", measureDNS},
	{"abuse", measureAbuse},
	{"inspect", measureInspect},
	{"history", measureHistory},
	{"scale", measureScale},
	{"xds", measureXDS},
}

// choice is what the command line says about how to measure a part.
type choice struct {
	// halves are the halves of the part to measure; nil for the whole part.
	halves []string
	// scale is the share of the objects and repetitions; less than 1 is for trying things out.
	scale float64
	// rounds is how often each competitor is measured.
	rounds int
	// rehearse puts the Kubernetes controllers in Signpost's place too, which shows
	// what differs by chance.
	rehearse bool
	// other is the binary of the second replica in failover, if it is to be another version of Signpost.
	other string
}

func (c choice) wants(half string) bool { return c.halves == nil || slices.Contains(c.halves, half) }

// scaled returns the share of n that was asked for, and at least least.
func (c choice) scaled(n, least int) int { return max(least, int(float64(n)*c.scale)) }

// whole makes a part of a function that measures the same whatever the command line says.
func whole(run func(context.Context, *report) error) func(context.Context, *report, choice) error {
	return func(ctx context.Context, r *report, _ choice) error { return run(ctx, r) }
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == "floor" {
		exit(serveFloor(ctx, os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "xdsfloor" {
		exit(serveXDSFloor(ctx, os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "attack" {
		exit(runAttack(ctx, os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "apiserver" {
		exit(serveSimulated(ctx, os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "herd" {
		exit(runHerdProxies(ctx, os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "hostile" {
		exit(readHostile(ctx, os.Args[2:]))
	}
	var c choice
	only := flag.String("only", "", "comma separated parts, or halves of parts, to measure; all if empty")
	flag.Float64Var(&c.scale, "scale", 1, "share of the objects and repetitions in controllers, failover, dns and scale; the limits are for 1")
	flag.IntVar(&c.rounds, "rounds", rounds, "rounds of controllers and xds")
	flag.BoolVar(&c.rehearse, "rehearse", false, "in controllers and failover, let the Kubernetes controllers take Signpost's place")
	flag.StringVar(&c.other, "other", "", "in failover, the binary of the second replica: another version of Signpost")
	flag.Parse()
	exit(measure(ctx, *only, c))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// chosen reports whether the list only wants the part, and which halves of it: nil for the whole part.
func chosen(part, only string) (wanted bool, halves []string) {
	if only == "" {
		return true, nil
	}
	whole := false
	for _, choice := range strings.Split(only, ",") {
		name, half, ok := strings.Cut(choice, ":")
		switch {
		case name != part:
		case ok:
			wanted, halves = true, append(halves, half)
		default:
			wanted, whole = true, true
		}
	}
	if whole {
		halves = nil
	}
	return wanted, halves
}

func measure(ctx context.Context, only string, c choice) error {
	r := &report{out: os.Stdout}
	for _, p := range parts {
		wanted, halves := chosen(p.name, only)
		if !wanted {
			continue
		}
		start := time.Now()
		c.halves = halves
		if err := p.run(ctx, r, c); err != nil {
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

func (r *report) title(format string, args ...any) { r.titleBeside("floor", format, args...) }

// titleBeside is the title of figures that stand beside those of base.
func (r *report) titleBeside(base, format string, args ...any) {
	fmt.Fprintf(r.out, "\n"+format+"\n", args...)
	fmt.Fprintf(r.out, "  %-52s %14s %14s %9s %12s\n", "", base, "signpost", "ratio", "must reach")
}

func (r *report) note(format string, args ...any) { fmt.Fprintf(r.out, "  "+format+"\n", args...) }

// ratio reports a figure beside that of the base, which it may exceed by limit
// at most; a limit of 0 means that the figure is for information.
func (r *report) ratio(name, unit string, f figures) {
	var j judgement
	if f.limit > 0 {
		j = judgement{fmt.Sprintf("≤ %.2f", f.limit), r.verdict(f.signpost/f.base, math.Inf(-1), f.limit)}
	}
	r.beside(name, unit, f, j)
}

// atMostBeside reports a figure that has a limit of its own beside that of the base.
func (r *report) atMostBeside(name, unit string, f figures) {
	r.beside(name, unit, f, judgement{fmt.Sprintf("≤ %g %s", f.limit, unit), r.verdict(f.signpost, math.Inf(-1), f.limit)})
}

// beside reports both figures, their ratio, and a judgement.
func (r *report) beside(name, unit string, f figures, j judgement) {
	fmt.Fprintf(r.out, "  %-52s %11.2f %-2s %11.2f %-2s %9.2f %12s %s\n", name, f.base, unit, f.signpost, unit, f.signpost/f.base, j.must, j.verdict)
}

type judgement struct{ must, verdict string }

type figures struct{ base, signpost, limit float64 }

// atMost reports a figure that has a limit of its own.
func (r *report) atMost(name, unit string, value, limit float64) {
	fmt.Fprintf(r.out, "  %-52s %14s %11.2f %-2s %9s %12s %s\n", name, "", value, unit, "", fmt.Sprintf("≤ %g %s", limit, unit), r.verdict(value, math.Inf(-1), limit))
}

// none reports something that must not have happened, and how often it did.
func (r *report) none(name string, times int, detail string) {
	r.check(name, float64(times), 0, 0, detail)
}

// check reports a value that must be between least and most. The detail is what is printed
// of it.
func (r *report) check(name string, value, least, most float64, detail string) {
	fmt.Fprintf(r.out, "  %-52s %-52s %s\n", name, detail, r.verdict(value, least, most))
}

// verdict counts a value that is not between least and most.
func (r *report) verdict(value, least, most float64) string {
	if least <= value && value <= most {
		return "ok"
	}
	r.missed++
	return "MISSED"
}

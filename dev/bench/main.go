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
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/signpostd/signpost/dev/bench/abuse"
	"github.com/signpostd/signpost/dev/bench/controllers"
	"github.com/signpostd/signpost/dev/bench/dns"
	"github.com/signpostd/signpost/dev/bench/failover"
	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/outage"
	"github.com/signpostd/signpost/dev/bench/scale"
	"github.com/signpostd/signpost/dev/bench/simulation"
	"github.com/signpostd/signpost/dev/bench/streams"
	"github.com/signpostd/signpost/dev/bench/xds"
)

// benches returns all benches in the order in which they run.
func benches() []measure.Bench {
	return slices.Concat(
		streams.Benches(), outage.Benches(), controllers.Benches(), failover.Benches(), dns.Benches(), abuse.Benches(), scale.Benches(), xds.Benches(),
	)
}

// commands are what the benches start as processes of their own, by the first argument.
var commands = map[string]func(context.Context, []string) error{
	"apiserver": simulation.Serve,
	"attack":    abuse.Attack,
	"floor":     streams.ServeFloor,
	"hostile":   dns.ReadHostile,
	"storm":     scale.RunStorm,
	"xdsfloor":  xds.ServeFloor,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 {
		if command := commands[os.Args[1]]; command != nil {
			exit(command(ctx, os.Args[2:]))
		}
	}
	var c measure.Options
	listed := flag.Bool("list", false, "list the benches with what they show and must reach, and exit")
	only := flag.String("only", "", "comma separated parts, or halves of parts, to measure; all if empty")
	flag.Float64Var(&c.Scale, "scale", 1, "share of the objects and repetitions in controllers, failover, dns and scale; the limits are for 1")
	flag.IntVar(&c.Rounds, "rounds", measure.Rounds, "rounds of controllers and xds")
	flag.BoolVar(&c.Rehearse, "rehearse", false, "in controllers and failover, let the Kubernetes controllers take Signpost's place")
	flag.StringVar(&c.Other, "other", "", "in failover, the binary of the second replica: another version of Signpost")
	flag.Parse()
	if *listed {
		list(os.Stdout, benches())
		exit(nil)
	}
	exit(run(ctx, *only, c))
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

// list prints the benches with what they show and must reach.
func list(out io.Writer, all []measure.Bench) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "BENCH\tSHOWS\tMUST REACH")
	for _, b := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\n", b.Name, b.Shows, b.Must)
		for _, h := range b.Halves {
			fmt.Fprintf(w, "%s:%s\t%s\t%s\n", b.Name, h.Name, h.Shows, h.Must)
		}
	}
	_ = w.Flush()
}

// unknown returns the names in a list that no bench has.
func unknown(only string, all []measure.Bench) []string {
	known := map[string]bool{"": true}
	for _, b := range all {
		known[b.Name] = true
		for _, h := range b.Halves {
			known[b.Name+":"+h.Name] = true
		}
	}
	return slices.DeleteFunc(strings.Split(only, ","), func(name string) bool { return known[name] })
}

// run runs the benches that were asked for.
func run(ctx context.Context, only string, c measure.Options) error {
	all := benches()
	if names := unknown(only, all); len(names) > 0 {
		return fmt.Errorf("no bench is called %s: --list prints the names", strings.Join(names, ", "))
	}
	r := &measure.Report{Out: os.Stdout}
	for _, b := range all {
		wanted, halves := chosen(b.Name, only)
		if !wanted {
			continue
		}
		start := time.Now()
		c.Halves = halves
		if err := b.Measure(ctx, r, c); err != nil {
			return fmt.Errorf("%s: %w", b.Name, err)
		}
		r.Note("%s took %s", b.Name, time.Since(start).Round(time.Second))
	}
	if r.Missed > 0 {
		return fmt.Errorf("%d figures miss what they must reach", r.Missed)
	}
	return nil
}

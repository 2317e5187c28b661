// Command bench measures Signpost on this machine and prints the figures beside what they must reach, as
// ratios within one run.
//
//	go run ./dev/bench                 everything (what `make bench` does)
//	go run ./dev/bench --list          the benches, with what they show and must reach
//	go run ./dev/bench --only stall,dns:idle
//	                                   a bench, and a half of another one
//	go run ./dev/bench --only controllers:cold --scale 0.05
//	                                   with fewer objects, to try it out
//
// Each bench but scale starts an API server from bin/localcluster. The servers that are measured run as
// processes of their own, so that their CPU time and memory can be told apart, and the clients inside this
// process. Everything listens on 127.0.0.1 and ends with this process. Benches run one after the other;
// nothing else should run on the machine meanwhile.
//
// The packages below have the benches, each in a function Benches. Package measure has what they share:
// processes, clusters and the report. Packages workload, simulation and mesh have the clusters and the
// clients.
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
	"apiserver":    simulation.Serve,
	"attack":       abuse.Attack,
	"floor":        streams.ServeFloor,
	"hostile":      dns.ReadHostile,
	"storm":        scale.RunStorm,
	"xdsfloor":     xds.ServeFloor,
	"xdsmarked":    xds.RunMarked,
	"xdsreconnect": xds.RunReconnecting,
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
	listed := flag.Bool("list", false, "list the benches with what they show and must reach")
	only := flag.String("only", "", "benches, or halves of benches (stall:some), separated by commas; all if empty")
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

// chosen reports whether the list only selects the bench, and which halves of it: nil for all.
func chosen(bench, only string) (wanted bool, halves []string) {
	if only == "" {
		return true, nil
	}
	whole := false
	for _, choice := range strings.Split(only, ",") {
		name, half, ok := strings.Cut(choice, ":")
		switch {
		case name != bench:
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

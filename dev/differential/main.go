// Command differential plays the same random objects into two real clusters, of which one has the endpoint
// controllers of Kubernetes and the other `signpost controllers`, and compares what they write.
//
//	make differential                          4,000 steps, about eight minutes
//	make differential SEED=540 STEPS=25        the one sequence that begins with this seed
//	go run ./dev/differential --help           all flags
//
// A sequence is 25 steps in a namespace of its own; several are played side by side. A step is one
// to four writes of Services, Pods or Endpoints, after which both clusters have to settle on the
// same Endpoints and EndpointSlices: labels, annotations, owners, ports, addresses, conditions,
// hints. Names and UIDs are compared by what they refer to. A difference is either one of the table
// in explained.go, which has a reason and the page that documents it, or it fails the run. What
// fails is printed with its seed and step, the objects of both sides, and all operations that
// concern it. Exit codes: 0 when every difference is explained, 1 when one isn't or something broke.
//
// Both clusters are bin/localcluster on 127.0.0.1, in temporary directories, and end with this process.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// settings are the flags.
type settings struct {
	seed     uint64
	steps    int
	parallel int
	calm     time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var s settings
	flag.Uint64Var(&s.seed, "seed", 0, "seed of the first sequence; 0 draws one")
	flag.IntVar(&s.steps, "steps", 4000, "steps to compare")
	flag.IntVar(&s.parallel, "parallel", 8, "sequences played side by side")
	flag.DurationVar(&s.calm, "calm", 400*time.Millisecond, "how long nothing may change before what is there is compared")
	flag.Parse()
	if s.seed == 0 {
		s.seed = uint64(time.Now().UnixMilli() % 1_000_000_000)
	}
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
		stop()
		os.Exit(1)
	}
}

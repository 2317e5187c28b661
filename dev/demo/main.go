// Command demo shows Signpost in a real Kubernetes cluster without endpoint controllers of its own. Signpost
// writes the EndpointSlices while a Deployment rolls out and an ExternalWorkload joins, and a client of the
// Destination API receives the endpoints and their traffic settings. A gRPC client finds pods by xDS and
// loses no call while they are replaced. Finally, a Service gets a DNS name in a real DNS server.
//
//	make demo                          about 30 seconds, after the first build
//	go run ./dev/demo --stay           stays open until Ctrl-C, to play with, and opens its page
//	make recording                     writes what it prints to docs/demo.md
//	make demo-multicluster             two clusters, and a federated Service of both
//
// It starts bin/localcluster, bin/signpost and, if it is installed, BIND in temporary directories on
// 127.0.0.1, and leaves nothing behind, also when it is interrupted. Each step is checked: the demo fails if
// a step doesn't have the result that it prints. One goroutine runs the steps, and one for each child process
// copies its output. The step of greeter.go has goroutines that call and serve, and ends them.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/signpostd/signpost/dev/clienttest"
)

func main() {
	stay := flag.Bool("stay", false, "stay open until Ctrl-C instead of ending")
	clusters := flag.Bool("multicluster", false, "show a federated Service that gains and loses a cluster")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	story := (*environment).oneCluster
	if *clusters {
		story = (*environment).twoClusters
	}
	ending := (*environment).close
	if *stay {
		ending = (*environment).stayOpen
	}
	err := demo(ctx, story, ending)
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled):
		fmt.Println("\nInterrupted; everything is cleaned up.")
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// demo tells a story, ends it, and cleans up.
func demo(ctx context.Context, story func(*environment, context.Context) error, ending func(*environment, context.Context)) error {
	dir, err := os.MkdirTemp("", "signpost-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s := &environment{dir: dir, programs: clienttest.Programs{Dir: dir, Target: "demo"}}
	defer s.stop()
	if err := story(s, ctx); err != nil {
		return err
	}
	ending(s, ctx)
	return nil
}

// close ends the story at once.
func (s *environment) close(context.Context) {
	fmt.Println(`
That was Signpost: endpoints, a watch of a rollout, and a DNS record, from one process each.
Next: bin/demo --stay keeps all of it running, with a page in the browser; docs/tutorial.md builds it step by step.
Cleaning up.`)
}

// stayOpen ends the story when the context ends.
func (s *environment) stayOpen(ctx context.Context) {
	s.printHints()
	openPage(ctx, cmp.Or(s.dnsAdmin, s.destinationAdmin))
	<-ctx.Done()
}

// oneCluster tells the story of one cluster.
func (s *environment) oneCluster(ctx context.Context) error {
	if err := s.startAll(ctx); err != nil {
		return err
	}
	return s.play(ctx)
}

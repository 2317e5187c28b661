// Command demo shows Signpost at work: in a real Kubernetes cluster without endpoint
// controllers of its own, Signpost writes the EndpointSlices while a Deployment rolls
// out and a machine outside of the cluster joins, and a real client of the Destination
// API is told, live, where the endpoints are, and how to treat the traffic to them. A gRPC
// client finds pods by xDS and loses no call while they are replaced. In the
// end a Service asks for a name, which a real DNS server then answers for.
//
//	make demo                          about 30 seconds, after the first build
//	go run ./dev/demo --stay           stays open until Ctrl-C, to play with, and opens its page
//	make recording                     writes what it prints to docs/demo.md
//	make demo-multicluster             two clusters, and a federated Service of both
//
// It starts bin/localcluster, bin/signpost and, if it is installed, BIND in temporary
// directories on 127.0.0.1, and leaves nothing behind, also when it is interrupted. Each step is
// checked: the demo fails when what it shows isn't what it says. One goroutine tells the
// story; one more for each child process copies what that prints. The chapter of greeter.go has
// goroutines that call and serve, and ends them.
//
// In reading order: main.go chooses a story; stage.go starts what it needs, and process.go
// runs child processes; page.go has the pages for a browser. play.go tells the story of one cluster, with slices.go and stream.go
// to look at what is written and what clients are told, and the chapters greeter.go, machine.go,
// profile.go and dns.go (dnslookup.go asks a DNS server). clusters.go tells the story of two.
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
)

func main() {
	stay := flag.Bool("stay", false, "stay open until Ctrl-C instead of ending")
	clusters := flag.Bool("multicluster", false, "show a federated Service that gains and loses a cluster")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	story := (*stage).oneCluster
	if *clusters {
		story = (*stage).twoClusters
	}
	ending := (*stage).close
	if *stay {
		ending = (*stage).stayOpen
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
func demo(ctx context.Context, story func(*stage, context.Context) error, ending func(*stage, context.Context)) error {
	dir, err := os.MkdirTemp("", "signpost-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s := &stage{dir: dir}
	defer s.stop()
	if err := story(s, ctx); err != nil {
		return err
	}
	ending(s, ctx)
	return nil
}

// close ends the story at once.
func (s *stage) close(context.Context) {
	fmt.Println(`
That was Signpost: endpoints, a watch of a rollout, and a DNS record, from one process each.
Next: bin/demo --stay keeps all of it running, with a page in the browser; docs/tutorial.md builds it step by step.
Cleaning up.`)
}

// stayOpen ends the story when the context ends.
func (s *stage) stayOpen(ctx context.Context) {
	s.printHints()
	openPage(ctx, cmp.Or(s.dnsAdmin, s.destinationAdmin))
	<-ctx.Done()
}

// oneCluster tells the story of one cluster.
func (s *stage) oneCluster(ctx context.Context) error {
	if err := s.startAll(ctx); err != nil {
		return err
	}
	return s.play(ctx)
}

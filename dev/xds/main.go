// Command xds lets real xDS clients judge `signpost xds`: grpc-go, grpcio (Python), grpc-java,
// @grpc/grpc-js-xds (Node) and Envoy.
//
//	make xds                        all scenes and clients
//	make xds SCENES=rollout,restart some scenes
//	make xds CLIENTS=go,envoy-ads   some clients
//
// etcd, kube-apiserver and two replicas of `signpost xds` run behind one address, as behind a
// ClusterIP. Pods are gRPC and HTTP servers inside this process. The scenes write the Services and
// EndpointSlices; all clients play each scene at the same time. A call that fails is a failure.
//
// Prints a table: what failed, of how many calls, for each client and scene. Exit codes: 0 when
// nothing failed, or when this machine can't run any of it; 1 when something failed. A client that
// is not installed is named in the table. Everything runs in a network namespace of its own, on its
// loopback interface, and ends with this process.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/signpostd/signpost/dev/xds/caller"
)

// limit bounds a run with all scenes.
const limit = 15 * time.Minute

// options are the flags.
type options struct {
	scenes, clients string
	keep            bool
	perSecond       int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == "client" {
		exit(caller.Serve(ctx, os.Stdin, os.Stdout))
	}
	var o options
	flag.StringVar(&o.scenes, "scenes", "", "comma-separated names of scenes; empty plays all")
	flag.StringVar(&o.clients, "clients", "", "comma-separated names of clients; empty for all")
	flag.BoolVar(&o.keep, "keep", false, "keep the directory with the logs of all programs")
	flag.IntVar(&o.perSecond, "rate", 200, "calls a second of each client")
	flag.Parse()
	if !inside() {
		exit(enter(ctx))
	}
	exit(run(ctx, o))
}

// exit ends the process. A program that ran inside the namespace has said already why it failed.
func exit(err error) {
	var said errSaid
	switch {
	case err == nil:
		os.Exit(0)
	case errors.As(err, &said):
		os.Exit(said.code)
	}
	fmt.Fprintln(os.Stderr, "xds:", err)
	os.Exit(1)
}

func run(ctx context.Context, o options) error {
	chosen, err := choose(o.scenes)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not finished within %s", limit))
	defer cancel()
	dir, err := os.MkdirTemp("", "signpost-xds-")
	if err != nil {
		return err
	}
	if o.keep {
		fmt.Println("logs:", dir)
	} else {
		defer os.RemoveAll(dir)
	}
	begun := time.Now()
	c, err := startCluster(ctx, dir)
	if err != nil {
		return err
	}
	defer c.stop()
	clients, err := c.startClients(ctx, o, chosen)
	if err != nil {
		return err
	}
	fmt.Printf("cluster and clients ready after %s\n", time.Since(begun).Round(time.Second))
	t := play(ctx, c, chosen, clients, o.perSecond)
	fmt.Println()
	t.print(os.Stdout)
	fmt.Printf("\n%d scenes in %s\n", len(chosen), time.Since(begun).Round(time.Second))
	if n := len(t.problems); n > 0 {
		return fmt.Errorf("%d problems: %s", n, strings.Join(t.problems, "; "))
	}
	return nil
}

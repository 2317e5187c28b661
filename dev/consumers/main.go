// Command consumers lets programs that read EndpointSlices judge who writes them: kube-proxy, with real
// connections, and CoreDNS.
//
//	make consumers                        all scenes, about four minutes
//	make consumers SCENES=rollout,leader  some of them
//
// Two clusters run side by side. In one, two replicas of `signpost controllers` write Endpoints and
// EndpointSlices; in the other one, two of kube-controller-manager with its endpoint controllers, which do
// nothing else. Each cluster has a node with a network of its own, in which kube-proxy runs in nftables mode
// and pods are listeners on their addresses, and a CoreDNS. The same scenes are played to both at the same
// time. A connection that fails, and a lookup with a wrong response, is a failure.
//
// Prints a table. Exit codes: 0 when Signpost has no more failures than Kubernetes in any scene, or when this
// machine can't run it, which needs root and nftables; 1 when it has more, or when something broke.
// Everything ends with this process.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/coredns/coredns/coremain"

	"github.com/signpostd/signpost/dev/consumers/network"
	"github.com/signpostd/signpost/dev/consumers/tally"
)

// limit bounds a run with all scenes.
const limit = 15 * time.Minute

func main() {
	if len(os.Args) > 1 && os.Args[1] == coreDNS {
		becomeCoreDNS()
		return
	}
	flags := flag.NewFlagSet("consumers", flag.ExitOnError) // the usual one has the flags of CoreDNS
	names := flags.String("scenes", "", "comma-separated names of scenes; empty plays all")
	keep := flags.Bool("keep", false, "keep the directory with the logs of all programs")
	_ = flags.Parse(os.Args[1:]) // exits when it fails
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, *names, *keep)
	if err != nil {
		fmt.Fprintln(os.Stderr, "consumers:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, names string, keep bool) error {
	chosen, err := choose(names)
	if err != nil {
		return err
	}
	if err := network.Missing(); err != nil {
		fmt.Println("skipped:", err)
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not finished within %s", limit))
	defer cancel()
	dir, err := os.MkdirTemp("", "signpost-consumers-")
	if err != nil {
		return err
	}
	if keep {
		fmt.Println("logs:", dir)
	} else {
		defer os.RemoveAll(dir)
	}
	begun := time.Now()
	signpost, kubernetes, err := startSides(ctx, dir)
	if err != nil {
		return err
	}
	defer both(signpost.stop, kubernetes.stop)
	versions, err := clusterVersions(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("%s, CoreDNS %s; clusters ready after %s\n", versions, coremain.CoreVersion, time.Since(begun).Round(time.Second))
	played := playAll(ctx, chosen, signpost, kubernetes)
	fmt.Println()
	tally.Print(os.Stdout, played)
	fmt.Printf("\n%d scenes in %s\n", len(played), time.Since(begun).Round(time.Second))
	return verdict(played)
}

// verdict returns an error that names the scenes that didn't pass.
func verdict(played []tally.Scene) error {
	var failed []string
	for _, s := range played {
		if !s.Passed() {
			failed = append(failed, s.Title)
		}
	}
	if len(failed) > 0 {
		return errors.New("not passed: " + strings.Join(failed, "; "))
	}
	return nil
}

// clusterVersions returns the versions of what the local clusters are made of, of which kube-proxy has the
// one of Kubernetes.
func clusterVersions(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "bin/localcluster", "version").Output()
	if err != nil {
		return "", fmt.Errorf("read versions of bin/localcluster: %w", err)
	}
	return strings.Join(strings.Split(strings.TrimSpace(string(out)), "\n"), ", "), nil
}

// both runs two functions at the same time.
func both(a, b func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		b()
	}()
	a()
	<-done
}

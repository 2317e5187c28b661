package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/internal/childprocess"
	"github.com/signpostd/signpost/internal/manifest"
	"github.com/signpostd/signpost/testkit/bindtest"
)

//go:embed shop.yaml
var shop []byte

// environment is the cluster, Signpost and the clients of the demo.
type environment struct {
	cluster
	dir      string
	grpc     string // address of the Destination API
	programs clienttest.Programs
	started  int
	stream   stream
	profile  transcript
	bind     *bindtest.Server // nil where it can't be started
	dnsFlags []string         // of signpost dns

	controllersAdmin, destinationAdmin, dnsAdmin string // addresses of metrics and health
}

// cluster is a running cluster, with its clients.
type cluster struct {
	kubeconfig string
	client     *kubernetes.Clientset
	dynamic    dynamic.Interface
	manifests  *manifest.Client
}

// startAll starts everything that the story of one cluster needs.
func (s *environment) startAll(ctx context.Context) error {
	say("Starting a Kubernetes cluster on 127.0.0.1, with simulated nodes and without the controllers that write endpoints")
	c, err := s.startCluster(ctx, s.dir, "--nodes", "3", "--endpoint-controllers", "signpost", "--pod-ready-delay", "1s") // slow enough to read along
	if err != nil {
		return err
	}
	s.cluster = *c
	say("Opening a shop in it (dev/demo/shop.yaml): a Deployment of 3 in the mesh, a StatefulSet, and a pod outside of the mesh")
	if err := s.manifests.ApplyAll(ctx, bytes.NewReader(shop), "shop"); err != nil {
		return err
	}
	if err := s.rolledOut(ctx, "web", 3); err != nil {
		return err
	}
	if err := s.startControllers(ctx); err != nil {
		return err
	}
	return s.startDestination(ctx)
}

// startCluster starts a cluster with its files in dir.
func (s *environment) startCluster(ctx context.Context, dir string, flags ...string) (*cluster, error) {
	err := s.start(show("  "), "bin/localcluster", append([]string{"up", "--dir", dir, "--crds", "deploy/crds"}, flags...)...)
	if err != nil {
		return nil, err
	}
	c := &cluster{kubeconfig: filepath.Join(dir, "kubeconfig")}
	err = s.waitFor(ctx, "the cluster", 2*time.Minute, func() (bool, error) {
		_, err := os.Stat(c.kubeconfig)
		return err == nil, nil
	})
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", c.kubeconfig, err)
	}
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if c.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	c.manifests, err = manifest.NewClient(config, "demo")
	return c, err
}

// runControllers starts the controllers role for a cluster, and returns its admin address and what it
// says about who leads.
func (s *environment) runControllers(ctx context.Context, c *cluster) (admin, leads string, err error) {
	if admin, err = childprocess.Address(); err != nil {
		return "", "", err
	}
	err = s.start(show("  "), "bin/signpost", "controllers", "--kubeconfig", c.kubeconfig, "--metrics-addr", admin)
	if err != nil {
		return "", "", err
	}
	leads, err = s.ready(ctx, admin, "leader: this process, ")
	return admin, leads, err
}

// startControllers shows that there are no EndpointSlices, and that Signpost writes them.
func (s *environment) startControllers(ctx context.Context) error {
	if err := s.showSlices(ctx, 0); err != nil {
		return err
	}
	say("Starting Signpost in place of the controllers that are missing: signpost controllers")
	admin, leads, err := s.runControllers(ctx, &s.cluster)
	if err != nil {
		return err
	}
	s.controllersAdmin = admin
	fmt.Println("  " + leads)
	for service, count := range map[string]int{"web": 3, "db": 2, "jobs": 1} {
		if err := s.published(ctx, service, count); err != nil {
			return err
		}
	}
	return s.showSlices(ctx, 3)
}

func (s *environment) startDestination(ctx context.Context) error {
	var err error
	if s.grpc, err = childprocess.Address(); err != nil {
		return err
	}
	if s.destinationAdmin, err = childprocess.Address(); err != nil {
		return err
	}
	say("Starting Signpost in place of Linkerd's destination controller: signpost destination -addr %s", s.grpc)
	err = s.start(show("  "), "bin/signpost", "destination", "-kubeconfig", s.kubeconfig, "-addr", s.grpc, "-metrics-addr", s.destinationAdmin,
		"-cluster-domain", "cluster.local", "-identity-trust-domain", "cluster.local", "-enable-ipv6=false",
		"-external-workload-writer=false") // the controllers do that here
	if err != nil {
		return err
	}
	_, err = s.ready(ctx, s.destinationAdmin, "ok")
	return err
}

// ready waits until a Signpost process is ready and says so with a line that begins
// like this, and returns the line.
func (s *environment) ready(ctx context.Context, admin, beginning string) (line string, err error) {
	err = s.waitFor(ctx, "Signpost to be ready", time.Minute, func() (bool, error) {
		body, err := clienttest.Fetch(ctx, "http://"+admin+"/ready")
		if err != nil {
			return false, err
		}
		for line = range strings.Lines(string(body)) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, beginning) {
				return true, nil
			}
		}
		return false, fmt.Errorf("/ready answers %q, want a line that begins with %q", body, beginning)
	})
	return line, err
}

// stop ends all processes, the last started first, and then BIND, which they use.
func (s *environment) stop() {
	s.programs.Stop()
	if s.bind == nil {
		return
	}
	if err := s.bind.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
	}
}

// printHints prints commands to try while everything stays open.
func (s *environment) printHints() {
	say("Everything stays open until Ctrl-C. In another terminal:")
	fmt.Printf("  export KUBECONFIG=%s\n  kubectl -n shop get pods\n  bin/signpost get %s --addr %s\n", s.kubeconfig, authority, s.grpc)
	if s.dnsAdmin != "" {
		fmt.Printf("  bin/signpost explain %s --addr %s\n", hostname, s.dnsAdmin)
	}
	if s.bind != nil {
		fmt.Printf("  kubectl -n shop annotate service web %s=%s\n  %s\n", hostnameOf, hostname, nameServer{addr: s.bind.Addr}.digCommand(hostname, "A"))
	}
	say("In a browser:")
	for _, page := range s.pages() {
		fmt.Println("  " + page)
	}
}

func say(format string, args ...any) { fmt.Printf("\n▸ "+format+"\n", args...) }

// show returns a function that prints lines with something before them.
func show(before string) func(string) {
	return func(line string) { fmt.Println(before + line) }
}

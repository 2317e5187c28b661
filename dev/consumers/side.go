package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/dev/consumers/network"
	"github.com/signpostd/signpost/internal/childprocess"
)

const (
	startWithin = 3 * time.Minute
	stopWithin  = 10 * time.Second
)

// side is one of the two clusters, with its readers and writers. One goroutine plays scenes on it at a time.
type side struct {
	name       string // signpost or kubernetes, after whose controllers write
	dir        string
	kubeconfig string
	client     kubernetes.Interface
	host       *network.Host
	writers    writers
	resolver   string // address of CoreDNS
	programs   []*program
}

// program is a process of a side.
type program struct {
	*childprocess.Process
	log string
}

// startSides starts both sides, at the same time.
func startSides(ctx context.Context, dir string) (signpost, other *side, err error) {
	signpost = &side{name: "signpost", dir: filepath.Join(dir, "signpost")}
	other = &side{name: "kubernetes", dir: filepath.Join(dir, "kubernetes")}
	var failed [2]error
	both(func() { failed[0] = signpost.start(ctx) }, func() { failed[1] = other.start(ctx) })
	if err := errors.Join(failed[:]...); err != nil {
		both(signpost.stop, other.stop)
		return nil, nil, err
	}
	return signpost, other, nil
}

func (s *side) start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{s.startCluster, s.startNode, s.startWriters, s.startProxy, s.startCoreDNS} {
		if err := step(ctx); err != nil {
			return fmt.Errorf("start the cluster with the controllers of %s: %w", s.name, err)
		}
	}
	return nil
}

// startCluster starts a cluster in which nobody writes slices yet, nor says what nodes and pods are like.
func (s *side) startCluster(ctx context.Context) error {
	cluster := filepath.Join(s.dir, "cluster")
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	_, err := s.launch("cluster", "bin/localcluster", "up", "--dir", cluster, "--nodes", "0",
		"--components", "etcd,kube-apiserver,kube-controller-manager", "--endpoint-controllers", "signpost")
	if err != nil {
		return err
	}
	s.kubeconfig = filepath.Join(cluster, "kubeconfig")
	if err := s.await(ctx, "the cluster is ready", func() bool { _, err := os.Stat(s.kubeconfig); return err == nil }); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{} // they say that Endpoints are deprecated
	s.client, err = kubernetes.NewForConfig(config)
	return err
}

// startNode makes the network and the Node of the node on which kube-proxy runs.
func (s *side) startNode(ctx context.Context) (err error) {
	if s.host, err = network.NewHost(); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return err
	}
	if err := s.host.Forward(strings.TrimPrefix(config.Host, "https://")); err != nil {
		return err
	}
	return s.createNode(ctx, proxyNode, network.HostAddresses()...)
}

// launch starts a program whose output goes to a file.
func (s *side) launch(name string, command ...string) (*program, error) {
	log, err := os.OpenFile(filepath.Join(s.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	process, err := childprocess.Start(cmd, syscall.SIGTERM)
	if err != nil {
		return nil, fmt.Errorf("%w: run `make consumers`, which builds it", err)
	}
	p := &program{process, log.Name()}
	s.programs = append(s.programs, p)
	return p, nil
}

// alive returns an error if a program has ended by itself, with the end of its log.
func (s *side) alive() error {
	for _, p := range s.programs {
		select {
		case <-p.Exited():
			log, _ := os.ReadFile(p.log)
			return fmt.Errorf("a program has ended; the end of its log:\n%s", log[max(0, len(log)-2000):])
		default:
		}
	}
	return nil
}

// await waits until something holds while all programs run.
func (s *side) await(ctx context.Context, what string, holds func() bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	return clienttest.Await(ctx, startWithin, what, func() bool {
		if err := s.alive(); err != nil {
			cancel(err)
		}
		return holds()
	})
}

// kill ends a program with SIGKILL, which isn't an error then.
func (s *side) kill(p *program) error {
	s.programs = without(s.programs, p)
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.Exited()
	return nil
}

func without(programs []*program, p *program) []*program {
	var rest []*program
	for _, other := range programs {
		if other != p {
			rest = append(rest, other)
		}
	}
	return rest
}

// stop ends all programs, the last started first, and the network.
func (s *side) stop() {
	for i := len(s.programs) - 1; i >= 0; i-- {
		s.programs[i].Stop(stopWithin)
	}
	if s.host != nil {
		s.host.Close()
	}
}

// podAddress is an address of the pods of a scene; addresses of different scenes differ.
func podAddress(family corev1.IPFamily, scene, pod int) netip.Addr {
	if family == corev1.IPv6Protocol {
		return netip.MustParseAddr(fmt.Sprintf("fd00:10:244::%x:%x", scene, pod))
	}
	return netip.MustParseAddr(fmt.Sprintf("10.244.%d.%d", scene, pod))
}

// serviceAddress is the address of the Service of a scene.
func serviceAddress(family corev1.IPFamily, scene int) netip.Addr {
	if family == corev1.IPv6Protocol {
		return netip.MustParseAddr(fmt.Sprintf("fd00:10:96::%x", 0x7700+scene))
	}
	return netip.MustParseAddr(fmt.Sprintf("10.96.77.%d", scene))
}

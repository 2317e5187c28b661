package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/dev/consumers/network"
)

// side is one of the two clusters, with its readers and writers. One goroutine plays scenes on it at a time.
type side struct {
	clienttest.Programs
	name       string // signpost or kubernetes, after whose controllers write
	kubeconfig string
	client     kubernetes.Interface
	host       *network.Host
	writers    writers
	resolver   string // address of CoreDNS
}

// startSides starts both sides, at the same time.
func startSides(ctx context.Context, dir string) (signpost, other *side, err error) {
	signpost, other = newSide(dir, "signpost"), newSide(dir, "kubernetes")
	var failed [2]error
	both(func() { failed[0] = signpost.start(ctx) }, func() { failed[1] = other.start(ctx) })
	if err := errors.Join(failed[:]...); err != nil {
		both(signpost.stop, other.stop)
		return nil, nil, err
	}
	return signpost, other, nil
}

func newSide(dir, name string) *side {
	return &side{name: name, Programs: clienttest.Programs{Dir: filepath.Join(dir, name), Target: "consumers"}}
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
func (s *side) startCluster(ctx context.Context) (err error) {
	s.kubeconfig, err = s.StartCluster(ctx, "--components", "etcd,kube-apiserver,kube-controller-manager", "--endpoint-controllers", "signpost")
	if err != nil {
		return err
	}
	config, err := clienttest.ClientConfig(s.kubeconfig)
	if err != nil {
		return err
	}
	s.client, err = kubernetes.NewForConfig(config)
	return err
}

// startNode makes the network and the Node of the node on which kube-proxy runs.
func (s *side) startNode(ctx context.Context) (err error) {
	if s.host, err = network.NewHost(); err != nil {
		return err
	}
	config, err := clienttest.ClientConfig(s.kubeconfig)
	if err != nil {
		return err
	}
	if err := s.host.Forward(strings.TrimPrefix(config.Host, "https://")); err != nil {
		return err
	}
	return s.createNode(ctx, proxyNode, network.HostAddresses()...)
}

// stop ends all programs, the last started first, and the network.
func (s *side) stop() {
	s.Stop()
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

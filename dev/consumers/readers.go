package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"       // plug-ins of the Corefile
	_ "github.com/coredns/coredns/plugin/errors"     //
	_ "github.com/coredns/coredns/plugin/kubernetes" //
	_ "github.com/coredns/coredns/plugin/ready"      //
	"github.com/miekg/dns"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/dev/consumers/network"
	"github.com/signpostd/signpost/internal/childprocess"
)

const (
	coreDNS   = "coredns"
	proxyNode = "node-0"
	domain    = "svc.cluster.local."
	// patience is how long a client waits for a connection and its answer, and for the response to a lookup.
	patience = 2 * time.Second
)

// proxyConfig is the configuration of kube-proxy: nftables, and what it can't do in a network namespace
// turned off.
const proxyConfig = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
hostnameOverride: %s
clusterCIDR: %s,%s
clientConnection:
  kubeconfig: %q
conntrack:
  maxPerCore: 0
  min: 0
  tcpEstablishedTimeout: 0s
  tcpCloseWaitTimeout: 0s
`

func (s *side) startProxy(ctx context.Context) error {
	config := filepath.Join(s.Dir, "kube-proxy.yaml")
	content := fmt.Sprintf(proxyConfig, proxyNode, network.PodsV4, network.PodsV6, s.kubeconfig)
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		return err
	}
	command := s.host.Node.Args("bin/kube-proxy", "--config", config)
	_, err := s.Launch("kube-proxy", exec.Command(command[0], command[1:]...))
	if err != nil {
		return err
	}
	return s.Await(ctx, "kube-proxy has written its rules", func() bool {
		return s.host.Node.Command("nft", "list", "table", "ip", "kube-proxy") == nil
	})
}

// corefile is the configuration of CoreDNS.
const corefile = `.:%s {
	bind 127.0.0.1
	errors
	ready %s
	kubernetes cluster.local in-addr.arpa ip6.arpa {
		kubeconfig %s
		ttl 0
	}
}
`

func (s *side) startCoreDNS(ctx context.Context) error {
	resolver, err := childprocess.Address()
	if err != nil {
		return err
	}
	ready, err := childprocess.Address()
	if err != nil {
		return err
	}
	s.resolver = resolver
	config := filepath.Join(s.Dir, "Corefile")
	if err := os.WriteFile(config, fmt.Appendf(nil, corefile, port(resolver), ready, s.kubeconfig), 0o600); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if _, err := s.Launch(coreDNS, exec.Command(self, coreDNS, "-conf", config)); err != nil {
		return err
	}
	return s.Await(ctx, "CoreDNS is ready", func() bool {
		return clienttest.Ready(ctx, ready) == nil
	})
}

// becomeCoreDNS makes this process a CoreDNS, with its usual flags.
func becomeCoreDNS() {
	os.Args = slices.Delete(os.Args, 1, 2)
	coremain.Run()
}

// connect opens a connection from the node to a Service, and returns the pod that answers.
func (s *side) connect(target netip.AddrPort) (by, failure string) {
	answer, err := s.host.Node.Ask(target, time.Now().Add(patience))
	if err != nil {
		return "", kindOf(err)
	}
	return answer, ""
}

// kindOf returns the kind of a failed connection.
func kindOf(err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, syscall.ECONNRESET):
		return "reset"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	default:
		return err.Error()
	}
}

// lookup asks CoreDNS for the addresses of a name, relative to the domain of the cluster.
func (s *side) lookup(name string, kind uint16) (addresses []netip.Addr, failure string) {
	question := new(dns.Msg)
	question.SetQuestion(name+"."+domain, kind)
	response, _, err := (&dns.Client{Net: "udp", UDPSize: 4096, Timeout: patience}).Exchange(question, s.resolver)
	if err != nil {
		return nil, kindOf(err)
	}
	if response.Rcode != dns.RcodeSuccess {
		return nil, dns.RcodeToString[response.Rcode]
	}
	for _, record := range response.Answer {
		switch r := record.(type) {
		case *dns.A:
			a, _ := netip.AddrFromSlice(r.A.To4())
			addresses = append(addresses, a)
		case *dns.AAAA:
			a, _ := netip.AddrFromSlice(r.AAAA)
			addresses = append(addresses, a)
		}
	}
	return addresses, ""
}

// port returns the port of an address.
func port(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

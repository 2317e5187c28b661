package network

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The networks. Pods have addresses of PodsV4 and PodsV6.
const (
	PodsV4 = "10.244.0.0/16"
	PodsV6 = "fd00:10:244::/64"
	hostV4 = "172.30.0.1"
	hostV6 = "fd00:172:30::1"
	gateV4 = "172.30.0.2"
	gateV6 = "fd00:172:30::2"
)

// HostAddresses are the addresses of the node on which clients and kube-proxy run.
func HostAddresses() []string { return []string{hostV4, hostV6} }

// Host is a node's network: Node, the namespace with the clients and kube-proxy, and another one with all
// pods. A pair of virtual interfaces joins them, so that each connection to a pod crosses the rules of
// kube-proxy.
type Host struct {
	Node *Namespace
	pods *Namespace

	mu      sync.Mutex
	closers []io.Closer
	servers map[netip.Addr]net.Listener
}

// NewHost makes the namespaces and joins them.
func NewHost() (*Host, error) {
	node, err := New()
	if err != nil {
		return nil, err
	}
	pods, err := New()
	if err != nil {
		node.Close()
		return nil, err
	}
	h := &Host{Node: node, pods: pods, servers: map[netip.Addr]net.Listener{}}
	if err := h.join(); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

func (h *Host) join() error {
	for _, n := range []*Namespace{h.Node, h.pods} {
		if err := n.Do(ipv6AtOnce); err != nil {
			return fmt.Errorf("prepare IPv6 in a network namespace: %w", err)
		}
	}
	for _, step := range []struct {
		in      *Namespace
		command string
	}{
		{h.Node, "ip link add pods type veth peer name node netns " + h.pods.Path()},
		{h.Node, "ip addr add " + hostV4 + "/24 dev pods"},
		{h.Node, "ip addr add " + hostV6 + "/64 dev pods"},
		{h.Node, "ip link set pods up"},
		{h.pods, "ip addr add " + gateV4 + "/24 dev node"},
		{h.pods, "ip addr add " + gateV6 + "/64 dev node"},
		{h.pods, "ip link set node up"},
		// Clients of a Service need a route to its address, although kube-proxy changes the address before a
		// packet leaves.
		{h.Node, "ip route add default via " + gateV4},
		{h.Node, "ip -6 route add default via " + gateV6},
		{h.pods, "ip route add local " + PodsV4 + " dev lo"},
		{h.pods, "ip -6 route add local " + PodsV6 + " dev lo"},
	} {
		if err := step.in.Command(strings.Fields(step.command)...); err != nil {
			return err
		}
	}
	return h.awaitIPv6()
}

// awaitIPv6 waits until packets cross, which for IPv6 is up to a second after the interfaces are up.
func (h *Host) awaitIPv6() error {
	nobody := netip.AddrPortFrom(netip.MustParseAddr(gateV6), 1)
	deadline := time.Now().Add(10 * time.Second)
	for {
		_, err := h.Node.Ask(nobody, time.Now().Add(100*time.Millisecond))
		if errors.Is(err, syscall.ECONNREFUSED) { // by the other side, where nobody listens
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("reach %s in the other network namespace: %w", gateV6, err)
		}
	}
}

// ipv6AtOnce makes IPv6 as IPv4 is: programs may bind to an address that only a route has, and addresses are
// usable at once instead of after a search for duplicates.
func ipv6AtOnce() error {
	return errors.Join(
		os.WriteFile("/proc/sys/net/ipv6/ip_nonlocal_bind", []byte("1"), 0),
		os.WriteFile("/proc/sys/net/ipv6/conf/default/accept_dad", []byte("0"), 0),
	)
}

// Close ends all servers and gives the namespaces back.
func (h *Host) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.closers {
		_ = c.Close()
	}
	for _, l := range h.servers {
		_ = l.Close()
	}
	h.Node.Close()
	h.pods.Close()
}

// Forward lets programs of the node reach a server on 127.0.0.1 of this machine under the same port.
func (h *Host) Forward(address string) error {
	var l net.Listener
	err := h.Node.Do(func() (err error) {
		l, err = net.Listen("tcp", address)
		return err
	})
	if err != nil {
		return fmt.Errorf("forward %s into the network namespace: %w", address, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closers = append(h.closers, l)
	go accept(l, func(from net.Conn) { pass(from, address) })
	return nil
}

// pass connects a connection to an address.
func pass(from net.Conn, address string) {
	defer from.Close()
	to, err := net.Dial("tcp", address)
	if err != nil {
		return // the client sees the end, and tries again
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.Close()
	}()
	_, _ = io.Copy(from, to)
}

// accept serves each connection in a goroutine, until the listener is closed.
func accept(l net.Listener, serve func(net.Conn)) {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			go serve(c)
		}
	}
}

// Serve begins to answer at an address of a pod. The answer is the address.
func (h *Host) Serve(pod netip.Addr, port uint16) error {
	var l net.Listener
	err := h.pods.Do(func() (err error) {
		l, err = net.Listen("tcp", netip.AddrPortFrom(pod, port).String())
		return err
	})
	if err != nil {
		return fmt.Errorf("serve as pod %s: %w", pod, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.servers[pod] = l
	go accept(l, func(c net.Conn) {
		_, _ = c.Write([]byte(pod.String()))
		_ = c.Close()
	})
	return nil
}

// End stops answering at an address: connections to it are refused.
func (h *Host) End(pod netip.Addr) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l, ok := h.servers[pod]; ok {
		_ = l.Close()
		delete(h.servers, pod)
	}
}

// Lose drops all packets to these IPv4 addresses of pods, as if their node had no power, in place of those of
// earlier calls.
func (h *Host) Lose(pods ...netip.Addr) error {
	rules := "table inet lost\ndelete table inet lost\n"
	if len(pods) > 0 {
		var list []string
		for _, pod := range pods {
			list = append(list, pod.String())
		}
		rules += "table inet lost { chain input { type filter hook input priority 0; ip daddr { " + strings.Join(list, ", ") + " } drop; }; }\n"
	}
	if err := h.pods.Feed(rules, "nft", "-f", "-"); err != nil {
		return fmt.Errorf("drop packets to pods: %w", err)
	}
	return nil
}

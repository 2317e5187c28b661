package network

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newHost(t *testing.T) *Host {
	t.Helper()
	if err := Missing(); err != nil {
		t.Skip(err)
	}
	h, err := NewHost()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// ask connects from the node and returns the answer.
func ask(h *Host, address string) (string, error) {
	return h.Node.Ask(netip.MustParseAddrPort(address), time.Now().Add(300*time.Millisecond))
}

func TestPodsAnswerInBothFamilies(t *testing.T) {
	h := newHost(t)
	for _, address := range []string{"10.244.1.2", "fd00:10:244::1:2"} {
		pod := netip.MustParseAddr(address)
		if err := h.Serve(pod, 8080); err != nil {
			t.Fatal(err)
		}
		target := netip.AddrPortFrom(pod, 8080).String()
		if got, err := ask(h, target); got != address || err != nil {
			t.Errorf("%s answered %q, %v", address, got, err)
		}
		h.End(pod)
		if got, err := ask(h, target); err == nil {
			t.Errorf("%s answered %q after its end", address, got)
		}
	}
}

func TestLostPodsAreSilentUntilTheyAreFound(t *testing.T) {
	h := newHost(t)
	lost, other := netip.MustParseAddr("10.244.1.1"), netip.MustParseAddr("10.244.1.2")
	for _, pod := range []netip.Addr{lost, other} {
		if err := h.Serve(pod, 8080); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Lose(lost); err != nil {
		t.Fatal(err)
	}
	_, err := ask(h, "10.244.1.1:8080")
	if timeout, ok := err.(net.Error); !ok || !timeout.Timeout() {
		t.Errorf("a lost pod: %v, not a timeout", err)
	}
	if _, err := ask(h, "10.244.1.2:8080"); err != nil {
		t.Errorf("another pod: %v", err)
	}
	if err := h.Lose(); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(h, "10.244.1.1:8080"); err != nil {
		t.Errorf("a pod that is no longer lost: %v", err)
	}
}

func TestForwardReachesAServerOfTheMachine(t *testing.T) {
	h := newHost(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go accept(l, func(c net.Conn) {
		_, _ = c.Write([]byte("here"))
		_ = c.Close()
	})
	if err := h.Forward(l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if got, err := ask(h, l.Addr().String()); got != "here" || err != nil {
		t.Errorf("answered %q, %v", got, err)
	}
}

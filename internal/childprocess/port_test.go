package childprocess

import (
	"net"
	"strconv"
	"testing"
)

func TestPortsAreReturnedOnce(t *testing.T) {
	seen := map[uint16]bool{}
	for range 100 {
		port, err := Port()
		if err != nil {
			t.Fatal(err)
		}
		if seen[port] {
			t.Errorf("%d is returned twice", port)
		}
		seen[port] = true
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(int(port)))
		if err != nil {
			t.Fatalf("listen on a port that is free: %v", err)
		}
		l.Close()
	}
}

func TestPortsInUseAreNotFree(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	if free(tcp.Addr().(*net.TCPAddr).AddrPort().Port()) {
		t.Error("a TCP port in use is free")
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	if free(udp.LocalAddr().(*net.UDPAddr).AddrPort().Port()) {
		t.Error("a UDP port in use is free")
	}
}

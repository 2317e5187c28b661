package childprocess

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Ports are below the kernel's range for outgoing connections and port 0. A port in that range might be taken
// before the server starts. Local clusters use the ports above highestPort.
const (
	lowestPort  = 10000
	highestPort = 19999
	attempts    = 200
)

// reserved has the locks of this process's ports. A lock is an abstract Unix socket, which the kernel frees
// when this process ends.
var reserved struct {
	sync.Mutex
	locks []net.Listener
}

// Port returns a loopback port for a server that is about to start. The port is free for TCP and UDP, and no
// other call of Port on this machine returns it while this process lives.
func Port() (uint16, error) {
	for range attempts {
		port := uint16(lowestPort + rand.IntN(highestPort-lowestPort+1))
		lock, err := net.Listen("unix", fmt.Sprintf("@signpost-port-%d", port))
		if err != nil {
			continue
		}
		if !free(port) {
			_ = lock.Close()
			continue
		}
		reserved.Lock()
		defer reserved.Unlock()
		reserved.locks = append(reserved.locks, lock)
		return port, nil
	}
	return 0, fmt.Errorf("find a free port between %d and %d: none in %d attempts: end the processes that use them", lowestPort, highestPort, attempts)
}

// free reports whether a port is free for TCP and UDP.
func free(port uint16) bool {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port)))
	tcp, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", address)
	if err != nil {
		return false
	}
	return udp.Close() == nil
}

// Address returns an address for a server that is about to start: 127.0.0.1 with a [Port].
func Address() (string, error) {
	port, err := Port()
	if err != nil {
		return "", err
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))), nil
}

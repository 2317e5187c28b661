package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

const loopback = "127.0.0.1"

// Ports are taken from below the range that the kernel uses for outgoing connections. From that
// range, a client that dials a dead component could be given the very port it dials, talk to
// itself, and keep the component from coming back.
const (
	lowestPort  = 20000
	highestPort = 32000
)

// reservation holds ports against other local clusters of this machine: each port is a Unix socket
// in the abstract name space, which the kernel frees when the process ends, however it ends.
type reservation struct{ locks []net.Listener }

// port returns a port on which nobody listens and which no other local cluster is about to use.
func (r *reservation) port() (int, error) {
	for range 200 {
		port := lowestPort + rand.IntN(highestPort-lowestPort)
		lock, err := net.Listen("unix", fmt.Sprintf("@signpost-localcluster-%d", port))
		if err != nil {
			continue
		}
		if validatePort(port) != nil {
			_ = lock.Close()
			continue
		}
		r.locks = append(r.locks, lock)
		return port, nil
	}
	return 0, fmt.Errorf("find a free port between %d and %d: none in 200 attempts", lowestPort, highestPort)
}

// release gives all ports back.
func (r *reservation) release() {
	for _, lock := range r.locks {
		_ = lock.Close()
	}
}

// ports are the addresses of one cluster.
type ports struct{ etcd, etcdPeer, apiServer, controllerManager, scheduler int }

// pick fills in all ports; the API server's may be given.
func (r *reservation) pick(apiServer int) (ports, error) {
	p := ports{apiServer: apiServer}
	wanted := []*int{&p.etcd, &p.etcdPeer, &p.controllerManager, &p.scheduler}
	if apiServer == 0 {
		wanted = append(wanted, &p.apiServer)
	}
	var errs []error
	for _, port := range wanted {
		var err error
		*port, err = r.port()
		errs = append(errs, err)
	}
	return p, errors.Join(errs...)
}

func url(scheme string, port int) string {
	return scheme + "://" + net.JoinHostPort(loopback, strconv.Itoa(port))
}

package model

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Target is a requested port of a Service, of one of its hostnames, or of an IP address.
type Target struct {
	// IP is valid if an address was requested. Namespace, Service, Hostname and Name are empty then.
	IP                 netip.Addr
	Namespace, Service string
	Hostname           string // of endpoints; empty for all
	Name               string // the Service's full name: web.lab.svc.cluster.local
	Port               uint16
}

// defaultPort is the port of a path without one (docs/spec/destination.md §2.1).
const defaultPort = 80

// ParseTarget parses the path of a request (docs/spec/destination.md §2.1). It accepts every cluster domain.
func ParseTarget(path string) (Target, error) {
	host, port, err := splitPort(path)
	if err != nil {
		return Target{}, fmt.Errorf("read the path %q: %w", path, err)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return Target{IP: ip, Port: port}, nil
	}
	labels := strings.Split(host, ".")
	switch {
	case len(labels) > 3 && labels[2] == "svc":
		return Target{Service: labels[0], Namespace: labels[1], Name: host, Port: port}, nil
	case len(labels) > 4 && labels[3] == "svc":
		name := strings.Join(labels[1:], ".")
		return Target{Hostname: labels[0], Service: labels[1], Namespace: labels[2], Name: name, Port: port}, nil
	}
	return Target{}, fmt.Errorf("read the path %q: the host is neither an IP address nor SERVICE.NAMESPACE.svc.DOMAIN", path)
}

func splitPort(path string) (host string, port uint16, err error) {
	if !strings.Contains(path, ":") {
		return path, defaultPort, nil
	}
	host, text, err := net.SplitHostPort(path)
	if err != nil {
		return "", 0, err
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err == nil && n == 0 {
		err = strconv.ErrRange
	}
	return host, uint16(n), err
}

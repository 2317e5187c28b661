package destination

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/sanitize"
)

// errAuthority is wrapped by all errors about an invalid authority.
var errAuthority = errors.New("invalid authority")

// defaultPort is the port of an authority without port.
const defaultPort = 80

// authority is a parsed request path. For an IP literal, ip is set. Otherwise service and
// namespace are set, and hostname for `instance.service.namespace…`.
type authority struct {
	ip                           netip.Addr
	hostname, service, namespace string
	port                         uint16
}

// serviceKey returns the Service of the authority; the zero key for an IP literal.
func (a authority) serviceKey() catalog.ServiceKey {
	if a.service == "" {
		return catalog.ServiceKey{}
	}
	return catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: a.namespace, Name: a.service}
}

// parseAuthority parses a request path such as web.shop.svc.cluster.local:80 (§2.1).
func parseAuthority(path, clusterDomain string) (authority, error) {
	host, port, err := splitAuthority(path)
	if err != nil {
		return authority{}, err
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Zone() != "" {
			return authority{}, fmt.Errorf("%w %s: an address with a zone is valid on one host only; leave the zone out", errAuthority, sanitize.Quote(path))
		}
		return authority{ip: ip.Unmap(), port: port}, nil
	}
	a, ok := parseServiceName(host, clusterDomain)
	if !ok {
		return authority{}, fmt.Errorf("%w %s: want SERVICE.NAMESPACE.svc.%s with at most one label before it", errAuthority, sanitize.Quote(path), clusterDomain)
	}
	a.port = port
	return a, nil
}

func splitAuthority(path string) (host string, port uint16, err error) {
	if !strings.Contains(path, ":") {
		return path, defaultPort, nil
	}
	host, digits, err := net.SplitHostPort(path)
	if err != nil {
		return "", 0, fmt.Errorf("%w %s: want HOST:PORT, an IPv6 address in brackets", errAuthority, sanitize.Quote(path))
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 {
		return "", 0, fmt.Errorf("%w %s: the port is a number from 1 to 65535", errAuthority, sanitize.Quote(path))
	}
	return host, uint16(n), nil
}

func parseServiceName(host, clusterDomain string) (authority, bool) {
	name, ok := strings.CutSuffix(host, ".svc."+clusterDomain)
	if !ok {
		return authority{}, false
	}
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if l == "" {
			return authority{}, false
		}
	}
	switch len(labels) {
	case 2:
		return authority{service: labels[0], namespace: labels[1]}, true
	case 3:
		return authority{hostname: labels[0], service: labels[1], namespace: labels[2]}, true
	default:
		return authority{}, false
	}
}

// contextToken has the used fields of the context token of a proxy (§2.3).
type contextToken struct {
	Namespace string `json:"ns"`
	Node      string `json:"nodeName"`
	// Pod is only used for display.
	Pod string `json:"pod"`
}

// parseContextToken parses either form of token. For an invalid token it returns the empty token and an error
// for the log; the request does not fail.
func parseContextToken(token string) (contextToken, error) {
	if token == "" {
		return contextToken{}, nil
	}
	if len(token) > maxToken {
		return contextToken{}, fmt.Errorf("context token: want at most %d bytes", maxToken)
	}
	t, err := decodeToken(token)
	switch {
	case err != nil:
		return contextToken{}, err
	case len(t.Namespace) > maxNamespace || len(t.Node) > maxNode:
		return contextToken{}, fmt.Errorf("context token: want a namespace of at most %d bytes and a node of at most %d", maxNamespace, maxNode)
	case len(t.Pod) > maxPod:
		t.Pod = ""
	}
	return t, nil
}

// decodeToken parses a token with values of any length. The values do not keep the memory of the token.
func decodeToken(token string) (t contextToken, err error) {
	if err := json.Unmarshal([]byte(token), &t); err == nil {
		return t, nil
	}
	if prefix, ns, ok := strings.Cut(token, ":"); ok && prefix == "ns" && !strings.Contains(ns, ":") {
		return contextToken{Namespace: strings.Clone(ns)}, nil
	}
	return contextToken{}, errors.New(`context token: want a JSON object with the keys "ns" and "nodeName", or ns:NAMESPACE`)
}

package inspect

import (
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The rules of this file are those of the texts with which users name subjects. The server applies
// them to the parameters of requests, and commands to their arguments (package inspectclient).

// Kinds are the spellings of kinds that users type, in lower case.
var Kinds = map[string]string{
	"svc": "Service", "service": "Service", "services": "Service",
	"po": "Pod", "pod": "Pod", "pods": "Pod",
	"no": "Node", "node": "Node", "nodes": "Node",
	"ing": "Ingress", "ingress": "Ingress", "ingresses": "Ingress",
	"endpointslice": "EndpointSlice", "endpointslices": "EndpointSlice",
	"deploy": "Deployment", "deployment": "Deployment", "deployments": "Deployment", "sts": "StatefulSet", "statefulset": "StatefulSet", "statefulsets": "StatefulSet",
	"ds": "DaemonSet", "daemonset": "DaemonSet", "daemonsets": "DaemonSet", "rs": "ReplicaSet", "replicaset": "ReplicaSet", "replicasets": "ReplicaSet",
	"job": "Job", "jobs": "Job", "cj": "CronJob", "cronjob": "CronJob", "cronjobs": "CronJob", "sp": "ServiceProfile", "serviceprofile": "ServiceProfile", "serviceprofiles": "ServiceProfile",
	"externalworkload": "ExternalWorkload", "externalworkloads": "ExternalWorkload",
	"dnsendpoint": "DNSEndpoint", "dnsendpoints": "DNSEndpoint",
	"gateway": "Gateway", "gateways": "Gateway", "gtw": "Gateway",
	"httproute": "HTTPRoute", "grpcroute": "GRPCRoute", "tlsroute": "TLSRoute", "tcproute": "TCPRoute", "udproute": "UDPRoute",
	"ep": "Endpoints", "endpoints": "Endpoints", "crd": "CustomResourceDefinition", "dnsrecord": "DNSRecord", "virtualservice": "VirtualService",
	"server": "Server", "namespace": "Namespace", "ns": "Namespace", "secret": "Secret",
}

// ClusterScoped are the cluster-scoped ones of [Kinds].
var ClusterScoped = []string{"Node", "Namespace", "CustomResourceDefinition"}

// KnownKind reports whether a kind is one of [Kinds]. Sources of DNS read further ones.
func KnownKind(kind string) bool { return slices.Contains(slices.Collect(maps.Values(Kinds)), kind) }

// KindOf returns the kind that a word stands for, with any plural and with a group, as in
// ingresses.networking.k8s.io. Words with a capital letter are kinds, too. Otherwise it returns the
// word and false.
func KindOf(word string) (kind string, known bool) {
	lower, _, _ := strings.Cut(strings.ToLower(word), ".")
	for _, candidate := range []string{lower, strings.TrimSuffix(lower, "s"), strings.TrimSuffix(lower, "es")} {
		if kind = Kinds[candidate]; kind != "" {
			return kind, true
		}
	}
	return word, word != strings.ToLower(word)
}

// ParseAddress parses IP, [IP] or IP:PORT. An IPv4 address may be written as an IPv6 address.
func ParseAddress(text string) (netip.AddrPort, bool) {
	bare := text
	if inner, ok := strings.CutPrefix(text, "["); ok && strings.HasSuffix(inner, "]") {
		bare = strings.TrimSuffix(inner, "]")
	}
	if ip, err := netip.ParseAddr(bare); err == nil && ip.Zone() == "" {
		return netip.AddrPortFrom(ip.Unmap(), 0), true
	}
	a, err := netip.ParseAddrPort(text)
	if err != nil || a.Addr().Zone() != "" || a.Port() == 0 {
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()), true
}

// ParsePort parses the number of a port. It returns false for any other text.
func ParsePort(text string) (uint16, bool) {
	n, err := strconv.ParseUint(text, 10, 16)
	return uint16(n), err == nil && n > 0
}

// WebPort is the port of HTTPS, which suggests a DNS name.
const WebPort = 443

// HostOfURL returns HOST:PORT of a URL. The port may follow from the scheme. It returns false without a host.
func HostOfURL(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return "", false
	}
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "http":
		port = "80"
	case u.Scheme == "https":
		port = strconv.Itoa(WebPort)
	default:
		return u.Hostname(), true
	}
	return net.JoinHostPort(u.Hostname(), port), true
}

package resource

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/sanitize"
)

const (
	// maxName limits a resource name in bytes.
	maxName = 512
	// linkedAuthority is the end of the authorities that name linked clusters.
	linkedAuthority = ".clusters.signpost"
)

// Namer reads and makes resource names, and makes the resources.
type Namer struct {
	ClusterDomain string
	// Authorities are those of xdstp names that are served, beside the empty one and those of
	// linked clusters.
	Authorities []string
	// TrustDomain is that of the identities of pods of our own cluster; empty if they have none.
	TrustDomain string
}

// Name is a parsed resource name. All forms of a name with the same port text are equal, except for
// the authority.
type Name struct {
	Service  catalog.ServiceKey
	Hostname string // of one endpoint; empty for all
	Port     string // a number or the name of a port of the Service; empty for none

	structured bool // the name begins with xdstp:
	authority  string
}

// Parse parses the name of a resource (§2.1 to §2.3). The namespace is that of the client; empty if
// unknown. Clients show the text of an error as the reason.
func (n Namer) Parse(t Type, name, namespace string) (Name, error) {
	if len(name) > maxName {
		return Name{}, fmt.Errorf("the name has %d bytes, and %d are allowed", len(name), maxName)
	}
	parsed := Name{Service: catalog.ServiceKey{Cluster: catalog.LocalCluster}}
	rest := name
	if strings.HasPrefix(name, "xdstp:") {
		var err error
		if rest, err = n.parseStructured(t, name, &parsed); err != nil {
			return Name{}, err
		}
	}
	host, port, found := strings.Cut(rest, ":")
	if found && !isLabel(port) {
		return Name{}, fmt.Errorf("%s has a bad port: write a number or the name of a port", sanitize.Quote(name))
	}
	short, whole := strings.CutSuffix(host, ".svc."+n.ClusterDomain)
	labels := strings.Split(short, ".")
	switch {
	case len(labels) == 1 && !whole && namespace == "" && isLabel(short):
		return Name{}, fmt.Errorf("the namespace of Service %s is unknown: write %s.NAMESPACE", short, short)
	case len(labels) == 1 && !whole:
		labels = append(labels, namespace)
	case len(labels) == 3 && whole:
		parsed.Hostname, labels = labels[0], labels[1:]
	case len(labels) == 3 && labels[2] == "svc":
		labels = labels[:2]
	}
	if len(labels) != 2 || slices.ContainsFunc(strings.Split(short, "."), func(l string) bool { return !isLabel(l) }) {
		return Name{}, fmt.Errorf("%s is no name of a Service: write SERVICE.NAMESPACE.svc.%s:PORT", sanitize.Quote(name), n.ClusterDomain)
	}
	parsed.Service.Name, parsed.Service.Namespace, parsed.Port = labels[0], labels[1], port
	return parsed, nil
}

// parseStructured returns the plain name of an xdstp name. It sets the authority and the cluster of parsed.
func (n Namer) parseStructured(t Type, name string, parsed *Name) (plain string, err error) {
	u, err := url.Parse(name)
	if err != nil {
		u = &url.URL{}
	}
	kind, plain, found := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if !strings.HasPrefix(name, "xdstp://") || !found || kind != t.message() || u.User != nil {
		return "", fmt.Errorf("%s is no name of this type: write xdstp://AUTHORITY/%s/NAME", sanitize.Quote(name), t.message())
	}
	parsed.structured, parsed.authority = true, u.Host
	cluster, linked := strings.CutSuffix(u.Host, linkedAuthority)
	switch {
	case linked && isLabel(cluster) && cluster != catalog.LocalCluster:
		parsed.Service.Cluster = cluster
	case linked || u.Host != "" && !slices.Contains(n.Authorities, u.Host):
		return "", fmt.Errorf("the authority %s is not served", sanitize.Quote(u.Host))
	}
	return plain, nil
}

// isLabel reports whether a text can be a label of a DNS name, or a port.
func isLabel(text string) bool {
	return text != "" && len(text) <= 63 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// IsReason reports whether the name of a Cluster is a reason, as in [MissingListener]. Names of
// Services have no spaces.
func IsReason(cluster string) bool {
	return strings.Contains(cluster, " ") && len(cluster) <= maxName
}

// PortNumber returns the port of a name that has a number; 0 for any other.
func (name Name) PortNumber() uint16 {
	r, ok := catalog.ParsePortRange(name.Port)
	if !ok || strings.Contains(name.Port, "-") {
		return 0
	}
	return r.Low
}

// ChoosePort returns the port of the Service that the name selects (§2.1). The Service may be nil.
// Clients show the text of an error as the reason.
func (name Name) ChoosePort(s *catalog.Service) (uint16, error) {
	what := fmt.Sprintf("Service %s in namespace %s", name.Service.Name, name.Service.Namespace)
	if name.Service.Cluster != catalog.LocalCluster {
		what += " of cluster " + name.Service.Cluster
	}
	if s == nil {
		return 0, errors.New("no " + what)
	}
	if s.ExternalName {
		return 0, errors.New(what + " is of type ExternalName, which has no endpoints")
	}
	ports := portsThat(s.Ports, func(p catalog.ServicePort) bool { return p.Protocol == catalog.TCP })
	if len(ports) == 0 {
		return 0, errors.New(what + " has no TCP port")
	}
	if name.Port == "" {
		return defaultPort(ports, s.GRPCProtocol)
	}
	for _, p := range ports {
		if strconv.Itoa(int(p.Port)) == name.Port || p.Name == name.Port {
			return p.Port, nil
		}
	}
	return 0, fmt.Errorf("%s has no TCP port %s, only %s", what, name.Port, list(ports))
}

// defaultPort returns the port that is meant if none is named.
func defaultPort(ports []catalog.ServicePort, grpc catalog.PortSet) (uint16, error) {
	for _, kept := range [][]catalog.ServicePort{
		ports,
		portsThat(ports, func(p catalog.ServicePort) bool { return p.Name == "grpc" }),
		portsThat(ports, func(p catalog.ServicePort) bool { return grpc.Has(p.Port) }),
		portsThat(ports, func(p catalog.ServicePort) bool { return p.Port == 80 }),
	} {
		if len(kept) == 1 {
			return kept[0].Port, nil
		}
	}
	return 0, errors.New("say which port: " + list(ports))
}

func portsThat(all []catalog.ServicePort, keep func(catalog.ServicePort) bool) []catalog.ServicePort {
	return slices.DeleteFunc(slices.Clone(all), func(p catalog.ServicePort) bool { return !keep(p) })
}

const maxListed = 8 // ports in a reason

func list(ports []catalog.ServicePort) string {
	var texts []string
	for _, p := range ports[:min(len(ports), maxListed)] {
		texts = append(texts, strings.TrimSuffix(fmt.Sprintf("%d (%s)", p.Port, p.Name), " ()"))
	}
	if len(ports) > maxListed {
		texts = append(texts, "…")
	}
	return strings.Join(texts, ", ")
}

// ClusterName returns the canonical name of the Cluster of a name and port (§2.2).
func (n Namer) ClusterName(name Name, port uint16) string { return n.nameOf(Cluster, name, port) }

// nameOf returns the canonical name of a Cluster, or of its endpoints, which is another xdstp name (§2.3).
func (n Namer) nameOf(t Type, name Name, port uint16) string {
	plain := fmt.Sprintf("%s:%d", name.Service.DNSName(name.Hostname, n.ClusterDomain), port)
	if !name.structured {
		return plain
	}
	return "xdstp://" + name.authority + "/" + t.message() + "/" + plain
}

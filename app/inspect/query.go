package inspect

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/signpostd/signpost/dns"
)

// maxLabel and maxName limit names of objects and of DNS.
const (
	maxLabel = 63
	maxName  = 253
)

// subjects are the parameters of a query.
var subjects = []string{"service", "address", "name", "object", "q", "namespace"}

// query parses the query of an explanation.
func (s *Server) query(p parameters) (Query, error) {
	var given []string
	for _, name := range []string{"service", "address", "name", "object", "q"} {
		if p.values[name] != "" {
			given = append(given, name)
		}
	}
	if len(given) != 1 {
		return Query{}, badRequest("%d of the parameters service, address, name, object and q are given: give exactly one", len(given))
	}
	if p.values["namespace"] != "" && given[0] != "q" {
		return Query{}, badRequest("the parameter namespace belongs to q: write the namespace into %s", given[0])
	}
	text := p.values[given[0]]
	switch given[0] {
	case "service":
		return parseServiceQuery(text)
	case "address":
		a, ok := ParseAddress(text)
		if !ok {
			return Query{}, badRequest("address is %.100q: write IP or IP:PORT, an IPv6 address with a port in brackets", text)
		}
		return Query{Address: a}, nil
	case "name":
		name, ok := dnsName(text)
		if !ok {
			return Query{}, badRequest("name is %.100q: write a DNS name", text)
		}
		return Query{Name: name}, nil
	case "object":
		o, err := parseObject("object", text)
		if err != nil {
			return Query{}, err
		}
		return objectQuery(o, 0), nil
	default:
		return Typed{Domain: s.config.ClusterDomain, Namespace: p.values["namespace"], HasService: s.hasService}.Parse(text)
	}
}

func (s *Server) hasService(namespace, name string) bool {
	source := s.offered.serving.Services
	return source != nil && source.HasService(namespace, name)
}

// parseServiceQuery parses NAMESPACE/NAME or NAMESPACE/NAME:PORT.
func parseServiceQuery(text string) (Query, error) {
	bare, port, err := cutPort(text)
	namespace, name, slash := strings.Cut(bare, "/")
	if err != nil || !slash || !isLabel(namespace) || !isLabel(name) {
		return Query{}, badRequest("service is %.100q: write NAMESPACE/NAME or NAMESPACE/NAME:PORT", text)
	}
	return Query{Service: &ServiceQuery{Namespace: namespace, Name: name, Port: port}}, nil
}

// parseObject parses KIND/NAMESPACE/NAME or KIND/NAME. The name of the parameter is for the error.
func parseObject(parameter, text string) (*ObjectRef, error) {
	parts := strings.Split(text, "/")
	kind, _ := KindOf(parts[0])
	if len(parts) < 2 || len(parts) > 3 || !isKind(kind) {
		return nil, badRequest("%s is %.100q: write KIND/NAMESPACE/NAME, or KIND/NAME for an object without a namespace", parameter, text)
	}
	o := &ObjectRef{Kind: kind, Name: parts[len(parts)-1]}
	if len(parts) == 3 {
		o.Namespace = parts[1]
	}
	if !isObjectName(o.Name) || len(parts) == 3 && !isLabel(o.Namespace) {
		return nil, badRequest("%s is %.100q: %.50q can't be the name of an object", parameter, text, strings.TrimPrefix(text, parts[0]+"/"))
	}
	return o, nil
}

// objectQuery returns the query about an object; a Service has its own kind of query.
func objectQuery(o *ObjectRef, port uint16) Query {
	if o.Kind == "Service" && o.Namespace != "" {
		return Query{Service: &ServiceQuery{Namespace: o.Namespace, Name: o.Name, Port: port}}
	}
	return Query{Object: o}
}

// Typed parses free text of a search box, or the argument of a command.
type Typed struct {
	// Domain is the domain of the cluster; empty means any.
	Domain string
	// Namespace is the default namespace; empty means "default".
	Namespace string
	// HasService reports whether a Service exists. It is called if the result depends on that.
	HasService func(namespace, name string) bool
}

// Parse recognises, in this order: URLs, IP and IP:PORT, KIND/NAMESPACE/NAME, svc/NAME,
// NAMESPACE/NAME, names of Services in DNS, DNS names with a final dot, NAME.NAMESPACE:PORT,
// HOSTNAME.SERVICE:PORT in the namespace, and DNS names. Text of two words may end with -n NAMESPACE.
func (t Typed) Parse(text string) (Query, error) {
	text = strings.TrimSpace(text)
	words := strings.Fields(text)
	if len(words) == 3 && (words[1] == "-n" || words[1] == "--namespace") {
		text, t.Namespace = words[0], words[2]
	}
	if t.Namespace != "" && !isLabel(t.Namespace) {
		return Query{}, badRequest("the namespace %.70q can't be one: it has letters, digits and dashes, and at most %d of them", t.Namespace, maxLabel)
	}
	if bare, port, ok := cutPortName(text); ok {
		return t.withPortName(bare, port)
	}
	if scheme, _, ok := strings.Cut(text, "://"); ok && isKind(scheme) {
		host, ok := HostOfURL(text)
		if !ok {
			return Query{}, badRequest("the subject is %.100q: this URL has no host", text)
		}
		return t.host(host)
	}
	if a, ok := ParseAddress(text); ok {
		return Query{Address: a}, nil
	}
	if strings.Contains(text, "/") {
		return t.path(text)
	}
	return t.host(text)
}

// cutPortName splits the name of a port from the end of a text.
func cutPortName(text string) (bare, port string, ok bool) {
	bare, port, ok = strings.Cut(text, ":")
	return bare, port, ok && isLabel(port) && strings.ContainsFunc(port, unicode.IsLetter)
}

// withPortName parses a Service whose port has a name.
func (t Typed) withPortName(bare, port string) (Query, error) {
	// With a port, NAME.NAMESPACE is a Service and no DNS name.
	q, err := t.Parse(bare + ":1")
	if err != nil || q.Service == nil {
		return Query{}, badRequest("the subject is %.100q: only ports of Services have names: write NAMESPACE/NAME:PORT or NAME.NAMESPACE:PORT", bare+":"+port)
	}
	q.Service.Port, q.Service.PortName = 0, port
	return q, nil
}

// path parses text with slashes.
func (t Typed) path(text string) (Query, error) {
	bare, port, err := cutPort(text)
	if err != nil {
		return Query{}, err
	}
	parts := strings.Split(bare, "/")
	kind, known := KindOf(parts[0])
	switch {
	case len(parts) == 3 && isKind(kind), len(parts) == 2 && known:
		o, err := parseObject("the subject", bare)
		if err != nil {
			return Query{}, err
		}
		if o.Kind == "Service" && strings.Contains(o.Name, ".") {
			return Query{}, badRequest("%.60q is no name of a Service, which has no dots: write NAME.NAMESPACE, or svc/NAME with -n NAMESPACE", o.Name)
		}
		if o.Namespace == "" && !slices.Contains(ClusterScoped, o.Kind) {
			o.Namespace = cmp.Or(t.Namespace, "default")
		}
		return objectQuery(o, port), nil
	case len(parts) == 2 && isLabel(parts[0]) && isLabel(parts[1]):
		return Query{Service: &ServiceQuery{Namespace: parts[0], Name: parts[1], Port: port}}, nil
	}
	return Query{}, noSubject(text)
}

func noSubject(text string) error {
	return badRequest("the subject is %.100q: write NAMESPACE/NAME of a Service, KIND/NAMESPACE/NAME, an address or a DNS name", text)
}

// host parses HOST or HOST:PORT.
func (t Typed) host(text string) (Query, error) {
	if a, ok := ParseAddress(text); ok {
		return Query{Address: a}, nil
	}
	bare, port, err := cutPort(text)
	if err != nil {
		return Query{}, err
	}
	name, valid := dnsName(bare)
	if !valid {
		return Query{}, noSubject(text)
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r != '.' && notInName(r) }) {
		return Query{Name: name}, nil
	}
	if q := t.service(name); q != nil {
		q.Port = port
		return Query{Service: q}, nil
	}
	labels := strings.Split(name, ".")
	switch {
	case strings.HasSuffix(bare, "."):
		return Query{Name: name}, nil
	case len(labels) == 1 && t.Namespace != "":
		return Query{Service: &ServiceQuery{Namespace: t.Namespace, Name: name, Port: port}}, nil
	case len(labels) == 2 && t.Namespace != "" && !t.HasService(labels[1], labels[0]) && t.HasService(t.Namespace, labels[1]):
		return Query{Service: &ServiceQuery{Namespace: t.Namespace, Name: labels[1], Hostname: labels[0], Port: port}}, nil
	case len(labels) == 2 && (t.HasService(labels[1], labels[0]) || port != 0 && port != WebPort):
		return Query{Service: &ServiceQuery{Namespace: labels[1], Name: labels[0], Port: port}}, nil
	default:
		return Query{Name: name}, nil
	}
}

// service parses [HOSTNAME.]NAME.NAMESPACE.svc[.DOMAIN]; nil for any other name.
func (t Typed) service(name string) *ServiceQuery {
	labels := strings.Split(name, ".")
	for _, at := range []int{3, 2} {
		if len(labels) <= at || labels[at] != "svc" {
			continue
		}
		if domain := strings.Join(labels[at+1:], "."); domain != "" && t.Domain != "" && domain != strings.ToLower(t.Domain) {
			continue
		}
		return &ServiceQuery{Hostname: strings.Join(labels[:at-2], "."), Name: labels[at-2], Namespace: labels[at-1]}
	}
	return nil
}

// cutPort splits a port from the end of a text, 0 if there is none.
func cutPort(text string) (bare string, port uint16, err error) {
	at := strings.LastIndexByte(text, ':')
	if at < 0 {
		return text, 0, nil
	}
	port, ok := ParsePort(text[at+1:])
	if !ok {
		return "", 0, badRequest("%.60q is no port: write its number, from 1 to 65535, or its name, which signpost services shows", text[at+1:])
	}
	return text[:at], port, nil
}

// dnsName returns the canonical form of a DNS name. Any name is valid that a zone can have, also with escapes.
func dnsName(text string) (string, bool) {
	name := dns.Canonical(text)
	return name, dns.CheckNameWith(name, dns.EscapedCharacters) == nil
}

// notInName reports whether a character is in no name of a host, of a service or of a wildcard.
func notInName(r rune) bool {
	return r != '-' && r != '_' && r != '*' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
}

// isLabel reports whether a text can be the name of a namespace or a Service.
func isLabel(text string) bool {
	return text != "" && len(text) <= maxLabel && !strings.ContainsFunc(text, func(r rune) bool { return notInName(r) || r == '*' || r == '_' })
}

// isObjectName reports whether a text can be the name of an object, some of which have capitals or
// colons.
func isObjectName(text string) bool {
	return text != "" && len(text) <= maxName && !strings.ContainsFunc(text, func(r rune) bool {
		return r != '.' && r != ':' && (r < 'A' || r > 'Z') && (notInName(r) || r == '*')
	})
}

// isKind reports whether a text can be a kind, or a URL scheme.
func isKind(text string) bool {
	return text != "" && len(text) <= maxLabel && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

package inspectclient

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/app/settings"
)

// maxSubject limits the text of a query in bytes, far above any name and URL.
const maxSubject = 2048

// Subject returns the parameters of an explanation for free text: a Service (svc/web, shop/web,
// web.shop:80), another object (Ingress/web), an IP address with or without a port, a DNS name, or
// a URL. namespace returns the default namespace, and is called only if it is needed.
func Subject(text string, namespace func() (string, error)) (url.Values, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return nil, settings.Usagef("nothing to explain: name a Service, an object, an address, a DNS name or a URL")
	case len(text) > maxSubject || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return nil, settings.Usagef("%.60q is none of a Service, an object, an address, a DNS name and a URL", output.Clean(text))
	case strings.Contains(text, "://"):
		of, ok := inspect.HostOfURL(text)
		if !ok {
			return nil, settings.Usagef("%.60q is no URL with a host", text)
		}
		return host(of, namespace)
	}
	if address := addressOf(text); address != "" {
		return url.Values{"address": {address}}, nil
	}
	if strings.Contains(text, "/") {
		return object(text, namespace)
	}
	return host(text, namespace)
}

// addressOf returns an IP address, with or without a port, in canonical form; "" for other text.
func addressOf(text string) string {
	switch a, ok := inspect.ParseAddress(text); {
	case !ok:
		return ""
	case a.Port() == 0:
		return a.Addr().String()
	default:
		return a.String()
	}
}

// IsAddress reports whether text is an IP address, with or without a port.
func IsAddress(text string) bool { return addressOf(strings.TrimSpace(text)) != "" }

// IsKind reports whether a word is the kind of an object, such as svc.
func IsKind(word string) bool {
	_, known := inspect.KindOf(word)
	return known
}

// object parses KIND/NAME, NAMESPACE/NAME and KIND/NAMESPACE/NAME; a Service may have a port.
func object(text string, namespace func() (string, error)) (url.Values, error) {
	parts := strings.Split(text, "/")
	if len(parts) > 3 || slices.Contains(parts, "") {
		return nil, settings.Usagef("%.60q is none of KIND/NAME, NAMESPACE/NAME and KIND/NAMESPACE/NAME", text)
	}
	kind, known := inspect.KindOf(parts[0])
	if len(parts) == 2 && !known {
		return service(parts[0], parts[1])
	}
	name := parts[len(parts)-1]
	if slices.Contains(inspect.ClusterScoped, kind) {
		return url.Values{"object": {kind + "/" + name}}, nil
	}
	in := parts[1]
	if len(parts) == 2 {
		var err error
		if in, err = namespace(); err != nil {
			return nil, err
		}
	}
	if kind == "Service" {
		return service(in, name)
	}
	return url.Values{"object": {kind + "/" + in + "/" + name}}, nil
}

// service returns the parameters for a Service, with an optional port.
func service(namespace, name string) (url.Values, error) {
	name, port, with := strings.Cut(name, ":")
	if strings.Contains(name, ".") {
		return nil, settings.Usagef("%.60q is no name of a Service, which has no dots: write NAME.NAMESPACE, or svc/NAME with -n NAMESPACE", name)
	}
	if !with {
		return url.Values{"service": {namespace + "/" + name}}, nil
	}
	if err := checkPort(port); err != nil {
		return nil, err
	}
	return url.Values{"service": {namespace + "/" + name + ":" + port}}, nil
}

func checkPort(text string) error {
	if _, ok := inspect.ParsePort(text); !ok {
		return settings.Usagef("%.60q is no number of a port: write the number, from 1 to 65535, which signpost services shows beside the name", text)
	}
	return nil
}

// host parses the name of a Service, as in proxies' requests, or a DNS name, with or without a
// port. The server decides about ambiguous ones.
func host(text string, namespace func() (string, error)) (url.Values, error) {
	if address := addressOf(text); address != "" {
		return url.Values{"address": {address}}, nil
	}
	name, port, with := strings.Cut(text, ":")
	labels := strings.Split(strings.TrimSuffix(name, "."), ".")
	if with {
		port = ":" + port
	}
	switch {
	case slices.Contains(labels, ""):
		return nil, settings.Usagef("%.60q is no name: a part between two dots is empty", text)
	case len(labels) == 1:
		in, err := namespace()
		if err != nil {
			return nil, err
		}
		return service(in, name+port)
	case len(labels) > 3 && labels[3] == "svc":
		// The name may be that of a Service's pod, if the server has that domain.
		return url.Values{"q": {text}}, nil
	case len(labels) == 2 && with && port != ":"+strconv.Itoa(inspect.WebPort):
		return serviceOrPod(text, namespace)
	case len(labels) > 2 && labels[2] == "svc", len(labels) == 2 && with:
		return service(labels[1], labels[0]+port)
	case len(labels) == 2 && !strings.HasSuffix(name, "."):
		return url.Values{"q": {text}}, nil
	}
	return url.Values{"name": {strings.TrimSuffix(name, ".")}}, nil
}

// serviceOrPod lets the server distinguish NAME.NAMESPACE:PORT from HOSTNAME.SERVICE:PORT in a
// namespace.
func serviceOrPod(text string, namespace func() (string, error)) (url.Values, error) {
	query := url.Values{"q": {text}}
	if in, err := namespace(); err == nil && in != "" {
		query.Set("namespace", in)
	}
	return query, nil
}

// ServiceIn returns the Service in the parameters of a subject, as NAMESPACE/NAME; empty for other
// subjects.
func ServiceIn(subject url.Values) string {
	if name, _, _ := strings.Cut(subject.Get("service"), ":"); name != "" {
		return name
	}
	name, _, _ := strings.Cut(subject.Get("q"), ":")
	switch labels := strings.Split(strings.TrimSuffix(name, "."), "."); {
	case len(labels) == 2:
		return labels[1] + "/" + labels[0]
	case len(labels) > 3 && labels[3] == "svc":
		return labels[2] + "/" + labels[1]
	default:
		return ""
	}
}

// Authority returns the authority that a proxy would use for a Service in short form, such as
// web.shop:80 or svc/web. Other text is returned unchanged.
func Authority(text, domain string, namespace func() (string, error)) (string, error) {
	text = strings.TrimSpace(text)
	if addressOf(text) != "" {
		return text, nil
	}
	name, port, with := strings.Cut(text, ":")
	if with {
		if err := checkPort(port); err != nil {
			return "", err
		}
		port = ":" + port
	}
	labels := strings.Split(name, ".")
	switch {
	case strings.Contains(name, "/"):
		query, err := object(name, namespace)
		if err != nil {
			return "", err
		}
		in, short, ok := strings.Cut(query.Get("service"), "/")
		if !ok {
			return "", settings.Usagef("%.60q is no Service: a Destination server answers for Services and addresses", text)
		}
		return short + "." + in + ".svc." + domain + port, nil
	case len(labels) == 1:
		in, err := namespace()
		return name + "." + in + ".svc." + domain + port, err
	case len(labels) == 2:
		return name + ".svc." + domain + port, nil
	case len(labels) == 3 && labels[2] == "svc":
		return name + "." + domain + port, nil
	}
	return text, nil
}

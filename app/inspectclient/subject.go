package inspectclient

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/settings"
)

// Subject returns the parameters of an explanation for the argument of a command, which is as in
// [inspect.Typed]. If the subject depends on the Services that exist, the server parses the text.
func Subject(text, namespace string) (url.Values, error) {
	if host, ok := inspect.HostOfURL(text); ok && strings.Contains(text, "://") {
		text = host
	}
	ambiguous := false
	q, err := inspect.Typed{Namespace: namespace, HasService: func(string, string) bool { ambiguous = true; return false }}.Parse(text)
	switch {
	case err != nil:
		return nil, settings.AsUsage(err)
	case ambiguous, q.Service != nil && q.Service.Hostname+q.Service.PortName != "":
		return url.Values{"q": {text}, "namespace": {namespace}}, nil
	case q.Service != nil:
		return url.Values{"service": {q.Service.Namespace + "/" + q.Service.Name + portSuffix(q.Service)}}, nil
	case q.Address.IsValid():
		return url.Values{"address": {q.String()}}, nil
	case q.Object != nil:
		return url.Values{"object": {q.Object.String()}}, nil
	default:
		return url.Values{"name": {q.Name}}, nil
	}
}

func portSuffix(q *inspect.ServiceQuery) string {
	if q.Port == 0 {
		return ""
	}
	return fmt.Sprintf(":%d", q.Port)
}

// service parses the argument of a command for which NAME.NAMESPACE is a Service; nil for another
// subject.
func service(text, namespace string) (*inspect.ServiceQuery, error) {
	q, err := inspect.Typed{Namespace: namespace, HasService: func(string, string) bool { return true }}.Parse(text)
	if err != nil {
		return nil, settings.AsUsage(err)
	}
	return q.Service, nil
}

// Service returns the Service that the argument of a command names, as NAMESPACE/NAME.
func Service(text, namespace string) (string, error) {
	s, err := service(text, namespace)
	if err == nil && s == nil {
		err = settings.Usagef("%.60q is no Service: name one as svc/NAME with -n, or as NAMESPACE/NAME", text)
	}
	if err != nil {
		return "", err
	}
	return s.Namespace + "/" + s.Name, nil
}

// Authority returns the authority that a proxy would use for a Service in short form, such as
// web.shop:80 or svc/web. Other text is returned unchanged.
func Authority(text, domain, namespace string) (string, error) {
	text = strings.TrimSpace(text)
	s, err := service(text, namespace)
	switch {
	case err != nil:
		return "", err
	case s == nil && strings.Contains(text, "/"):
		return "", settings.Usagef("%.60q is no Service: a Destination server answers for Services and addresses", text)
	case s == nil, strings.Contains(text, ".svc."):
		return text, nil
	case s.PortName != "":
		return "", settings.Usagef("%.60q is no number of a port: write the number, from 1 to 65535, which signpost services shows beside the name", s.PortName)
	}
	return strings.TrimPrefix(s.Hostname+"."+s.Name+"."+s.Namespace+".svc."+domain+portSuffix(s), "."), nil
}

package ambassadorhost

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

const name = "ambassador-host"

// serviceAnnotation refers to the Service with the targets. It has none of the prefixes of
// --annotation-prefix.
const serviceAnnotation = "external-dns.ambassador-service"

var hostKind = schema.GroupVersionKind{Group: "getambassador.io", Version: "v3alpha1", Kind: "Host"}

// Plugin returns the source of this package.
func Plugin() source.Plugin {
	return source.Plugin{
		Name: name, Summary: "The host names of Ambassador Hosts, at the addresses of the Service that an annotation names", Category: "ingress controllers",
		Filters: []string{"annotation", "label"}, Namespaces: "all,single,multiple", Properties: true,
		Annotations: []string{source.AnnotationTarget, source.AnnotationTTL},
		New: source.Fixed(
			open,
			source.Resource{Kind: hostKind, Plural: "hosts", Optional: true},
			source.Resource{Kind: corev1.SchemeGroupVersion.WithKind("Service"), Plural: "services", Scope: source.InAllNamespaces, Dependency: true},
		),
	}
}

func open(in source.Input) source.Source {
	s := &hosts{reader: source.NewReader(in, source.Subject{
		Kind: hostKind, Label: "host", NameFields: []string{"spec.hostname"},
	})}
	s.table = source.Custom(s.reader, "ambassadorhost", "hosts", read).Table(source.Notify[host](in.Changed), kube.WithIndex(byService, (*host).serviceKeys))
	s.services = source.AddressedServices().Table(kube.WithHandler(func(old, new *source.AddressedService) {
		source.NotifyAll(in.Changed, s.table.ByIndex(byService, cmp.Or(new, old).Key.String()))
	}))
	return source.Of(s.reader, s.table, s.evaluate, s.services)
}

type hosts struct {
	reader   *source.Reader
	table    *kube.Table[host]
	services *kube.Table[source.AddressedService]
}

// byService is the index of Hosts by the Service with their targets.
const byService = "service"

type host struct {
	source.Object
	// hostname is empty if it isn't a DNS name, such as "*".
	hostname string
	// service is the Service in the annotation; empty if there is no valid annotation.
	service   source.Key
	annotated bool
	findings  source.Findings
}

// fields are the fields of a Host that are read.
type fields struct {
	Spec struct {
		Hostname string `json:"hostname"`
	} `json:"spec"`
}

func read(scope kube.Scope, h *host, f *fields, obj *unstructured.Unstructured) {
	annotation := obj.GetAnnotations()[serviceAnnotation]
	if h.annotated = annotation != ""; !h.annotated {
		return
	}
	switch hostname := f.Spec.Hostname; {
	case len(hostname) > source.TextLimit:
		h.findings.Problem("spec.hostname", hostname, "too long for a name of DNS; shorten it")
	case hostname != "*":
		h.hostname = hostname
	}
	if service, ok := serviceOf(annotation); ok {
		h.service = source.Key{Namespace: scope.Intern(service.Namespace), Name: scope.Intern(service.Name)}
	} else {
		h.findings.Problem(serviceAnnotation, annotation, "no Service has such a name; use namespace/name")
	}
}

// serviceOf returns the Service in the annotation: namespace/name, name.namespace, or a name in the
// namespace "default".
func serviceOf(annotation string) (source.Key, bool) {
	key := source.Key{Namespace: corev1.NamespaceDefault, Name: annotation}
	if namespace, name, ok := strings.Cut(annotation, "/"); ok {
		key = source.Key{Namespace: namespace, Name: name}
	} else if name, namespace, ok := strings.Cut(annotation, "."); ok {
		key = source.Key{Namespace: namespace, Name: name}
	}
	ok := key.Namespace != "" && key.Name != "" && len(annotation) <= 2*source.TextLimit && !strings.ContainsAny(key.Name+key.Namespace, "./")
	return key, ok
}

// serviceKeys returns the Service with the targets.
func (h *host) serviceKeys() []string {
	if h.service.Name == "" || len(h.Annotations.Targets) > 0 {
		return nil
	}
	return []string{h.service.String()}
}

func (s *hosts) evaluate(h *host) source.Result {
	findings := h.findings.Copy()
	targets, err := s.targets(findings, h)
	var result source.Result
	switch {
	case err != nil || h.hostname == "" || len(targets) == 0:
		result = s.reader.Result(&h.Object, nil, err)
	default:
		result = s.reader.Result(&h.Object, s.reader.Origin(&h.Object).All([]string{h.hostname}, targets), nil)
	}
	findings.Into(&result, s.reader.Ref(&h.Object))
	return result
}

// targets returns the targets of a Host, or says why it has none.
func (s *hosts) targets(findings *source.Findings, h *host) ([]string, error) {
	switch {
	case !h.annotated:
		findings.Skip(source.SkipNotPublished, serviceAnnotation, "the Host has no annotation "+serviceAnnotation+
			": name the Service of Ambassador there, as namespace/name")
		return nil, nil
	case h.hostname == "":
		findings.Skip(source.SkipNoHostname, "spec.hostname", `the Host has no name that can be published ("*" is none): set spec.hostname`)
		return nil, nil
	case len(h.Annotations.Targets) > 0:
		return source.Cut(findings, h.Annotations.Targets, source.AddressLimit, "targets"), nil
	case h.service.Name == "":
		return nil, nil // a problem says why
	}
	if err := s.reader.Waiting.For(h.Key, s.services); err != nil {
		return nil, err
	}
	svc := s.services.Get(h.service.Namespace, h.service.Name)
	switch {
	case svc == nil:
		findings.Skip(source.SkipNotFound, h.hostname, fmt.Sprintf(
			"there is no Service %s, which the annotation %s names: create it, or correct the annotation to namespace/name", h.service, serviceAnnotation,
		))
		return nil, nil
	case len(svc.ExternalIPs) > 0:
		// As in ExternalDNS, they take precedence over the status.
		return svc.ExternalIPs, nil
	case len(svc.Addresses) == 0:
		findings.Skip(source.SkipNoTarget, h.hostname, fmt.Sprintf(
			"the Service %s has no external IP, and its load balancer no address yet: wait until it has one, or set the annotation target", h.service,
		))
	}
	return svc.Addresses, nil
}

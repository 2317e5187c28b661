package glooproxy

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// Limits of a Proxy. Gloo writes one Proxy for all VirtualServices of a gateway, so there may be
// thousands of domains.
const (
	domainsLimit    = 16384
	referencesLimit = 16384
)

type proxy struct {
	source.Object
	hosts []virtualHost
	// gateways are the Gateways behind the listeners, without duplicates.
	gateways []source.Key
	// compressed is true if Gloo has compressed the spec, which can't be read then.
	compressed bool
	findings   source.Findings
}

type virtualHost struct {
	// domains are without ports, and without "*".
	domains []string
	// virtualServices are the VirtualServices from which Gloo has made the host.
	virtualServices []source.Key
}

// fields are the fields of a Proxy that are read.
type fields struct {
	Spec struct {
		CompressedSpec string     `json:"compressedSpec"`
		Listeners      []listener `json:"listeners"`
	} `json:"spec"`
}

type listener struct {
	HTTPListener struct {
		VirtualHosts []host `json:"virtualHosts"`
	} `json:"httpListener"`
	AggregateListener struct {
		HTTPResources struct {
			VirtualHosts map[string]host `json:"virtualHosts"`
		} `json:"httpResources"`
		HTTPFilterChains []struct {
			VirtualHostRefs []string `json:"virtualHostRefs"`
		} `json:"httpFilterChains"`
	} `json:"aggregateListener"`
	Static staticMetadata `json:"metadataStatic"`
	Older  olderMetadata  `json:"metadata"`
}

type host struct {
	Domains []string       `json:"domains"`
	Static  staticMetadata `json:"metadataStatic"`
	Older   olderMetadata  `json:"metadata"`
}

// staticMetadata has the objects behind a part of a Proxy.
type staticMetadata struct {
	Sources []struct {
		ResourceKind string `json:"resourceKind"`
		ResourceRef  struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"resourceRef"`
	} `json:"sources"`
}

// olderMetadata is its form in older versions of Gloo.
type olderMetadata struct {
	Sources []struct {
		Kind      string `json:"kind"`
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"sources"`
}

// Kinds of objects in metadata, in Gloo's spelling.
const (
	ofGateway        = "*v1.Gateway"
	ofVirtualService = "*v1.VirtualService"
)

// skipNamespace is for Proxies that --gloo-namespace excludes.
var skipNamespace = &source.Skip{
	Reason: source.SkipFiltered, Subject: "metadata.namespace",
	Message: "--gloo-namespace excludes the namespace of the Proxy: add it there",
}

func (s *proxies) trim(scope kube.Scope, obj *unstructured.Unstructured) (*proxy, []kube.Problem) {
	p := &proxy{}
	if s.namespaces != nil && !slices.Contains(s.namespaces, obj.GetNamespace()) {
		p.Key = s.reader.Read(scope, obj).Key
		p.Exclude(skipNamespace)
		return p, nil
	}
	var f fields
	p.Object = s.reader.ReadFields(scope, obj, &f)
	if !p.Selected || p.Unreadable != "" {
		return p, nil
	}
	p.compressed = f.Spec.CompressedSpec != ""
	t := trimming{proxy: p, scope: scope}
	for _, l := range f.Spec.Listeners {
		t.listener(&l)
	}
	if t.domains > domainsLimit {
		p.findings.Problem("spec.listeners", "", source.TooMany(t.domains, domainsLimit))
	}
	if t.references > referencesLimit {
		p.findings.Problem("metadata of spec.listeners", "", source.TooMany(t.references, referencesLimit))
	}
	return p, nil
}

// trimming reads the listeners of a Proxy.
type trimming struct {
	*proxy
	scope               kube.Scope
	domains, references int
}

func (t *trimming) listener(l *listener) {
	for _, key := range t.sourcesOf(ofGateway, l.Static, l.Older) {
		switch {
		case slices.Contains(t.gateways, key):
		case len(t.gateways) < source.ReferenceLimit:
			t.gateways = append(t.gateways, key)
		default:
			t.findings.Problem("metadataStatic", key.String(), "this Gateway isn't used: 64 are used at most")
		}
	}
	for i := range l.HTTPListener.VirtualHosts {
		t.host(&l.HTTPListener.VirtualHosts[i])
	}
	read := map[string]bool{}
	for _, chain := range l.AggregateListener.HTTPFilterChains {
		for _, ref := range chain.VirtualHostRefs {
			if h, ok := l.AggregateListener.HTTPResources.VirtualHosts[ref]; ok && !read[ref] {
				read[ref] = true
				t.host(&h)
			}
		}
	}
}

func (t *trimming) host(h *host) {
	var kept virtualHost
	for _, domain := range h.Domains {
		domain, _, _ = strings.Cut(domain, ":")
		if domain == "" || domain == "*" {
			continue
		}
		if len(domain) > source.TextLimit {
			t.findings.Problem("domains", domain, "too long for a name of DNS; shorten it")
			continue
		}
		if t.domains++; t.domains <= domainsLimit {
			kept.domains = append(kept.domains, domain)
		}
	}
	if len(kept.domains) > 0 {
		kept.virtualServices = t.sourcesOf(ofVirtualService, h.Static, h.Older)
		t.hosts = append(t.hosts, kept)
	}
}

// sourcesOf returns the objects of one kind from which Gloo has made a part of a Proxy.
func (t *trimming) sourcesOf(kind string, static staticMetadata, older olderMetadata) []source.Key {
	var keys []source.Key
	add := func(of, namespace, name string) {
		if of != kind {
			return
		}
		if t.references++; t.references <= referencesLimit {
			keys = append(keys, source.Key{Namespace: t.scope.Intern(namespace), Name: t.scope.Intern(name)})
		}
	}
	for _, from := range static.Sources {
		add(from.ResourceKind, from.ResourceRef.Namespace, from.ResourceRef.Name)
	}
	for _, from := range older.Sources {
		add(from.Kind, from.Namespace, from.Name)
	}
	return keys
}

func (p *proxy) virtualServiceKeys() []string {
	keys := map[string]bool{}
	for _, h := range p.hosts {
		for _, key := range h.virtualServices {
			keys[key.String()] = true
		}
	}
	return slices.Collect(maps.Keys(keys))
}

// gatewayKeys returns the Gateways that the targets may come from.
func (p *proxy) gatewayKeys() []string {
	if !p.Selected || len(p.Annotations.Targets) > 0 {
		return nil
	}
	keys := make([]string, 0, len(p.gateways))
	for _, key := range p.gateways {
		keys = append(keys, key.String())
	}
	return keys
}

// virtualService is the annotations about records of a VirtualService.
type virtualService struct {
	key         source.Key
	annotations map[string]string
}

func (s *proxies) trimVirtualService(scope kube.Scope, obj *unstructured.Unstructured) (*virtualService, []kube.Problem) {
	v := &virtualService{key: keyOf(scope, obj), annotations: obj.GetAnnotations()}
	maps.DeleteFunc(v.annotations, func(key, _ string) bool {
		return !slices.ContainsFunc(s.reader.Settings.Prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
	})
	return v, nil
}

func keyOf(scope kube.Scope, obj *unstructured.Unstructured) source.Key {
	return source.Key{Namespace: scope.Intern(obj.GetNamespace()), Name: obj.GetName()}
}

type gateway struct {
	key source.Key
	// ingress is the annotation ingress.
	ingress string
}

func (s *proxies) trimGateway(scope kube.Scope, obj *unstructured.Unstructured) (*gateway, []kube.Problem) {
	return &gateway{key: keyOf(scope, obj), ingress: s.reader.Settings.ReadAnnotations(obj.GetAnnotations()).Ingress}, nil
}

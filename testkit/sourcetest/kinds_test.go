package sourcetest_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

// pair is a source with two kinds of its own: ConfigMaps are at one address, and Services at
// another. With nameless it doesn't say which kind has changed, and with silent it reads a kind
// that it doesn't declare.
type pair struct {
	source.NoFlags
	nameless, silent bool
}

func (p pair) Resources() []source.Resource {
	resources := []source.Resource{
		{Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Plural: "configmaps"},
		{Kind: corev1.SchemeGroupVersion.WithKind("Service"), Plural: "services"},
	}
	if p.silent {
		return resources[:1]
	}
	return resources
}

func (p pair) Open(in source.Input) (source.Source, error) {
	changed := in.Changed
	if p.nameless {
		changed = func(k source.Key) {
			k.Kind = ""
			in.Changed(k)
		}
	}
	reader := func(kind string) *source.Reader {
		return source.NewReader(in, source.Subject{Source: "pair", Kind: corev1.SchemeGroupVersion.WithKind(kind), Label: strings.ToLower(kind)})
	}
	ofMaps, ofServices := reader("ConfigMap"), reader("Service")
	maps := configMaps(ofMaps).Table(source.Notify[configMap](changed))
	type service struct{ source.Object }
	services := kube.Retrim(kinds.Services(), kube.TrimOf(func(scope kube.Scope, obj *corev1.Service) (*service, []kube.Problem) {
		return &service{ofServices.Read(scope, obj)}, nil
	})).Table(source.Notify[service](changed))
	evaluate := func(key source.Key) source.Result {
		if m := maps.Get(key.Namespace, key.Name); m != nil && key.Kind == "ConfigMap" {
			return ofMaps.Publish(&m.Object, &source.Found{Names: m.Annotations.Hostnames, Targets: []string{"192.0.2.1"}})
		}
		if s := services.Get(key.Namespace, key.Name); s != nil && key.Kind == "Service" {
			return ofServices.Publish(&s.Object, &source.Found{Names: s.Annotations.Hostnames, Targets: []string{"192.0.2.2"}})
		}
		return source.Result{}
	}
	ofMapsKeys, ofServicesKeys := source.Keys(maps), source.Keys(services)
	keys := func() []source.Key { return append(ofMapsKeys(), ofServicesKeys()...) }
	return source.Source{Tables: []kube.AnyTable{maps, services}, Evaluate: evaluate, Keys: keys}, nil
}

func (p pair) plugin() source.Plugin {
	return source.Plugin{Name: "pair", New: func() source.Config { return p }}
}

// Objects of two kinds may have one name, and are told apart.
func TestTwoKinds(t *testing.T) {
	t.Parallel()
	const both = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {external-dns.kubernetes.io/hostname: map.example.org}}
---
apiVersion: v1
kind: Service
metadata: {name: a, annotations: {external-dns.kubernetes.io/hostname: service.example.org}}
`
	s := sourcetest.MustOpen(t, pair{}.plugin(), both)
	if got, want := s.Changed(), "ConfigMap default/a\nService default/a\n"; got != want {
		t.Errorf("changed: %q, want %q", got, want)
	}
	want := "ConfigMap default/a\n  map.example.org A 192.0.2.1 resource=configmap/default/a\n" +
		"Service default/a\n  service.example.org A 192.0.2.2 resource=service/default/a\n"
	if got := s.Records(); got != want {
		t.Errorf("records are\n%swant\n%s", got, want)
	}
	s.Delete("Service", source.Key{Namespace: "default", Name: "a"})
	if got, want := s.Changed(), "Service default/a\n"; got != want {
		t.Errorf("changed by the deletion: %q, want %q", got, want)
	}
	s.End()
	for what, p := range map[string]pair{"records are made of": {nameless: true}, "aren't among its Resources": {silent: true}} {
		v := &verdict{TB: t}
		sourcetest.MustOpen(v, p.plugin(), strings.Split(both, "---")[0])
		if got := strings.Join(v.errs, "\n"); !strings.Contains(got, what) {
			t.Errorf("the kit says %q, want %q", got, what)
		}
	}
}

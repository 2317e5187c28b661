package sourcetest_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

// toy is a source of names in ConfigMaps. The targets of a name are the external addresses of
// the Services in its namespace that have all labels in its data. The fields make it
// misbehave.
type toy struct {
	// deafToServices ignores changes of Services, and deafToOwn those of ConfigMaps.
	deafToServices, deafToOwn bool
	// nameless doesn't say which kind has changed.
	nameless bool
	// forgetful returns something else each time.
	forgetful bool
	// sticky remembers deleted objects.
	sticky bool
	// mute gives no reason for an object without records, and unlisted has no Keys. Ghost has a
	// key of no object.
	mute, unlisted, ghost bool

	refuse string
}

func (c *toy) plugin() source.Plugin {
	return source.Plugin{Name: "toy", Annotations: source.CommonAnnotations, New: func() source.Config {
		own := *c
		return &own
	}}
}

func (c *toy) Flags(flags *pflag.FlagSet) { flags.StringVar(&c.refuse, "refuse", "", "") }

func (c *toy) Resources() []source.Resource {
	return []source.Resource{
		{Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Plural: "configmaps"},
		{Kind: corev1.SchemeGroupVersion.WithKind("Service"), Plural: "services", Dependency: true},
	}
}

const bySelector = "selector"

type configMap struct {
	source.Object
	selector map[string]string
}

type service struct {
	namespace, ip string
	labels        objectmeta.Labels
}

func (c *toy) Open(in source.Input) (source.Source, error) {
	if c.refuse != "" {
		return source.Source{}, errors.New(c.refuse)
	}
	reader := source.NewReader(in, source.Subject{Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Label: "toy"})
	changed := func(k source.Key) {
		if c.nameless {
			k.Kind = ""
		}
		if !c.deafToOwn {
			in.Changed(k)
		}
	}
	maps := configMaps(reader).Table(source.Notify[configMap](changed), kube.WithIndex(bySelector, func(m *configMap) []string {
		return source.SelectorKeys(m.Key.Namespace, m.selector)
	}))
	services := services().Table(kube.WithHandler(func(old, new *service) {
		for _, s := range []*service{old, new} {
			if s == nil || c.deafToServices {
				continue
			}
			for _, under := range source.LabelKeys(s.namespace, s.labels) {
				source.NotifyAll(in.Changed, maps.ByIndex(bySelector, under))
			}
		}
	}))
	calls, last := 0, map[source.Key]source.Result{}
	evaluate := func(key source.Key) source.Result {
		m := maps.Get(key.Namespace, key.Name)
		if m == nil || !m.Selected {
			if c.sticky {
				return last[key]
			}
			if m != nil && !c.mute {
				return m.Excluded()
			}
			return source.Result{}
		}
		var targets []string
		for _, s := range services.List() {
			if s.namespace == m.Key.Namespace && source.Selects(m.selector, s.labels) {
				targets = append(targets, s.ip)
			}
		}
		if calls++; c.forgetful {
			targets = []string{fmt.Sprintf("name%d.example.com", calls)}
		}
		result := reader.Publish(&m.Object, &source.Found{Names: m.Annotations.Hostnames, Targets: targets})
		if c.mute {
			result.Skipped = nil
		}
		if len(result.Records) > 0 {
			last[key] = result
		}
		return result
	}
	keys := source.Keys(maps)
	switch {
	case c.unlisted:
		keys = nil
	case c.ghost:
		keys = func() []source.Key { return []source.Key{{Kind: "ConfigMap", Name: "ghost"}} }
	}
	return source.Source{Tables: []kube.AnyTable{maps, services}, Evaluate: evaluate, Keys: keys}, nil
}

func configMaps(reader *source.Reader) kube.Kind[configMap] {
	return kube.Kind[configMap]{
		Name: "configmap", Resource: corev1.SchemeGroupVersion.WithResource("configmaps"),
		Form: kube.Protobuf(corev1.AddToScheme, func() runtime.Object { return &corev1.ConfigMapList{} }),
		Trim: kube.TrimOf(func(scope kube.Scope, obj *corev1.ConfigMap) (*configMap, []kube.Problem) {
			m := &configMap{Object: reader.Read(scope, obj)}
			if m.Selected {
				m.selector = obj.Data
			}
			return m, nil
		}),
	}
}

func services() kube.Kind[service] {
	return kube.Retrim(kinds.Services(), kube.TrimOf(func(_ kube.Scope, obj *corev1.Service) (*service, []kube.Problem) {
		return &service{namespace: obj.Namespace, ip: strings.Join(obj.Spec.ExternalIPs, ""), labels: objectmeta.NewLabels(obj.Labels)}, nil
	}))
}

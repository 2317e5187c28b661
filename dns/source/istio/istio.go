package istio

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// Group is the group and version of Istio's objects that are read.
var Group = schema.GroupVersion{Group: "networking.istio.io", Version: "v1"}

// Resources returns the own resources of a source, and those that [Watch] reads.
func Resources(own ...source.Resource) []source.Resource {
	return append(
		own,
		source.Resource{Kind: corev1.SchemeGroupVersion.WithKind("Service"), Plural: "services", Scope: source.InAllNamespaces, Dependency: true},
		source.Resource{Kind: networkingv1.SchemeGroupVersion.WithKind("Ingress"), Plural: "ingresses", Scope: source.InAllNamespaces, Dependency: true},
	)
}

// GatewayFields are the fields of a Gateway that are read.
type GatewayFields struct {
	Spec struct {
		Selector map[string]string `json:"selector"`
		Servers  []struct {
			Hosts []string `json:"hosts"`
		} `json:"servers"`
	} `json:"spec"`
}

// Exposure returns what the targets of the Gateway depend on.
func (f *GatewayFields) Exposure(gateway source.Key, a *source.Annotations) Exposure {
	return Exposure{Gateway: gateway, Targets: a.Targets, Ingress: a.Ingress, Selector: f.Spec.Selector}
}

// CutNamespace splits "namespace/name", as Istio writes hosts and Gateways; the namespace may be missing.
func CutNamespace(text string) (namespace, name string) {
	if namespace, name, qualified := strings.Cut(text, "/"); qualified {
		return namespace, name
	}
	return "", text
}

// Exposure is what the targets of a Gateway depend on. A source embeds it in its struct for a
// Gateway.
type Exposure struct {
	// Gateway is empty if the targets aren't needed.
	Gateway source.Key
	// Targets and Ingress are the annotations target and ingress.
	Targets []string
	Ingress string
	// Selector is spec.selector. If it is empty, the Gateway has the addresses of all Services.
	Selector map[string]string
}

func (e *Exposure) exposure() *Exposure { return e }

// Exposed is a pointer to a struct that embeds [Exposure].
type Exposed[T any] interface {
	*T
	exposure() *Exposure
}

// Indexes: bySelector and byIngress find Gateways by the objects with their targets, and byLabel
// finds Services by their selectors.
const (
	bySelector = "selector"
	byIngress  = "ingress"
	byLabel    = "label"
)

// Indexes returns the indexes that the table of Gateways needs.
func Indexes[T any, P Exposed[T]]() []kube.TableOption[T] {
	return []kube.TableOption[T]{
		kube.WithIndex(bySelector, func(value *T) []string { return P(value).exposure().selectorKeys() }),
		kube.WithIndex(byIngress, func(value *T) []string { return P(value).exposure().ingressKeys() }),
	}
}

// selectorKeys returns the keys of a Gateway with targets from Services.
func (e *Exposure) selectorKeys() []string {
	if e.Gateway.Name == "" || len(e.Targets) > 0 || e.Ingress != "" {
		return nil
	}
	return source.SelectorKeys("", e.Selector)
}

// ingressKeys returns the key of a Gateway with targets from an Ingress.
func (e *Exposure) ingressKeys() []string {
	if e.Gateway.Name == "" || len(e.Targets) > 0 {
		return nil
	}
	return source.IngressKeys(e.Ingress, e.Gateway.Namespace)
}

// Addresses are the tables with the targets of Gateways.
type Addresses struct {
	services  *kube.Table[service]
	ingresses *kube.Table[source.AddressedIngress]
	reader    *source.Reader
}

// Watch creates the tables of Services and Ingresses. It calls changed for each Gateway in a table
// whose targets may have changed. Objects of the reader wait for the tables.
func Watch[T any, P Exposed[T]](r *source.Reader, gateways *kube.Table[T], changed func(*T)) *Addresses {
	a := &Addresses{reader: r}
	serviceChanged := func(svc *service) {
		if svc == nil || len(svc.addresses) == 0 {
			return
		}
		for _, key := range source.LabelKeys("", svc.selector) {
			for _, g := range gateways.ByIndex(bySelector, key) {
				if source.Selects(P(g).exposure().Selector, svc.selector) {
					changed(g)
				}
			}
		}
	}
	a.services = serviceKind(r.Settings).Table(
		kube.WithIndex(byLabel, func(svc *service) []string { return source.LabelKeys("", svc.selector) }),
		kube.WithHandler(func(old, new *service) {
			serviceChanged(old)
			serviceChanged(new)
		}),
	)
	a.ingresses = source.AddressedIngresses().Table(kube.WithHandler(func(old, new *source.AddressedIngress) {
		for _, g := range gateways.ByIndex(byIngress, cmp.Or(new, old).Key.String()) {
			changed(g)
		}
	}))
	return a
}

// Tables returns the tables of Services and Ingresses.
func (a *Addresses) Tables() []kube.AnyTable { return []kube.AnyTable{a.services, a.ingresses} }

// Of returns the targets of a Gateway, for the evaluation of an object. If its Ingress doesn't
// exist, that is an error.
func (a *Addresses) Of(object source.Key, e *Exposure) ([]string, error) {
	switch {
	case len(e.Targets) > 0:
		return e.Targets, nil
	case e.Ingress == "":
		return a.ofServices(e), nil
	}
	key, err := source.IngressKey(e.Ingress, e.Gateway.Namespace, "Gateway "+e.Gateway.String())
	if err != nil {
		return nil, err
	}
	if err := a.reader.Waiting.For(object, a.ingresses); err != nil {
		return nil, err
	}
	named := a.ingresses.Get(key.Namespace, key.Name)
	if named == nil {
		return nil, fmt.Errorf("targets of Gateway %s: there is no Ingress %s: create it, or change the annotation ingress", e.Gateway, key)
	}
	return named.Addresses, nil
}

// ofServices returns the addresses of the Services that a Gateway selects, sorted.
func (a *Addresses) ofServices(e *Exposure) []string {
	var addresses []string
	for _, key := range source.SelectorKeys("", e.Selector) {
		for _, svc := range a.services.ByIndex(byLabel, key) {
			if source.Selects(e.Selector, svc.selector) {
				addresses = append(addresses, svc.addresses...)
			}
		}
	}
	slices.Sort(addresses)
	return slices.Compact(addresses)
}

package gateway

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// The fields of API objects that are read.

type reference struct {
	Group       *string `json:"group"`
	Kind        *string `json:"kind"`
	Namespace   *string `json:"namespace"`
	Name        string  `json:"name"`
	SectionName string  `json:"sectionName"`
	Port        int32   `json:"port"`
}

type condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	Reason string `json:"reason"`
}

type routeFields struct {
	Spec struct {
		ParentRefs []reference `json:"parentRefs"`
		Hostnames  []string    `json:"hostnames"`
	} `json:"spec"`
	Status struct {
		Parents []struct {
			ParentRef  reference   `json:"parentRef"`
			Conditions []condition `json:"conditions"`
		} `json:"parents"`
	} `json:"status"`
}

type namespacesFields struct {
	From     *scope                `json:"from"`
	Selector *metav1.LabelSelector `json:"selector"`
}

type listenerFields struct {
	Name          string `json:"name"`
	Hostname      string `json:"hostname"`
	Port          int32  `json:"port"`
	Protocol      string `json:"protocol"`
	AllowedRoutes struct {
		Namespaces namespacesFields `json:"namespaces"`
		Kinds      []struct {
			Group *string `json:"group"`
			Kind  string  `json:"kind"`
		} `json:"kinds"`
	} `json:"allowedRoutes"`
}

type gatewayFields struct {
	Spec struct {
		AllowedListeners struct {
			Namespaces namespacesFields `json:"namespaces"`
		} `json:"allowedListeners"`
		Listeners []listenerFields `json:"listeners"`
	} `json:"spec"`
	Status struct {
		Addresses []struct {
			Value string `json:"value"`
		} `json:"addresses"`
	} `json:"status"`
}

type listenerSetFields struct {
	Spec struct {
		ParentRef reference        `json:"parentRef"`
		Listeners []listenerFields `json:"listeners"`
	} `json:"spec"`
	Status struct {
		Conditions []condition `json:"conditions"`
		Listeners  []struct {
			Name       string      `json:"name"`
			Conditions []condition `json:"conditions"`
		} `json:"listeners"`
	} `json:"status"`
}

// owner returns the Gateway or ListenerSet that a reference in a namespace refers to, or false.
func (r reference) owner(namespace string) (owner, bool) {
	if r.Group != nil && *r.Group != group {
		return owner{}, false
	}
	o := owner{namespace: namespace, name: r.Name}
	if r.Namespace != nil {
		o.namespace = *r.Namespace
	}
	switch {
	case r.Kind == nil || *r.Kind == gatewayKind.Kind:
	case *r.Kind == listenerSetKind.Kind:
		o.listenerSet = true
	default:
		return owner{}, false
	}
	return o, len(o.namespace) <= source.TextLimit && len(o.name) <= source.TextLimit && len(r.SectionName) <= source.TextLimit
}

// parent returns the parent that a reference of a route refers to, or false.
func (r reference) parent(in kube.Scope, namespace string) (parent, bool) {
	of, ok := r.owner(namespace)
	if !ok {
		return parent{}, false
	}
	of.namespace, of.name = in.Intern(of.namespace), in.Intern(of.name)
	return parent{of: of, section: in.Intern(r.SectionName), port: r.Port}, true
}

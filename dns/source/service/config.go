package service

import (
	"fmt"
	"net"
	"slices"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

const name = "service"

// allTypes are the values of --service-type-filter.
var allTypes = []corev1.ServiceType{
	corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeExternalName,
}

// Plugin returns the source of this package.
func Plugin() source.Plugin {
	return source.Plugin{
		Name: name, Summary: "Names from the annotations of Services, at what the Services are reached at", Category: "kubernetes core",
		Filters: []string{"annotation", "label"}, Namespaces: "all,single,multiple", Templates: true, PairTemplates: true, Properties: true, OneTTL: true,
		Annotations: append([]string{
			source.AnnotationInternalHostname, source.AnnotationAccess, source.AnnotationEndpointsType,
		}, source.CommonAnnotations...),
		New: func() source.Config { return NewConfig() },
	}
}

// Config is the settings of the source. [NewConfig] creates it.
type Config struct {
	// Types are the used types of Services. An empty list, or an empty entry, means all.
	Types []string
	// PublishNotReady makes headless Services publish pods that aren't ready.
	PublishNotReady bool
	// PublishInternal publishes the cluster IP of ClusterIP Services that aren't headless.
	PublishInternal bool
	// PublishHostIP makes headless Services publish the addresses of the pods' hosts.
	PublishHostIP bool
	// ResolveHostnames replaces the hostname of a load balancer by its addresses.
	ResolveHostnames bool
	// ListenEndpointEvents has no effect, because endpoints are always followed.
	ListenEndpointEvents bool

	resolver resolver
}

// NewConfig returns a config with the defaults.
func NewConfig() *Config { return &Config{resolver: net.DefaultResolver} }

// Flags implements [source.Config].
func (c *Config) Flags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&c.Types, "service-type-filter", c.Types,
		"use Services of this type only: ClusterIP, NodePort, LoadBalancer or ExternalName; may be repeated (default all)")
	flags.BoolVar(&c.PublishNotReady, "always-publish-not-ready-addresses", c.PublishNotReady,
		"publish pods of headless Services also when they are not ready")
	flags.BoolVar(&c.PublishInternal, "publish-internal-services", c.PublishInternal, "publish the cluster IP of ClusterIP Services")
	flags.BoolVar(&c.PublishHostIP, "publish-host-ip", c.PublishHostIP, "publish the addresses of the hosts of pods for headless Services")
	flags.BoolVar(&c.ResolveHostnames, "resolve-service-load-balancer-hostname", c.ResolveHostnames,
		"publish the addresses of load balancers that have a name, instead of the name")
	flags.BoolVar(&c.ListenEndpointEvents, "listen-endpoint-events", c.ListenEndpointEvents,
		"has no effect: changes of the endpoints of headless Services are always followed")
}

// Resources implements [source.Config].
func (c *Config) Resources() []source.Resource {
	// Open reports invalid types.
	types, _ := c.types()
	resources := []source.Resource{{Kind: corev1.SchemeGroupVersion.WithKind("Service"), Plural: "services"}}
	headless, nodePort := needs(types)
	if headless {
		resources = append(resources, source.Resource{Kind: discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), Plural: "endpointslices", Dependency: true})
	}
	if headless || nodePort {
		resources = append(resources, source.Resource{Kind: corev1.SchemeGroupVersion.WithKind("Pod"), Plural: "pods", Dependency: true})
	}
	if nodePort {
		resources = append(resources, source.Resource{Kind: corev1.SchemeGroupVersion.WithKind("Node"), Plural: "nodes", Scope: source.InNone, Dependency: true, Without: nodesUnread})
	}
	return resources
}

// nodesUnread is the consequence of a missing right to read nodes.
const nodesUnread = "Services of type NodePort, and headless ones at the addresses of nodes, wait; all others are published"

// needs reports whether there can be headless and NodePort Services.
func needs(types []corev1.ServiceType) (headless, nodePort bool) {
	return slices.Contains(types, corev1.ServiceTypeClusterIP), slices.Contains(types, corev1.ServiceTypeNodePort)
}

// Open implements [source.Config].
func (c *Config) Open(in source.Input) (source.Source, error) {
	types, err := c.types()
	if err != nil {
		return source.Source{}, err
	}
	s := newServices(*c, in, types)
	opened := source.Of(s.reader, s.table, s.evaluate)
	opened.Run = s.run
	if s.slices != nil {
		opened.Tables = append(opened.Tables, s.slices)
	}
	if s.pods != nil {
		opened.Tables = append(opened.Tables, s.pods)
	}
	if s.nodes != nil {
		opened.Tables = append(opened.Tables, s.nodes)
		opened.Awaited = []kube.AnyTable{s.nodes}
	}
	return opened, nil
}

// types returns the used types of Services.
func (c *Config) types() ([]corev1.ServiceType, error) {
	if len(c.Types) == 0 || slices.Contains(c.Types, "") {
		return allTypes, nil
	}
	types := make([]corev1.ServiceType, len(c.Types))
	for i, text := range c.Types {
		if types[i] = corev1.ServiceType(text); !slices.Contains(allTypes, types[i]) {
			return nil, fmt.Errorf("--service-type-filter %q: no type of Service; use ClusterIP, NodePort, LoadBalancer or ExternalName", text)
		}
	}
	return types, nil
}

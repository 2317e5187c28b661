package istiovirtualservice

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/istio"
	"github.com/signpostd/signpost/kube"
)

// Limits in addition to those of package source.
const (
	// exportsLimit limits the namespaces in spec.exportTo.
	exportsLimit = 256
	// hostsLimit limits the hosts of all servers of a Gateway.
	hostsLimit = 4096
)

type virtualService struct {
	source.Object
	// hosts are without namespaces, and without "*".
	hosts []string
	// gateways are those of spec.gateways except "mesh", without duplicates.
	gateways []source.Key
	// exportTo has namespaces, or "*" for all; empty means all too.
	exportTo []string
	findings source.Findings
}

type virtualServiceFields struct {
	Spec struct {
		Hosts    []string `json:"hosts"`
		Gateways []string `json:"gateways"`
		ExportTo []string `json:"exportTo"`
	} `json:"spec"`
}

// mesh stands for the proxies of the mesh in spec.gateways.
const mesh = "mesh"

func (s *virtualServices) read(scope kube.Scope, v *virtualService, f *virtualServiceFields, _ *unstructured.Unstructured) {
	for _, host := range source.Cut(&v.findings, f.Spec.Hosts, source.NameLimit, "spec.hosts") {
		_, host = istio.CutNamespace(host)
		switch {
		case len(host) > source.TextLimit:
			v.findings.Problem("spec.hosts", host, "too long for a name of DNS; shorten it")
		case host != "" && host != "*":
			v.hosts = append(v.hosts, host)
		}
	}
	for _, text := range source.Cut(&v.findings, f.Spec.Gateways, source.ReferenceLimit, "spec.gateways") {
		s.addGateway(scope, v, text)
	}
	for _, namespace := range source.Cut(&v.findings, f.Spec.ExportTo, exportsLimit, "spec.exportTo") {
		if namespace == "." {
			namespace = v.Key.Namespace
		}
		v.exportTo = append(v.exportTo, scope.Intern(namespace))
	}
}

// addGateway adds one of spec.gateways: its name, or namespace/name.
func (s *virtualServices) addGateway(scope kube.Scope, v *virtualService, text string) {
	namespace, name := istio.CutNamespace(text)
	if namespace == "" {
		namespace = v.Key.Namespace
	}
	switch key := (source.Key{Namespace: scope.Intern(namespace), Name: scope.Intern(name)}); {
	case text == "" || text == mesh:
	case len(text) > 2*source.TextLimit || name == "" || strings.Contains(name, "/"):
		v.findings.Problem("spec.gateways", text, "no Gateway has such a name; use the name of a Gateway, or namespace/name")
	case !slices.Contains(v.gateways, key):
		v.gateways = append(v.gateways, key)
	}
}

type gateway struct {
	istio.Exposure
	key source.Key
	// hosts are those of all servers, each with its namespaces; "*" means any.
	hosts map[string][]string
}

// trimGateway reads a Gateway. Gateways of excluded namespaces have no hosts. If one can't be read,
// its last good version stays.
func (s *virtualServices) trimGateway(scope kube.Scope, obj *unstructured.Unstructured) (*gateway, []kube.Problem) {
	key := source.Key{Namespace: scope.Intern(obj.GetNamespace()), Name: obj.GetName()}
	if !s.reader.Settings.Includes(key.Namespace) {
		return &gateway{key: key}, nil
	}
	var f istio.GatewayFields
	if err := kube.Fields(obj, &f); err != nil {
		return nil, []kube.Problem{{Reason: err.Error()}}
	}
	g := &gateway{key: key, hosts: map[string][]string{}, Exposure: f.Exposure(key, s.reader.Settings.ReadAnnotations(obj.GetAnnotations()))}
	var p kube.Problems
	hosts := 0
	for i, server := range f.Spec.Servers {
		for _, text := range server.Hosts {
			if hosts++; hosts > hostsLimit {
				p.Add("more than 4096 hosts: the first ones are used; make several Gateways of it", "spec.servers[%d].hosts", i)
				return g, p.List()
			}
			g.addHost(scope, text)
		}
	}
	return g, p.List()
}

// addHost adds a host of a server, such as "namespace/host". Without a namespace it is for all.
func (g *gateway) addHost(scope kube.Scope, text string) {
	namespace, host := istio.CutNamespace(text)
	switch namespace {
	case "":
		namespace = "*"
	case ".":
		namespace = g.key.Namespace
	}
	if len(host) <= source.TextLimit && !slices.Contains(g.hosts[host], namespace) {
		host = scope.Intern(host)
		g.hosts[host] = append(g.hosts[host], scope.Intern(namespace))
	}
}

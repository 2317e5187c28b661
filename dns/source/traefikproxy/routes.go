package traefikproxy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// routesLimit limits the rules of one object that are read.
const routesLimit = 1024

// routes are the kinds that are read, by the kind in keys.
type routes map[string]*kind

// kind is one of the kinds of one group.
type kind struct {
	reader *source.Reader
	table  *kube.Table[route]
}

type route struct {
	source.Object
	found source.Found
}

// fields are the fields that are read. The rules of an IngressRouteUDP have no match.
type fields struct {
	Spec struct {
		Routes []struct {
			Match string `json:"match"`
		} `json:"routes"`
	} `json:"spec"`
}

func (k *kind) trim(scope kube.Scope, obj *unstructured.Unstructured) (*route, []kube.Problem) {
	var f fields
	kept := &route{Object: k.reader.ReadFields(scope, obj, &f)}
	if !kept.Selected {
		k.want(kept, obj)
		return kept, nil
	}
	if kept.Unreadable != "" {
		return kept, nil
	}
	for i, rule := range source.Cut(&kept.found.Findings, f.Spec.Routes, routesLimit, "spec.routes") {
		field := fmt.Sprintf("spec.routes[%d].match", i)
		hosts, fault := hostsOf(rule.Match)
		if fault != "" {
			kept.found.Problem(field, rule.Match, fault)
		}
		kept.found.AddNames(field, hosts)
	}
	kept.found.AddNames("hostname", k.reader.Hosts(&kept.Object))
	return kept, nil
}

// want notes the hosts in the rules of an excluded route.
func (k *kind) want(kept *route, obj *unstructured.Unstructured) {
	var f fields
	if kube.Fields(obj, &f) != nil {
		return
	}
	for _, rule := range f.Spec.Routes[:min(len(f.Spec.Routes), routesLimit)] {
		hosts, _ := hostsOf(rule.Match)
		for _, host := range hosts {
			kept.Want(host)
		}
	}
}

// missing has the advice for a route without a name or target.
var missing = source.Missing{
	Name:   "write a rule with Host(`…`) or HostSNI(`…`), or set the annotation hostname",
	Target: "Traefik writes no address into its routes: set the annotation target to the address or name of Traefik's load balancer",
}

func (r routes) evaluate(key source.Key) source.Result {
	k := r[key.Kind]
	if k == nil {
		return source.Result{}
	}
	return source.Evaluate(k.reader, k.table, key, func(o *route) source.Result { return k.reader.Publish(&o.Object, &o.found, missing) })
}

func (r routes) keys() []source.Key {
	var keys []source.Key
	for _, k := range r {
		keys = append(keys, source.Keys[route](k.table)()...)
	}
	return keys
}

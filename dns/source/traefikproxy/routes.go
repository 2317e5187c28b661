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

type kind struct {
	reader *source.Reader
	table  *kube.Table[source.Named]
}

// fields are the fields that are read. The rules of an IngressRouteUDP have no match.
type fields struct {
	Spec struct {
		Routes []struct {
			Match string `json:"match"`
		} `json:"routes"`
	} `json:"spec"`
}

func (k *kind) trim(scope kube.Scope, obj *unstructured.Unstructured) (*source.Named, []kube.Problem) {
	var f fields
	kept := &source.Named{Object: k.reader.ReadFields(scope, obj, &f)}
	if !kept.Selected {
		k.want(kept, obj)
		return kept, nil
	}
	if kept.Unreadable != "" {
		return kept, nil
	}
	for i, rule := range source.Cut(&kept.Found.Findings, f.Spec.Routes, routesLimit, "spec.routes") {
		field := fmt.Sprintf("spec.routes[%d].match", i)
		hosts, fault := hostsOf(rule.Match)
		if fault != "" {
			kept.Found.Problem(field, rule.Match, fault)
		}
		kept.Found.AddNames(field, hosts)
	}
	kept.Found.AddNames("hostname", k.reader.Hosts(&kept.Object))
	return kept, nil
}

// want notes the hosts in the rules of an excluded route.
func (k *kind) want(kept *source.Named, obj *unstructured.Unstructured) {
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

func (r routes) evaluate(key source.Key) source.Result {
	k := r[key.Kind]
	if k == nil {
		return source.Result{}
	}
	return source.Evaluate(k.reader, k.table, key, k.reader.PublishNamed)
}

func (r routes) keys() []source.Key {
	var keys []source.Key
	for _, k := range r {
		keys = append(keys, source.Keys[source.Named](k.table)()...)
	}
	return keys
}

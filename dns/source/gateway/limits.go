package gateway

import (
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// Limits of an object (docs/decisions/0020). The definitions of the kinds have lower limits, but a
// cluster may have other definitions.
const (
	// textLimit limits names of objects and listeners, and targets, in bytes.
	textLimit = 253
	// parentsLimit limits the parents of a route; the definition has 32.
	parentsLimit = 64
	// namesLimit limits the names of a route, including annotations and templates; the definition has
	// 16 hostnames.
	namesLimit = 512
	// listenersLimit limits the listeners of a Gateway or ListenerSet; the definition has 64.
	listenersLimit = 64
	// kindsLimit limits the kinds of a listener; the definition has 8.
	kindsLimit = 64
	// targetsLimit limits the targets of a Gateway or ListenerSet, and of a name; the definition has
	// 16 addresses.
	targetsLimit = 256
	// requirementsLimit and valuesLimit limit a selector, and labelsLimit a namespace.
	requirementsLimit = 64
	valuesLimit       = 1024
	labelsLimit       = 256
	// reasonLimit limits the reason of a condition, in bytes.
	reasonLimit = 64
)

// cut is [source.Cut] for the objects that routes depend on.
func cut[T any](p *kube.Problems, list []T, limit int, field string, indexes ...any) []T {
	if len(list) <= limit {
		return list
	}
	p.Add(source.TooMany(len(list), limit), field, indexes...)
	return list[:limit]
}

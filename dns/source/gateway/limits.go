package gateway

import (
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// What of an object is let in (docs/decisions/0020). The definitions of the kinds have lower
// limits, but a cluster may have other definitions.
const (
	// textLimit is for names of objects and listeners, and for targets, in bytes.
	textLimit = 253
	// parentsLimit is for one route; the definition has 32.
	parentsLimit = 64
	// namesLimit is for one route, those of annotations and templates included; the definition
	// has 16 hostnames.
	namesLimit = 512
	// listenersLimit is for one Gateway or ListenerSet; the definition has 64.
	listenersLimit = 64
	// kindsLimit is for one listener; the definition has 8.
	kindsLimit = 64
	// targetsLimit is for one Gateway or ListenerSet, and for one name; the definition has 16
	// addresses.
	targetsLimit = 256
	// requirementsLimit and valuesLimit are for one selector, and labelsLimit for one namespace.
	requirementsLimit = 64
	valuesLimit       = 1024
	labelsLimit       = 256
	// reasonLimit is for the reason of a condition, in bytes.
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

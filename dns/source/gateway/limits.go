package gateway

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
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
	// quoteLimit is how much of a text a problem quotes, in bytes.
	quoteLimit = 64
)

// limited returns the first items of a list, and the reason of a problem if there are more.
func limited[T any](list []T, limit int) ([]T, string) {
	if len(list) <= limit {
		return list, ""
	}
	return list[:limit], fmt.Sprintf("%d items: the first %d are used; shorten the list", len(list), limit)
}

// cut is limited for the objects that routes depend on.
func cut[T any](p *kube.Problems, list []T, limit int, field string, indexes ...any) []T {
	list, reason := limited(list, limit)
	if reason != "" {
		p.Add(reason, field, indexes...)
	}
	return list
}

// quoted returns the beginning of a text, quoted.
func quoted(text string) string {
	if len(text) > quoteLimit {
		text = text[:quoteLimit] + "…"
	}
	return fmt.Sprintf("%q", text)
}

// problems collects the problems of one version of a route. The zero value has none.
type problems struct {
	list []dns.Problem
	more int
}

// add adds a problem of a field.
func (p *problems) add(field, value, reason string) {
	if len(p.list) == kube.ProblemLimit {
		p.more++
		return
	}
	if len(value) > quoteLimit {
		value = strings.ToValidUTF8(value[:quoteLimit], "") + "…"
	}
	p.list = append(p.list, dns.Problem{Subject: field, Value: value, Reason: reason})
}

// all returns the first problems and, if there are more, one that says so.
func (p *problems) all() []dns.Problem {
	if p.more == 0 {
		return p.list
	}
	return append(slices.Clip(p.list), dns.Problem{Reason: fmt.Sprintf("and %d more problems; correct these first", p.more)})
}

// cutList is limited for the lists of a route.
func cutList[T any](p *problems, list []T, limit int, field string) []T {
	list, reason := limited(list, limit)
	if reason != "" {
		p.add(field, "", reason)
	}
	return list
}

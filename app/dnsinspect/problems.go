package dnsinspect

import (
	"cmp"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/internal/sanitize"
)

// defaultPublisher is the name of an unnamed publisher.
const defaultPublisher = "dns"

// Problems returns the problems of publishers and their zones. The object of a problem has the kind
// Publisher, which isn't a Kubernetes kind.
func Problems(publishers []Publisher) []inspect.Problem {
	var all []inspect.Problem
	for _, p := range publishers {
		for _, t := range p.Troubles() {
			all = append(all, inspect.Problem{
				ID:     "publisher/" + p.Name + "/" + t.Field,
				Object: inspect.ObjectRef{Kind: "Publisher", Name: cmp.Or(p.Name, defaultPublisher)},
				Field:  t.Field, Reason: sanitize.Text(t.Reason), Since: t.Since,
			})
		}
	}
	return all
}

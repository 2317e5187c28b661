package dnsinspect

import (
	"cmp"
	"fmt"
	"hash/fnv"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/internal/sanitize"
)

// defaultPublisher is the name of an unnamed publisher.
const defaultPublisher = "dns"

// Problems returns the problems of publishers and their zones, and of the objects that they read. The
// object of a problem of a publisher has the kind Publisher, which isn't a Kubernetes kind.
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
		all = append(all, objectProblems(p)...)
	}
	return all
}

// objectProblems returns the problems of objects of a publisher. Their IDs are hashes of what they say.
func objectProblems(p Publisher) []inspect.Problem {
	var all []inspect.Problem
	seen := map[string]bool{}
	for _, o := range p.ObjectProblems() {
		hash := fnv.New64a()
		fmt.Fprintf(hash, "%q", []string{o.Object.Kind, o.Object.Namespace, o.Object.Name, o.Subject, o.Value, o.Reason})
		id := fmt.Sprintf("publisher/%s/%x", p.Name, hash.Sum64())
		if seen[id] {
			continue
		}
		seen[id] = true
		all = append(all, inspect.Problem{
			ID: id, Object: objectRef(o.Object), Since: o.Since,
			Field: sanitize.Text(o.Subject), Value: sanitize.Text(o.Value), Reason: sanitize.Text(o.Reason),
		})
	}
	return all
}

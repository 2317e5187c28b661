package publisher

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// conditions says of each namespace that is read for itself why it can't be read at present,
// nil if it can. What is read at once for all namespaces is under the empty name.
type conditions map[string]error

// conditions returns those of tables.
func (p *Publisher) conditions(tables []kube.AnyTable) conditions {
	found := conditions{"": nil}
	for _, t := range tables {
		status := t.Status()
		if len(status.Namespaces) == 0 && status.State == kube.Waiting {
			found.note("", fmt.Errorf("%s can't be read: %s: %s", status.Kind, status.Reason, status.Detail))
		}
		for _, of := range status.Namespaces {
			if !slices.Contains(p.namespacesOf(t), of.Namespace) {
				continue // another publisher reads it
			}
			var err error
			if of.State == kube.Waiting {
				err = fmt.Errorf("%s can't be read in the namespace %s: %s: %s", status.Kind, of.Namespace, of.Reason, of.Detail)
			}
			if !slices.Contains(p.Namespaces, of.Namespace) {
				// Objects of any namespace may depend on what is in this one.
				found.note("", err)
				continue
			}
			found.note(of.Namespace, err)
		}
	}
	return found
}

// note notes the first error of a namespace, or that it is read.
func (c conditions) note(namespace string, err error) {
	if c[namespace] == nil {
		c[namespace] = err
	}
}

// err returns the first error, and how many namespaces have others; nil without any.
func (c conditions) err() error {
	var first error
	others := 0
	for _, namespace := range slices.Sorted(maps.Keys(c)) {
		switch err := c[namespace]; {
		case err == nil:
		case first == nil:
			first = err
		default:
			others++
		}
	}
	if others > 0 {
		return fmt.Errorf("%w (namespaces that can't be read either: %d)", first, others)
	}
	return first
}

// observe notes since when what a source reads can be read.
func (s *sourceState) observe(c conditions, now time.Time) {
	s.conditions = c
	if s.steady == nil {
		s.steady = map[string]time.Time{}
	}
	for namespace, err := range c {
		if err != nil {
			delete(s.steady, namespace)
		} else if s.steady[namespace].IsZero() {
			s.steady[namespace] = now
		}
	}
}

// steadyFor reports whether the objects of a namespace can be read for some time.
func (s *sourceState) steadyFor(namespace string, long time.Duration, now time.Time) bool {
	parts := []string{""}
	if _, apart := s.conditions[namespace]; apart {
		parts = append(parts, namespace)
	}
	return !slices.ContainsFunc(parts, func(part string) bool {
		since, steady := s.steady[part]
		return !steady || now.Sub(since) < long
	})
}

// namespacesOf returns the namespaces of a table that the publisher wants; none is all.
func (p *Publisher) namespacesOf(t kube.AnyTable) []string {
	if names, ok := p.NamespacesOf[t.Resource().GroupResource()]; ok {
		return names
	}
	return p.Namespaces
}

// allFilled reports whether tables have held all objects that the publisher wants, whatever has
// happened since.
func (p *Publisher) allFilled(tables []kube.AnyTable) bool {
	return !slices.ContainsFunc(tables, func(t kube.AnyTable) bool { return !p.filled(t) })
}

// unreadable returns why a source, or some of its objects, can't be read at present, and which
// records stay as they are because of that.
func (p *Publisher) unreadable(s *source.Source, needed conditions) (stay string, err error) {
	if err := needed.err(); err != nil {
		return "its records stay as they are", err
	}
	return "records of the objects that need it stay as they are", p.conditions(s.Awaited).err()
}

// filled reports whether a table has held all objects that the publisher wants of it.
func (p *Publisher) filled(t kube.AnyTable) bool {
	namespaces := p.namespacesOf(t)
	if t.Filled() {
		return true
	}
	have := map[string]bool{}
	for _, of := range t.Status().Namespaces {
		have[of.Namespace] = of.Filled
	}
	return len(namespaces) > 0 && !slices.ContainsFunc(namespaces, func(name string) bool { return !have[name] })
}

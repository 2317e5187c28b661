package publisher

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// conditions has the error of each namespace that is watched separately, or nil if it can be read.
// Cluster-wide watches are under the empty name.
type conditions map[string]error

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
				// Objects of any namespace may depend on this one.
				found.note("", err)
				continue
			}
			found.note(of.Namespace, err)
		}
	}
	return found
}

// note notes the first error of a namespace, or that it can be read.
func (c conditions) note(namespace string, err error) {
	if c[namespace] == nil {
		c[namespace] = err
	}
}

// err returns the first error, and how many further namespaces have one; nil if none has.
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

// observe records since when the tables of a source can be read.
func (s *sourceState) observe(c conditions, now time.Time) {
	s.conditions = c
	if s.readableSince == nil {
		s.readableSince = map[string]time.Time{}
	}
	for namespace, err := range c {
		if err != nil {
			delete(s.readableSince, namespace)
		} else if s.readableSince[namespace].IsZero() {
			s.readableSince[namespace] = now
		}
	}
}

// readableFor reports whether the objects of a namespace have been readable for at least the given
// time.
func (s *sourceState) readableFor(namespace string, long time.Duration, now time.Time) bool {
	parts := []string{""}
	if _, apart := s.conditions[namespace]; apart {
		parts = append(parts, namespace)
	}
	return !slices.ContainsFunc(parts, func(part string) bool {
		since, steady := s.readableSince[part]
		return !steady || now.Sub(since) < long
	})
}

// namespacesOf returns the namespaces of a table that the publisher uses; empty means all.
func (p *Publisher) namespacesOf(t kube.AnyTable) []string {
	if names, ok := p.NamespacesOf[t.Resource().GroupResource()]; ok {
		return names
	}
	return p.Namespaces
}

// allFilled reports whether all tables have been filled at least once.
func (p *Publisher) allFilled(tables []kube.AnyTable) bool {
	return !slices.ContainsFunc(tables, func(t kube.AnyTable) bool { return !p.filled(t) })
}

// unreadable returns why some objects of a source can't be read now, and which records are kept
// because of that.
func (p *Publisher) unreadable(s *source.Source, needed conditions) (stay string, err error) {
	if err := needed.err(); err != nil {
		return "its records stay unchanged", err
	}
	return "records of the objects that need it stay unchanged", p.conditions(s.Awaited).err()
}

// filled reports whether a table has been filled at least once with all objects that the publisher
// uses.
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

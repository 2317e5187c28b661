package publisher

import (
	"context"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// Missing returns at most the given number of objects that would ask for a name, but have a skip
// about it or are excluded by the settings. It visits all objects in steps.
func (p *Publisher) Missing(ctx context.Context, name string, limit int) ([]Explanation, error) {
	var found []Explanation
	for i, src := range p.Sources {
		if src.Keys == nil {
			continue
		}
		keys := src.Keys()
		err := p.visitAll(ctx, func() (more bool) {
			for range visitBatch {
				if len(keys) == 0 || len(found) == limit {
					return false
				}
				if e, ok := p.explain(i, keys[0]); ok && (e.skips(name) || e.Wants(name)) {
					found = append(found, e)
				}
				keys = keys[1:]
			}
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// skips reports whether the explanation has a skip about a name.
func (e *Explanation) skips(name string) bool {
	for _, s := range e.Skipped {
		if strings.EqualFold(strings.TrimSuffix(s.Subject, "."), name) {
			return true
		}
	}
	return false
}

// Wants reports whether the object asks for a canonical name that the settings exclude.
func (e *Explanation) Wants(name string) bool {
	return slices.ContainsFunc(e.Wanted, func(wanted string) bool { return dns.Canonical(wanted) == name })
}

package publisher

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/source"
)

// Explanation says which records an object gets, and which it doesn't get and why.
type Explanation struct {
	// Object is the object, without group, UID and version.
	Object dns.Object
	// Records are the record sets that the object asks for, as the publisher would write them.
	Records []*dns.RecordSet
	// Skipped says why the object, or a part of it, asks for nothing. Problems are the parts that
	// can't be used. Dropped is what the settings exclude.
	Skipped  []source.Skip
	Problems []dns.Problem
	Dropped  []desired.Drop
	// Wanted are some of the names that the object gets no record for, as it writes them.
	Wanted []string
	// Err says why the object can't be evaluated.
	Err error
}

// ExplainQuery selects the objects of [Publisher.Explain].
type ExplainQuery struct {
	// Selects reports whether to explain an object, by source and key; nil means all.
	Selects func(source string, key source.Key) bool
	// OnlyIncomplete leaves out the objects that get all of their records.
	OnlyIncomplete bool
	// Limit limits the explanations; zero means [DefaultExplanations].
	Limit int
}

// DefaultExplanations is the default of [ExplainQuery].Limit.
const DefaultExplanations = 1000

// Explanations are the result of [Publisher.Explain].
type Explanations struct {
	// List has probable mistakes first, then objects that ask for no name or that the settings
	// exclude, because that is mostly intended. Both parts are sorted by source, namespace and name.
	List []Explanation
	// More is the number of further explanations.
	More int
}

// Explain evaluates objects and returns why they lack some or all of their records. It changes no
// state, and may be called from any goroutine, while Run is running or after it has ended. The
// error is that of ctx. Objects of sources that aren't read yet are left out. Polled sources have
// no objects.
func (p *Publisher) Explain(ctx context.Context, q ExplainQuery) (Explanations, error) {
	limit := cmp.Or(max(q.Limit, 0), DefaultExplanations)
	var likely, meant Explanations
	err := p.explainEach(ctx, q.Selects, func(e Explanation) (more bool) {
		switch {
		case q.OnlyIncomplete && !e.incomplete():
		case e.intended():
			meant.add(e, limit)
		default:
			likely.add(e, limit)
		}
		return true
	})
	if err != nil {
		return Explanations{}, err
	}
	for _, e := range meant.List {
		likely.add(e, limit)
	}
	likely.More += meant.More
	return likely, nil
}

func compareKeys(a, b source.Key) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind))
}

func (e *Explanations) add(one Explanation, limit int) {
	if len(e.List) < limit {
		e.List = append(e.List, one)
	} else {
		e.More++
	}
}

// explainEach explains the selected objects in steps, sorted by source, namespace and name, until
// use returns false. selects may be nil.
func (p *Publisher) explainEach(ctx context.Context, selects func(source string, key source.Key) bool, use func(Explanation) (more bool)) error {
	for i := range p.Sources {
		src := &p.Sources[i]
		if src.Keys == nil {
			continue
		}
		keys := slices.DeleteFunc(slices.Clone(src.Keys()), func(key source.Key) bool { return selects != nil && !selects(src.Name, key) })
		slices.SortFunc(keys, compareKeys)
		enough := false
		next := func() (more bool) {
			if enough || len(keys) == 0 {
				return false
			}
			if e, ok := p.explain(i, keys[0]); ok {
				enough = !use(e)
			}
			keys = keys[1:]
			return true
		}
		switch err := p.visitAll(ctx, next); {
		case errors.Is(err, ErrNotRunning):
			for ctx.Err() == nil && next() { // nothing else uses the state any more
			}
		case err != nil:
			return err
		}
		if err := ctx.Err(); err != nil || enough {
			return err
		}
	}
	return nil
}

// Missing returns at most the given number of objects that would ask for a name, but have a skip
// about it or are excluded by the settings. It visits all objects in steps.
func (p *Publisher) Missing(ctx context.Context, name string, limit int) (found []Explanation, err error) {
	err = p.explainEach(ctx, nil, func(e Explanation) (more bool) {
		if _, ok := e.SkipOf(name); ok {
			found = append(found, e)
		}
		return len(found) < limit
	})
	return found, err
}

// SkipOf returns why the object gets no record for a canonical name. ok is false if the object doesn't have
// the name, or gets a record for it.
func (e *Explanation) SkipOf(name string) (skip source.Skip, ok bool) {
	for _, s := range e.Skipped {
		if strings.EqualFold(strings.TrimSuffix(s.Subject, "."), name) {
			return s, true
		}
	}
	if len(e.Skipped) > 0 && slices.ContainsFunc(e.Wanted, func(wanted string) bool { return dns.Canonical(wanted) == name }) {
		return e.Skipped[0], true
	}
	return source.Skip{}, false
}

// explain explains an object of a source. ok is false if the source has not been read yet.
func (p *Publisher) explain(i int, key source.Key) (e Explanation, ok bool) {
	src := &p.Sources[i]
	if !p.sources[i].read {
		return e, false
	}
	result := p.evaluated(src, key)
	kind, _, _ := strings.Cut(key.Kind, ".")
	e = Explanation{
		Object:  dns.Object{Source: src.Name, Kind: kind, Namespace: key.Namespace, Name: key.Name},
		Skipped: p.withoutDefaults(result.Skipped), Problems: result.Problems, Wanted: result.Wanted, Err: result.Err,
	}
	scope := desired.Scope{Managed: p.Rules.Managed, Excluded: p.Rules.Excluded, Domains: p.Domains}
	if p.zones != nil {
		scope.HasZone = func(name string) bool { return len(p.zones.zonesFor(name)) > 0 }
		scope.Unselected = func(name string) bool { return !p.zones.admits(name) }
	}
	origin := desired.Origin{Source: src.Name, Kind: key.Kind, Namespace: key.Namespace, Name: key.Name}
	kept, dropped := p.Desired.Explain(origin, result.Records, scope)
	granted, refused := p.refusedSets(origin, kept)
	e.Records, e.Dropped = granted, append(dropped, refused...)
	return e, true
}

// withoutDefaults adds the reason why default targets don't apply to an object without a target:
// they replace the targets of record sets, and an object without an address makes none.
func (p *Publisher) withoutDefaults(skipped []source.Skip) []source.Skip {
	if !p.Desired.DefaultsTargets() {
		return skipped
	}
	skipped = slices.Clone(skipped)
	for i := range skipped {
		if s := &skipped[i]; s.Reason == source.SkipNoTarget {
			s.Message += " (--default-targets is not for objects of this source that have no address)"
		}
	}
	return skipped
}

// incomplete reports whether the object lacks a record that it could have.
func (e *Explanation) incomplete() bool {
	return len(e.Records) == 0 || len(e.Skipped) > 0 || len(e.Problems) > 0 || len(e.Dropped) > 0 || e.Err != nil
}

// intended reports whether the object probably asks for nothing on purpose.
func (e *Explanation) intended() bool {
	usual := func(s source.Skip) bool {
		return s.Reason == source.SkipFiltered || s.Reason == source.SkipNoHostname && s.Subject == ""
	}
	return len(e.Problems)+len(e.Dropped) == 0 && e.Err == nil && !slices.ContainsFunc(e.Skipped, func(s source.Skip) bool { return !usual(s) })
}

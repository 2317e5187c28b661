package publisher

import (
	"cmp"
	"context"
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
	// Wanted are the names that the settings exclude, as the object writes them.
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

// explainAtOnce is how many objects the loop evaluates for an explanation before it does other
// things.
const explainAtOnce = 256

// Explain evaluates objects and returns why they lack some or all of their records. It changes no
// state, and may be called from any goroutine, while Run is running or after it has ended. The
// error is that of ctx. Objects of sources that aren't read yet are left out. Polled sources have
// no objects.
func (p *Publisher) Explain(ctx context.Context, q ExplainQuery) (Explanations, error) {
	limit := cmp.Or(max(q.Limit, 0), DefaultExplanations)
	var likely, meant Explanations
	for i := range p.Sources {
		src := &p.Sources[i]
		if src.Keys == nil {
			continue
		}
		keys := slices.DeleteFunc(slices.Clone(src.Keys()), func(key source.Key) bool { return q.Selects != nil && !q.Selects(src.Name, key) })
		slices.SortFunc(keys, compareKeys)
		for chunk := range slices.Chunk(keys, explainAtOnce) {
			err := p.inLoop(ctx, func() {
				for _, key := range chunk {
					if e, ok := p.explain(i, key); !ok || q.OnlyIncomplete && !e.incomplete() {
						continue
					} else if e.intended() {
						meant.add(e, limit)
					} else {
						likely.add(e, limit)
					}
				}
			})
			if err != nil {
				return Explanations{}, err
			}
		}
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

// inLoop calls a function in the loop, or directly if the loop has ended.
func (p *Publisher) inLoop(ctx context.Context, f func()) error {
	done := make(chan struct{})
	select {
	case p.visits <- func() {
		defer close(done)
		f()
	}:
		<-done
	case <-p.stopped:
		f()
	case <-ctx.Done():
	}
	return ctx.Err()
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

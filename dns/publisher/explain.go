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

// Explanation says what becomes of one object: what it gives, and what it doesn't and why.
type Explanation struct {
	// Object is the object; its Kind has no group, and there is no UID and no version.
	Object dns.Object
	// Records are what the object asks for, as far as the publisher would write it.
	Records []*dns.RecordSet
	// Skipped says why the object, or a part of it, asks for nothing, and Problems which parts
	// can't be used. Dropped says what it asks for and settings don't let through.
	Skipped  []source.Skip
	Problems []dns.Problem
	Dropped  []desired.Drop
	// Wanted are names that the object asks for which the settings exclude, as it writes them.
	Wanted []string
	// Err says why the object can't be evaluated.
	Err error
}

// Question is what [Publisher.Explain] is asked.
type Question struct {
	// About says which objects it is about, by their source; nil stands for all.
	About func(source string, key source.Key) bool
	// Lacking leaves out the objects that give all of their records.
	Lacking bool
	// Limit is how many explanations there may be; zero is for [DefaultExplanations].
	Limit int
}

// DefaultExplanations is how many objects [Publisher.Explain] explains unless it is asked for
// fewer or more.
const DefaultExplanations = 1000

// Explanations are the answer to a [Question].
type Explanations struct {
	// List has those that look like a mistake first: each object by source, namespace and name. At
	// the end are objects that nothing names, and that the settings exclude: mostly they are meant
	// to be like that.
	List []Explanation
	// More is how many there are beside those in the list.
	More int
}

// explainAtOnce is how many objects the loop evaluates for an explanation before it does other
// things.
const explainAtOnce = 256

// Explain evaluates objects and says why they give no record, or not all. Nothing is kept of it.
// It may be called from any goroutine, also while Run is running and after it has ended; the error
// is that of ctx. Objects of a source that hasn't been read yet are left out, and those of a source
// that is polled, which has none.
func (p *Publisher) Explain(ctx context.Context, q Question) (Explanations, error) {
	limit := cmp.Or(max(q.Limit, 0), DefaultExplanations)
	var likely, meant Explanations
	for i := range p.Sources {
		src := &p.Sources[i]
		if src.Keys == nil {
			continue
		}
		keys := slices.DeleteFunc(slices.Clone(src.Keys()), func(key source.Key) bool { return q.About != nil && !q.About(src.Name, key) })
		slices.SortFunc(keys, compareKeys)
		for chunk := range slices.Chunk(keys, explainAtOnce) {
			err := p.inLoop(ctx, func() {
				for _, key := range chunk {
					if e, ok := p.explain(i, key); !ok || q.Lacking && !e.lacks() {
						continue
					} else if e.meant() {
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

// inLoop has the loop call a function, or calls it itself if the loop has ended.
func (p *Publisher) inLoop(ctx context.Context, f func()) error {
	done := make(chan struct{})
	select {
	case p.visits <- func() {
		defer close(done)
		f()
	}:
		<-done
	case <-p.over:
		f()
	case <-ctx.Done():
	}
	return ctx.Err()
}

// explain explains an object of a source; ok is false if it isn't known what it asks for.
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
	place := desired.Place{Managed: p.Rules.Managed, Excluded: p.Rules.Excluded, Domains: p.Domains}
	if p.zones != nil {
		place.HasZone = func(name string) bool { return len(p.zones.holders(name)) > 0 }
		place.Unselected = func(name string) bool { return !p.zones.admits(name) }
	}
	origin := desired.Origin{Source: src.Name, Kind: key.Kind, Namespace: key.Namespace, Name: key.Name}
	kept, dropped := p.Desired.Explain(origin, result.Records, place)
	granted, refused := p.refusedSets(origin, kept)
	e.Records, e.Dropped = granted, append(dropped, refused...)
	return e, true
}

// withoutDefaults adds to why objects have no target that default targets are not for them: these are for
// record sets without targets, and no record set is made of an object that has no address.
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

// lacks reports whether the object lacks something that it could give.
func (e *Explanation) lacks() bool {
	return len(e.Records) == 0 || len(e.Skipped) > 0 || len(e.Problems) > 0 || len(e.Dropped) > 0 || e.Err != nil
}

// meant reports whether the object is probably meant to be as it is.
func (e *Explanation) meant() bool {
	usual := func(s source.Skip) bool {
		return s.Reason == source.SkipFiltered || s.Reason == source.SkipNoHostname && s.Subject == ""
	}
	return len(e.Problems)+len(e.Dropped) == 0 && e.Err == nil && !slices.ContainsFunc(e.Skipped, func(s source.Skip) bool { return !usual(s) })
}

package publisher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// impossible is a record set that objects ask for and that the provider can't have, and why.
type impossible struct {
	set    *dns.RecordSet
	reason string
}

// able returns what objects ask for in the form in which the provider can have it, and what it can't have.
func (p *Publisher) able(wanted []*dns.RecordSet) ([]*dns.RecordSet, []impossible) {
	c := p.capabilities
	var left []impossible
	able := make([]*dns.RecordSet, 0, len(wanted))
	for _, r := range wanted {
		if c.Types != nil && !slices.Contains(c.Types, r.Type) {
			if p.Rules.Manages(r.Type) {
				left = append(left, impossible{r, fmt.Sprintf("the provider has no records of the type %s: it has %s", r.Type, strings.Join(c.Types, ", "))})
			}
			continue
		}
		able = append(able, r)
	}
	if c.SetIdentifiers || !slices.ContainsFunc(able, func(r *dns.RecordSet) bool { return r.SetIdentifier != "" }) {
		return able, left
	}
	able, more := withoutIdentifiers(able)
	return able, append(left, more...)
}

// withoutIdentifiers takes the set identifiers off record sets of one name. Of several record
// sets of a type, the one with the first identifier stays.
func withoutIdentifiers(wanted []*dns.RecordSet) (plain []*dns.RecordSet, left []impossible) {
	sorted := slices.SortedStableFunc(slices.Values(wanted), func(a, b *dns.RecordSet) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.SetIdentifier, b.SetIdentifier))
	})
	for _, r := range sorted {
		if n := len(plain); n > 0 && plain[n-1].Type == r.Type {
			left = append(left, impossible{r, fmt.Sprintf("the provider has no set identifiers, so it can't have a second %s record %s with the identifier %s: "+
				"ask for one of them only", r.Type, r.Name, quote(r.SetIdentifier))})
			continue
		}
		if r.SetIdentifier != "" {
			one := *r
			one.SetIdentifier = ""
			r = &one
		}
		plain = append(plain, r)
	}
	return plain, left
}

// question is what a [provider.Adjuster] is asked: the wanted record sets of some names.
type question struct {
	names []*nameState
	sets  []*dns.RecordSet
}

// mostAsked is how many new names a provider is asked about at a time, or fewer, as many as a batch has. Namespaces take
// turns in between.
const mostAsked = 1000

// adjust asks a provider that implements [provider.Adjuster] what it stores for the dirty names
// without an answer.
func (p *Publisher) adjust(z *zone) {
	adjuster, ok := p.Provider.(provider.Adjuster)
	if !ok {
		return
	}
	var q question
	news := refusals{}
	for _, n := range z.names.next(min(mostAsked, z.batch.most(p.batchSize))) {
		w := p.want(z, n.name)
		if n.answer != nil || len(w.sets) == 0 {
			continue // It is planned next.
		}
		p.grant(z, n.name, w, news)
		q.names, q.sets = append(q.names, n), append(q.sets, w.sets...)
		z.names.ask(n)
	}
	p.sayRefusals(z, news)
	if len(q.names) == 0 {
		return
	}
	z.busy = true
	p.startWrite(adjustTimeout, func(ctx context.Context) func() {
		answers, err := p.ask(ctx, adjuster, z.Zone, q.sets)
		return func() { p.adjusted(z, q, answers, err) }
	})
}

// ask returns an answer for each record set.
func (p *Publisher) ask(ctx context.Context, adjuster provider.Adjuster, zone dns.Zone, sets []*dns.RecordSet) ([]provider.Adjusted, error) {
	if len(sets) == 0 {
		return nil, nil
	}
	if err := p.limiter.Wait(ctx); err != nil {
		return nil, err
	}
	answers, err := contained(p, func() ([]provider.Adjusted, error) { return adjuster.Adjust(ctx, zone, sets) })
	if err == nil && len(answers) != len(sets) {
		return nil, fmt.Errorf("the provider gave %d answers about %d record sets", len(answers), len(sets))
	}
	return answers, err
}

// adjusted is called in the loop with the answers. A name that was touched meanwhile is planned
// with its answer nevertheless, and asked about again: if it is touched all the time, no answer
// is ever up to date.
func (p *Publisher) adjusted(z *zone, q question, answers []provider.Adjusted, err error) {
	z.busy = false
	switch {
	case errors.Is(err, provider.ErrThrottled):
		for _, n := range q.names {
			z.names.answer(n, nil)
		}
		p.throttle(err)
		return
	case err != nil:
		p.unanswered(z, q, err)
		return
	}
	p.throttles = 0
	p.untroubled(&z.adjusting, "adjust what is wanted in zone "+z.Name)
	refused := map[string]error{}
	got := map[string][]*dns.RecordSet{}
	asked := map[string][]dns.Change{}
	for i, r := range q.sets {
		name := dns.Canonical(r.Name)
		asked[name] = append(asked[name], dns.Change{New: r})
		got[name] = append(got[name], answers[i].Sets...)
		refused[name] = cmp.Or(refused[name], answers[i].Err)
	}
	for _, n := range q.names {
		wanted := p.want(z, n.name).sets
		switch {
		case n.again && (refused[n.name] != nil || len(wanted) == 0):
			// The next answer is about something else.
			z.names.answer(n, nil)
		case refused[n.name] != nil:
			p.postpone(z, n, group{name: n.name, changes: asked[n.name]}, refused[n.name])
		default:
			z.names.answer(n, &answer{sets: slices.Collect(maps.Values(last(got[n.name])))})
		}
	}
}

// unanswered has names wait that a question was about that the provider doesn't answer. Others
// don't wait for them.
func (p *Publisher) unanswered(z *zone, q question, err error) {
	p.troubled(&z.adjusting, "adjust what is wanted in zone "+z.Name, err)
	for _, n := range q.names {
		z.names.refuse(n, time.Now().Add(backoff(n.failures, p.Interval)), err.Error())
	}
	p.measure(z)
}

// last returns the last record set of each key.
func last(sets []*dns.RecordSet) map[dns.Key]*dns.RecordSet {
	byKey := map[dns.Key]*dns.RecordSet{}
	for _, r := range sets {
		byKey[r.Key()] = r
	}
	return byKey
}

// adjustMarkers replaces the markers to write in a batch by what the provider stores for them,
// so that the mirror has them as they will be listed. A name whose marker is refused isn't
// changed.
func (p *Publisher) adjustMarkers(ctx context.Context, b *batch) error {
	adjuster, ok := p.Provider.(provider.Adjuster)
	if !ok {
		return nil
	}
	for _, part := range b.parts {
		var places []int
		var sets []*dns.RecordSet
		for i, c := range part.changes {
			if isMarker(c) && c.New != nil {
				places, sets = append(places, i), append(sets, c.New)
			}
		}
		answers, err := p.ask(ctx, adjuster, part.zone.Zone, sets)
		if err != nil {
			return fmt.Errorf("adjust ownership records: %w", err)
		}
		for n, answer := range answers {
			name := part.names[places[n]]
			if answer.Err != nil {
				b.errs[name] = cmp.Or(b.errs[name], fmt.Errorf("the ownership record %s: %w", sets[n].Name, answer.Err))
			}
			part.changes[places[n]].New = adjustedMarker(sets[n], answer.Sets)
		}
	}
	for i := range b.parts {
		b.parts[i].leave(b.errs)
	}
	b.parts = slices.DeleteFunc(b.parts, func(p part) bool { return len(p.changes) == 0 })
	return nil
}

// adjustedMarker returns what is stored for a marker. A provider that says nothing of it is
// taken to store it as it is: programs with the webhook protocol may not expect markers there.
func adjustedMarker(marker *dns.RecordSet, sets []*dns.RecordSet) *dns.RecordSet {
	i := slices.IndexFunc(sets, func(r *dns.RecordSet) bool { return r.Key() == marker.Key() })
	if i < 0 {
		return marker
	}
	stored := *sets[i]
	stored.Labels, stored.Objects = marker.Labels, marker.Objects
	return &stored
}

// leave takes out the changes of names that have an error already.
func (p *part) leave(errs map[string]error) {
	var changes []dns.Change
	var names []string
	for i, name := range p.names {
		if errs[name] == nil {
			changes, names = append(changes, p.changes[i]), append(names, name)
		}
	}
	p.changes, p.names = changes, names
}

// longestThrottle is the longest pause that a provider can ask for.
const longestThrottle = time.Hour

// throttle stops all calls of the provider for as long as it wants not to be asked, or for
// longer each time if it doesn't say.
func (p *Publisher) throttle(err error) {
	pause := backoff(p.throttles, p.Interval)
	if said, ok := errors.AsType[*provider.ThrottledError](err); ok && said.After > 0 {
		pause = min(said.After, longestThrottle)
	}
	p.throttles++
	if until := time.Now().Add(pause); until.After(p.throttledUntil) {
		p.throttledUntil = until
		p.Metrics.registryErrors.Inc()
		p.Log.Warn("The provider has too many requests; it is called again later", "after", pause, "err", err)
	}
}

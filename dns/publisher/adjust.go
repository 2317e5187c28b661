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
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/provider"
)

// unsupportedSet is a wanted record set that the provider can't store, with the reason.
type unsupportedSet struct {
	set    *dns.RecordSet
	reason string
}

// maxRecordSets limits the record sets of a name in a zone. The comparison of a name takes the square
// of their number, in the goroutine that all zones share. Route 53 allows 100 of a name and type.
const maxRecordSets = 500

// limitRecordSets splits the wanted record sets of a name into the first maxRecordSets and the
// excess. Record sets that the zone has already come first.
func limitRecordSets(asked []plan.Candidate, rank func(*dns.RecordSet) int) (kept []plan.Candidate, excess []unsupportedSet) {
	if len(asked) <= maxRecordSets {
		return asked, nil
	}
	ranks := make(map[*dns.RecordSet]int, len(asked))
	for _, a := range asked {
		if rank != nil {
			ranks[a.Set] = rank(a.Set)
		}
	}
	slices.SortStableFunc(asked, func(a, b plan.Candidate) int { return cmp.Compare(ranks[a.Set], ranks[b.Set]) })
	reason := fmt.Sprintf("objects ask for %d record sets of the name, and more than %d are ignored: use fewer set identifiers", len(asked), maxRecordSets)
	for _, a := range asked[maxRecordSets:] {
		excess = append(excess, unsupportedSet{a.Set, reason})
	}
	return asked[:maxRecordSets], excess
}

// splitSupported splits the wanted record sets into those that the provider can store, in its own
// form, and those that it can't store or that are too many. rank orders them.
func (p *Publisher) splitSupported(asked []plan.Candidate, rank func(*dns.RecordSet) int) ([]plan.Candidate, []unsupportedSet) {
	c := p.capabilities
	asked, unsupported := limitRecordSets(asked, rank)
	supported := make([]plan.Candidate, 0, len(asked))
	for _, a := range asked {
		if recordType := a.Set.Type; c.Types != nil && !slices.Contains(c.Types, recordType) {
			if p.Rules.Manages(recordType) {
				unsupported = append(unsupported, unsupportedSet{a.Set, fmt.Sprintf("the provider has no records of the type %s: it has %s", recordType, strings.Join(c.Types, ", "))})
			}
			continue
		}
		if a.Set.SetIdentifier != "" && !c.SetIdentifiers {
			one := *a.Set
			one.SetIdentifier = ""
			a.Set = &one
		}
		supported = append(supported, a)
	}
	return supported, unsupported
}

// rank returns a function that orders the objects that want one record set. The zone is read only
// if several objects want a record set of the name.
func (p *Publisher) rank(z *zone, name string) func(*dns.RecordSet) int {
	if z == nil {
		return nil
	}
	var rank func(*dns.RecordSet) int
	return func(r *dns.RecordSet) int {
		if rank == nil {
			rank = plan.Rank(p.current(z, name), &p.Rules)
		}
		return rank(r)
	}
}

// holders identifies the objects that hold the record sets of a name, if several objects ask for
// it. Wanted record sets are merged in an order that depends on the holder.
func (p *Publisher) holders(z *zone, name string) string {
	if p.Desired.CountOrigins(name) < 2 {
		return ""
	}
	var list []string
	for _, c := range p.current(z, name) {
		if object := c.Set.Labels[dns.LabelResource]; object != "" && p.Rules.Owns(c.Set) {
			list = append(list, c.Set.Type+" "+c.Set.SetIdentifier+" "+object)
		}
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// adjustQuery is a query to a [provider.Adjuster]: the wanted record sets of some names.
type adjustQuery struct {
	names      []*nameState
	holders    []string
	candidates []plan.Candidate
}

// adjust asks a [provider.Adjuster] how it would store the wanted record sets of all dirty names
// that have no response yet.
func (p *Publisher) adjust(z *zone) {
	adjuster, ok := p.Provider.(provider.Adjuster)
	if !ok {
		return
	}
	var q adjustQuery
	unreported := refusals{}
	for _, n := range z.names.next(min(p.maxNamesPerPass(), z.batch.limit(p.batchSize))) {
		w := p.want(z, n.name)
		if n.adjusted != nil || len(w.wanted) == 0 {
			continue // The name is planned next.
		}
		p.grant(z, n.name, w, unreported)
		q.names, q.holders = append(q.names, n), append(q.holders, p.holders(z, n.name))
		q.candidates = append(q.candidates, w.wanted...)
		z.names.ask(n)
	}
	p.reportRefusals(z, unreported)
	if len(q.names) == 0 {
		return
	}
	z.busy = true
	p.startCall(z, adjustTimeout, func(ctx context.Context) func() {
		responses, err := p.callAdjuster(ctx, adjuster, z.Zone, plan.Sets(q.candidates))
		return func() { p.adjusted(z, q, responses, err) }
	})
}

func (p *Publisher) callAdjuster(ctx context.Context, adjuster provider.Adjuster, zone dns.Zone, sets []*dns.RecordSet) ([]provider.Adjusted, error) {
	if len(sets) == 0 {
		return nil, nil
	}
	if err := p.limiter.Wait(ctx); err != nil {
		return nil, err
	}
	responses, err := contained(p, func() ([]provider.Adjusted, error) { return adjuster.Adjust(ctx, zone, sets) })
	if err == nil && len(responses) != len(sets) {
		return nil, fmt.Errorf("the provider gave %d responses about %d record sets", len(responses), len(sets))
	}
	return responses, err
}

// adjusted is called in the loop with the responses. A name that was touched meanwhile is still
// planned with its response and then queried again: a name that is touched all the time would never
// have a current response.
func (p *Publisher) adjusted(z *zone, q adjustQuery, responses []provider.Adjusted, err error) {
	z.busy = false
	switch {
	case errors.Is(err, provider.ErrThrottled):
		for _, n := range q.names {
			z.names.responded(n, nil)
		}
		p.pauseCalls(err)
		return
	case err != nil:
		p.adjustFailed(z, q, err)
		return
	}
	p.throttles = 0
	p.operationSucceeded(&z.adjusting, "adjust the wanted records of zone "+z.Name)
	refused, recheck := map[string]bool{}, map[string]bool{}
	got := map[string][]plan.Candidate{}
	for i, c := range q.candidates {
		name := dns.Canonical(c.Set.Name)
		got[name] = append(got[name], adjusted(c, responses[i])...)
		refused[name] = refused[name] || responses[i].Err != nil
		recheck[name] = recheck[name] || responses[i].Err == nil && (responses[i].Recheck || len(responses[i].Sets) == 0)
	}
	for i, n := range q.names {
		if n.requeue && (refused[n.name] || len(p.want(z, n.name).wanted) == 0) {
			// The response is for other record sets than those wanted now.
			z.names.responded(n, nil)
			continue
		}
		z.names.responded(n, &adjustedSets{candidates: got[n.name], holders: q.holders[i], recheck: recheck[n.name]})
	}
}

// askAgain handles a listing of the zone: the provider is asked again about the settled names whose last
// response may change ([provider.Adjusted]). No listing shows that the response would be another one
// now, such as that of a webhook program that was repaired.
func (s *names) askAgain() {
	for _, n := range s.sorted(settled) {
		if n.recheck {
			n.recheck = false
			s.touch(n.name)
		}
	}
}

// adjusted returns a candidate as the provider stores it: one candidate per key, the least if there
// are several. The object of the candidate stays, whatever the provider returns.
func adjusted(c plan.Candidate, response provider.Adjusted) []plan.Candidate {
	if response.Err != nil {
		c.Err = refusal{response.Err}
		return []plan.Candidate{c}
	}
	var stored []plan.Candidate
	for _, set := range response.Sets {
		i := slices.IndexFunc(stored, func(s plan.Candidate) bool { return s.Set.Key() == set.Key() })
		switch {
		case i < 0:
			stored = append(stored, plan.Candidate{Set: labelledAs(c.Set, set), Source: c.Source})
		case dns.Less(set.Targets, stored[i].Set.Targets):
			stored[i].Set = labelledAs(c.Set, set)
		}
	}
	return stored
}

// labelledAs returns set with the object label of asked.
func labelledAs(asked, set *dns.RecordSet) *dns.RecordSet {
	if set == asked {
		return set
	}
	one := *set
	one.Objects = asked.Objects
	one.Labels = maps.Clone(set.Labels)
	if one.Labels == nil {
		one.Labels = map[string]string{}
	}
	delete(one.Labels, dns.LabelResource)
	if object := asked.Labels[dns.LabelResource]; object != "" {
		one.Labels[dns.LabelResource] = object
	}
	return &one
}

// refusal is the reason why the provider refuses a wanted record set.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// adjustFailed delays the names of a query that failed. Other names don't wait.
func (p *Publisher) adjustFailed(z *zone, q adjustQuery, err error) {
	p.operationFailed(&z.adjusting, "adjust the wanted records of zone "+z.Name, err)
	for _, n := range q.names {
		z.names.refuse(n, time.Now().Add(backoff(n.failures, p.Interval)), err.Error())
	}
	p.measure(z)
}

// adjustOwnership replaces the ownership records of a batch by what the provider stores for them, so
// that the mirror agrees with the next listing. If an ownership record is refused, its name isn't
// changed.
func (p *Publisher) adjustOwnership(ctx context.Context, b *batch) error {
	adjuster, ok := p.Provider.(provider.Adjuster)
	if !ok {
		return nil
	}
	for _, part := range b.parts {
		var places []int
		var sets []*dns.RecordSet
		for i, c := range part.changes {
			if changesOwnership(c) && c.New != nil {
				places, sets = append(places, i), append(sets, c.New)
			}
		}
		responses, err := p.callAdjuster(ctx, adjuster, part.zone.Zone, sets)
		if err != nil {
			return fmt.Errorf("adjust ownership records: %w", err)
		}
		for n, response := range responses {
			name := part.names[places[n]]
			if response.Err != nil {
				b.errs[name] = cmp.Or(b.errs[name], fmt.Errorf("the ownership record %s: %w", sets[n].Name, response.Err))
			}
			part.changes[places[n]].New = adjustedOwnership(sets[n], response.Sets)
		}
	}
	for i := range b.parts {
		b.parts[i].dropFailed(b.errs)
	}
	b.parts = slices.DeleteFunc(b.parts, func(p part) bool { return len(p.changes) == 0 })
	return nil
}

// adjustedOwnership returns what the provider stores for an ownership record. If the response has
// none, the record is assumed to be stored unchanged, because webhook programs may not expect
// ownership records in AdjustEndpoints.
func adjustedOwnership(ownership *dns.RecordSet, sets []*dns.RecordSet) *dns.RecordSet {
	i := slices.IndexFunc(sets, func(r *dns.RecordSet) bool { return r.Key() == ownership.Key() })
	if i < 0 {
		return ownership
	}
	stored := *sets[i]
	stored.Labels, stored.Objects = ownership.Labels, ownership.Objects
	return &stored
}

// dropFailed removes the changes of names that have failed already.
func (p *part) dropFailed(errs map[string]error) {
	var changes []dns.Change
	var names []string
	for i, name := range p.names {
		if errs[name] == nil {
			changes, names = append(changes, p.changes[i]), append(names, name)
		}
	}
	p.changes, p.names = changes, names
}

// shownThrottle is the shortest pause that is shown as a trouble.
const shownThrottle = time.Minute

// pauseCalls stops all calls of the provider for the time that it asks for. If it gives none, the
// time doubles with each throttled call.
func (p *Publisher) pauseCalls(err error) {
	pause := backoff(p.throttles, p.Interval)
	if said, ok := errors.AsType[*provider.ThrottledError](err); ok && said.After > 0 {
		pause = min(said.After, provider.LongestPause)
	}
	p.throttles++
	if until := time.Now().Add(pause); until.After(p.throttledUntil) {
		p.throttledUntil, p.throttle = until, nil
		p.Metrics.throttledUntil.Set(float64(until.Unix()))
		if pause >= shownThrottle {
			p.throttle = err
		}
		p.Metrics.registryErrors.Inc()
		p.Log.Warn("The provider throttles requests; calling again later", "after", pause, "err", err)
	}
}

package publisher

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/internal/sanitize"
	"github.com/signpostd/signpost/kube"
)

// readObjects evaluates the objects that have changed, and notes which sources have been read
// completely. Passes are at least quiet apart, unless a source has just been filled.
func (p *Publisher) readObjects(now time.Time) {
	// The order matters: once a source is filled, the intake has all of its objects.
	opened := p.openSources(now)
	filled := p.newlyFilled()
	if len(filled) == 0 && !opened && p.backlog.len() == 0 && (!p.intakePending || now.Sub(p.lastPass) < quiet) {
		return
	}
	p.intakePending, p.lastPass = false, now
	// Objects of a source that isn't open yet stay in the intake, because their references may be
	// missing only because a table is still empty.
	for _, o := range p.intake.take(func(i int) bool { return p.sources[i].open }) {
		p.backlog.add(o)
	}
	// All objects of a filled source have to be evaluated before it counts as read.
	if len(filled) > 0 || opened || !p.sourcesEvaluated || p.once != nil {
		p.evaluate(math.MaxInt)
	} else {
		p.evaluate(evaluationCost)
	}
	for _, i := range filled {
		p.sources[i].read = true
	}
	if len(filled) > 0 && p.complete() {
		p.release()
	}
	p.sourcesEvaluated = p.sourcesEvaluated || !slices.ContainsFunc(p.sources, func(s sourceState) bool { return !s.open })
}

// newlyFilled returns the indexes of the sources whose needed tables were filled since the last
// call.
func (p *Publisher) newlyFilled() []int {
	var filled []int
	for i := range p.sources {
		if p.sources[i].open && p.fills(i) {
			filled = append(filled, i)
		}
	}
	return filled
}

// fills reports whether a source that doesn't count as read yet has all of its needed tables
// filled. A table whose kind is being removed doesn't count, because it has lost objects that still
// have records.
func (p *Publisher) fills(i int) bool {
	src := &p.Sources[i]
	if src.Poll != nil || p.sources[i].read {
		return false
	}
	needed := src.Needed()
	return p.allFilled(needed) && !slices.ContainsFunc(needed, terminating)
}

// statusEvery is how often to check whether tables can be read.
const statusEvery = 5 * time.Second

// watchTables reports sources whose tables became unreadable or readable.
func (p *Publisher) watchTables(now time.Time) {
	if now.Before(p.statusAt) {
		return
	}
	p.statusAt = now.Add(statusEvery)
	defer p.applyRemovals(now)
	for i := range p.sources {
		s, src := &p.sources[i], &p.Sources[i]
		if src.Poll != nil {
			continue
		}
		s.observe(p.conditions(src.Needed()), now)
		switch stay, err := p.unreadable(&src.Source, s.conditions); {
		case err != nil:
			p.sourceFailed(s, src.Name, err, stay)
		case s.err != nil:
			p.sourceRead(s, src.Name)
		}
	}
}

// removalDelay is how long an object of an optional kind must be deleted, while the kind stays
// readable, before its records are deleted. When a CustomResourceDefinition is removed, its objects
// are deleted first and the kind becomes unreadable soon after. That must not delete records.
const removalDelay = 5 * time.Second

// delayRemoval reports whether the records of an object stay for now, because the object is of an
// optional kind and was just deleted. It records the time of the deletion.
func (p *Publisher) delayRemoval(i int, origin desired.Origin, records []*dns.RecordSet) bool {
	if len(records) > 0 || !p.Desired.Has(origin) || !hasOptionalKind(p.Sources[i].Source) {
		delete(p.pendingRemovals, origin)
		return false
	}
	if _, known := p.pendingRemovals[origin]; !known {
		p.pendingRemovals[origin] = time.Now()
	}
	return true
}

func hasOptionalKind(s source.Source) bool {
	return slices.ContainsFunc(s.Tables, func(t kube.AnyTable) bool { return !t.Status().Required })
}

// applyRemovals deletes the records of objects that were deleted [removalDelay] ago.
func (p *Publisher) applyRemovals(now time.Time) {
	for origin, since := range p.pendingRemovals {
		i := slices.IndexFunc(p.Sources, func(s NamedSource) bool { return s.Name == origin.Source })
		if now.Sub(since) < removalDelay || !p.sources[i].readableFor(origin.Namespace, removalDelay, now) {
			continue
		}
		delete(p.pendingRemovals, origin)
		p.put(origin, nil)
	}
}

// Removal is the delayed removal of the records of an object that asks for nothing any more.
type Removal struct {
	Origin desired.Origin
	// Names are canonical.
	Names []string
	// At is when the records are removed at the earliest. Unreadable is true if the kind of the object is
	// unreadable or being removed: the records then stay until it has been readable for some seconds.
	At         time.Time
	Unreadable bool
}

// Removals returns the delayed removals of the selected objects, sorted by source, namespace and name.
// It may be called in a process that doesn't lead.
func (p *Publisher) Removals(ctx context.Context, selects func(source string, key source.Key) bool) (found []Removal, err error) {
	err = p.visit(ctx, func() {
		found = p.removals(func(o desired.Origin) bool {
			return selects(o.Source, source.Key{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name})
		})
	})
	return found, err
}

func (p *Publisher) removals(selects func(desired.Origin) bool) (found []Removal) {
	now := time.Now()
	for origin, since := range p.pendingRemovals {
		if !selects(origin) {
			continue
		}
		r := Removal{Origin: origin, Names: p.Desired.NamesOf(origin), At: p.statusAt}
		for r.At.Before(since.Add(removalDelay)) {
			r.At = r.At.Add(statusEvery)
		}
		i := slices.IndexFunc(p.Sources, func(s NamedSource) bool { return s.Name == origin.Source })
		r.Unreadable = !p.sources[i].readableFor(origin.Namespace, 0, now)
		found = append(found, r)
	}
	slices.SortFunc(found, func(a, b Removal) int { return compareOrigins(a.Origin, b.Origin) })
	return found
}

// pollSources starts the polls that are due.
func (p *Publisher) pollSources(ctx context.Context, now time.Time) {
	for i := range p.sources {
		if s := &p.sources[i]; p.Sources[i].Poll != nil && !s.polling && !now.Before(s.pollAt) {
			p.poll(ctx, i)
		}
	}
}

// complete reports whether all sources have been read. Only then is a record that no object asks
// for unwanted.
func (p *Publisher) complete() bool {
	for i := range p.sources {
		if !p.sources[i].read {
			return false
		}
	}
	return true
}

// release plans names again whose changes were held because something hadn't been read.
func (p *Publisher) release() {
	for _, z := range p.zones.all() {
		z.names.release()
	}
}

// poll asks a source for all of its records.
func (p *Publisher) poll(ctx context.Context, i int) {
	s, src := &p.sources[i], p.Sources[i]
	s.polling = true
	p.start(func() func() {
		ctx, cancel := context.WithTimeout(ctx, p.Interval)
		defer cancel()
		records, err := src.Poll(ctx)
		return func() { p.polled(i, records, err) }
	})
}

func (p *Publisher) polled(i int, records []*dns.RecordSet, err error) {
	s, src := &p.sources[i], p.Sources[i]
	s.polling, s.pollAt = false, time.Now().Add(p.Interval)
	if err != nil {
		if p.once != nil {
			p.once.fail(err)
		}
		p.sourceFailed(s, src.Name, err, "its records stay unchanged")
		return
	}
	s.read = true
	p.sourceRead(s, src.Name)
	whole := desired.Origin{Source: src.Name}
	p.objectProblems.replace(whole, p.put(whole, records))
	if p.complete() {
		p.release()
	}
}

// sourceRead notes that a source can be read.
func (p *Publisher) sourceRead(s *sourceState, name string) {
	if s.err != nil {
		p.Log.Info("Source is read again", "source", name)
		s.err = nil
	}
	p.Metrics.sourceRead(name, nil)
}

// sourceFailed notes that a source can't be read. stay says which records are kept because of that.
func (p *Publisher) sourceFailed(s *sourceState, name string, err error, stay string) {
	p.Metrics.sourceErrors.Inc()
	p.Metrics.sourceRead(name, err)
	// The text of an error may change, for example in the port of a connection, so only the first
	// error is reported.
	known := s.err != nil
	if s.err, s.stay = err, stay; !known {
		p.Log.Error("Can't read a source; "+stay, "source", name, "err", err)
		p.sendNotice(s.notice(name))
	}
}

const (
	// evaluationCost limits how much is evaluated before the loop does other things. An object costs
	// objectCost, plus one for each of its names.
	evaluationCost = 500
	objectCost     = 4
	// evaluationTime limits how long that takes. An object with thousands of pods takes milliseconds.
	evaluationTime = 20 * time.Millisecond
)

// evaluate evaluates objects of the backlog up to a cost and for a limited time, at least one, or all of
// them. Namespaces take turns.
func (p *Publisher) evaluate(cost int) {
	all, begun := cost == math.MaxInt, time.Now()
	for cost > 0 && (all || time.Since(begun) < evaluationTime) {
		o, ok := p.backlog.next()
		if !ok {
			break
		}
		cost -= objectCost + p.evaluateObject(o.source, o.key)
	}
	p.metricsStale = true
}

// evaluateObject evaluates an object, and returns how many record sets it asks for.
func (p *Publisher) evaluateObject(i int, key source.Key) (records int) {
	src := p.Sources[i]
	origin := desired.Origin{Source: src.Name, Kind: key.Kind, Namespace: key.Namespace, Name: key.Name}
	result := p.evaluated(&src, key)
	p.reportProblems(result.Problems)
	problems := slices.Clone(result.Problems)
	switch {
	case result.Err != nil:
		// The object exists, so its records stay.
		delete(p.pendingRemovals, origin)
		problems = append(problems, p.evaluationFailed(origin, result)...)
	case p.delayRemoval(i, origin, result.Records):
	default:
		if _, failed := p.unresolved[origin]; failed {
			delete(p.unresolved, origin)
			p.release()
		}
		problems = append(problems, p.put(origin, result.Records)...)
		records = len(result.Records)
	}
	p.objectProblems.replace(origin, problems)
	return records
}

// evaluated evaluates an object. If the source panics, the object counts as unresolved, so that its
// records stay.
func (p *Publisher) evaluated(src *NamedSource, key source.Key) (result source.Result) {
	if err := p.panics.Catch(src.Name, func() error {
		result = src.Evaluate(key)
		return nil
	}); err != nil {
		return source.Result{Err: err}
	}
	return result
}

// unresolved says why an object can't be evaluated.
type unresolved struct {
	message string
	// pending is true if the source is still looking up a reference of the object.
	pending bool
}

// evaluationFailed keeps the records of an object that can't be evaluated, and returns its problem;
// none if the source is still looking up a reference.
func (p *Publisher) evaluationFailed(origin desired.Origin, result source.Result) []dns.Problem {
	message := result.Err.Error()
	var later interface{ Pending() bool }
	if errors.As(result.Err, &later) && later.Pending() {
		// The source is looking it up, and calls Changed with the result.
		if !p.Desired.Has(origin) {
			p.unresolved[origin] = unresolved{message: message, pending: true}
		}
		p.Log.Debug("Waiting for a reference of an object", "source", origin.Source, "namespace", origin.Namespace, "name", origin.Name, "err", result.Err)
		return nil
	}
	p.Metrics.sourceErrors.Inc()
	object := dns.Object{Source: origin.Source, Namespace: origin.Namespace, Name: origin.Name}
	for _, problem := range result.Problems {
		object = problem.Object
	}
	problem := dns.Problem{Object: object, Reason: message + "; its records stay unchanged"}
	if !p.Desired.Has(origin) {
		now := unresolved{message: message}
		if p.unresolved[origin] == now {
			return []dns.Problem{problem}
		}
		p.unresolved[origin] = now
	}
	p.Log.Warn("Can't evaluate an object; its records stay unchanged", "source", origin.Source, "namespace", origin.Namespace, "name", origin.Name, "err", result.Err)
	p.sendNotice(problemNotice(problem))
	return []dns.Problem{problem}
}

// put replaces the records that an origin asks for, and returns the problems of these records.
func (p *Publisher) put(origin desired.Origin, records []*dns.RecordSet) []dns.Problem {
	names, problems := p.Desired.Put(origin, records)
	p.reportProblems(problems)
	p.changedNames = append(p.changedNames, names...)
	p.unverified = p.unverified || len(names) > 0
	return problems
}

// touchChanged plans the names again whose wanted record sets have changed, each once: thousands of
// objects may ask for one name, and each touch merges all of their record sets.
func (p *Publisher) touchChanged() {
	touched := make(map[string]struct{}, len(p.changedNames))
	for _, name := range p.changedNames {
		if _, done := touched[name]; !done {
			touched[name] = struct{}{}
			p.touch(name)
		}
	}
	p.changedNames = nil
}

// reportProblems counts, logs and sends the parts of an object that can't be used.
func (p *Publisher) reportProblems(problems []dns.Problem) {
	for _, problem := range problems {
		p.Metrics.problems.Inc()
		notice := problemNotice(problem)
		if p.faultyLog.allow() {
			p.Log.Warn("Ignored a part of an object that can't be used", "kind", problem.Object.Kind, "namespace", problem.Object.Namespace, "name", problem.Object.Name, "problem", notice.Message)
		}
		p.sendNotice(notice)
	}
}

// quote returns a value in quotes, cut if it is long.
func quote(value string) string {
	const maxLength = 100
	return `"` + sanitize.Shorten(value, maxLength) + `"`
}

// loses reports whether a change removes targets, or gives the record set to another object.
func loses(c dns.Change) bool {
	if c.Old == nil || c.New == nil {
		return c.Old != nil
	}
	was := c.Old.Labels[dns.LabelResource]
	return !holdsAll(c.New.Targets, c.Old.Targets) || was != "" && was != c.New.Labels[dns.LabelResource]
}

// holdReason returns why a change must wait, because an unread or unresolved object may ask for
// what it removes; "" if it needn't. explained is true if evaluated objects ask for all that is
// under the name. Only namespaces for which concerned returns true are considered.
func (p *Publisher) holdReason(c dns.Change, explained bool, concerned func(namespace string) bool) string {
	if !loses(c) {
		return ""
	}
	for i := range p.sources {
		if !p.sources[i].read {
			return "source " + p.Sources[i].Name + " has not been read yet"
		}
	}
	if p.Desired.UnresolvedFor(c.Old.Name, concerned) {
		return "an object asks for the name in a way that can't be published"
	}
	resource := c.Old.Labels[dns.LabelResource]
	for origin, why := range p.unresolved {
		switch {
		case !concerned(origin.Namespace):
		case strings.HasSuffix(resource, "/"+origin.Namespace+"/"+origin.Name), origin.Namespace == "" && strings.HasSuffix(resource, "/"+origin.Name):
			return resource + " can't be evaluated"
		case !explained && (resource == "" || c.New != nil || why.pending):
			// The label names one object, but others may share the record set. An object that only waits for
			// a reference is probably valid, so the targets of a deleted object may be its targets too.
			return origin.Source + " " + origin.Namespace + "/" + origin.Name + " can't be evaluated, and may ask for it"
		}
	}
	return ""
}

// holdsAll reports whether targets contains all of some.
func holdsAll(targets, some []string) bool {
	return dns.NewTargetSet(targets).Count(some) == len(some)
}

package publisher

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/source"
)

// outcomes is a [source.Outcomes] for one source of a publisher.
type outcomes struct {
	publisher func() *Publisher
	source    string
}

// Outcomes returns the outcomes of the objects of a source. The function p returns the publisher,
// which may be created later.
func Outcomes(p func() *Publisher, sourceName string) source.Outcomes {
	return outcomes{p, sourceName}
}

// Outcome implements [source.Outcomes].
func (o outcomes) Outcome(ctx context.Context, key source.Key) (outcome *source.Outcome, err error) {
	p := o.publisher()
	err = p.visit(ctx, func() {
		i := slices.IndexFunc(p.Sources, func(s NamedSource) bool { return s.Name == o.source })
		if p.term == nil || p.zones == nil && p.zoneList.err == nil || i < 0 {
			return
		}
		origin := desired.Origin{Source: o.source, Kind: key.Kind, Namespace: key.Namespace, Name: key.Name}
		e, ok := p.explain(i, key)
		// The former outcome says nothing about what the object asks for now.
		if ok && (e.Err != nil || p.Desired.Current(origin, p.evaluated(&p.Sources[i], key).Records)) {
			outcome = p.outcome(origin, e)
		}
	})
	return outcome, err
}

func (p *Publisher) outcome(origin desired.Origin, e Explanation) *source.Outcome {
	return &source.Outcome{Accepted: accepted(e), Programmed: p.programmed(origin, e)}
}

// accepted says whether every entry of an object can be published.
func accepted(e Explanation) source.Verdict {
	reason, problems := source.OutcomeInvalid, []string{}
	if e.Err != nil {
		problems = append(problems, e.Err.Error()+"; its records stay unchanged")
	}
	for _, problem := range e.Problems {
		problems = append(problems, problem.Text(quote))
	}
	for _, d := range e.Dropped {
		switch d.Reason {
		case desired.DropInvalid, desired.DropRefused:
			problems = append(problems, fmt.Sprintf("the %s record %s: %s", d.Type, quote(d.Name), d.Message))
		case desired.DropType, desired.DropDomain, desired.DropTarget, desired.DropNotAllowed:
			if len(problems) == 0 {
				reason = source.OutcomeFiltered
			}
			problems = append(problems, fmt.Sprintf("the %s record %s is left out: %s", d.Type, quote(d.Name), d.Message))
		}
	}
	if len(problems) == 0 {
		return source.Verdict{True: true, Reason: source.OutcomeAccepted}
	}
	return source.Verdict{Reason: reason, Message: joined(problems)}
}

// maxProblemsShown limits the problems in a message.
const maxProblemsShown = 3

func joined(problems []string) string {
	text := strings.Join(problems[:min(len(problems), maxProblemsShown)], "; ")
	if more := len(problems) - maxProblemsShown; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// outcomeOf are the reasons of the row states that aren't published, the worst first.
var outcomeOf = []struct {
	state  RowState
	reason string
}{
	{RowConflict, source.OutcomeConflict},
	{RowNoZone, source.OutcomeNoZone},
	{RowFailing, source.OutcomeFailed},
	{RowHeld, source.OutcomeHeld},
	{RowPending, source.OutcomePending},
}

// maxOutcomeNames limits the names of an object whose rows are read.
const maxOutcomeNames = 100

// programmed says whether the zones have every record that an object asks for. Names that the
// settings exclude don't count, because they aren't accepted.
func (p *Publisher) programmed(origin desired.Origin, e Explanation) source.Verdict {
	messages := map[RowState][]string{}
	for _, name := range p.namesToProgram(origin) {
		if r, refused := p.refusalOf(name, origin.Namespace); refused {
			messages[RowConflict] = append(messages[RowConflict], fmt.Sprintf("the name %s: %s", name, r.Message))
			continue
		}
		for _, at := range p.placesOf(name) {
			for _, row := range p.rowsAt(at) {
				if row.State != RowPublished && asksFor(row.Objects, e.Object) {
					messages[row.State] = append(messages[row.State], fmt.Sprintf("the %s record %s: %s", row.Type, row.Name, orPending(row.Message)))
				}
				for _, l := range row.Losers {
					if asksFor(l.Objects, e.Object) {
						messages[RowConflict] = append(messages[RowConflict], fmt.Sprintf("the %s record %s: %s", row.Type, row.Name, l.Message))
					}
				}
			}
		}
	}
	for _, o := range outcomeOf {
		if list := messages[o.state]; len(list) > 0 {
			return source.Verdict{Reason: o.reason, Message: joined(list)}
		}
	}
	if v := accepted(e); !v.True && len(e.Records) == 0 {
		return source.Verdict{Reason: v.Reason, Message: "nothing of the object is published"}
	}
	return source.Verdict{True: true, Reason: source.OutcomeProgrammed}
}

func (p *Publisher) namesToProgram(origin desired.Origin) []string {
	names := p.Desired.NamesOf(origin)
	return names[:min(len(names), maxOutcomeNames)]
}

func orPending(message string) string {
	if message == "" {
		return "it is being planned or written"
	}
	return message
}

// outcomePause is how long changes are collected before followers are notified.
const outcomePause = 500 * time.Millisecond

// Follow implements [source.Outcomes].
func (o outcomes) Follow(ctx context.Context, changed func([]source.Key)) error {
	p := o.publisher()
	f, err := p.Follow(ctx)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		select {
		case <-f.Changed():
		case <-ctx.Done():
			return nil
		}
		select {
		case <-time.After(outcomePause):
		case <-ctx.Done():
			return nil
		}
		var keys []source.Key
		reset := false
		if err := p.visit(ctx, func() { keys, reset = f.takeOrigins(o.source) }); err != nil {
			return err
		}
		switch {
		case reset:
			changed(nil)
		case len(keys) > 0:
			changed(keys)
		}
	}
}

// takeOrigins returns the objects of a source that ask for the changed names. It is called in the
// loop.
func (f *Follower) takeOrigins(sourceName string) (keys []source.Key, reset bool) {
	names, reset := f.names, f.reset
	f.names, f.reset = map[nameInZone]priorRecords{}, false
	seen := map[source.Key]bool{}
	for at := range names {
		for _, o := range f.publisher.Desired.OriginsOf(at.name) {
			key := source.Key{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
			if o.Source == sourceName && !seen[key] {
				seen[key] = true
				keys = append(keys, key)
			}
		}
	}
	return keys, reset
}

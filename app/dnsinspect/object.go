package dnsinspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/internal/sanitize"
)

// explainObject traces an object. It adds no steps if no source of the publisher reads the object.
func (r *Role) explainObject(ctx context.Context, w *explanation, ref inspect.ObjectRef) {
	seen, err := w.publisher.Explain(ctx, publisher.ExplainQuery{Selects: about(ref)})
	if err != nil {
		w.failed(err)
		return
	}
	w.object = &ref
	for _, e := range seen.List {
		r.explainEvaluated(ctx, w, ref, e)
	}
	removals, err := w.publisher.Removals(ctx, about(ref))
	if err != nil {
		w.failed(err)
		return
	}
	for _, removal := range removals {
		w.removal(&ref, removal)
	}
}

// about returns a selection of the keys of an object.
func about(ref inspect.ObjectRef) func(source string, key source.Key) bool {
	return func(_ string, key source.Key) bool {
		return sameKind(key, ref) && key.Namespace == ref.Namespace && key.Name == ref.Name
	}
}

func (r *Role) explainEvaluated(ctx context.Context, w *explanation, ref inspect.ObjectRef, e publisher.Explanation) {
	of := ref.Title() + ": "
	if e.Err != nil {
		w.add(whatObject, inspect.StepWrong, &ref, of+sanitize.Text(e.Err.Error())+"; its records stay unchanged")
	}
	for _, p := range e.Problems {
		w.add(whatObject, inspect.StepWrong, &ref, of+p.Text(sanitize.Quote))
	}
	for _, s := range e.Skipped {
		what, state := skipStep(s)
		text := s.Message
		if s.Subject != "" {
			text = s.Subject + ": " + text
		}
		if s.Reason == source.SkipFiltered && len(e.Wanted) > 0 {
			for _, name := range e.Wanted {
				w.addExclusion(what, &ref, name, fmt.Sprintf("%s asks for %s, and is left out: %s", ref.Title(), sanitize.Name(name), s.Message))
			}
			continue
		}
		w.add(what, state, &ref, of+text)
	}
	for _, d := range e.Dropped {
		w.dropped(ref, d)
	}
	names := namesOf(e)
	for _, name := range lostNames(e, names) {
		t, err := w.publisher.Trace(ctx, name)
		if err != nil {
			w.failed(err)
			return
		}
		w.unasked(t)
	}
	for i, name := range names {
		if i == maxNames {
			w.add(whatObject, inspect.StepNote, &ref, fmt.Sprintf("%sit asks for %d other names, too: ask about one of them", of, len(names)-i))
			return
		}
		t, err := w.publisher.Trace(ctx, name)
		if err != nil {
			w.failed(err)
			return
		}
		w.add(whatObject, inspect.StepOK, &ref, fmt.Sprintf("%s asks for %s (source %s)", ref.Title(), sanitize.Name(name), e.Object.Source), wantedLines(name, e.Records)...)
		r.follow(ctx, w, t)
	}
}

// lostNames returns some canonical names that an object has and gets no record for.
func lostNames(e publisher.Explanation, names []string) []string {
	var lost []string
	add := func(name string) {
		if name = dns.Canonical(name); len(lost) < maxNames && !slices.Contains(names, name) && !slices.Contains(lost, name) {
			lost = append(lost, name)
		}
	}
	for _, s := range e.Skipped {
		if strings.Contains(s.Subject, ".") {
			add(s.Subject)
		}
	}
	for _, name := range e.Wanted {
		add(name)
	}
	return lost
}

// unasked adds steps about our records of a name that no object asks for any more.
func (w *explanation) unasked(t publisher.Trace) {
	if len(t.Asks) > 0 {
		return
	}
	for _, h := range t.HoldingZones {
		for _, row := range h.Rows {
			if row.State == publisher.RowNotOwned {
				continue
			}
			state, text := rowStep(row)
			w.add(whatRecord, state, nil, text)
		}
	}
}

// namesOf returns the canonical names that an object asks for, including unzoned ones and those of
// unmanaged types.
func namesOf(e publisher.Explanation) []string {
	var names []string
	for _, set := range e.Records {
		names = append(names, dns.Canonical(set.Name))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// dropped adds a step about a part of an object that isn't published.
func (w *explanation) dropped(ref inspect.ObjectRef, d desired.Drop) {
	what, state := whatFilter, inspect.StepWrong
	excluded := false
	switch d.Reason {
	case desired.DropDomain, desired.DropUnselected:
		excluded = true
	case desired.DropDuplicate, desired.DropReplaced:
		state = inspect.StepNote
	case desired.DropInvalid, desired.DropRefused:
		what = whatRecord
	case desired.DropZone:
		what, excluded = whatZone, true
	}
	text := fmt.Sprintf("%s asks for the %s record %s, which is left out", ref.Title(), d.Type, sanitize.Name(d.Name))
	if d.Reason == desired.DropTarget {
		text = fmt.Sprintf("%s asks for the %s record %s, of which the targets %s are left out", ref.Title(), d.Type, sanitize.Name(d.Name), targetsText(d.Targets))
	}
	if excluded {
		w.addExclusion(what, &ref, d.Name, text+": "+d.Message)
		return
	}
	w.add(what, state, &ref, text+": "+d.Message)
}

// skipStep returns the subject and severity of a skip. An intended skip is only a note.
func skipStep(s source.Skip) (what string, state inspect.StepState) {
	switch s.Reason {
	case source.SkipFiltered:
		return whatFilter, inspect.StepNote
	case source.SkipOtherController:
		return whatAnnotation, inspect.StepNote
	case source.SkipNoHostname:
		return whatObject, inspect.StepNote
	case source.SkipUnreadAnnotation, source.SkipWildcard:
		return whatAnnotation, inspect.StepNote
	case source.SkipUnknownAnnotation, source.SkipSpaces:
		return whatAnnotation, inspect.StepWrong
	}
	return whatObject, inspect.StepWrong
}

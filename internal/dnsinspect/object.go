package dnsinspect

import (
	"context"
	"fmt"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/internal/foreign"
	"github.com/signpostd/signpost/internal/inspect"
)

// explainObject follows an object. It says nothing about one that no source of the publisher reads.
func (r *Role) explainObject(ctx context.Context, w *way, ref inspect.ObjectRef) {
	seen, err := w.publisher.Evaluated(ctx, ref.Kind, ref.Namespace, ref.Name)
	if err != nil {
		w.failed(err)
		return
	}
	for _, e := range seen {
		_, ref.Group, _ = strings.Cut(e.Key.Kind, ".")
		r.explainEvaluated(ctx, w, ref, e)
	}
}

func (r *Role) explainEvaluated(ctx context.Context, w *way, ref inspect.ObjectRef, e publisher.Evaluated) {
	about := title(ref) + ": "
	if e.Result.Err != nil {
		w.add(whatObject, inspect.StepWrong, &ref, about+e.Result.Err.Error()+"; its records stay as they are")
	}
	for _, p := range e.Result.Problems {
		w.add(whatObject, inspect.StepWrong, &ref, fmt.Sprintf("%s%s is %s: %s", about, p.Subject, foreign.Quote(p.Value), p.Reason))
	}
	for _, s := range e.Result.Skipped {
		what, state := skipStep(s)
		text := s.Message
		if s.Subject != "" {
			text = s.Subject + ": " + text
		}
		w.add(what, state, &ref, about+text)
	}
	w.dropped(ref, e)
	for i, name := range e.Names {
		if i == maxNames {
			w.add(whatObject, inspect.StepNote, &ref, fmt.Sprintf("%sit asks for %d other names, too: ask about one of them", about, len(e.Names)-i))
			return
		}
		t, err := w.publisher.Trace(ctx, name)
		if err != nil {
			w.failed(err)
			return
		}
		w.add(whatObject, inspect.StepWell, &ref, fmt.Sprintf("%s asks for %s (source %s)", title(ref), foreign.Name(name), e.Source), wantedLines(t, 0)...)
		r.follow(ctx, w, t)
	}
}

// dropped says of the record sets of an object which ones the publisher leaves out: those that
// can't be published, and those whose type isn't managed.
func (w *way) dropped(ref inspect.ObjectRef, e publisher.Evaluated) {
	names := map[string]bool{}
	for _, name := range e.Names {
		names[name] = true
	}
	for _, set := range e.Result.Records {
		switch name := dns.Canonical(set.Name); {
		case set.Invalid:
			// Its problem has said why.
		case len(set.Targets) > 0 && set.Check() != nil:
			w.add(whatRecord, inspect.StepWrong, &ref, fmt.Sprintf("the %s record %s can't be published: %v", set.Type, foreign.Name(set.Name), set.Check()))
		case !names[name]:
			w.add(whatFilter, inspect.StepWrong, &ref, fmt.Sprintf("the %s record %s is left out by --target-net-filter, --exclude-target-net or for want of targets: change the filter or the targets", set.Type, foreign.Name(set.Name)))
		}
	}
}

// skipStep returns what a skip is about, and how bad it is. What is as somebody has said is only
// worth knowing.
func skipStep(s source.Skip) (what string, state inspect.StepState) {
	switch s.Reason {
	case source.SkipFiltered:
		return whatFilter, inspect.StepNote
	case source.SkipOtherController:
		return whatAnnotation, inspect.StepNote
	case source.SkipNoHostname:
		return whatObject, inspect.StepNote
	case source.SkipUnreadAnnotation:
		return whatAnnotation, inspect.StepNote
	case source.SkipUnknownAnnotation, source.SkipSpaces:
		return whatAnnotation, inspect.StepWrong
	}
	return whatObject, inspect.StepWrong
}

// unknownObject is what is said of an object that no source has.
func (r *Role) unknownObject(o inspect.ObjectRef) string {
	var sources []string
	for _, p := range r.publishers {
		for _, name := range p.Manner().Sources {
			sources = append(sources, "--source="+name)
		}
	}
	return fmt.Sprintf("no source of the publishers has %s: see whether it exists, and whether one of %s reads objects of its kind and namespace", title(o), strings.Join(sources, ", "))
}

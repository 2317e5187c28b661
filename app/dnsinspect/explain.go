package dnsinspect

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/dns/tenancy"
	"github.com/signpostd/signpost/internal/sanitize"
)

const (
	// maxNames limits the names of an object that are traced to their zones.
	maxNames = 5
	// maxMissing limits the listed objects that would ask for a name.
	maxMissing = 3
)

// explanation collects the steps of one publisher.
type explanation struct {
	publisher Publisher
	// object is the subject; nil for a name.
	object *inspect.ObjectRef
	steps  []inspect.Step
	// exclusions are the steps about names that the publisher's settings exclude.
	exclusions []exclusion
	// takes are the names that the publisher writes into a zone. published are those of which all
	// wanted records are published.
	takes, published map[string]bool
}

// exclusion is the index of a step, and its canonical name.
type exclusion struct {
	step int
	name string
}

// addExclusion adds a step about a name that the publisher's settings exclude.
func (w *explanation) addExclusion(what string, object *inspect.ObjectRef, name, text string) {
	w.exclusions = append(w.exclusions, exclusion{len(w.steps), dns.Canonical(name)})
	w.add(what, inspect.StepWrong, object, text)
}

// Explain implements [inspect.Explainer]. A name is traced from its objects to the servers of its
// zone, an object from its sources, and an address to the records with it.
func (r *Role) Explain(ctx context.Context, q inspect.Query) []inspect.Step {
	var explanations []*explanation
	var object *inspect.ObjectRef
	switch {
	case q.Service != nil && q.Service.Hostname == "":
		object = &inspect.ObjectRef{Kind: "Service", Namespace: q.Service.Namespace, Name: q.Service.Name}
	case q.Object != nil && q.Object.Cluster == "":
		object = q.Object
	}
	for _, p := range r.publishers {
		w := &explanation{publisher: p, takes: map[string]bool{}, published: map[string]bool{}}
		switch {
		case q.Name != "":
			r.explainName(ctx, w, q.Name)
		case object != nil:
			r.explainObject(ctx, w, *object)
		case q.Address.Addr().IsValid():
			r.explainAddress(ctx, w, q.Address.Addr())
		}
		explanations = append(explanations, w)
	}
	steps := joinExplanations(explanations)
	if object != nil && len(steps) == 0 && len(r.publishers) > 0 {
		steps = r.explainUnknown(ctx, *object)
	}
	return onlyRelevant(steps)
}

// joinExplanations joins the steps of publishers. An excluded name is wrong only if no other
// publisher takes it.
func joinExplanations(explanations []*explanation) []inspect.Step {
	var steps []inspect.Step
	for _, w := range explanations {
		for _, l := range w.exclusions {
			if slices.ContainsFunc(explanations, func(other *explanation) bool { return other.takes[l.name] }) {
				w.steps[l.step].State = inspect.StepNote
			}
		}
		steps = append(steps, w.steps...)
	}
	if slices.ContainsFunc(steps, func(s inspect.Step) bool { return s.State == inspect.StepWrong || s.State == inspect.StepUnknown }) {
		return steps
	}
	if len(explanations) < 2 {
		return steps
	}
	// If no step is wrong, the last step is the summary.
	by := map[string][]string{}
	for _, w := range explanations {
		for name, complete := range w.published {
			if complete {
				by[name] = append(by[name], w.publisher.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		who := "publisher "
		if len(by[name]) > 1 {
			who = "publishers "
		}
		steps = append(steps, inspect.Step{What: whatRecord, State: inspect.StepOK, Text: sanitize.Name(name) + " is published by the " + who + strings.Join(by[name], " and ")})
	}
	return steps
}

// onlyRelevant drops the steps of publishers without objects for a name: all but the first, and that one
// too if another publisher has some.
func onlyRelevant(steps []inspect.Step) []inspect.Step {
	drop := slices.ContainsFunc(steps, func(s inspect.Step) bool { return s.What == whatObject || s.What == whatRecord || s.What == whatFilter })
	relevant := steps[:0]
	for _, s := range steps {
		if s.What == whatUnrequested {
			if drop {
				continue
			}
			drop, s.What = true, whatObject
		}
		relevant = append(relevant, s)
	}
	return relevant
}

// Subjects of steps.
const (
	whatObject, whatAnnotation, whatFilter, whatSource = "Object", "Annotation", "Filter", "Source"
	whatZone, whatRecord, whatServer                   = "Zone", "Record", "DNS server"
	// whatUnrequested is the subject of the step about a name without objects. onlyRelevant replaces it.
	whatUnrequested = "unrequested"
)

// add adds a step. If there are several publishers, it names the publisher.
func (w *explanation) add(what string, state inspect.StepState, object *inspect.ObjectRef, text string, more ...string) {
	if w.publisher.Name != "" {
		text = "publisher " + w.publisher.Name + ": " + text
	}
	w.steps = append(w.steps, inspect.Step{What: what, State: state, Object: object, Text: text, More: more})
}

// failed adds a step about a publisher that doesn't respond.
func (w *explanation) failed(err error) {
	w.add(whatSource, inspect.StepUnknown, nil, "the publisher can't be queried: "+err.Error()+": try again")
}

func (r *Role) explainName(ctx context.Context, w *explanation, name string) {
	t, err := w.publisher.Trace(ctx, name)
	if err != nil {
		w.failed(err)
		return
	}
	if len(t.Asks) == 0 {
		w.unrequested(ctx, t)
	}
	for i, o := range t.Asks {
		if i == maxObjectSteps {
			w.add(whatObject, inspect.StepNote, nil, fmt.Sprintf("%d other objects ask for %s, too", len(t.Asks)-i, sanitize.Name(name)))
			break
		}
		ref := refOf(o)
		if r := slices.IndexFunc(t.Refused, func(r tenancy.Refusal) bool { return r.Namespace == o.Namespace }); r >= 0 {
			w.add(whatObject, inspect.StepWrong, &ref, fmt.Sprintf("%s asks for %s, and is refused (%s): %s", ref.Title(), sanitize.Name(name), t.Refused[r].Reason, t.Refused[r].Message))
			continue
		}
		if r := slices.IndexFunc(t.Removals, func(r publisher.Removal) bool { return r.Origin == o }); r >= 0 {
			w.removal(&ref, t.Removals[r])
			continue
		}
		w.add(whatObject, inspect.StepOK, &ref, fmt.Sprintf("%s asks for %s (source %s)", ref.Title(), sanitize.Name(name), o.Source), wantedLines(t.Name, t.Requests[i])...)
	}
	r.follow(ctx, w, t)
}

// removal adds a step about the records of an object that asks for nothing any more.
func (w *explanation) removal(ref *inspect.ObjectRef, r publisher.Removal) {
	text := fmt.Sprintf("%s asks for nothing any more (source %s), and its records of %s stay", ref.Title(), r.Origin.Source, sanitize.List(r.Names, maxNames, sanitize.Name))
	if r.Unreadable {
		text += fmt.Sprintf(", because objects of the kind %s can't be read or the kind is being removed: they are removed once it has been readable for some seconds", ref.Kind)
	} else {
		text += " until " + r.At.UTC().Format(time.RFC3339) + ", because an object also disappears when its CustomResourceDefinition is removed"
	}
	w.add(whatObject, inspect.StepNote, ref, text)
}

// maxObjectSteps limits the listed objects of a name.
const maxObjectSteps = 10

// wantedLines returns the record sets under a canonical name, one in a line.
func wantedLines(name string, sets []*dns.RecordSet) []string {
	var lines []string
	for _, s := range sets {
		if dns.Canonical(s.Name) == name {
			lines = append(lines, fmt.Sprintf("%s %s", s.Type, targetsText(s.Targets)))
		}
	}
	return lines
}

// unrequested explains a name that no object asks for.
func (w *explanation) unrequested(ctx context.Context, t publisher.Trace) {
	missing, err := w.publisher.Missing(ctx, t.Name, maxMissing)
	if err != nil {
		w.failed(err)
		return
	}
	for _, e := range missing {
		ref := objectRef(e.Object)
		skip, ok := e.SkipOf(t.Name)
		switch {
		case !ok:
		case skip.BySettings():
			w.addExclusion(whatFilter, &ref, t.Name, fmt.Sprintf("%s asks for %s, and is left out: %s", ref.Title(), sanitize.Name(t.Name), skip.Message))
		default:
			w.add(whatObject, inspect.StepWrong, &ref, fmt.Sprintf("%s has the name %s and asks for no record: %s", ref.Title(), sanitize.Name(t.Name), skip.Message))
		}
	}
	if len(missing) > 0 {
		return
	}
	if !t.Leads && !t.Unresolved {
		return // follow adds a step that names the leader
	}
	if hasRows(t) {
		w.add(whatObject, inspect.StepNote, nil, "no object asks for "+sanitize.Name(t.Name))
		return
	}
	if w.sibling(ctx, t.Name) {
		return
	}
	state, text := inspect.StepWrong, "no object asks for "+sanitize.Name(t.Name)+": annotate one with that name, or ask about the object that should, as in explain svc/NAME"
	if t.Unresolved {
		text = "an object asks for " + sanitize.Name(t.Name) + " in a way that can't be published: see `signpost explain` of the object, or its Events"
	}
	if len(t.Unread) > 0 {
		state = inspect.StepUnknown
	}
	w.add(whatUnrequested, state, nil, text)
}

// sibling lists similar names if an object asks for the parent of an unwanted name and for other
// names below the parent: a headless Service has a name for each pod with a hostname.
func (w *explanation) sibling(ctx context.Context, name string) bool {
	label, parent, _ := strings.Cut(name, ".")
	t, err := w.publisher.Trace(ctx, parent)
	if err != nil || len(t.Asks) == 0 {
		return false
	}
	ref := refOf(t.Asks[0])
	seen, err := w.publisher.Explain(ctx, publisher.ExplainQuery{Selects: about(ref)})
	if err != nil {
		return false
	}
	var labels []string
	for _, e := range seen.List {
		for _, asked := range namesOf(e) {
			if first, below, ok := strings.Cut(asked, "."); ok && below == parent {
				labels = append(labels, first)
			}
		}
	}
	if len(labels) == 0 {
		return false
	}
	slices.Sort(labels)
	labels = slices.Compact(labels)
	w.add(whatObject, inspect.StepWrong, &ref, fmt.Sprintf("%s has no name for a pod %s: those below %s are %s; a pod has one while it is ready and has a hostname",
		ref.Title(), sanitize.Name(label), sanitize.Name(parent), sanitize.List(labels, maxEnumerated, sanitize.Name)))
	return true
}

// hasRows reports whether a zone has a record for the name.
func hasRows(t publisher.Trace) bool {
	return slices.ContainsFunc(t.HoldingZones, func(h publisher.ZoneTrace) bool { return len(h.Rows) > 0 || h.Wildcard != "" })
}

// unread explains that sources have not been read.
func (w *explanation) unread(t publisher.Trace) {
	for _, source := range slices.Sorted(maps.Keys(t.Unread)) {
		w.add(whatSource, inspect.StepUnknown, nil, fmt.Sprintf("the source %s has not been read, so nothing is known of its objects, and nothing is deleted: %s", source, t.Unread[source]))
	}
}

func refOf(o desired.Origin) inspect.ObjectRef {
	kind, group, _ := strings.Cut(o.Kind, ".")
	return inspect.ObjectRef{Kind: cmp.Or(kind, "source"), Group: group, Namespace: o.Namespace, Name: cmp.Or(o.Name, o.Source)}
}

// maxEnumerated limits the elements of an enumeration.
const maxEnumerated = 6

// targetsText returns targets for a sentence.
func targetsText(targets []string) string {
	return cmp.Or(sanitize.List(targets, maxEnumerated, sanitize.Quote), "nothing")
}

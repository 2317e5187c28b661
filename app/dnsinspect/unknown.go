package dnsinspect

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/internal/sanitize"
)

// explainUnknown explains an object that no source has: whether a source reads its kind, the namespaces
// that have an object of its kind and name, and our records whose ownership records name it.
func (r *Role) explainUnknown(ctx context.Context, o inspect.ObjectRef) []inspect.Step {
	reads, readsNamespace := false, false
	for _, p := range r.publishers {
		if slices.ContainsFunc(p.Kinds, func(kind string) bool { return strings.EqualFold(kind, o.Kind) }) {
			reads = true
			readsNamespace = readsNamespace || p.Namespaces == nil || o.Namespace == "" || slices.Contains(p.Namespaces, o.Namespace)
		}
	}
	var steps []inspect.Step
	for _, p := range r.publishers {
		w := &explanation{publisher: p, object: &o}
		w.released(ctx, o)
		steps = append(steps, w.steps...)
	}
	object := inspect.Step{What: whatObject, State: inspect.StepNote}
	switch {
	case reads && (readsNamespace || o.Kind != "Service"):
		if object = r.missing(ctx, o); len(steps) > 0 && object.State == inspect.StepWrong {
			object.State = inspect.StepNote // the records are the problem
		}
	case reads:
		object.Text = fmt.Sprintf("DNS reads no objects of the namespace %s (--namespace)", sanitize.Name(o.Namespace))
	case o.Kind == "Service": // other roles may serve it
		return steps
	case inspect.KnownKind(o.Kind):
		object.Text = fmt.Sprintf("DNS publishes nothing for objects of the kind %s (%s)", o.Kind, r.sources())
	default:
		object.State = inspect.StepUnknown
		object.Text = fmt.Sprintf("Signpost knows no kind %s: check its spelling, or add the source that reads it to %s", o.Kind, r.sources())
	}
	return append([]inspect.Step{object}, steps...)
}

// missing returns the step about an object of a kind that a source reads.
func (r *Role) missing(ctx context.Context, o inspect.ObjectRef) inspect.Step {
	var namespaces []string
	for _, p := range r.publishers {
		w := &explanation{publisher: p}
		if t, err := p.Trace(ctx, ""); err != nil {
			w.failed(err)
		} else {
			w.unread(t)
		}
		if len(w.steps) > 0 {
			return w.steps[0]
		}
		for i := range p.Sources {
			if p.Sources[i].Keys == nil {
				continue
			}
			for _, key := range p.Sources[i].Keys() {
				if sameKind(key, o) && key.Name == o.Name {
					namespaces = append(namespaces, key.Namespace)
				}
			}
		}
	}
	slices.Sort(namespaces)
	namespaces = slices.Compact(namespaces)
	hint := "see whether it exists, and whether one of " + r.sources() + " reads objects of its namespace"
	if len(namespaces) > 0 {
		hint = "there is one of that name in another namespace: " + sanitize.List(namespaces, maxEnumerated, sanitize.Name)
	}
	return inspect.Step{What: whatObject, State: inspect.StepWrong, Text: fmt.Sprintf("no source of the publishers has %s: %s", o.Title(), hint)}
}

func sameKind(key source.Key, o inspect.ObjectRef) bool {
	kind, _, _ := strings.Cut(key.Kind, ".")
	return strings.EqualFold(kind, o.Kind)
}

// sources returns the flags of all sources.
func (r *Role) sources() string {
	var flags []string
	for _, p := range r.publishers {
		for i := range p.Sources {
			if flag := "--source=" + p.Sources[i].Name; !slices.Contains(flags, flag) {
				flags = append(flags, flag)
			}
		}
	}
	return strings.Join(flags, ", ")
}

// released adds steps about our records whose ownership records name an object that no source has. A
// process that doesn't lead adds none: it knows no records.
func (w *explanation) released(ctx context.Context, o inspect.ObjectRef) {
	resource := o.Kind + "/" + o.Namespace + "/" + o.Name
	if o.Kind == "DNSEndpoint" {
		resource = "crd/" + o.Namespace + "/" + o.Name
	}
	page, err := w.publisher.Rows(ctx, publisher.RowFilter{Released: resource}, 0, maxNames)
	if err != nil && !errors.Is(err, publisher.ErrNotLeading) {
		w.failed(err)
	}
	for _, row := range page.Rows {
		state, text := rowStep(row)
		w.add(whatRecord, state, &o, fmt.Sprintf("a record was made for %s: %s", o.Title(), text))
	}
	if more := page.Total - len(page.Rows); more > 0 {
		w.add(whatRecord, inspect.StepNote, nil, fmt.Sprintf("%d other records were made for %s, and nothing asks for them", more, o.Title()))
	}
}

// explainAddress lists the records that have an address as a target. All steps are notes, because other
// roles explain who uses the address.
func (r *Role) explainAddress(ctx context.Context, w *explanation, address netip.Addr) {
	page, err := w.publisher.Rows(ctx, publisher.RowFilter{Target: address.String()}, 0, maxObjectSteps)
	if errors.Is(err, publisher.ErrNotLeading) {
		_, leader := r.leadership()
		w.add(whatRecord, inspect.StepNote, nil, "only the leader knows the records with this address: "+(&inspect.NotLeading{Leader: leader}).Error())
		return
	}
	if err != nil {
		w.failed(err)
		return
	}
	for _, row := range page.Rows {
		var object *inspect.ObjectRef
		_, text := rowStep(row)
		if text = fmt.Sprintf("%s is an address of a record: %s", address, text); len(row.Objects) > 0 {
			ref := objectRef(row.Objects[0])
			object, text = &ref, text+"; "+ref.Title()+" asks for it"
		}
		w.add(whatRecord, inspect.StepNote, object, text)
	}
	if more := page.Total - len(page.Rows); more > 0 {
		w.add(whatRecord, inspect.StepNote, nil, fmt.Sprintf("%d other records have the address: signpost records --search %s lists them", more, address))
	}
}

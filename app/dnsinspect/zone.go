package dnsinspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/internal/sanitize"
)

// follow traces a name from the filters to the servers.
func (r *Role) follow(ctx context.Context, w *explanation, t publisher.Trace) {
	name := sanitize.Name(t.Name)
	switch {
	case t.Excluded && len(t.Asks) > 0:
		w.addExclusion(whatFilter, nil, t.Name, fmt.Sprintf("the domain filter leaves %s out: add its domain to --domain-filter, or take it out of --exclude-domains", name))
		return
	case t.ProviderExcludes && len(t.Asks) > 0:
		w.addExclusion(whatFilter, nil, t.Name, name+" isn't published: "+desired.Unselected)
		return
	}
	w.unread(t)
	if len(t.Asks) > 0 {
		w.takes[t.Name] = true
		w.unmanaged(t)
	}
	switch {
	case !t.Leads:
		_, leader := r.leadership()
		text := "only the leader knows the content of the zones: "
		if len(t.Asks) == 0 && len(w.steps) == 0 {
			text = fmt.Sprintf("no object asks for %s, and only the leader knows whether a zone has it: ", name)
		}
		w.add(whatZone, inspect.StepUnknown, nil, text+(&inspect.NotLeading{Leader: leader}).Error())
		return
	case !t.Listed && t.ListProblem != "":
		w.add(whatZone, inspect.StepWrong, nil, "the zones of the provider can't be listed, and this is tried again: "+t.ListProblem)
		return
	case !t.Listed:
		w.add(whatZone, inspect.StepUnknown, nil, "the zones of the provider have not been listed yet: ask again")
		return
	case len(t.HoldingZones) == 0 && len(t.Asks) > 0:
		delete(w.takes, t.Name)
		w.noZone(t)
		return
	}
	w.published[t.Name] = len(t.Asks) > 0
	for _, h := range t.HoldingZones {
		w.zone(t, h)
		w.rows(t, h)
		r.queryServers(ctx, w, t, h)
	}
}

// unmanaged explains the record sets of unmanaged types.
func (w *explanation) unmanaged(t publisher.Trace) {
	for _, set := range t.Wanted {
		if !w.publisher.Rules.Manages(set.Type) {
			w.add(whatFilter, inspect.StepWrong, nil, fmt.Sprintf("records of the type %s are not managed, so that of %s is not published: add --managed-record-types=%[1]s", set.Type, sanitize.Name(t.Name)))
		}
	}
}

func (w *explanation) noZone(t publisher.Trace) {
	var zones []string
	for _, z := range t.Zones {
		zones = append(zones, sanitize.Name(z.Name))
	}
	has := "it has none"
	if len(zones) > 0 {
		has = "it has " + strings.Join(zones, ", ")
	}
	if t.More > 0 {
		has += fmt.Sprintf(" and %d others", t.More)
	}
	w.addExclusion(whatZone, nil, t.Name, fmt.Sprintf("no zone of the provider holds %s: create the zone, or change the zone filters; %s", sanitize.Name(t.Name), has))
}

// zoneTitle names a zone. That of a webhook provider has no name.
func zoneTitle(name string) string {
	if name == "" {
		return "the zone of the provider"
	}
	return "the zone " + sanitize.Name(name)
}

// zone explains the state of a zone.
func (w *explanation) zone(t publisher.Trace, h publisher.ZoneTrace) {
	if h.Problem != "" {
		text := fmt.Sprintf("%s can't be read or written: %s", zoneTitle(h.Name), h.Problem)
		w.add(whatZone, inspect.StepWrong, nil, text+retryText(h.RetryAt))
		return
	}
	text := zoneTitle(h.Name) + " holds the name"
	if h.Apex {
		text = fmt.Sprintf("%s is the apex of its zone", sanitize.Name(t.Name))
	}
	if h.Private {
		text += ", and is private"
	}
	if h.Read.IsZero() {
		w.add(whatZone, inspect.StepUnknown, nil, text+", and has not been read yet: ask again")
		return
	}
	w.add(whatZone, inspect.StepOK, nil, fmt.Sprintf("%s; it was read at %s", text, h.Read.UTC().Format(time.RFC3339)))
	if h.Wildcard != "" && len(h.Rows) == 0 {
		w.add(whatZone, inspect.StepOK, nil, fmt.Sprintf("the zone has nothing under the name, so it answers with the records of %s", sanitize.Name(h.Wildcard)))
	}
	if hidden(h) && !h.Glue && len(t.Asks) > 0 {
		delete(w.published, t.Name)
		w.add(whatZone, inspect.StepWrong, nil, hiddenText(t.Name, h.HiddenBy))
	}
}

// hidden reports whether the servers of a zone respond to a name with a referral or a redirection. The NS
// records of the delegation itself are what the referral has.
func hidden(h publisher.ZoneTrace) bool {
	return h.HiddenBy.Name != "" && slices.ContainsFunc(h.Rows, func(r publisher.Row) bool {
		return r.Name != h.HiddenBy.Name || r.Type != dns.TypeNS && r.Type != "DS"
	})
}

func hiddenText(name string, by dns.Key) string {
	at := sanitize.Name(by.Name)
	if by.Type == dns.TypeDNAME {
		return fmt.Sprintf("the DNAME record %s redirects all names below it, so servers don't answer with the records of %s: delete the DNAME record, or use another name", at, sanitize.Name(name))
	}
	return fmt.Sprintf("the NS record %s delegates the name to other servers, so those of this zone don't answer with the records of %s: publish in a zone %[1]s, or delete the NS record", at, sanitize.Name(name))
}

// rows explains the record sets of a name in a zone.
func (w *explanation) rows(t publisher.Trace, h publisher.ZoneTrace) {
	if len(h.Rows) == 0 && len(t.Asks) > 0 {
		delete(w.published, t.Name)
	}
	if len(h.Rows) == 0 && len(t.Asks) > 0 && !w.hasWrong() {
		w.add(whatRecord, inspect.StepUnknown, nil, "the zone has no record of the name, and none is planned yet: ask again")
	}
	for _, row := range h.Rows {
		var objects *inspect.ObjectRef
		if len(row.Objects) > 0 {
			objects = new(objectRef(row.Objects[0]))
		}
		state, text := rowStep(row)
		if row.State == publisher.RowNotOwned && len(t.Asks) == 0 {
			// Another writer wants the record set.
			state = inspect.StepOK
		}
		if row.State == publisher.RowConflict && w.ofOthers(row) {
			state = inspect.StepNote
		}
		w.add(whatRecord, state, objects, text)
		if len(row.Objects) > 0 && row.State != publisher.RowPublished {
			delete(w.published, t.Name)
		}
		w.shared(row)
		w.losers(row)
	}
}

// shared adds a note about a record set that has targets of several namespaces.
func (w *explanation) shared(row publisher.Row) {
	if !slices.ContainsFunc(row.Objects, func(o dns.Object) bool { return o.Namespace != row.Objects[0].Namespace }) {
		return
	}
	titles := sanitize.List(row.Objects, maxEnumerated, func(o dns.Object) string { ref := objectRef(o); return ref.Title() })
	w.add(whatRecord, inspect.StepNote, nil, fmt.Sprintf("the %s record %s has the targets of several namespaces: %s; --name-policy=namespace gives a name to one namespace",
		row.Type, sanitize.Name(row.Name), titles))
}

// losers adds a step for each group of objects that lose a record set to another object. The step
// is wrong for the object or name of the query, and a note for other objects.
func (w *explanation) losers(row publisher.Row) {
	for _, l := range row.Losers[:min(len(row.Losers), maxLosers)] {
		var ref inspect.ObjectRef
		state := inspect.StepNote
		for i, o := range l.Objects {
			if this := objectRef(o); i == 0 || w.about(this) {
				ref = this
			}
		}
		if w.object == nil || w.about(ref) {
			state = inspect.StepWrong
		}
		w.add(whatRecord, state, &ref, fmt.Sprintf("%s asks for the %s record %s with %s and doesn't get it: %s",
			ref.Title(), row.Type, sanitize.Name(row.Name), targetsText(l.Targets), l.Message))
	}
}

func (w *explanation) about(o inspect.ObjectRef) bool {
	return w.object != nil && strings.EqualFold(w.object.Kind, o.Kind) && w.object.Namespace == o.Namespace && w.object.Name == o.Name
}

// ofOthers reports whether objects other than the subject ask for a record set.
func (w *explanation) ofOthers(row publisher.Row) bool {
	return w.object != nil && len(row.Objects) > 0 && !slices.ContainsFunc(row.Objects, func(o dns.Object) bool { return w.about(objectRef(o)) })
}

func (w *explanation) hasWrong() bool {
	return slices.ContainsFunc(w.steps, func(s inspect.Step) bool { return s.State == inspect.StepWrong })
}

// rowStep explains a record set.
func rowStep(row publisher.Row) (inspect.StepState, string) {
	what := fmt.Sprintf("the %s record %s", row.Type, sanitize.Name(row.Name))
	if row.SetIdentifier != "" {
		what += " (" + sanitize.Quote(row.SetIdentifier) + ")"
	}
	switch row.State {
	case publisher.RowPublished:
		owner := ""
		if row.Owner != "" {
			owner = ", owned by " + sanitize.Quote(row.Owner)
		}
		return inspect.StepOK, fmt.Sprintf("%s is published: %s%s", what, targetsText(row.Targets), owner)
	case publisher.RowPending:
		return inspect.StepUnknown, what + " is being planned or written: " + cmp.Or(row.Message, "ask again") + retryText(row.Next)
	case publisher.RowNotOwned:
		return inspect.StepNote, fmt.Sprintf("%s is in the zone (%s), and is not ours%s", what, targetsText(row.Targets), ownerText(row.Owner))
	case publisher.RowUnwanted:
		return inspect.StepWrong, what + " is in the zone and no object asks for it: " + row.Message
	case publisher.RowHeld:
		return inspect.StepWrong, what + " is held: " + row.Message + retryText(row.Next)
	case publisher.RowFailing:
		return inspect.StepWrong, what + " can't be written: " + row.Message + retryText(row.Next)
	default:
		return inspect.StepWrong, what + " is not published: " + row.Message + retryText(row.Next)
	}
}

func ownerText(owner string) string {
	if owner == "" {
		return ": it has no ownership record"
	}
	return ": it belongs to the owner " + sanitize.Quote(owner)
}

func retryText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return "; tried again at " + at.UTC().Format(time.RFC3339)
}

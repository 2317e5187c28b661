package publisher

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/plan"
)

// nameConflict says why another name blocks the changes of a name.
type nameConflict struct {
	message string
	// record is what can't be changed. objects are notified.
	record  *dns.RecordSet
	objects []dns.Object
}

// findNameConflict returns the conflict of a name's changes with records under other names. The zero value
// means none.
func (p *Publisher) findNameConflict(z *zone, n *nameState, changes []dns.Change) nameConflict {
	for _, c := range changes {
		message, objects := "", c.RecordSet().Objects
		switch {
		case c.New == nil:
			if message = p.shared(z, c.Old); message != "" {
				objects = p.objectsOfName(p.twin(n.name))
			}
		case c.New.Type == dns.TypeCNAME:
			message = p.cnameOverOwnership(z, c)
			if path := p.loop(z, n.name, c.New.Targets[0]); message == "" && path != nil {
				message = "the CNAMEs " + strings.Join(path, " → ") + " are a loop, which resolvers answer with SERVFAIL (RFC 1034, 3.6.2): change the target of one of them"
			}
		}
		if message != "" {
			return nameConflict{message, c.RecordSet(), objects}
		}
	}
	return nameConflict{}
}

// deferToOther leaves a name unchanged because another name blocks it, and reports the conflict. No
// event tells when the conflict ends, so the name is planned again after an interval.
func (p *Publisher) deferToOther(z *zone, n *nameState, c nameConflict, out plan.Outcome) {
	p.Metrics.conflicts(z, n.name, out.Conflicts, p.Rules.Owner)
	p.reportConflict(z, n, c)
	z.names.clearLoss(n)
	z.names.setReason(n, ReasonConflict, c.message)
	z.names.wait(n, time.Now().Add(p.Interval))
}

// reportConflict reports the conflict of a name, unless it was the last one already.
func (p *Publisher) reportConflict(z *zone, n *nameState, c nameConflict) {
	if n.reason == ReasonConflict && n.message == c.message {
		return
	}
	p.Log.Warn("Can't publish a record", "record", n.name, "zone", z.Name, "err", c.message)
	p.Notify(Notice{Objects: c.objects, Record: c.record, Action: ActionFailed, Reason: ReasonConflict, Message: c.message})
}

func (p *Publisher) objectsOfName(name string) []dns.Object {
	var objects []dns.Object
	for r := range p.Desired.Each(name) {
		objects = dns.JoinObjects(objects, r.Objects)
	}
	return objects
}

// twin returns the other name that has the same ownership records as a canonical name, or "".
func (p *Publisher) twin(name string) string {
	if txt := p.txt(); txt != nil {
		return txt.Twin(name)
	}
	return ""
}

// namesTwin reports whether an ownership record that two names share already names an object that
// asks for the twin. A shared ownership record can name only one object, so it isn't changed
// then, unless it has to be rewritten for another reason.
func (p *Publisher) namesTwin(z *zone, current []plan.Current, c dns.Change) bool {
	twin, object := p.twin(dns.Canonical(c.Old.Name)), c.Old.Labels[dns.LabelResource]
	rewrites := slices.ContainsFunc(current, func(have plan.Current) bool { return have.Set == c.Old && have.RewriteOwnership })
	if twin == "" || object == "" || rewrites {
		return false
	}
	w := p.want(z, twin)
	return slices.ContainsFunc(w.sets(), func(r *dns.RecordSet) bool {
		return r.Type == c.Old.Type && r.SetIdentifier == c.Old.SetIdentifier && r.Labels[dns.LabelResource] == object
	})
}

// shared returns why r must not be deleted: its ownership record also fits a second name, so that r
// may belong to another owner. The result is "" if the owner is certain, because objects have asked
// this process for all records of both names, or because only one of them can be ours.
func (p *Publisher) shared(z *zone, r *dns.RecordSet) string {
	twin := p.twin(dns.Canonical(r.Name))
	if twin == "" {
		return ""
	}
	there := slices.ContainsFunc(p.current(z, twin), func(c plan.Current) bool {
		return c.Set.Type == r.Type && c.Set.SetIdentifier == r.SetIdentifier && p.Rules.Owns(c.Set)
	})
	explained := func(name string) bool { return z.mirror.node(name).allWanted }
	switch {
	case !there && !p.Desired.Contains(twin), explained(dns.Canonical(r.Name)) && (!there || explained(twin)):
		return ""
	}
	return fmt.Sprintf("the zone's %s record %s has the same ownership record as %s, and nothing shows that Signpost made it, so it is left alone: "+
		"delete it yourself if it isn't needed", r.Type, r.Name, twin)
}

// cnameOverOwnership returns why a CNAME can't be created: an ownership record has the same name, and no
// record may stand beside a CNAME. It returns "" if there is no such conflict.
func (p *Publisher) cnameOverOwnership(z *zone, c dns.Change) string {
	txt := p.txt()
	if txt == nil || c.Old != nil {
		return ""
	}
	name := dns.Canonical(c.New.Name)
	taken := func(of string) string {
		return fmt.Sprintf("%s is the ownership record of %s, and a CNAME can't stand beside it: ask for another name, or give another --txt-prefix", name, of)
	}
	for _, r := range p.zones.lookup(z)(name) {
		// An ownership record of the format without a type has the name of its own record set, and
		// goes with it.
		if described, isOwnership := p.Owner.OwnershipRecord(r); isOwnership && len(r.Targets) > 0 && !slices.Contains(described, name) {
			return taken(append(described, "another record")[0])
		}
	}
	described, _ := p.Owner.OwnershipRecord(&dns.RecordSet{Name: name, Type: dns.TypeTXT})
	for _, other := range described {
		w := p.want(z, other)
		for _, w := range w.sets() {
			if other != name && p.Rules.Manages(w.Type) && p.admits(z, other) && dns.Canonical(txt.OwnershipRecordName(w.Name, w.Type)) == name {
				return taken(other)
			}
		}
	}
	return ""
}

// maxAliases limits how many CNAMEs are followed to find a loop. Resolvers follow fewer.
const maxAliases = 16

// loop returns the names of the loop that a CNAME would close, with name at both ends, or nil.
func (p *Publisher) loop(z *zone, name, target string) []string {
	path := []string{name}
	for at := dns.Canonical(target); len(path) <= maxAliases; {
		path = append(path, at)
		by, next := p.alias(z, at)
		switch {
		case at == name:
			return path
		case by == name:
			// The wildcard responds for names below it that don't exist.
			return append(path, name)
		case next == "":
			return nil
		}
		at = next
	}
	return nil
}

// alias returns the target of the CNAME that responds for a name, and the name of that CNAME: name
// itself, or the wildcard if nothing exists under name. Wanted records take precedence over those
// of the zone, which is unknown if it can't be listed.
func (p *Publisher) alias(z *zone, name string) (by, target string) {
	holders := p.zones.zonesFor(name)
	if len(holders) == 0 {
		return "", ""
	}
	if !slices.Contains(holders, z) {
		z = holders[0]
	}
	exists, target := p.aliasAt(z, name)
	if exists || p.capabilities.Blind {
		return name, target
	}
	_, parent, _ := strings.Cut(name, ".")
	wildcard := "*." + parent
	_, target = p.aliasAt(z, wildcard)
	return wildcard, target
}

// aliasAt reports whether anything is or will be under a name, and the target if that is a CNAME.
func (p *Publisher) aliasAt(z *zone, name string) (exists bool, target string) {
	there := z.mirror.lookup(name)
	w := p.want(z, name)
	wanted := w.sets()
	if len(wanted) == 0 {
		wanted = there
	}
	for _, r := range wanted {
		switch {
		case r.Type != dns.TypeCNAME:
			return true, ""
		case len(r.Targets) == 0:
		case target == "" || slices.ContainsFunc(there, func(t *dns.RecordSet) bool { return t.Type == r.Type && dns.SameTargets(t.Targets, r.Targets) }):
			target = dns.Canonical(r.Targets[0])
		}
	}
	return len(wanted) > 0, target
}

package publisher

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/plan"
)

// SetInstance sets the instance of this process among those with our owner ID
// ([dns.LabelInstance]); empty if unknown. It takes effect with the next term. It may be called
// from any goroutine.
func (p *Publisher) SetInstance(instance string) { p.instance.Store(&instance) }

// takeInstance is called at the start of a term.
func (p *Publisher) takeInstance() {
	txt := p.txt()
	if instance := p.instance.Load(); txt != nil && instance != nil {
		p.Rules.Instance = *instance
		txt.SetInstance(*instance)
	}
}

// otherOwners are the record sets of a zone that another owner has and that block wanted ones.
type otherOwners struct {
	// unowned has the owners of names whose record sets are as wanted but not ours. These record sets
	// stay when no object asks for them any more.
	unowned map[string]string
	// byOwner counts them by owner.
	byOwner map[string]int
	// example is the last record set of another instance that was seen, with that instance.
	example string
	// instancesReported and unownedReported are true while the problem has been reported.
	instancesReported, unownedReported bool
}

// noteUnowned notes whether the record sets of a name are as wanted, but not ours.
func (p *Publisher) noteUnowned(z *zone, name string, there []plan.Current, wanted []*dns.RecordSet) {
	for _, c := range there {
		for _, w := range wanted {
			if c.Set.Key() == w.Key() && p.Rules.Manages(w.Type) && plan.Satisfies(c.Set, w) && p.ownedByOthers(c.Set) {
				z.otherOwners.drop(name)
				z.otherOwners.add(name, ownerOf(c.Set.Labels))
				return
			}
		}
	}
	z.otherOwners.drop(name)
}

func (o *otherOwners) add(name, id string) {
	if o.unowned == nil {
		o.unowned, o.byOwner = map[string]string{}, map[string]int{}
	}
	o.unowned[name] = id
	o.byOwner[id]++
}

func (o *otherOwners) drop(name string) {
	id, known := o.unowned[name]
	if !known {
		return
	}
	delete(o.unowned, name)
	if o.byOwner[id]--; o.byOwner[id] == 0 {
		delete(o.byOwner, id)
	}
}

// ownedByOthers reports whether a record set isn't ours, and doesn't become ours when objects ask
// for it.
func (p *Publisher) ownedByOthers(r *dns.RecordSet) bool {
	return p.Rules.Owner != "" && !p.Rules.Owns(r) && (p.Rules.OldOwner == "" || r.Labels[dns.LabelOwner] != p.Rules.OldOwner)
}

// ownerOf returns the owner of a record set as text; empty if unknown.
func ownerOf(labels map[string]string) string {
	id := labels[dns.LabelOwner]
	if instance := labels[dns.LabelInstance]; id != "" && instance != "" {
		return quote(id) + " (instance " + quote(instance) + ")"
	} else if id != "" {
		return quote(id)
	}
	return ""
}

// otherInstance returns the instance that wrote a record set with our owner ID; empty if it was
// this one.
func (p *Publisher) otherInstance(r *dns.RecordSet) string {
	if r.Labels[dns.LabelOwner] != p.Rules.Owner {
		return ""
	}
	return dns.OtherInstance(r.Labels, p.Rules.Instance)
}

// reportOtherOwners reports, once, the record sets of a zone that should or could be ours but
// aren't.
func (p *Publisher) reportOtherOwners(z *zone) {
	o := &z.otherOwners
	p.measure(z)
	p.reportProblem(&o.instancesReported, p.instancesProblem(z), z)
	p.reportProblem(&o.unownedReported, p.unownedProblem(z), z)
}

func (p *Publisher) reportProblem(reported *bool, problem string, z *zone) {
	if problem == "" {
		*reported = false
		return
	}
	if *reported {
		return
	}
	*reported = true
	p.Log.Warn("Records belong to another owner", "zone", z.Name, "err", problem)
	p.Notify(Notice{Action: ActionFailed, Reason: ReasonOtherOwner, Message: problem})
}

// instancesProblem returns the problem that other instances with our owner ID write into a zone, or
// "".
func (p *Publisher) instancesProblem(z *zone) string {
	n := z.mirror.otherInstances
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("zone %s has %d record sets that another process with our owner ID %s has written (such as %s; this one is the instance %s), and that are neither changed nor deleted: "+
		"give each process its own --txt-owner-id; if this one replaces the other, start it with the --instance of the other",
		z.Name, n, quote(p.Rules.Owner), z.otherOwners.example, quote(p.Rules.Instance))
}

// unownedProblem returns the problem that wanted record sets aren't ours, or "".
func (p *Publisher) unownedProblem(z *zone) string {
	all := z.otherOwners.unowned
	if len(all) == 0 {
		return ""
	}
	by := z.otherOwners.byOwner
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(by)) {
		text := fmt.Sprintf("%d belong to %s", by[id], id)
		if id == "" {
			text = fmt.Sprintf("%d have no ownership record that this publisher can read", by[id])
		}
		if parts = append(parts, text); len(parts) == 5 && len(by) > 5 {
			parts = append(parts, fmt.Sprintf("and there are %d other owners", len(by)-5))
			break
		}
	}
	return fmt.Sprintf("zone %s has the records of %d names as objects ask for them, but they are not ours, and stay when the objects are gone: %s: %s",
		z.Name, len(all), strings.Join(parts, ", "), howToOwn)
}

// howToOwn says how records that were ours before become ours again.
const howToOwn = "if the settings were changed, go back to the --txt-owner-id, --txt-prefix, --txt-suffix and --txt-encrypt-aes-key of before, or take over the records of the former owner with --migrate-from-txt-owner"

// notOurs returns the message that a record set as wanted isn't ours, or "".
func (p *Publisher) notOurs(r *dns.RecordSet) string {
	if !p.ownedByOthers(r) {
		return ""
	}
	text := "the zone has the wanted record, but it "
	switch who := ownerOf(r.Labels); {
	case p.otherInstance(r) != "":
		return text + "belongs to another process with our owner ID: " + who + ": it stays when the object is deleted; give each process its own --txt-owner-id, or this one the --instance of the other"
	case who == "":
		text += "has no ownership record that this publisher can read"
	default:
		text += "belongs to " + who + ", and we are " + quote(p.Rules.Owner)
	}
	return text + ": it stays when the object is gone; " + howToOwn
}

package publisher

import (
	"cmp"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/internal/history"
)

// rememberApplied adds a change that was made to the history. Ownership records are left out, and
// so is a change without effect, such as the repeated write of a record that can't be listed.
// before are the record sets of the name before the change.
func (p *Publisher) rememberApplied(z *zone, c dns.Change, before []*dns.RecordSet) {
	if p.History == nil || changesOwnership(c) {
		return
	}
	if i := slices.IndexFunc(before, func(r *dns.RecordSet) bool { return r.Key() == c.RecordSet().Key() }); i >= 0 {
		if c.New != nil && plan.Satisfies(before[i], c.New) {
			return
		}
		if c.Old == nil {
			c.Old = before[i]
		}
	}
	p.remember(z, c, "")
}

func (p *Publisher) rememberFailed(z *zone, c dns.Change, reason string) {
	if p.History != nil && !changesOwnership(c) {
		p.remember(z, c, reason)
	}
}

// remember adds a change to the history, with the reason why it failed; empty if it was made.
func (p *Publisher) remember(z *zone, c dns.Change, failed string) {
	r := c.RecordSet()
	e := history.Entry{
		Kind: history.Record, Action: history.Updated, Source: p.Name, Zone: z.Name, Type: r.Type, SetIdentifier: r.SetIdentifier, TTL: int(r.TTL),
		Reason: failed,
	}
	if c.Old != nil {
		e.Old = c.Old.Targets
	} else {
		e.Action = history.Created
	}
	if c.New != nil {
		e.New = c.New.Targets
	} else {
		e.Action = history.Deleted
	}
	if failed != "" {
		e.Action = history.Failed
	}
	namespace := ""
	if e.Objects, namespace = requestingObjects(r); len(e.Objects) == 0 && c.Old != nil {
		e.Objects, namespace = requestingObjects(c.Old)
	}
	p.History.Add(history.Key{Name: r.Key().Name}, namespace, &e)
}

// requestingObjects returns the objects that ask for a record set, or else the object in its
// ownership record. namespace is that of the first one.
func requestingObjects(r *dns.RecordSet) (objects []string, namespace string) {
	for _, o := range r.Objects {
		objects = append(objects, strings.Trim(o.Kind+"/"+o.Namespace+"/"+o.Name, "/"))
		namespace = cmp.Or(namespace, o.Namespace)
	}
	if resource := r.Labels[dns.LabelResource]; len(objects) == 0 && resource != "" {
		objects = append(objects, resource)
		if parts := strings.Split(resource, "/"); len(parts) == 3 {
			namespace = parts[1]
		}
	}
	return objects, namespace
}

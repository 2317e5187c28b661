package desired

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/tenancy"
)

// notAllowed reports, with a problem, whether the namespace of the object may not ask for a record
// set. Such a record set is ignored: unlike one that can't be published, it doesn't keep its name.
func (t *transform) notAllowed(r *dns.RecordSet) bool {
	return t.outside(r, t.Domains.Refuses(t.origin.Namespace, r.Name, r.Type))
}

// outside reports, with a problem, whether there is a reason why the namespace may not ask for a record set.
func (t *transform) outside(r *dns.RecordSet, reason string) bool {
	if reason == "" {
		return false
	}
	t.dropped(r, r.Targets, DropNotAllowed, "--namespace-domains", reason)
	t.counts = addCount(t.counts, count{Kind: kindOf(r), outcome: notAllowed, n: 1})
	if t.notAllowedCount++; t.notAllowedCount == 1 {
		t.problems = append(t.problems, dns.Problem{
			Object: t.object(r), Subject: r.Type + " record set", Value: r.Name, Reason: reason, Event: string(tenancy.NotAllowed),
		})
	}
	return true
}

// limitedTTL returns the TTL of a record set within --min-ttl and --max-ttl. A TTL that no DNS server takes
// counts as unset, because the provider would refuse the record set.
func (t *transform) limitedTTL(r *dns.RecordSet) int64 {
	switch {
	case t.maxTTL > 0 && r.TTL > t.maxTTL:
		t.ttlProblem(r, "higher than --max-ttl", t.maxTTL)
		return t.maxTTL
	case r.TTL > dns.MaxTTL:
		t.ttlProblem(r, fmt.Sprintf("higher than %d, the highest TTL of DNS", dns.MaxTTL), t.ttl)
		return t.ttl
	case t.ForceMinTTL && r.TTL > 0 && r.TTL < t.ttl:
		t.ttlProblem(r, "lower than --min-ttl", t.ttl)
		return t.ttl
	}
	return r.TTL
}

func (t *transform) ttlProblem(r *dns.RecordSet, what string, used int64) {
	t.problems = append(t.problems, dns.Problem{
		Object: t.object(r), Subject: "TTL of the " + r.Type + " record set " + r.Name, Value: strconv.FormatInt(r.TTL, 10),
		Reason: fmt.Sprintf("%s, so %s is used: ask for a TTL within the limits", what, usedTTL(used)),
	})
}

// usedTTL returns a TTL for messages.
func usedTTL(seconds int64) string {
	if seconds == 0 {
		return "the default of the provider"
	}
	return strconv.FormatInt(seconds, 10)
}

// labelled returns the labels with a label resource that names an object of the requesting
// namespace; nil if they are right already.
func (t *transform) labelled(r *dns.RecordSet) map[string]string {
	if !t.Labelled {
		return nil
	}
	if namespace, known := tenancy.HolderOf(r.Labels[dns.LabelResource]); known && namespace == t.origin.Namespace {
		return nil
	}
	kind, _, _ := strings.Cut(t.origin.Kind, ".")
	parts := []string{strings.ToLower(cmp.Or(kind, t.origin.Source)), t.origin.Namespace, cmp.Or(t.origin.Name, t.origin.Source)}
	if t.origin.Namespace == "" {
		parts = []string{parts[0], parts[2]}
	}
	labels := maps.Clone(r.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[dns.LabelResource] = strings.Join(parts, "/")
	return labels
}

package route53test

import (
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The limits of a batch (Developer Guide, DNSLimitations, "Quotas on ChangeResourceRecordSets"):
// ResourceRecord elements, and characters in their values. Those of an UPSERT count twice.
const (
	batchRecords    = 1000
	batchCharacters = 32000
)

// change applies a batch completely or not at all (API Reference, API_ChangeResourceRecordSets).
func (s *Server) change(req *request) (any, *Fault) {
	z := s.find(req.Zone)
	if fault := limits(req.Changes); fault != nil {
		return nil, fault
	}
	for i := range req.Changes {
		c := &req.Changes[i]
		c.Set.Name = canonical(c.Set.Name)
		if c.Set.AliasTarget != nil {
			target := *c.Set.AliasTarget
			target.DNSName = canonical(target.DNSName)
			c.Set.AliasTarget = &target
		}
	}
	next, messages := z.after(req.Changes)
	if len(messages) == 0 {
		messages = s.check(z, next, req.Changes)
	}
	if len(messages) > 0 {
		return nil, &Fault{Status: 400, Code: "InvalidChangeBatch", Message: "[" + strings.Join(messages, ", ") + "]"}
	}
	now := time.Now()
	z.Replace(next, s.Lag())
	id := fmt.Sprintf("C%d", len(s.changes)+1)
	s.changes[id] = now
	answer := changeAnswer{Space: namespace, Info: changeInfo{ID: "/change/" + id, Status: "PENDING", SubmittedAt: now}}
	answer.XMLName = xml.Name{Local: "ChangeResourceRecordSetsResponse"}
	return answer, nil
}

// limits checks the size of a batch.
func limits(changes []Change) *Fault {
	records, characters := 0, 0
	for _, c := range changes {
		times := 1
		if c.Action == Upsert {
			times = 2
		}
		records += times * len(c.Set.ResourceRecords)
		for _, v := range c.Set.ResourceRecords {
			characters += times * len(v.Value)
		}
	}
	invalid := func(message string) *Fault { return &Fault{Status: 400, Code: "InvalidChangeBatch", Message: message} }
	switch {
	case len(changes) == 0:
		return &Fault{Status: 400, Code: "InvalidInput", Message: "1 validation error detected: Value at 'changeBatch.changes' failed to satisfy constraint: Member must have length greater than or equal to 1"}
	case records > batchRecords:
		return invalid(fmt.Sprintf("[Number of records limit of %d exceeded.]", batchRecords))
	case characters > batchCharacters:
		return invalid(fmt.Sprintf("[The number of characters in record data limit of %d exceeded.]", batchCharacters))
	}
	return nil
}

// after returns the content of the zone after a batch. Deletions are applied first, because the order of
// changes in a batch has no meaning.
func (z *zone) after(changes []Change) (map[key]*RecordSet, []string) {
	next := maps.Clone(z.Now())
	seen := map[key]string{}
	var messages []string
	for _, c := range changes {
		k := c.Set.key()
		// One DELETE and one CREATE or UPSERT of a record set may be in a batch.
		action := strings.Replace(c.Action, Upsert, Create, 1)
		if strings.Contains(seen[k], action) {
			messages = append(messages, fmt.Sprintf("The request contains an invalid set of changes for a resource record set '%s %s'", k.recordType, k.name))
		}
		seen[k] += action
	}
	deletions := slices.SortedStableFunc(slices.Values(changes), func(a, b Change) int { return rank(a.Action) - rank(b.Action) })
	for _, c := range deletions {
		k, r := c.Set.key(), c.Set
		switch old := next[k]; c.Action {
		case Delete:
			switch {
			case old == nil:
				messages = append(messages, fmt.Sprintf("Tried to delete resource record set %v but it was not found", k))
			case !old.same(&r):
				messages = append(messages, fmt.Sprintf("Tried to delete resource record set %v but the values provided do not match the current values", k))
			}
			delete(next, k)
		case Create:
			if old != nil {
				messages = append(messages, fmt.Sprintf("Tried to create resource record set %v but it already exists", k))
			}
			next[k] = &r
		case Upsert:
			next[k] = &r
		default:
			messages = append(messages, fmt.Sprintf("Invalid action %q", c.Action))
		}
	}
	return next, messages
}

func rank(action string) int {
	if action == Delete {
		return 0
	}
	return 1
}

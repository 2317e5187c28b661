package clouddnstest

import (
	"fmt"
	"maps"
	"strconv"
	"time"
)

// The limits of a change, and of a zone (quotas).
const (
	mostAdditions = 1000
	mostDeletions = 1000
	mostBytes     = 100000
	zoneSets      = 10000
)

// Change is a change as in changes.create.
type Change struct {
	Kind      string      `json:"kind,omitempty"`
	ID        string      `json:"id,omitempty"`
	Status    string      `json:"status,omitempty"`
	Start     string      `json:"startTime,omitempty"`
	Additions []RecordSet `json:"additions,omitempty"`
	Deletions []RecordSet `json:"deletions,omitempty"`
}

// createChange applies a change completely or not at all (reference, changes).
func (s *Server) createChange(req *request) (any, *Fault) {
	z, change := s.find(req.Zone), req.Change
	if fault := limits(change); fault != nil {
		return nil, fault
	}
	if z.Peering || z.Forwarding || z.Directory {
		return nil, &Fault{Status: 400, Reason: "invalid", Message: fmt.Sprintf("Records can't be changed in the zone '%s'.", z.Name)}
	}
	var faults []*Fault
	next := maps.Clone(z.Now())
	faults = append(faults, remove(next, change.Deletions)...)
	for i := range change.Additions {
		r := change.Additions[i]
		if fault := shape(z, &r); fault != nil {
			faults = append(faults, fault)
			continue
		}
		r.Name = canonical(r.Name)
		if next[r.key()] != nil {
			faults = append(faults, &Fault{Status: 409, Reason: "alreadyExists", Message: fmt.Sprintf("The resource '%s' named '%s (%s)' already exists", entity("additions", &r), r.Name, r.Type)})
		}
		next[r.key()] = &r
	}
	faults = append(faults, beside(z, next, change)...)
	if len(next) > zoneSets {
		faults = append(faults, quota("ResourceRecordSetsPerManagedZone", zoneSets))
	}
	if len(faults) > 0 {
		first := *faults[0]
		first.more = faults[1:]
		return nil, &first
	}
	now := time.Now()
	z.Replace(next, s.Lag())
	change.Kind, change.ID, change.Status, change.Start = "dns#change", strconv.Itoa(len(s.changes)+1), "pending", now.UTC().Format(time.RFC3339)
	s.changes[change.ID] = now
	return change, nil
}

// remove applies the deletions.
func remove(next map[setKey]*RecordSet, deletions []RecordSet) []*Fault {
	var faults []*Fault
	for i := range deletions {
		r := &deletions[i]
		r.Name = canonical(r.Name)
		switch old := next[r.key()]; {
		case old == nil:
			faults = append(faults, &Fault{Status: 404, Reason: "notFound", Message: fmt.Sprintf("The '%s' resource named '%s (%s)' does not exist.", entity("deletions", r), r.Name, r.Type)})
		case len(r.Datas) == 0 && len(r.Policy) == 0:
			faults = append(faults, &Fault{Status: 400, Reason: "invalid", Message: fmt.Sprintf("Invalid value for '%s.rrdata': '<empty>'", entity("deletions", r))})
		case !old.same(r):
			faults = append(faults, &Fault{Status: 412, Reason: "conditionNotMet", Message: fmt.Sprintf("Precondition not met for '%s'", entity("deletions", r))})
		}
		delete(next, r.key())
	}
	return faults
}

// limits checks the size of a change.
func limits(c Change) *Fault {
	bytes := 0
	for _, list := range [][]RecordSet{c.Additions, c.Deletions} {
		for _, r := range list {
			for _, data := range r.Datas {
				bytes += len(data)
			}
		}
	}
	switch {
	case len(c.Additions) == 0 && len(c.Deletions) == 0:
		return &Fault{Status: 400, Reason: "required", Message: "Required parameter is missing: 'entity.change'"}
	case len(c.Additions) > mostAdditions:
		return quota("ResourceRecordSetAdditionsPerChange", mostAdditions)
	case len(c.Deletions) > mostDeletions:
		return quota("ResourceRecordSetDeletionsPerChange", mostDeletions)
	case bytes > mostBytes:
		return quota("TotalRrdataSizePerChange", mostBytes)
	}
	return nil
}

func quota(name string, limit int) *Fault {
	return &Fault{Status: 403, Reason: "quotaExceeded", Message: fmt.Sprintf("Quota '%s' exceeded. The limit is %d.", name, limit)}
}

// entity returns the name of a record set of a change in messages.
func entity(list string, r *RecordSet) string {
	return fmt.Sprintf("entity.change.%s[%s][%s]", list, r.Name, r.Type)
}

// propagation is how long a change is pending.
const propagation = 10 * time.Second

// getChange returns whether a change has reached the name servers.
func (s *Server) getChange(req *request) (any, *Fault) {
	made, known := s.changes[req.id]
	if !known {
		return nil, &Fault{Status: 404, Reason: "notFound", Message: fmt.Sprintf("The 'parameters.changeId' resource named '%s' does not exist.", req.id)}
	}
	change := Change{Kind: "dns#change", ID: req.id, Status: "pending", Start: made.UTC().Format(time.RFC3339)}
	if !time.Now().Before(made.Add(propagation)) {
		change.Status = "done"
	}
	return change, nil
}

package inspect

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Area is what a [Finding] is about.
type Area string

// The areas, the worst first: what is wrong early in the list is often why something later is wrong.
const (
	// AreaProcess: a process isn't ready.
	AreaProcess Area = "process"
	// AreaLeader: a role has no leader, or the leader can't be found out.
	AreaLeader Area = "leader"
	// AreaKind: objects of a kind can't be read, or changes of them may have been missed.
	AreaKind Area = "kind"
	// AreaCluster: a linked cluster can't be read, or its Secret can't be used.
	AreaCluster Area = "cluster"
	// AreaZone: a zone can't be read or written.
	AreaZone Area = "zone"
	// AreaWrite: Endpoints or slices of a Service can't be written.
	AreaWrite Area = "write"
	// AreaService: clients of a Service are told of no endpoint.
	AreaService Area = "service"
	// AreaStream: a client doesn't read its answers.
	AreaStream Area = "stream"
	// AreaRecord: a record isn't published.
	AreaRecord Area = "record"
	// AreaPlan: deletions wait for approval.
	AreaPlan Area = "plan"
	// AreaProblem: a part of an object can't be used.
	AreaProblem Area = "problem"
)

var areas = []Area{AreaProcess, AreaLeader, AreaKind, AreaCluster, AreaZone, AreaWrite, AreaService, AreaStream, AreaRecord, AreaPlan, AreaProblem}

// Severity says how bad a [Finding] is.
type Severity string

// The severities, the worst first.
const (
	// SeverityError: somebody doesn't get what objects ask for.
	SeverityError Severity = "error"
	// SeverityWarning: somebody should look at it.
	SeverityWarning Severity = "warning"
)

// Finding is something that is wrong now, with one cause.
type Finding struct {
	Area     Area     `json:"area"`
	Severity Severity `json:"severity"`
	// Subject is what it is about, such as "Service shop/web" or "zone example.org". Others are
	// further subjects with the same cause, at most 8.
	Subject string   `json:"subject"`
	Others  []string `json:"others,omitempty"`
	// Count is how many subjects have the cause.
	Count int `json:"count"`
	// Cause is one sentence: what is wrong, and what to do.
	Cause string `json:"cause"`
	// Explain is what explains more about the subject ([ExplainPath], q); empty for nothing.
	Explain string `json:"explain,omitempty"`
	// Since is when it began, if that is known.
	Since *time.Time `json:"since,omitempty"`
	// Processes have found it; clients that ask several processes set it.
	Processes []string `json:"processes,omitempty"`
}

// Now is what is wrong now, the worst first. Without findings and Unknown, nothing is.
type Now struct {
	Findings []Finding `json:"findings"`
	// Total is how many subjects are concerned, and Omitted how many findings were left out.
	Total   int `json:"total"`
	Omitted int `json:"omitted,omitempty"`
	// Unknown says what couldn't be found out.
	Unknown []string `json:"unknown,omitempty"`
	// Checked is when that was found out.
	Checked time.Time `json:"checked"`
}

// The bounds of a [Now].
const (
	// maxFindings is how many findings it has, and maxOthers how many subjects a finding names beside
	// the first.
	maxFindings, maxOthers = 100, 8
	// maxSubjects is how many subjects of an area are looked at one by one. Of more than that, the
	// number is known.
	maxSubjects = 200
)

// compare orders findings, the worst first.
func (f *Finding) compare(other *Finding) int {
	bad := func(s Severity) int { return slices.Index([]Severity{SeverityError, SeverityWarning}, s) }
	return cmp.Or(
		cmp.Compare(bad(f.Severity), bad(other.Severity)), cmp.Compare(slices.Index(areas, f.Area), slices.Index(areas, other.Area)),
		cmp.Compare(other.Count, f.Count), strings.Compare(f.Subject, other.Subject), strings.Compare(f.Cause, other.Cause),
	)
}

// Summarize returns findings the worst first. Those with the same cause are one, and several
// processes that have found the same about a subject count once. It is a pure function.
func Summarize(all []Finding, checked time.Time) Now {
	now := Now{Findings: []Finding{}, Checked: checked}
	for _, f := range byCause(sameSubjects(all)) {
		now.Total += f.Count
		now.Findings = append(now.Findings, f)
	}
	slices.SortFunc(now.Findings, func(a, b Finding) int { return a.compare(&b) })
	now.bound(maxFindings)
	return now
}

// bound leaves out the findings that are too many.
func (n *Now) bound(most int) {
	if extra := len(n.Findings) - most; extra > 0 {
		n.Findings, n.Omitted = n.Findings[:most], n.Omitted+extra
	}
}

// sameSubjects joins what several processes have found about a subject of an area. The cause that
// says most is kept.
func sameSubjects(all []Finding) []Finding {
	at := map[string]int{}
	var list []Finding
	for _, f := range all {
		key := string(f.Area) + " " + f.Subject
		if f.Area == AreaProblem || f.Area == AreaProcess {
			// An object may have several problems, and each process has a cause of its own.
			key += " " + f.Cause
		}
		i, known := at[key]
		if !known {
			at[key] = len(list)
			list = append(list, f)
			continue
		}
		same := &list[i]
		same.Processes = append(slices.Clone(same.Processes), f.Processes...)
		same.Count = max(same.Count, f.Count)
		if f.compareCause(same) < 0 {
			same.Cause, same.Severity = f.Cause, f.Severity
		}
	}
	return list
}

// compareCause orders findings about one subject: an error first, then the longer sentence, which says more.
func (f *Finding) compareCause(other *Finding) int {
	if f.Severity != other.Severity {
		return f.compare(other)
	}
	return cmp.Or(cmp.Compare(len(other.Cause), len(f.Cause)), strings.Compare(f.Cause, other.Cause))
}

// byCause makes one finding of those that have the same cause, under the worst of their areas.
func byCause(all []Finding) []Finding {
	slices.SortStableFunc(all, func(a, b Finding) int { return a.compare(&b) })
	at := map[string]int{}
	var list []Finding
	for _, f := range all {
		i, known := at[f.Cause]
		if !known {
			at[f.Cause] = len(list)
			f.Others = slices.Clone(f.Others)
			list = append(list, f)
			continue
		}
		same := &list[i]
		same.Count += f.Count
		same.Since = earlier(same.Since, f.Since)
		for _, p := range f.Processes {
			if !slices.Contains(same.Processes, p) {
				same.Processes = append(slices.Clone(same.Processes), p)
			}
		}
		if len(same.Others) < maxOthers {
			same.Others = append(same.Others, f.Subject)
		}
	}
	return list
}

func earlier(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}

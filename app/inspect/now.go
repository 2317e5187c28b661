package inspect

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Area is the part of the system that a [Finding] is about.
type Area string

// The areas, the worst first: a finding of an area often causes findings of later areas.
const (
	// AreaProcess: a process isn't ready.
	AreaProcess Area = "process"
	// AreaLeader: a role has no leader, or the leader is unknown.
	AreaLeader Area = "leader"
	// AreaKind: objects of a kind can't be read, or changes of them may have been missed.
	AreaKind Area = "kind"
	// AreaCluster: a linked cluster can't be read, or its Secret can't be used.
	AreaCluster Area = "cluster"
	// AreaZone: a zone can't be read or written.
	AreaZone Area = "zone"
	// AreaWrite: Endpoints or slices of a Service can't be written.
	AreaWrite Area = "write"
	// AreaService: clients of a Service get no endpoint.
	AreaService Area = "service"
	// AreaStream: a client doesn't read its responses.
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
	// SeverityError: clients don't get the endpoints or records that objects ask for.
	SeverityError Severity = "error"
	// SeverityWarning: an operator should check it.
	SeverityWarning Severity = "warning"
)

// Finding is a current problem with one cause.
type Finding struct {
	Area     Area     `json:"area"`
	Severity Severity `json:"severity"`
	// Subject is the affected item, such as "Service shop/web" or "zone example.org". Others are
	// further subjects with the same cause, at most 8.
	Subject string   `json:"subject"`
	Others  []string `json:"others,omitempty"`
	// Count is how many subjects have the cause.
	Count int `json:"count"`
	// Cause is one sentence: the problem, and what to do.
	Cause string `json:"cause"`
	// Explain is the parameter q of [ExplainPath] for more about the subject; empty for nothing.
	Explain string `json:"explain,omitempty"`
	// Since is when the problem began; nil if unknown.
	Since *time.Time `json:"since,omitempty"`
	// Processes are those that report the finding. Clients that query several processes set it.
	Processes []string `json:"processes,omitempty"`
}

// Now has the current problems, the worst first. If Findings and Unknown are empty, there is none.
type Now struct {
	Findings []Finding `json:"findings"`
	// Total is the number of affected subjects, and Omitted the number of findings that were left
	// out.
	Total   int `json:"total"`
	Omitted int `json:"omitted,omitempty"`
	// Unknown lists checks that failed, with the reason.
	Unknown []string `json:"unknown,omitempty"`
	// Checked is the time of the checks.
	Checked time.Time `json:"checked"`
}

// The bounds of a [Now].
const (
	// maxFindings limits the findings, and maxOthers the subjects that a finding names beside the
	// first.
	maxFindings, maxOthers = 100, 8
	// maxSubjects limits the subjects of an area that are checked one by one. Further ones are
	// counted.
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

// Summarize sorts findings, the worst first. Findings with the same cause are joined, and a subject
// that several processes report counts once. It is a pure function.
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

// bound drops the findings beyond a limit.
func (n *Now) bound(limit int) {
	if extra := len(n.Findings) - limit; extra > 0 {
		n.Findings, n.Omitted = n.Findings[:limit], n.Omitted+extra
	}
}

// sameSubjects joins the findings of several processes about a subject of an area. The most
// detailed cause is kept.
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

// compareCause orders findings about one subject: an error first, then the longer sentence, because
// it has more detail.
func (f *Finding) compareCause(other *Finding) int {
	if f.Severity != other.Severity {
		return f.compare(other)
	}
	return cmp.Or(cmp.Compare(len(other.Cause), len(f.Cause)), strings.Compare(f.Cause, other.Cause))
}

// causeKey returns the cause without the name of a record, and without the names of a Service and of the
// objects that are written for it: a server that refuses many says the same of each.
func (f *Finding) causeKey() string {
	switch {
	case f.Area == AreaRecord && f.Explain != "":
		return strings.ReplaceAll(f.Cause, f.Explain, "NAME")
	case f.Area == AreaWrite:
		_, object, _ := strings.Cut(f.Explain, "/")
		if namespace, name, ok := strings.Cut(object, "/"); ok {
			return withoutNames(f.Cause, namespace, name)
		}
	}
	return f.Cause
}

// names matches what may be the name of an object.
var names = regexp.MustCompile(`[a-z0-9]([a-z0-9.-]*[a-z0-9])?`)

// withoutNames replaces, in the cause of a failed write, the namespace, the name of a Service, and those that
// begin with it and a dash, as the names of its slices do.
func withoutNames(cause, namespace, name string) string {
	return names.ReplaceAllStringFunc(cause, func(s string) string {
		switch {
		case s == name || strings.HasPrefix(s, name+"-"):
			return "NAME"
		case s == namespace:
			return "NAMESPACE"
		default:
			return s
		}
	})
}

// byCause joins findings with the same cause, under the worst of their areas.
func byCause(all []Finding) []Finding {
	slices.SortStableFunc(all, func(a, b Finding) int { return a.compare(&b) })
	at := map[string]int{}
	var list []Finding
	for _, f := range all {
		key := f.causeKey()
		i, known := at[key]
		if !known {
			at[key] = len(list)
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

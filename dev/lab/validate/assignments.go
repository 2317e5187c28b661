package validate

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/model"
)

// maxAssignmentStaleness is how long an xDS client may have a removed endpoint, or lack a ready one, while no
// fault is active (docs/spec/xds.md §11, case 64).
const maxAssignmentStaleness = 2 * time.Second

// XDS returns V8, V9 and V10, about xDS clients. V1 is in [Destination]. Faults excuse a replica as long as
// they do for the Destination API.
func XDS() []Validator {
	part := func(name string) func(history.History) []Finding {
		return func(h history.History) []Finding {
			return slices.DeleteFunc(judgeAssignments(h), func(f Finding) bool { return f.Validator != name })
		}
	}
	return []Validator{
		{"V8", "No client of xDS has an endpoint that has been gone for more than 2 s, or one as usable that only completes its requests.", part("V8")},
		{"V9", "No client of xDS lacks an endpoint that has been ready for more than 2 s.", part("V9")},
		{"V10", "ClusterLoadAssignments of one name with the same endpoints have the same version in all replicas, others have another one.", checkVersions},
	}
}

// assignmentJudge holds the data that all checks of xDS streams share.
type assignmentJudge struct {
	objects *objects
	tables  map[string]*served
	texts   map[string]history.AssignedEndpoint
	end     time.Duration // of the judged time
}

func judgeAssignments(h history.History) []Finding {
	streams := streamsOf(h)
	troubles := troublesOfAll(h, streams)
	streams = slices.DeleteFunc(streams, func(s *stream) bool { return !ofXDS(s.call) })
	if len(streams) == 0 {
		return nil
	}
	j := &assignmentJudge{objects: collect(h), tables: map[string]*served{}, texts: map[string]history.AssignedEndpoint{}}
	if n := len(h.Entries); n > 0 {
		j.end = h.Entries[n-1].At
	}
	if end, ok := calmEnd(h); ok {
		j.end = end
	}
	var findings []Finding
	for _, s := range streams {
		target, err := model.ParseTarget(s.target)
		if err != nil || target.IP.IsValid() {
			continue
		}
		f := assignmentFollower{assignmentJudge: j, served: j.table(s.target, target), reporter: reporter{subject: s.subject()}, stream: s, troubles: troubles[s.replica], reported: map[string]bool{}}
		f.follow()
		findings = append(findings, f.findings...)
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return int(a.At - b.At) })
	return findings
}

func (j *assignmentJudge) table(path string, target model.Target) *served {
	t := j.tables[path]
	if t == nil {
		t = newServed(j.objects, target)
		j.tables[path] = t
	}
	return t
}

// endpoint parses the recorded text of an endpoint, once for each text.
func (j *assignmentJudge) endpoint(text string) (history.AssignedEndpoint, error) {
	if e, ok := j.texts[text]; ok {
		return e, nil
	}
	e, err := history.ReadAssignedEndpoint(text)
	if err == nil {
		j.texts[text] = e
	}
	return e, err
}

// assignmentFollower checks the updates of one xDS stream.
type assignmentFollower struct {
	*assignmentJudge
	*served
	reporter
	stream   *stream
	troubles troubles
	// reported has the validator and address of each current finding. An entry is dropped when the endpoint
	// is right again.
	reported map[string]bool
}

// follow checks each period in which the endpoints that the client knows don't change.
func (f *assignmentFollower) follow() {
	opened := f.stream.events[0].at
	for i, e := range f.stream.events {
		until := f.end
		if i+1 < len(f.stream.events) {
			until = f.stream.events[i+1].at
		}
		if e.Problem != "" && e.Event == history.StreamUpdated {
			f.report("V8", e.at, "a client would reject the ClusterLoadAssignment: %s", e.Problem)
		}
		if e.Event == history.StreamClosed {
			return
		}
		from := e.at
		if e.Event == history.StreamOpened {
			if from = opened + maxAssignmentStaleness; e.Version == "" {
				continue // V1 requires a response
			}
		}
		for _, at := range f.times(from, until) {
			f.judge(at, e.Addresses)
		}
	}
}

// times returns the times in a period at which an unchanged set of endpoints can become wrong: its start,
// when a change must have arrived, and when a replica has recovered.
func (f *assignmentFollower) times(from, until time.Duration) []time.Duration {
	if from >= until {
		return nil
	}
	times := []time.Duration{from}
	first, _ := slices.BinarySearch(f.changes, from-maxAssignmentStaleness)
	for _, change := range f.changes[first:] {
		if change+maxAssignmentStaleness >= until {
			break
		}
		times = append(times, max(from, change+maxAssignmentStaleness))
	}
	for _, t := range f.troubles {
		if from < t.to && t.to < until-1 {
			times = append(times, t.to+1)
		}
	}
	slices.Sort(times)
	return slices.Compact(times)
}

// judge compares the endpoints that a client knows at a time with the states that its replica may have then.
func (f *assignmentFollower) judge(at time.Duration, has map[string]string) {
	q := query{since: f.troubles.sinceWithin(at, maxAssignmentStaleness), until: at + witnessDelay}
	usable := map[netip.AddrPort]bool{}
	problems := map[string]string{}
	for text, reported := range has {
		address, problem := f.judgeAddress(q, text, reported)
		if problem != "" {
			problems["V8 "+text] = problem
		} else if e, err := f.endpoint(reported); err == nil && !e.Draining {
			usable[address] = true
		}
	}
	for _, address := range f.servedAt(q.since) {
		if !usable[address] && f.alwaysReady(address, q) {
			problems["V9 "+address.String()] = fmt.Sprintf("it lacks %s as a usable endpoint, which has been ready in each state since %s", address, max(0, q.since).Round(time.Millisecond))
		}
	}
	f.reportNew(at, problems)
}

// judgeAddress returns the problem of an address that a client knows.
func (f *assignmentFollower) judgeAddress(q query, text, reported string) (address netip.AddrPort, problem string) {
	address, err := netip.ParseAddrPort(text)
	e, problemOfText := f.endpoint(reported)
	switch err := cmp.Or(err, problemOfText); {
	case err != nil:
		return address, err.Error()
	case f.everReady(address, q):
		return address, ""
	case !f.everDraining(address, q):
		return address, fmt.Sprintf("it has %s, which no state since %s serves", text, max(0, q.since).Round(time.Millisecond))
	case !e.Draining && f.otherAlwaysReady(q):
		return address, fmt.Sprintf("it has %s as usable, which has only completed its requests since %s while others were ready", text, max(0, q.since).Round(time.Millisecond))
	}
	return address, ""
}

// reportNew reports the problems that weren't reported before.
func (f *assignmentFollower) reportNew(at time.Duration, problems map[string]string) {
	for key := range f.reported {
		if problems[key] == "" {
			delete(f.reported, key)
		}
	}
	for key, problem := range problems {
		if !f.reported[key] {
			f.reported[key] = true
			f.report(key[:2], at, "%s", problem)
		}
	}
}

// problemsOfAssignment compares the ClusterLoadAssignment of a client with a state.
func problemsOfAssignment(state *model.State, target model.Target, has map[string]string) []string {
	want := model.AssignmentOf(state, target)
	var extra, lacks, wrong []string
	for text, reported := range has {
		at, err := netip.ParseAddrPort(text)
		draining, served := want[at]
		if err != nil || !served {
			extra = append(extra, text)
			continue
		}
		if e, err := history.ReadAssignedEndpoint(reported); err != nil {
			wrong = append(wrong, err.Error())
		} else if e.Draining != draining {
			wrong = append(wrong, fmt.Sprintf("that %s is draining is said to be %t", text, e.Draining))
		}
	}
	for at := range want {
		if _, ok := has[at.String()]; !ok {
			lacks = append(lacks, at.String())
		}
	}
	return differences(extra, lacks, wrong)
}

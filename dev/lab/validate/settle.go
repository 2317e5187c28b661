package validate

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/model"
)

// settle compares what clients know at the end of the calm with the model.
func (j *judge) settle() {
	end, ok := calmEnd(j.history)
	if !ok {
		j.findings = append(j.findings, Finding{Validator: "V1", Subject: "the run", Message: "the history has no end of a calm, so nothing can be said of what converged"})
		return
	}
	state := stateAt(j.history, end)
	for _, s := range j.streams {
		if e, ok := s.last(end); ok && e.Event != history.StreamClosed {
			j.settleStream(s, e, state, end)
		}
	}
	j.settleClients(state, end)
}

// Settled reports whether everything is right at the end of the calm: V1 finds nothing, and no ownership
// record is left without its record. Signpost deletes such a record after two of its intervals.
func Settled(h history.History) bool {
	for _, v := range All() {
		if v.Name == "V1" && len(v.Check(h)) > 0 {
			return false
		}
	}
	return noOrphanedOwnership(h)
}

// calmEnd returns when everything had to match the model.
func calmEnd(h history.History) (end time.Duration, ok bool) {
	for _, e := range h.Entries {
		if e.Calm != nil && !e.Calm.Started {
			end, ok = e.At, true
		}
	}
	return end, ok
}

// stateAt returns the state of the cluster at a time.
func stateAt(h history.History, end time.Duration) *model.State {
	state := &model.State{}
	for i := range h.Entries {
		if e := &h.Entries[i]; e.Object != nil && e.At <= end {
			state.Apply(*e.Object)
		}
	}
	return state
}

// settleStream checks the last update of an open stream.
func (j *judge) settleStream(s *stream, e streamEvent, state *model.State, end time.Duration) {
	object := func(format string, args ...any) {
		j.findings = append(j.findings, Finding{Validator: "V1", At: end, Subject: s.subject(), Message: fmt.Sprintf(format, args...)})
	}
	target, err := model.ParseTarget(s.target)
	if err != nil {
		return
	}
	if e.Event == history.StreamOpened && e.Version == "" {
		if demanded(state, s.call, target) {
			object("the stream is open and has had no response")
		}
		return
	}
	var problems []string
	switch {
	case s.call == callGet:
		problems = j.problemsOfGet(state, target, e.Addresses)
	case ofXDS(s.call):
		problems = problemsOfAssignment(state, target, e.Addresses)
	default:
		problems = j.problemsOfProfile(state, target, e.Profile)
	}
	for _, p := range problems {
		object("%s", p)
	}
}

// problemsOfGet compares the addresses that a client knows with a state.
func (j *judge) problemsOfGet(state *model.State, target model.Target, known map[string]string) []string {
	want := model.GetResponse(state, target)
	var extra, lacks, wrong []string
	for text, reported := range known {
		at, err := netip.ParseAddrPort(text)
		endpoints := want.Endpoints[at]
		if err != nil || len(endpoints) == 0 {
			extra = append(extra, text)
			continue
		}
		if p := j.objections(state, target, endpoints, reported); len(p) > 0 {
			wrong = append(wrong, fmt.Sprintf("of %s, %s", text, some(p)))
		}
	}
	for at := range want.Endpoints {
		if _, ok := known[at.String()]; !ok {
			lacks = append(lacks, at.String())
		}
	}
	return differences(extra, lacks, wrong)
}

// differences describes how a client's addresses differ from the served ones: extra, missing and wrong ones.
func differences(extra, lacks, wrong []string) []string {
	var problems []string
	for _, p := range []struct {
		what string
		list []string
	}{{"the client knows %s, which isn't served", extra}, {"the client doesn't know %s, which is served", lacks}, {"%s", wrong}} {
		if len(p.list) > 0 {
			slices.Sort(p.list)
			problems = append(problems, fmt.Sprintf(p.what, some(p.list)))
		}
	}
	return problems
}

// objections returns the problems of a reported address. The address is right if it fits one of the
// endpoints.
func (j *judge) objections(state *model.State, target model.Target, endpoints []model.Endpoint, reported string) []string {
	t := j.reader.text(reported)
	if t.err != nil {
		return []string{t.err.Error()}
	}
	var all []string
	for _, e := range endpoints {
		problems := model.Objections(state, target, j.history.Setup.TrustDomain, e, t.address)
		if len(problems) == 0 {
			return nil
		}
		all = append(all, problems...)
	}
	slices.Sort(all)
	return all
}

func (j *judge) problemsOfProfile(state *model.State, target model.Target, reported []byte) []string {
	want, ok := model.GetProfileResponse(state, j.history.Setup.Namespace, target)
	if !ok {
		return nil
	}
	got, err := model.ReadProfile(reported)
	if err != nil {
		return []string{err.Error()}
	}
	if got != want {
		return []string{fmt.Sprintf("the profile is %+v, not %+v", got, want)}
	}
	return nil
}

// demanded reports whether a state has a response for a target, so that a call doesn't fail. A
// ClusterLoadAssignment is empty if the Service is missing (docs/spec/xds.md §5.2).
func demanded(state *model.State, call string, target model.Target) bool {
	if ofXDS(call) {
		return !target.IP.IsValid()
	}
	if target.IP.IsValid() {
		return call == callGetProfile
	}
	service, ok := model.Get[corev1.Service](state, model.Services, target.Namespace, target.Service)
	return ok && service.Spec.Type != corev1.ServiceTypeExternalName && (call == callGet || target.Hostname == "")
}

// settleClients requires as many open streams for each target as there ever were at once, because a client
// reconnects.
func (j *judge) settleClients(state *model.State, end time.Duration) {
	type question struct{ call, target string }
	open, most, last := map[question]int{}, map[question]int{}, map[question]string{}
	for i := range j.history.Entries {
		e := &j.history.Entries[i]
		if e.Stream == nil || e.At > end {
			continue
		}
		q := question{e.Stream.Call, e.Stream.Target}
		switch e.Stream.Event {
		case history.StreamOpened:
			open[q]++
			most[q] = max(most[q], open[q])
		case history.StreamClosed:
			open[q]--
			last[q] = e.Stream.Problem
		}
	}
	for q, n := range most {
		target, err := model.ParseTarget(q.target)
		if err != nil || !demanded(state, q.call, target) || open[q] >= n {
			continue
		}
		j.findings = append(j.findings, Finding{
			Validator: "V1", At: end, Subject: fmt.Sprintf("clients of %s %s", q.call, q.target),
			Message: fmt.Sprintf("%d of %d have no open stream; the last one ended because: %.200s", n-open[q], n, last[q]),
		})
	}
}

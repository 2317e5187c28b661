package validate

import (
	"bytes"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/model"
)

// profileTable has the states that a profile of a Service may come from: a step of the chain of the Service and one of
// that of its ServiceProfile.
type profileTable struct {
	target   model.Target
	services chain[*corev1.Service]
	profiles chain[*model.ServiceProfile]
}

func (j *judge) profileTable(path string, target model.Target) *profileTable {
	if t := j.profiles[path]; t != nil {
		return t
	}
	t := &profileTable{
		target:   target,
		services: versionsOf[corev1.Service](j.objects, objectID{model.Services, target.Namespace, target.Service}),
		profiles: versionsOf[model.ServiceProfile](j.objects, objectID{model.ServiceProfiles, target.Namespace, model.ServiceProfileName(target)}),
	}
	j.profiles[path] = t
	return t
}

// versionsOf returns what an object was, nil while it didn't exist.
func versionsOf[T any](o *objects, id objectID) chain[*T] {
	c := chain[*T]{{at: beforeAll}}
	for _, v := range o.byID[id] {
		s := step[*T]{at: v.at}
		if !v.Deleted {
			var err error
			if s.value, err = model.Decode[T](v.Version); err != nil {
				continue
			}
		}
		c = append(c, s)
	}
	return c
}

// explain returns the earliest states, from one on, that a profile is of.
func (t *profileTable) explain(from position, said model.Profile, q question) []position {
	var found []position
	firstProfile, profiles := max(int(from[1]), t.profiles.at(q.since)), t.profiles.known(q.until)
	for i := max(int(from[0]), t.services.at(q.since)); i < t.services.known(q.until); i++ {
		for k := firstProfile; k < profiles; k++ {
			want, ok := model.ProfileOf(t.services[i].value, t.profiles[k].value, t.target)
			if ok && want == said {
				found = addEarliest(found, position{int32(i), int32(k)})
				profiles = k // a later one is only of interest with an earlier Service
				break
			}
		}
	}
	return found
}

// profileFollower reads the answers of one stream of GetProfile.
type profileFollower struct {
	*profileTable
	subject  string
	troubles troubles
	known    []byte
	settled  []position
	findings []Finding
}

func (j *judge) followProfile(s *stream, target model.Target) {
	f := &profileFollower{
		profileTable: j.profileTable(s.target, target), subject: s.subject(), troubles: j.troubles[s.replica],
		settled: []position{{0, 0}},
	}
	for _, e := range s.events {
		if e.Event == history.StreamUpdated {
			f.updated(e.at, e.Stream)
		}
	}
	j.findings = append(j.findings, f.findings...)
}

func (f *profileFollower) object(validator string, at time.Duration, format string, args ...any) {
	f.findings = append(f.findings, Finding{Validator: validator, At: at, Subject: f.subject, Message: fmt.Sprintf(format, args...)})
}

func (f *profileFollower) updated(at time.Duration, u *history.Stream) {
	if f.known != nil && bytes.Equal(f.known, u.Profile) {
		f.object("V3", at, "an update says nothing new; an edit that clients can't see costs no message (docs/destination.md)")
	}
	f.known = u.Profile
	said, err := model.ReadProfile(u.Profile)
	if err != nil {
		f.object("V2", at, "%v", err)
		return
	}
	q := question{since: f.troubles.since(at), until: at + witnessDelay}
	anyTime := q
	anyTime.since = beforeAll
	if found := f.from(f.settled, said, q); len(found) > 0 {
		f.settled = found
		return
	}
	switch found := f.from(f.settled, said, anyTime); {
	case len(found) > 0:
		f.settled = found
		f.object("V1", at, "the profile is older than %s allows: %+v", fresh, said)
	case len(f.from([]position{{0, 0}}, said, anyTime)) > 0:
		f.object("V3", at, "the profile goes back in time, to a state before the one of an earlier answer: %+v", said)
	default:
		f.object("V2", at, "no state had this profile: %+v", said)
	}
}

func (f *profileFollower) from(positions []position, said model.Profile, q question) []position {
	var found []position
	for _, p := range positions {
		for _, next := range f.explain(p, said, q) {
			found = addEarliest(found, next)
		}
	}
	return found
}

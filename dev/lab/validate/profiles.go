package validate

import (
	"bytes"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/model"
)

// profileTable has the states that can explain a profile of a Service: a step of the Service's chain and a
// step of the ServiceProfile's.
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

// versionsOf returns the history of an object. The value is nil while the object doesn't exist.
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

// explain returns the earliest states, not before from, that have this profile.
func (t *profileTable) explain(from position, reported model.Profile, q query) []position {
	var found []position
	firstProfile, profiles := max(int(from[1]), t.profiles.at(q.since)), t.profiles.known(q.until)
	for i := max(int(from[0]), t.services.at(q.since)); i < t.services.known(q.until); i++ {
		for k := firstProfile; k < profiles; k++ {
			want, ok := model.ProfileOf(t.services[i].value, t.profiles[k].value, t.target)
			if ok && want == reported {
				found = addEarliest(found, position{int32(i), int32(k)})
				profiles = k // a later profile matters only with an earlier Service
				break
			}
		}
	}
	return found
}

// profileFollower checks the updates of one stream of GetProfile.
type profileFollower struct {
	*profileTable
	reporter
	troubles troubles
	known    []byte
	settled  []position
}

func (j *judge) followProfile(s *stream, target model.Target) {
	f := &profileFollower{
		profileTable: j.profileTable(s.target, target), reporter: reporter{subject: s.subject()}, troubles: j.troubles[s.replica],
		settled: []position{{0, 0}},
	}
	for _, e := range s.events {
		if e.Event == history.StreamUpdated {
			f.updated(e.at, e.Stream)
		}
	}
	j.findings = append(j.findings, f.findings...)
}

func (f *profileFollower) updated(at time.Duration, u *history.Stream) {
	if f.known != nil && bytes.Equal(f.known, u.Profile) {
		f.report("V3", at, "an update says nothing new; an edit that clients can't see costs no message (docs/destination.md)")
	}
	f.known = u.Profile
	reported, err := model.ReadProfile(u.Profile)
	if err != nil {
		f.report("V2", at, "%v", err)
		return
	}
	q := query{since: f.troubles.since(at), until: at + witnessDelay}
	anyTime := q
	anyTime.since = beforeAll
	if found := f.from(f.settled, reported, q); len(found) > 0 {
		f.settled = found
		return
	}
	switch found := f.from(f.settled, reported, anyTime); {
	case len(found) > 0:
		f.settled = found
		f.report("V1", at, "the profile is older than %s allows: %+v", maxStaleness, reported)
	case len(f.from([]position{{0, 0}}, reported, anyTime)) > 0:
		f.report("V3", at, "the profile goes back in time, to a state before the one of an earlier one: %+v", reported)
	default:
		f.report("V2", at, "no state had this profile: %+v", reported)
	}
}

func (f *profileFollower) from(positions []position, reported model.Profile, q query) []position {
	var found []position
	for _, p := range positions {
		for _, next := range f.explain(p, reported, q) {
			found = addEarliest(found, next)
		}
	}
	return found
}

package validate

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/model"
)

// Destination returns the validators about clients of Get and GetProfile. Each validator reads the whole
// history, and two validators may report the same error.
func Destination() []Validator {
	rules := []struct{ name, rule string }{
		{"V1", "At the end of the calm each client has an open stream that says what the model says. While nothing is broken, each change arrives within 10 s."},
		{"V2", "Each update shows one state: one of the Service, one of each slice, one of each workload."},
		{"V3", "The states behind the updates of a stream never go back, and each update contains something new."},
		{"V4", "An address is only removed, or left out of the first update, if there was a state without it."},
	}
	var last judged
	var out []Validator
	for _, r := range rules {
		out = append(out, Validator{Name: r.name, Rule: r.rule, Check: func(h history.History) []Finding {
			var own []Finding
			for _, f := range last.findings(h) {
				if f.Validator == r.name {
					own = append(own, f)
				}
			}
			return own
		}})
	}
	return out
}

// judged caches the findings for the last history, because the four validators share one pass over it.
type judged struct {
	mu      sync.Mutex
	entries []history.Entry
	found   []Finding
}

func (j *judged) findings(h history.History) []Finding {
	j.mu.Lock()
	defer j.mu.Unlock()
	same := len(j.entries) == len(h.Entries) && len(h.Entries) > 0 && &j.entries[0] == &h.Entries[0]
	if !same {
		j.entries, j.found = h.Entries, judgeStreams(h)
	}
	return j.found
}

// Calls of the API.
const (
	callGet        = "Get"
	callGetProfile = "GetProfile"
	callEDS        = "EDS"
	callDeltaEDS   = "DeltaEDS"
)

// ofXDS reports whether a call is for a ClusterLoadAssignment.
func ofXDS(call string) bool { return call == callEDS || call == callDeltaEDS }

// stream is one call, or one name of an ADS stream, with its events.
type stream struct {
	id                    int
	replica, call, target string
	events                []streamEvent
}

type streamEvent struct {
	at time.Duration
	*history.Stream
}

func (s *stream) subject() string {
	return fmt.Sprintf("stream %d to %s (%s %s)", s.id, s.replica, s.call, s.target)
}

// last returns the last event up to a time; ok is false before the first.
func (s *stream) last(until time.Duration) (e streamEvent, ok bool) {
	for _, next := range s.events {
		if next.at > until {
			break
		}
		e, ok = next, true
	}
	return e, ok
}

// streamsOf returns the streams of a run in the order in which they were opened.
func streamsOf(h history.History) []*stream {
	byID := map[int]*stream{}
	var all []*stream
	for i := range h.Entries {
		e := &h.Entries[i]
		if e.Stream == nil {
			continue
		}
		s := byID[e.Stream.ID]
		if s == nil {
			s = &stream{id: e.Stream.ID, replica: e.Stream.Replica, call: e.Stream.Call, target: e.Stream.Target}
			byID[s.id] = s
			all = append(all, s)
		}
		s.events = append(s.events, streamEvent{e.At, e.Stream})
	}
	return all
}

// judge holds the data that all checks of a run share.
type judge struct {
	history  history.History
	objects  *objects
	reader   *reader
	streams  []*stream
	troubles map[string]troubles // by replica
	backends map[serviceKey]*backends
	tables   map[string]*table
	profiles map[string]*profileTable
	findings []Finding
}

func judgeStreams(h history.History) []Finding {
	j := &judge{
		history: h, objects: collect(h), reader: newReader(), streams: streamsOf(h),
		backends: map[serviceKey]*backends{}, tables: map[string]*table{}, profiles: map[string]*profileTable{},
	}
	j.troubles = troublesOfAll(h, j.streams)
	for _, s := range j.streams {
		j.follow(s)
	}
	j.settle()
	slices.SortStableFunc(j.findings, func(a, b Finding) int { return int(a.At - b.At) })
	return j.findings
}

// troublesOfAll returns the troubles of each replica that has had a stream.
func troublesOfAll(h history.History, streams []*stream) map[string]troubles {
	replicas := map[string]bool{}
	for _, s := range streams {
		replicas[s.replica] = true
	}
	all := map[string]troubles{}
	for r := range replicas {
		all[r] = troublesOf(h, r, slices.Collect(maps.Keys(replicas)))
	}
	return all
}

func (j *judge) follow(s *stream) {
	target, err := model.ParseTarget(s.target)
	if err != nil {
		return // the client sent an invalid request
	}
	switch {
	case s.call == callGet && !target.IP.IsValid():
		j.followGet(s, target)
	case s.call == callGetProfile && !target.IP.IsValid() && target.Hostname == "":
		j.followProfile(s, target)
	}
}

func (j *judge) followGet(s *stream, target model.Target) {
	f := &follower{
		table: j.table(s.target, target), reader: j.reader, reporter: reporter{subject: s.subject()}, troubles: j.troubles[s.replica],
		known: map[string]knownAddress{},
	}
	ends := f.troubles.ends()
	for _, e := range s.events {
		for len(ends) > 0 && ends[0] <= e.at {
			f.quietEnds(ends[0])
			ends = ends[1:]
		}
		switch e.Event {
		case history.StreamOpened:
			f.opened = e.at
		case history.StreamUpdated:
			f.updated(e.at, e.Stream)
		case history.StreamClosed:
			f.closed(e.at, e.Problem)
		}
	}
	if e := s.events[len(s.events)-1]; e.Event != history.StreamClosed {
		for _, end := range ends {
			f.quietEnds(end)
		}
	}
	j.findings = append(j.findings, f.findings...)
}

func (j *judge) table(path string, target model.Target) *table {
	if t := j.tables[path]; t != nil {
		return t
	}
	key := serviceKey{target.Namespace, target.Service}
	if j.backends[key] == nil {
		j.backends[key] = j.objects.backendsOf(key)
	}
	t := &table{target: target, rules: j.objects.rulesOf(target, model.RuleOf), backends: j.backends[key]}
	j.tables[path] = t
	return t
}

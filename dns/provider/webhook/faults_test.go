package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/publishertest"
)

// A publisher and a person use a zone through a program that writes target by target, and fails before,
// in the middle of, and after its writes. Records with only some of their targets stay ours.
func TestFaults(t *testing.T) {
	publishertest.Schedules(t, 20, play)
}

func play(t *testing.T, seed uint64) {
	p := &byTarget{sets: map[dns.Key]*dns.RecordSet{}, requests: map[string]int{}}
	w := publishertest.NewFixture(t)
	w.Open = func() provider.Provider { return open(t, w.Input(p)) }
	w.Server, w.Writes = p, func(operation string) bool { return operation == "POST /records" }
	p.schedule = publishertest.NewSchedule(publishertest.Cloud{
		Fixture: w, Zones: []string{"example.test"}, Sets: p.list,
		Put: func(r *dns.RecordSet) { p.put(r.Clone()) }, Remove: func(r *dns.RecordSet) { p.remove(r.Key()) },
	}, seed)
	p.schedule.Play()
}

// byTarget is a transport that answers like a program whose server has a request for each target.
type byTarget struct {
	schedule *publishertest.Schedule

	mu       sync.Mutex
	sets     map[dns.Key]*dns.RecordSet
	requests map[string]int
}

// list returns copies of the record sets.
func (p *byTarget) list() []*dns.RecordSet {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []*dns.RecordSet
	for r := range maps.Values(p.sets) {
		list = append(list, r.Clone())
	}
	return list
}

func (p *byTarget) put(r *dns.RecordSet) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sets[r.Key()] = r
}

func (p *byTarget) remove(key dns.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.sets, key)
}

// Operations returns the requests since it was called last.
func (p *byTarget) Operations() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.requests
	p.requests = map[string]int{}
	return all
}

func (*byTarget) Refused() int         { return 0 }
func (*byTarget) SetLag(time.Duration) {}

var errLost = errors.New("connection reset by peer")

// RoundTrip implements [http.RoundTripper].
func (p *byTarget) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.requests[req.Method+" "+req.URL.Path]++
	p.mu.Unlock()
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
	}
	if status := publishertest.Pick(p.schedule, http.StatusInternalServerError, http.StatusTooManyRequests, http.StatusServiceUnavailable, 0); status > 0 {
		return response(req, status, nil), nil
	}
	if publishertest.Pick(p.schedule, errLost, nil, nil) != nil {
		defer p.schedule.Check()
		_ = p.serve(req, body)
		return nil, errLost
	}
	return p.serve(req, body), nil
}

func response(req *http.Request, status int, answer any) *http.Response {
	text, _ := json.Marshal(answer)
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {MediaType}}, Body: io.NopCloser(bytes.NewReader(text)), Request: req}
}

func (p *byTarget) serve(req *http.Request, body []byte) *http.Response {
	switch {
	case isAdjust(req.URL):
		return response(req, http.StatusOK, json.RawMessage(body))
	case req.Method == http.MethodPost:
		var lists dns.ChangeLists
		if err := json.Unmarshal(body, &lists); err != nil {
			return response(req, http.StatusBadRequest, err.Error())
		}
		return response(req, p.apply(lists), nil)
	case req.URL.Path == "/"+recordsPath:
		return response(req, http.StatusOK, p.list())
	}
	return response(req, http.StatusOK, struct{}{})
}

// apply makes changes target by target, as ExternalDNS' programs do: creations, updates, deletions. It
// returns the status of the response.
func (p *byTarget) apply(l dns.ChangeLists) (status int) {
	isBad := func(r *dns.RecordSet) bool { return dns.Canonical(r.Name) == p.schedule.Bad() }
	if slices.ContainsFunc(slices.Concat(l.Create, l.UpdateNew), isBad) {
		return http.StatusUnprocessableEntity
	}
	writes := true
	write := func(r *dns.RecordSet, targets []string) {
		if writes = writes && publishertest.Pick(p.schedule, errLost, nil) == nil; !writes {
			return
		}
		if len(targets) == 0 {
			p.remove(r.Key())
		} else {
			next := r.Clone()
			next.Name, next.Targets = dns.Canonical(r.Name), targets
			p.put(next)
		}
		p.schedule.Check()
	}
	for i, r := range l.Create {
		for n := range r.Targets {
			write(l.Create[i], r.Targets[:n+1])
		}
	}
	for i, r := range l.UpdateNew {
		for n := range r.Targets {
			write(r, slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.Targets[:n+1], l.UpdateOld[i].Targets)))))
		}
		write(r, r.Targets)
	}
	for _, r := range l.Delete {
		for n := range r.Targets {
			write(r, r.Targets[n+1:])
		}
	}
	if !writes {
		return http.StatusInternalServerError
	}
	return http.StatusNoContent
}

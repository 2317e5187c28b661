package moduletest

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// schedules is how many seeded schedules of faults are run for a module.
const schedules = 20

// faults makes the network and the server fail while records are published in a loop. Other
// writers' records must stay unchanged, no record may be without its ownership record, and after
// the last fault two rounds must suffice.
func faults(t *testing.T, o Options) {
	for seed := range uint64(schedules) {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { o.playFaults(t, seed) })
		})
	}
}

// flaky is a transport that fails at random.
type flaky struct {
	next   http.RoundTripper
	random *rand.Rand
	ended  bool
}

// RoundTrip implements [http.RoundTripper].
func (f *flaky) RoundTrip(req *http.Request) (*http.Response, error) {
	kind := f.random.IntN(40)
	if f.ended || kind > 4 {
		return f.next.RoundTrip(req)
	}
	if kind < 3 {
		if req.Body != nil {
			_ = req.Body.Close()
		}
	} else if resp, err := f.next.RoundTrip(req); err == nil {
		_ = resp.Body.Close()
	}
	switch kind {
	case 0:
		return nil, errors.New("connection refused")
	case 1:
		return failure(req, http.StatusTooManyRequests, http.Header{"Retry-After": {"3"}}), nil
	case 2:
		return failure(req, http.StatusBadGateway, http.Header{}), nil
	case 3:
		return failure(req, http.StatusInternalServerError, http.Header{}), nil
	default:
		return nil, errors.New("connection reset by peer")
	}
}

func failure(req *http.Request, status int, header http.Header) *http.Response {
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader("{}")), Request: req}
}

// play is the state of a schedule.
type play struct {
	t      *testing.T
	store  *Store
	random *rand.Rand
	p      provider.Provider
	zone   dns.Zone
	wanted map[string][]*dns.RecordSet
}

func (o Options) playFaults(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 3))
	store := NewStore()
	store.AddZone(zoneName)
	others := Record{Name: "hers", Type: dns.TypeA, Data: "203.0.113.1", TTL: 3600}
	if _, err := store.Add(zoneName, others); err != nil {
		t.Fatal(err)
	}
	network := &flaky{random: random}
	in := provider.Input{Wrap: func(next http.RoundTripper) http.RoundTripper {
		network.next = next
		return network
	}}
	s := &play{
		t: t, store: store, random: random, p: o.open(t, store, in, Secret, zoneName),
		zone: dns.Zone{ID: zoneName, Name: zoneName}, wanted: map[string][]*dns.RecordSet{},
	}
	for range 10 {
		s.ask()
		err := s.publish()
		t.Logf("%v: %v", time.Now(), err)
		s.check(others)
		time.Sleep(5 * time.Second)
	}
	network.ended = true
	// A failed type change isn't retried at once.
	time.Sleep(provider.LongestSwapPause)
	for range 2 {
		if err := s.publish(); err != nil {
			t.Logf("after the last fault: %v", err)
		}
	}
	s.check(others)
	if changes, err := s.plan(); err != nil || len(changes) > 0 {
		t.Fatalf("%d changes are left, the first one %+v, error %v", len(changes), slices.Concat(changes, make([]dns.Change, 1))[0].RecordSet(), err)
	}
}

// ask changes the wanted records of some names.
func (s *play) ask() {
	for range 1 + s.random.IntN(3) {
		name := fmt.Sprint("n", s.random.IntN(5))
		full := name + "." + zoneName
		r := &dns.RecordSet{Name: full, Type: dns.TypeA, TTL: 3600, Labels: map[string]string{}}
		switch s.random.IntN(4) {
		case 0:
			delete(s.wanted, name)
			continue
		case 1:
			r.Type, r.Targets = dns.TypeCNAME, []string{fmt.Sprintf("lb%d.example.net", s.random.IntN(3))}
		default:
			for i := range 1 + s.random.IntN(3) {
				r.Targets = append(r.Targets, fmt.Sprintf("192.0.2.%d", 10*s.random.IntN(3)+i))
			}
		}
		ownership := &dns.RecordSet{
			Name: strings.ToLower(r.Type) + "-" + full, Type: dns.TypeTXT, TTL: 3600, Targets: []string{`"heritage=external-dns,external-dns/owner=me"`},
			Labels: map[string]string{dns.LabelOwnedRecord: full},
		}
		s.wanted[name] = []*dns.RecordSet{r, ownership}
	}
}

// plan returns the changes from the listed to the wanted records, as a publisher plans them.
func (s *play) plan() ([]dns.Change, error) {
	listed, err := s.p.Records(s.t.Context(), s.zone)
	if err != nil {
		return nil, err
	}
	there := map[dns.Key]*dns.RecordSet{}
	for _, r := range listed {
		if !strings.HasPrefix(r.Name, "hers.") {
			there[r.Key()] = r
		}
	}
	var changes []dns.Change
	for _, sets := range s.wanted {
		answers, err := s.p.(provider.Adjuster).Adjust(s.t.Context(), s.zone, sets)
		if err != nil {
			return nil, err
		}
		for _, a := range answers {
			r := a.Sets[0]
			old := there[r.Key()]
			delete(there, r.Key())
			if old == nil || !dns.SameTargets(old.Targets, r.Targets) || old.TTL != r.TTL {
				changes = append(changes, dns.Change{Old: old, New: r})
			}
		}
	}
	for _, r := range there {
		r = r.Clone()
		if r.Type == dns.TypeTXT {
			_, owned, _ := strings.Cut(r.Name, "-")
			r.Labels[dns.LabelOwnedRecord] = owned
		}
		changes = append(changes, dns.Change{Old: r})
	}
	return changes, nil
}

func (s *play) publish() error {
	changes, err := s.plan()
	if err != nil || len(changes) == 0 {
		return err
	}
	return s.p.Apply(s.t.Context(), s.zone, changes)
}

// check checks that the other writer's record is unchanged, and that all others have ownership
// records.
func (s *play) check(others Record) {
	s.t.Helper()
	list := s.store.List(zoneName)
	found := false
	for _, r := range list {
		ownershipName := strings.ToLower(r.Type) + "-" + r.Name
		switch {
		case r.Name == others.Name:
			found = r.Data == others.Data && r.TTL == others.TTL && r.Type == others.Type
		case r.Type != dns.TypeTXT && !slices.ContainsFunc(list, func(other Record) bool { return other.Name == ownershipName && other.Type == dns.TypeTXT }):
			s.t.Fatalf("%+v is without its ownership record", r)
		}
	}
	if !found {
		s.t.Fatalf("the record of the person is gone or changed: %v", list)
	}
}

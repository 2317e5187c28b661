package cloudflare

import (
	"fmt"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/testkit/cloudflaretest"
	"github.com/signpostd/signpost/testkit/publishertest"
)

// A publisher and a person change a zone of any plan, over a server that throttles, fails before
// and after a request had its effect, and cuts connections (spec/clouds.md §0.3, CF12, CF14, CF16).
func TestFaults(t *testing.T) {
	environment(t, "https://api.test/client/v4")
	publishertest.Schedules(t, 10, play)
}

func play(t *testing.T, seed uint64) {
	w := newFixture(t, []string{free, paid, enterprise}[seed%3])
	w.Managed = handled
	w.server.SetRate(0)
	// ids has the IDs of the person's records, by name.
	ids := map[string]string{}
	s := publishertest.NewSchedule(publishertest.Cloud{
		Fixture: w.Fixture, Zones: []string{zoneName}, MostLag: 3 * time.Second, Sets: w.sets, Records: records,
		Put: func(r *dns.RecordSet) {
			ids[r.Name] = w.server.Put(w.zone, cloudflaretest.Record{ID: ids[r.Name], Name: r.Name, Type: r.Type, Content: r.Targets[0], TTL: r.TTL})
		},
		Remove: func(r *dns.RecordSet) {
			w.server.Remove(w.zone, ids[r.Name])
			delete(ids, r.Name)
		},
		// Changes that are held back because of the last fault take some seconds.
		Recovery: 100 * time.Second,
	}, seed)
	w.Wrap = s.OtherServer
	w.server.SetHooks(cloudflaretest.Hooks{
		Before: func(cloudflaretest.Call) *cloudflaretest.Fault {
			return publishertest.Pick(s, cloudflaretest.Failed, cloudflaretest.Lost, nil, cloudflaretest.Throttled(0), cloudflaretest.Throttled(2*time.Second), cloudflaretest.Throttled(45*time.Second))
		},
		After: func(c cloudflaretest.Call) *cloudflaretest.Fault {
			if c.Operation == cloudflaretest.Batch {
				s.Check()
			}
			return publishertest.Pick(s, cloudflaretest.Failed, cloudflaretest.Lost, nil, nil)
		},
	})
	s.Play()
}

// records returns record sets of a name, of the types that the provider supports.
func records(name string, below func(int) int) []*dns.RecordSet {
	n := 1 + below(5)
	ttl := []string{"ttl=60", "ttl=300", "proxied=true"}[below(3)]
	a := want(name, "A", fmt.Sprintf("192.0.2.%d,192.0.2.%d", n, n+1), ttl, fmt.Sprint("record-comment=c", below(3)))
	return [][]*dns.RecordSet{
		{want(name, "CNAME", fmt.Sprintf("lb%d.example.net", n), ttl)},
		{want(name, "MX", fmt.Sprintf("%d mx.example.net", n)), a},
		{want(name, "SRV", fmt.Sprintf("%d 1 80 s.example.net.", n))},
		{a, want(name, "AAAA", fmt.Sprintf("2001:db8::%d", n))},
		{want(name, "TXT", fmt.Sprintf(`"text %d"`, n), "ttl=300")},
		{a},
	}[below(6)]
}

// sets returns what the zone has, each record in a set of its own.
func (w *fixture) sets() (all []*dns.RecordSet) {
	for _, r := range w.server.Records(w.zone) {
		target := r.Content
		if r.Priority != nil {
			target = fmt.Sprintf("%v %s", *r.Priority, r.Content)
		}
		if r.Type == dns.TypeSRV {
			target += "."
		}
		all = append(all, &dns.RecordSet{Name: r.Name, Type: r.Type, TTL: r.TTL, Targets: []string{target}})
	}
	return all
}

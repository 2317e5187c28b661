package google

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/testkit/clouddnstest"
	"github.com/signpostd/signpost/testkit/publishertest"
)

// A publisher and a person change two zones, while the server fails in all the ways it has, and
// refuses a name with a message that names it or not.
func TestFaults(t *testing.T) {
	prepare(t)
	publishertest.Schedules(t, 10, play)
}

func play(t *testing.T, seed uint64) {
	w := newFixture(t)
	w.arguments = []string{"--google-batch-change-size=8"}
	w.server.AddZone(clouddnstest.Zone{Name: "other", DNSName: "other.test"})
	s := publishertest.NewSchedule(publishertest.Cloud{
		Fixture: w.Fixture, Zones: []string{zoneName, "other.test"}, MostLag: 8 * time.Second, Sets: w.sets,
		Put: func(r *dns.RecordSet) {
			w.server.Put(zoneOf(r.Name), clouddnstest.RecordSet{Name: r.Name, Type: r.Type, TTL: r.TTL, Datas: r.Targets})
		},
		Remove: func(r *dns.RecordSet) { w.server.Remove(zoneOf(r.Name), r.Name, r.Type) },
	}, seed)
	w.Wrap = s.OtherServer
	w.server.SetHooks(clouddnstest.Hooks{
		Before: func(c clouddnstest.Call) *clouddnstest.Fault {
			time.Sleep(time.Duration(s.N(300)) * time.Millisecond)
			if f := refusal(c.Change, s); f != nil {
				return f
			}
			return publishertest.Pick(s, clouddnstest.RateLimited, clouddnstest.Exhausted, clouddnstest.Failed, clouddnstest.Lost, nil, nil)
		},
		After: func(c clouddnstest.Call) *clouddnstest.Fault {
			if c.Operation == clouddnstest.CreateChange {
				s.Check()
			}
			return publishertest.Pick(s, clouddnstest.Failed, clouddnstest.Lost, nil)
		},
	})
	s.Play()
}

// zoneOf returns the zone of a name like n1.shop.test.
func zoneOf(name string) string {
	if strings.HasSuffix(name, "."+zoneName) {
		return shop
	}
	return "other"
}

// sets returns what the zones have.
func (w *fixture) sets() (all []*dns.RecordSet) {
	for _, zone := range []string{shop, "other"} {
		for _, r := range w.server.Sets(zone) {
			all = append(all, listed(rawOf(&r)))
		}
	}
	return all
}

// refusal returns the response to a change of the bad name.
func refusal(c clouddnstest.Change, s *publishertest.Schedule) *clouddnstest.Fault {
	for i, r := range c.Additions {
		if r.Name == s.Bad()+"." {
			messages := []string{fmt.Sprintf("Invalid value for 'entity.change.additions[%s][%s].name': ''", r.Name, r.Type), fmt.Sprintf("Invalid value for 'entity.change.additions[%d].name': ''", i), "Invalid"}
			return &clouddnstest.Fault{Status: 400, Reason: "invalid", Message: messages[s.N(len(messages))]}
		}
	}
	return nil
}

package awssd

import (
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/testkit/cloudmaptest"
	"github.com/signpostd/signpost/testkit/publishertest"
)

// An owner, another one and a person use a namespace: requests are throttled, fail before or after
// they had their effect, or lose their connection, operations fail, and listings and revisions lag
// behind.
func TestFaults(t *testing.T) {
	start(t)
	t.Setenv("AWS_ENDPOINT_URL_SERVICEDISCOVERY", "")
	publishertest.Schedules(t, 10, play)
}

func play(t *testing.T, seed uint64) {
	w := newFixture(t)
	if seed%2 == 0 {
		w.arguments = []string{"--aws-sd-service-cleanup"}
	}
	s := publishertest.NewSchedule(publishertest.Cloud{
		Fixture: w.Fixture, Zones: []string{zoneName}, MostLag: 5 * time.Second, Sets: w.sets,
		Put: func(r *dns.RecordSet) {
			descriptions := []string{"", "of the shop team", strings.Replace(mine, "owner=me", "owner=two", 1)}
			w.server.Put(cloudmaptest.Service{
				Namespace: "ns-1", Name: labelIn(r), Config: addresses(), Instances: address(r.Targets[0]), Description: descriptions[len(r.Targets[0])%3],
			})
		},
		Remove: func(r *dns.RecordSet) { w.server.Remove("ns-1", labelIn(r)) },
		// A service without instances takes the name, too.
		Taken: func(name string) bool {
			_, there := w.server.Services("ns-1")[strings.TrimSuffix(name, "."+zoneName)]
			return there
		},
		// A refused type change isn't tried again at once.
		Recovery: time.Hour,
	}, seed)
	w.Wrap = s.OtherServer
	w.server.SetRate(0)
	w.server.SetTime(time.Duration(s.N(4000)) * time.Millisecond)
	w.server.SetRevisionLag(time.Duration(s.N(5)) * time.Second)
	// A name that another writer has is tried again.
	w.Changes = func(operation string) bool {
		return operation != "CreateService" && writes(map[string]int{operation: 1}) > 0
	}
	w.server.SetHooks(cloudmaptest.Hooks{
		Before: func(cloudmaptest.Call) *cloudmaptest.Fault {
			return publishertest.Pick(s, cloudmaptest.Failed, cloudmaptest.Lost, cloudmaptest.Throttled, cloudmaptest.LimitExceeded, nil)
		},
		After: func(c cloudmaptest.Call) *cloudmaptest.Fault {
			s.Check()
			return publishertest.Pick(s, cloudmaptest.Failed, cloudmaptest.Lost, nil, nil)
		},
	})
	w.server.SetOperation(func(string, string) string {
		return publishertest.Pick(s, "INTERNAL_FAILURE", "THROTTLED_REQUEST", "INVALID_CHANGE_BATCH", "", "", "")
	})
	s.Play()
}

func labelIn(r *dns.RecordSet) string { return strings.TrimSuffix(r.Name, "."+zoneName) }

// sets returns what the namespace has. A service that says that it is ours counts as ownership
// records.
func (w *fixture) sets() (all []*dns.RecordSet) {
	for label, v := range w.server.Services("ns-1") {
		for _, r := range v.Config.DNSRecords {
			set := &dns.RecordSet{Name: label + "." + zoneName, Type: r.Type, TTL: r.TTL}
			for _, attributes := range v.Instances {
				if target := attributes[map[string]string{"A": attributeIPv4, "AAAA": attributeIPv6, "CNAME": attributeCNAME}[r.Type]]; target != "" {
					set.Targets = append(set.Targets, target)
				}
			}
			if len(set.Targets) == 0 {
				continue
			}
			set.Targets = dns.UniqueSorted(set.Targets)
			all = append(all, set)
			if v.Description == mine {
				all = append(all, &dns.RecordSet{Name: strings.ToLower(r.Type) + "-" + set.Name, Type: "TXT", Targets: []string{v.Description}})
			}
		}
	}
	return all
}

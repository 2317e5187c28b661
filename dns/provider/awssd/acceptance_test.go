package awssd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/cloudmaptest"
)

// The cases of spec/clouds.md §8 have their names there.

// Addresses make a service with the policy MULTIVALUE, an instance for each, and the ownership text as its
// description (SD1 of spec/clouds.md).
func TestAddresses(t *testing.T) {
	withFixture(t, func(w *fixture) {
		requests := w.settle(set("a", "A", "192.0.2.1,192.0.2.2"))
		w.expect("a MULTIVALUE A=300 [192.0.2.1 IPV4=192.0.2.1] [192.0.2.2 IPV4=192.0.2.2] MINE")
		if requests["CreateService"] != 1 || requests["RegisterInstance"] != 2 || writes(requests) != 3 {
			t.Errorf("requests %v", requests)
		}
		requests = w.settle(set("a", "A", "192.0.2.2,192.0.2.3"))
		w.expect("a MULTIVALUE A=300 [192.0.2.2 IPV4=192.0.2.2] [192.0.2.3 IPV4=192.0.2.3] MINE")
		if requests["RegisterInstance"] != 1 || requests["DeregisterInstance"] != 1 || writes(requests) != 2 {
			t.Errorf("requests %v", requests)
		}
		w.settle(lasting(60, set("b.c", "AAAA", "2001:db8::1")), set("_x._tcp", "A", "192.0.2.4"))
		w.expect("a MULTIVALUE A=300 MINE", "b.c MULTIVALUE AAAA=60 [2001:db8::1 IPV6=2001:db8::1] MINE", "_x._tcp MULTIVALUE A=300 [192.0.2.4 IPV4=192.0.2.4] MINE")
		// The service of a name that comes back is used again.
		w.settle(set("a", "A", "192.0.2.5"))
		w.expect("a MULTIVALUE A=300 [192.0.2.5 IPV4=192.0.2.5] MINE", "b.c MULTIVALUE AAAA=60 MINE", "_x._tcp MULTIVALUE A=300 MINE")
	})
}

const balancer = "web-1234.eu-north-1.elb.amazonaws.com"

// A CNAME, and one to a load balancer, which is an alias. The ID of an instance is its target, or a hash of
// it (SD2 of spec/clouds.md).
func TestNames(t *testing.T) {
	withFixture(t, func(w *fixture) {
		long := strings.Repeat("long.", 14) + "example.net"
		w.settle(set("c", "CNAME", "lb.example.net"), set("e", "CNAME", balancer), set("l", "CNAME", long))
		w.expect("c WEIGHTED CNAME=300 [lb.example.net CNAME=lb.example.net] MINE", "e WEIGHTED A=300 ["+balancer+" ALIAS_DNS_NAME="+balancer+"] MINE",
			"l WEIGHTED CNAME=300 ["+instanceID(long)+" CNAME="+long+"] MINE")
		if len(instanceID(long)) != 64 {
			t.Errorf("the ID %s", instanceID(long))
		}
		w.settle(set("c", "CNAME", balancer), set("e", "CNAME", "lb.example.net"), set("l", "CNAME", "lb2.example.net"))
		w.expect("c WEIGHTED A=300 ["+balancer+" ALIAS_DNS_NAME="+balancer+"] MINE", "e WEIGHTED CNAME=300 [lb.example.net CNAME=lb.example.net] MINE",
			"l WEIGHTED CNAME=300 [lb2.example.net CNAME=lb2.example.net] MINE")
	})
	for name, want := range map[string]bool{
		"a.eu-north-1.elb.amazonaws.com": true, "a.elb.eu-north-1.amazonaws.com": true, "A.cn-north-1.elb.amazonaws.com.cn.": true, "a.s3.amazonaws.com": false,
		"elb.amazonaws.com": false, "example.net": false, "a.elb.example.net": false,
	} {
		if isLoadBalancer(name) != want {
			t.Errorf("isLoadBalancer(%s) isn't %t", name, want)
		}
	}
	zone := dns.Zone{Name: zoneName}
	for name, fits := range map[string]bool{
		"a": true, "0": true, "a.b-c_d": true, "_sip._tcp": true, strings.Repeat("x", 63): true, strings.Repeat("x", 64): false, "_": false, "-a": false, "a-": false, "*": false, "*.a": false,
		"a..b": false, strings.Repeat("a.", 63) + "a": true, strings.Repeat("a.", 64) + "a": false,
	} {
		if _, err := labelOf(zone, name+"."+zoneName); (err == nil) != fits {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A CNAME that changes its target is there all the time, if the service has room for two
// instances; otherwise it is back at once.
func TestNameChanges(t *testing.T) {
	for _, one := range []bool{false, true} {
		withFixture(t, func(w *fixture) {
			if one {
				w.server.OneCNAME()
			}
			w.settle(set("c", "CNAME", "lb.example.net"))
			gap := false
			w.server.SetHooks(cloudmaptest.Hooks{After: func(cloudmaptest.Call) *cloudmaptest.Fault {
				gap = gap || len(w.server.Services("ns-1")["c"].Instances) == 0
				return nil
			}})
			w.settle(set("c", "CNAME", "lb2.example.net"))
			w.expect("c WEIGHTED CNAME=300 [lb2.example.net CNAME=lb2.example.net] MINE")
			if gap != one {
				t.Errorf("one instance %t, and the name was gone: %t", one, gap)
			}
		})
	}
}

// The A and AAAA records of a name are in one service, each of whose instances has an address of each kind
// (SD3 of spec/clouds.md).
func TestBothKinds(t *testing.T) {
	withFixture(t, func(w *fixture) {
		requests := w.settle(set("a", "A", "192.0.2.1,192.0.2.2"), lasting(60, set("a", "AAAA", "2001:db8::1")))
		w.expect("a MULTIVALUE A=300 AAAA=60 [192.0.2.1 IPV4=192.0.2.1 IPV6=2001:db8::1] [192.0.2.2 IPV4=192.0.2.2 IPV6=2001:db8::1] MINE")
		if requests["CreateService"] != 1 {
			t.Errorf("requests %v", requests)
		}
		w.settle(set("a", "A", "192.0.2.1"), lasting(60, set("a", "AAAA", "2001:db8::1,2001:db8::2")))
		w.expect("a MULTIVALUE A=300 AAAA=60 [2001:db8::1 IPV4=192.0.2.1 IPV6=2001:db8::1] [2001:db8::2 IPV4=192.0.2.1 IPV6=2001:db8::2] MINE")
		w.settle(set("a", "AAAA", "2001:db8::2"))
		w.expect("a MULTIVALUE AAAA=300 [2001:db8::2 IPV6=2001:db8::2] MINE")
	})
}

// Of one name with several types, only what has to go goes (in place of the check of the kit that
// has a wildcard).
func TestExactDeletions(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.arguments = []string{"--aws-sd-service-cleanup"}
		w.settle(set("x", "A", "192.0.2.1"), set("x", "AAAA", "2001:db8::1"), set("xx", "A", "192.0.2.2"), set("below.x", "A", "192.0.2.3"))
		w.settle(set("x", "AAAA", "2001:db8::1"), set("xx", "A", "192.0.2.2"), set("below.x", "A", "192.0.2.3"))
		w.settle(set("xx", "A", "192.0.2.2"), set("below.x", "A", "192.0.2.3"))
		w.settle(set("x", "A", "192.0.2.1"), set("below.x", "A", "192.0.2.3"))
		w.expect("x MULTIVALUE A=300 [192.0.2.1 IPV4=192.0.2.1] MINE", "below.x MULTIVALUE A=300 [192.0.2.3 IPV4=192.0.2.3] MINE")
	})
}

// 150 targets are listed completely (SD4 of spec/clouds.md).
func TestManyTargets(t *testing.T) {
	withFixture(t, func(w *fixture) {
		var targets []string
		for i := range 150 {
			targets = append(targets, fmt.Sprintf("192.0.2.%d", i))
		}
		requests := w.settle(set("a", "A", strings.Join(targets, ",")))
		if requests["RegisterInstance"] != 150 || len(w.server.Services("ns-1")["a"].Instances) != 150 {
			t.Errorf("requests %v", requests)
		}
		requests = w.settle(set("a", "A", strings.Join(targets[1:], ",")))
		if writes(requests) != 1 {
			t.Errorf("requests %v", requests)
		}
	})
}

// A type change deletes the service and recreates it (SD5 of spec/clouds.md).
func TestTypeChanges(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.settle(set("a", "A", "192.0.2.1"))
		requests := w.settle(set("a", "CNAME", "lb.example.net"))
		w.expect("a WEIGHTED CNAME=300 [lb.example.net CNAME=lb.example.net] MINE")
		for _, action := range []string{"DeregisterInstance", "DeleteService", "CreateService", "RegisterInstance"} {
			if requests[action] != 1 {
				t.Errorf("%s: requests %v", action, requests)
			}
		}
		w.settle(set("a", "CNAME", balancer))
		w.settle(set("a", "AAAA", "2001:db8::1"))
		w.settle(set("a", "A", "192.0.2.1"), set("a", "AAAA", "2001:db8::1"))
		w.settle(set("a", "A", "192.0.2.1"))
		w.expect("a MULTIVALUE A=300 [192.0.2.1 IPV4=192.0.2.1] MINE")
	})
}

// A type change that Cloud Map refuses doesn't cost the name its answers: they come back, and the change isn't tried again at
// once. Whatever the reason is, the name has the new records once it is gone.
func TestTypeChangeRefused(t *testing.T) {
	const old = "a MULTIVALUE A=60 [192.0.2.1 IPV4=192.0.2.1] [192.0.2.2 IPV4=192.0.2.2] MINE"
	for name, refuse := range map[string]func(s *cloudmaptest.Server){
		"the service can't be deleted": func(s *cloudmaptest.Server) {
			s.SetHooks(cloudmaptest.Hooks{Before: func(c cloudmaptest.Call) *cloudmaptest.Fault {
				if c.Operation == "DeleteService" {
					return &cloudmaptest.Fault{Status: 400, Code: "AccessDeniedException", Message: "not authorized to perform: servicediscovery:DeleteService"}
				}
				return nil
			}})
		},
		"the service can't be created": func(s *cloudmaptest.Server) {
			s.SetHooks(cloudmaptest.Hooks{Before: func(c cloudmaptest.Call) *cloudmaptest.Fault {
				if c.Operation == "CreateService" && strings.Contains(c.Body, "CNAME") {
					return &cloudmaptest.Fault{Status: 400, Code: "InvalidInput", Message: "no"}
				}
				return nil
			}})
		},
		"the record can't be made": func(s *cloudmaptest.Server) {
			s.SetOperation(func(kind, instance string) string {
				if kind == "REGISTER_INSTANCE" && instance == "lb.example.net" {
					return "INVALID_CHANGE_BATCH"
				}
				return ""
			})
		},
		"an instance can't be taken away": func(s *cloudmaptest.Server) {
			s.SetOperation(func(kind, instance string) string {
				if kind == "DEREGISTER_INSTANCE" && instance == "192.0.2.2" {
					return "INTERNAL_FAILURE"
				}
				return ""
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(w *fixture) {
				w.settle(lasting(60, set("a", "A", "192.0.2.1,192.0.2.2")))
				refuse(w.server)
				if _, err := w.Run(set("a", "CNAME", "lb.example.net"), set("b", "A", "192.0.2.3")); err == nil {
					t.Error("a refused type change is no error")
				}
				w.expect(old, "b MULTIVALUE A=300 [192.0.2.3 IPV4=192.0.2.3] MINE")
				w.server.SetHooks(cloudmaptest.Hooks{})
				w.server.SetOperation(nil)
				time.Sleep(2 * provider.FirstSwapPause)
				w.settle(set("a", "CNAME", "lb.example.net"), set("b", "A", "192.0.2.3"))
				w.expect("a WEIGHTED CNAME=300 [lb.example.net CNAME=lb.example.net] MINE", "b MULTIVALUE A=300 [192.0.2.3 IPV4=192.0.2.3] MINE")
			})
		})
	}
}

// A refused type change isn't tried again at once, because each try leaves the name without an answer for some seconds.
func TestTypeChangeWaits(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.settle(set("a", "A", "192.0.2.1"))
		tries := 0
		w.server.SetOperation(func(kind, instance string) string {
			if kind == "REGISTER_INSTANCE" && instance == "lb.example.net" {
				tries++
				return "INVALID_CHANGE_BATCH"
			}
			return ""
		})
		p := w.open()
		zones, err := p.Zones(w.T.Context())
		if err != nil {
			t.Fatal(err)
		}
		records, err := p.Records(w.T.Context(), zones[0])
		if err != nil || len(records) != 1 {
			t.Fatal(records, err)
		}
		apply := func() error {
			return p.Apply(w.T.Context(), zones[0], []dns.Change{{Old: records[0]}, {New: set("a", "CNAME", "lb.example.net")}})
		}
		for range 3 {
			if err := apply(); err == nil || tries != 1 {
				t.Errorf("%d tries: %v", tries, err)
			}
			w.expect("a MULTIVALUE A=300 [192.0.2.1 IPV4=192.0.2.1] MINE")
		}
		if err := apply(); !errors.Is(err, provider.ErrRejected) || !strings.Contains(err.Error(), "INVALID_CHANGE_BATCH") {
			t.Errorf("the error is %v", err)
		}
		time.Sleep(provider.FirstSwapPause)
		w.server.SetOperation(nil)
		if err := apply(); err != nil {
			t.Error(err)
		}
		w.expect("a WEIGHTED CNAME=300 [lb.example.net CNAME=lb.example.net] MINE")
	})
}

// A changed TTL updates the service, and so does another object that asks for the name, also if nothing else
// changes. What the service has otherwise stays (SD6 of spec/clouds.md).
func TestUpdates(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.settle(set("a", "A", "192.0.2.1"), set("a", "AAAA", "2001:db8::1"))
		requests := w.settle(lasting(60, set("a", "A", "192.0.2.1")), set("a", "AAAA", "2001:db8::1"))
		w.expect("a MULTIVALUE A=60 AAAA=300 [192.0.2.1 IPV4=192.0.2.1 IPV6=2001:db8::1] MINE")
		if requests["UpdateService"] != 1 || writes(requests) != 1 {
			t.Errorf("requests %v", requests)
		}
		const other = "service/default/other"
		requests = w.settle(of(other, lasting(60, set("a", "A", "192.0.2.2"))), of(other, set("a", "AAAA", "2001:db8::1")))
		theirs := strings.Replace(mine, "service/default/web", other, 1)
		w.expect("a MULTIVALUE A=60 AAAA=300 [192.0.2.2 IPV4=192.0.2.2 IPV6=2001:db8::1] " + theirs)
		if requests["UpdateService"] != 1 {
			t.Errorf("requests %v", requests)
		}
		// The service names one object, and goes on to name it as long as it asks for one of the types.
		requests = w.settle(lasting(60, set("a", "A", "192.0.2.2")), of(other, set("a", "AAAA", "2001:db8::1")))
		w.expect("a MULTIVALUE A=60 AAAA=300 [192.0.2.2 IPV4=192.0.2.2 IPV6=2001:db8::1] " + theirs)
		if writes(requests) != 0 {
			t.Errorf("requests %v", requests)
		}
		requests = w.settle(lasting(60, set("a", "A", "192.0.2.2")), of(other, lasting(60, set("a", "AAAA", "2001:db8::1"))))
		w.expect("a MULTIVALUE A=60 AAAA=60 [192.0.2.2 IPV4=192.0.2.2 IPV6=2001:db8::1] " + theirs)
		if requests["UpdateService"] != 1 || writes(requests) != 1 {
			t.Errorf("requests %v", requests)
		}
		requests = w.settle(lasting(60, set("a", "A", "192.0.2.2")), lasting(60, set("a", "AAAA", "2001:db8::1")))
		w.expect("a MULTIVALUE A=60 AAAA=60 [192.0.2.2 IPV4=192.0.2.2 IPV6=2001:db8::1] MINE")
		if requests["UpdateService"] != 1 || writes(requests) != 1 {
			t.Errorf("requests %v", requests)
		}
	})
	withFixture(t, func(w *fixture) {
		w.server.Put(cloudmaptest.Service{
			Namespace: "ns-1", Name: "h", Description: mine, Config: addresses(), Health: &cloudmaptest.HealthCheckConfig{Type: "TCP"}, Instances: address("192.0.2.1"),
		})
		w.settle(lasting(60, set("h", "A", "192.0.2.1")))
		if s := w.server.Services("ns-1")["h"]; s.Health == nil || s.Config.DNSRecords[0].TTL != 60 {
			t.Errorf("the service is %+v", s)
		}
	})
}

// A service that is taken over from another owner gets our text (SD6 of spec/clouds.md).
func TestTakeOver(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.owner.OwnerID = "old"
		w.settle(set("a", "A", "192.0.2.1"), set("a", "AAAA", "2001:db8::1"), set("b", "A", "192.0.2.1"))
		w.owner.OwnerID, w.owner.OldOwnerID = "me", "old"
		requests := w.settle(set("a", "A", "192.0.2.1"), set("a", "AAAA", "2001:db8::1"))
		if writes(requests) != 1 || requests["UpdateService"] != 1 {
			t.Errorf("requests %v", requests)
		}
		w.expect("a MULTIVALUE A=300 AAAA=300 [192.0.2.1 IPV4=192.0.2.1 IPV6=2001:db8::1] MINE",
			"b MULTIVALUE A=300 [192.0.2.1 IPV4=192.0.2.1] "+strings.Replace(mine, "owner=me", "owner=old", 1))
	})
}

// Services of others, and those without a description, stay as they are, and the objects that ask for their
// names are told. That is so whether they have instances or not (SD7 of spec/clouds.md).
func TestUnownedServices(t *testing.T) {
	for _, id := range []string{"me", ""} {
		withFixture(t, func(w *fixture) {
			w.owner.OwnerID = id
			other := strings.Replace(mine, "owner=me", "owner=me2", 1)
			unowned := map[string]string{"bare": "", "bare-empty": ""}
			if id != "" {
				unowned["theirs"], unowned["theirs-empty"], unowned["words"] = other, other, "owned by the shop team"
			}
			var wanted []*dns.RecordSet
			for name, description := range unowned {
				s := cloudmaptest.Service{Namespace: "ns-1", Name: name, Description: description, Config: addresses(), Instances: address("203.0.113.1")}
				if strings.HasSuffix(name, "-empty") {
					s.Instances = nil
				}
				w.server.Put(s)
				wanted = append(wanted, set(name, "A", "192.0.2.1"), set(name, "AAAA", "2001:db8::1"))
			}
			w.server.Put(cloudmaptest.Service{
				Namespace: "ns-1", Name: "srv", Config: &cloudmaptest.DNSConfig{DNSRecords: []cloudmaptest.Record{{Type: "SRV", TTL: 60}}},
				Instances: map[string]map[string]string{"i": {attributeIPv4: "203.0.113.2", "AWS_INSTANCE_PORT": "80"}},
			})
			wanted = append(wanted, set("srv", "A", "192.0.2.1"))
			before := w.server.Services("ns-1")
			w.arguments = []string{"--aws-sd-service-cleanup"}
			for _, wanted := range [][]*dns.RecordSet{wanted, nil} {
				requests, err := w.Run(wanted...)
				if requests["DeleteService"]+requests["UpdateService"]+requests["RegisterInstance"]+requests["DeregisterInstance"] > 0 {
					t.Errorf("owner %q: requests %v, %v", id, requests, err)
				}
			}
			after := w.server.Services("ns-1")
			for name, s := range before {
				if line(after[name]) != line(s) {
					t.Errorf("owner %q: it had %s, and has %s", id, line(s), line(after[name]))
				}
			}
			if len(after) != len(before) {
				t.Errorf("owner %q: services %v", id, after)
			}
			for _, r := range wanted {
				if !slices.ContainsFunc(w.said, func(s string) bool { return strings.Contains(s, r.Name) }) {
					w.heard(r.Name)
				}
			}
			w.heard("has a service without a description, so this program didn't create it")
		})
	}
}

// Somebody takes a service over, or changes it, after it was listed.
func TestTakenAfterListing(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.settle(set("a", "A", "192.0.2.1"))
		p := w.open()
		zones, err := p.Zones(w.T.Context())
		if err != nil {
			t.Fatal(err)
		}
		listed, err := p.Records(w.T.Context(), zones[0])
		if err != nil || len(listed) != 1 {
			t.Fatalf("%v, %v", listed, err)
		}
		w.server.Put(cloudmaptest.Service{Namespace: "ns-1", Name: "a", Description: "heritage=external-dns,external-dns/owner=other", Config: addresses(), Instances: address("192.0.2.1")})
		update := listed[0].Clone()
		update.Targets = []string{"192.0.2.2"}
		for _, c := range []dns.Change{{Old: listed[0]}, {Old: listed[0], New: update}} {
			if err := p.Apply(w.T.Context(), zones[0], []dns.Change{c}); c.New == nil && !errors.Is(err, provider.ErrStale) || err == nil {
				t.Errorf("%v", err)
			}
		}
		w.expect("a MULTIVALUE A=300 [192.0.2.1 IPV4=192.0.2.1] heritage=external-dns,external-dns/owner=other")
	})
}

// Cleanup deletes services without instances, if they are ours (SD8 of spec/clouds.md).
func TestCleanup(t *testing.T) {
	withFixture(t, func(w *fixture) {
		for name, description := range map[string]string{
			"mine": mine, "bare": "", "theirs": strings.Replace(mine, "owner=me", "owner=me2", 1), "nobodys": unownedDescription, "prefix": "heritage=external-dns,external-dns/owner=me2",
		} {
			w.server.Put(cloudmaptest.Service{Namespace: "ns-1", Name: name, Description: description, Config: addresses()})
		}
		w.settle(set("a", "A", "192.0.2.1"))
		if n := len(w.server.Services("ns-1")); n != 6 {
			t.Fatalf("%d services", n)
		}
		w.arguments = []string{"--aws-sd-service-cleanup"}
		w.DryRun = true
		w.publish()
		if n := len(w.server.Services("ns-1")); n != 6 {
			t.Fatalf("%d services after a dry run", n)
		}
		w.DryRun = false
		w.settle()
		w.expect("bare MULTIVALUE A=300 ", "theirs MULTIVALUE A=300 "+strings.Replace(mine, "owner=me", "owner=me2", 1), "nobodys MULTIVALUE A=300 "+unownedDescription,
			"prefix MULTIVALUE A=300 heritage=external-dns,external-dns/owner=me2")
	})
}

// An operation that fails is reported, with nothing left of a new service, and tried again (SD9 of
// spec/clouds.md).
func TestFailedOperation(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.server.SetOperation(func(kind, instance string) string {
			if kind == "REGISTER_INSTANCE" && instance == "192.0.2.2" {
				return "INVALID_CHANGE_BATCH"
			}
			return ""
		})
		_, err := w.Run(set("a", "A", "192.0.2.1,192.0.2.2"), set("b", "A", "192.0.2.3"))
		if err == nil || !strings.Contains(err.Error(), "INVALID_CHANGE_BATCH") {
			t.Errorf("%v", err)
		}
		w.heard("INVALID_CHANGE_BATCH")
		w.expect("b MULTIVALUE A=300 [192.0.2.3 IPV4=192.0.2.3] MINE")
		failing := 1
		w.server.SetOperation(func(kind, _ string) string {
			if failing--; failing >= 0 {
				return "THROTTLED_REQUEST"
			}
			return ""
		})
		w.settle(set("a", "A", "192.0.2.1,192.0.2.2"), set("b", "A", "192.0.2.3"))
		w.expect("a MULTIVALUE A=300 [192.0.2.1 IPV4=192.0.2.1] [192.0.2.2 IPV4=192.0.2.2] MINE", "b MULTIVALUE A=300 [192.0.2.3 IPV4=192.0.2.3] MINE")
		w.server.SetOperation(func(string, string) string { return "ACCESS_DENIED" })
		if _, err := w.Run(set("a", "A", "192.0.2.1"), set("b", "A", "192.0.2.3")); err == nil || !strings.Contains(err.Error(), "rights") {
			t.Errorf("%v", err)
		}
	})
}

// Requests that are too many are made in the same run, whatever they are (SD10 of spec/clouds.md).
func TestThrottling(t *testing.T) {
	for _, fault := range []*cloudmaptest.Fault{cloudmaptest.Throttled, cloudmaptest.LimitExceeded} {
		for _, action := range []string{"CreateService", "RegisterInstance", "GetOperation", "ListServices", "ListInstances", "DiscoverInstancesRevision", "UpdateService"} {
			t.Run(fault.Code+" "+action, func(t *testing.T) {
				withFixture(t, func(w *fixture) {
					n := 0
					w.server.SetHooks(cloudmaptest.Hooks{Before: func(c cloudmaptest.Call) *cloudmaptest.Fault {
						if c.Operation == action {
							if n++; n <= 4 {
								return fault
							}
						}
						return nil
					}})
					for _, ttl := range []int64{60, 120} {
						if _, err := w.Run(lasting(ttl, set("a", "A", "192.0.2.1,192.0.2.2"))); err != nil {
							t.Error(err)
						}
					}
					w.expect("a MULTIVALUE A=120 [192.0.2.1 IPV4=192.0.2.1] [192.0.2.2 IPV4=192.0.2.2] MINE")
				})
			})
		}
	}
}

// A name is in the longest public namespace, and in every private one that contains it. Namespaces of the
// type HTTP are never used (SD11 of spec/clouds.md).
func TestNamespaces(t *testing.T) {
	withFixture(t, func(w *fixture) {
		for _, n := range []cloudmaptest.Namespace{
			{ID: "ns-2", Name: "sub.shop.test", Type: cloudmaptest.Public},
			{ID: "ns-3", Name: zoneName, Type: cloudmaptest.Private},
			{ID: "ns-4", Name: zoneName, Type: cloudmaptest.HTTP},
			{ID: "ns-5", Name: "inner.shop.test", Type: cloudmaptest.Private},
		} {
			w.server.AddNamespace(n)
		}
		w.settle(set("a", "A", "192.0.2.1"), set("a.sub", "A", "192.0.2.2"), set("a.inner", "A", "192.0.2.3"))
		one, two, three := " MULTIVALUE A=300 [192.0.2.1 IPV4=192.0.2.1] MINE", " MULTIVALUE A=300 [192.0.2.2 IPV4=192.0.2.2] MINE", " MULTIVALUE A=300 [192.0.2.3 IPV4=192.0.2.3] MINE"
		w.expect("a"+one, "a.inner"+three)
		w.expectIn("ns-2", "a"+two)
		w.expectIn("ns-3", "a"+one, "a.sub"+two, "a.inner"+three)
		w.expectIn("ns-4")
		w.expectIn("ns-5", "a"+three)
		// What is in one of two namespaces of a name is completed in the other.
		w.server.Remove("ns-3", "a")
		w.arguments = []string{"--aws-zone-type=private"}
		requests := w.settle(set("a", "A", "192.0.2.1"), set("a.sub", "A", "192.0.2.2"), set("a.inner", "A", "192.0.2.3"))
		w.expect("a"+one, "a.inner"+three)
		w.expectIn("ns-3", "a"+one, "a.sub"+two, "a.inner"+three)
		if requests["ListNamespaces"] != 1 {
			t.Errorf("requests %v", requests)
		}
	})
}

// What ExternalDNS has made is ours as it is: nothing is written.
func TestMadeByExternalDNS(t *testing.T) {
	withFixture(t, func(w *fixture) {
		for _, s := range []cloudmaptest.Service{
			{Name: "a", Config: addresses(), Instances: map[string]map[string]string{"192.0.2.1": {attributeIPv4: "192.0.2.1"}, "192.0.2.2": {attributeIPv4: "192.0.2.2"}}},
			{Name: "c", Config: &cloudmaptest.DNSConfig{RoutingPolicy: "WEIGHTED", DNSRecords: []cloudmaptest.Record{{Type: "CNAME", TTL: 60}}}, Instances: map[string]map[string]string{"lb.example.net": {attributeCNAME: "lb.example.net"}}},
			{Name: "e", Config: &cloudmaptest.DNSConfig{RoutingPolicy: "WEIGHTED", DNSRecords: []cloudmaptest.Record{{Type: "A", TTL: 300}}}, Instances: map[string]map[string]string{balancer: {attributeAlias: balancer}}},
			{Name: "gone", Config: addresses()},
		} {
			s.Namespace, s.Description = "ns-1", mine
			w.server.Put(s)
		}
		wanted := []*dns.RecordSet{set("a", "A", "192.0.2.2,192.0.2.1"), lasting(60, set("c", "CNAME", "lb.example.net")), set("e", "CNAME", strings.ToUpper(balancer)+".")}
		if requests := w.publish(wanted...); writes(requests) > 0 {
			t.Errorf("requests %v", requests)
		}
		w.settle()
		w.expect("a MULTIVALUE A=300 MINE", "c WEIGHTED CNAME=60 MINE", "e WEIGHTED A=300 MINE", "gone MULTIVALUE A=300 MINE")
	})
}

// A change that was made, and whose answer was lost, is done; one that wasn't made is made. No
// service is created twice.
func TestLostAnswers(t *testing.T) {
	for _, action := range []string{"CreateService", "RegisterInstance", "DeregisterInstance", "UpdateService", "DeleteService", "GetOperation"} {
		for _, fault := range []*cloudmaptest.Fault{cloudmaptest.Failed, cloudmaptest.Lost} {
			for _, made := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s %s made %t", action, fault.Code, made), func(t *testing.T) {
					withFixture(t, func(w *fixture) {
						w.arguments = []string{"--aws-sd-service-cleanup"}
						fail := w.server.FailOnce
						if made {
							fail = w.server.LoseOnce
						}
						failed := fail(fault, func(c cloudmaptest.Call) bool { return c.Operation == action })
						w.settle(set("a", "A", "192.0.2.1"))
						w.settle(lasting(60, set("a", "A", "192.0.2.2")))
						w.settle(set("a", "CNAME", "lb.example.net"))
						w.expect("a WEIGHTED CNAME=300 [lb.example.net CNAME=lb.example.net] MINE")
						w.settle()
						w.expect()
						if !failed() {
							t.Error("nothing failed")
						}
					})
				})
			}
		}
	}
}

// A process that lists again after its own changes sees them, however late Cloud Map shows them,
// and makes each once.
func TestListingsBehind(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.server.SetLag(5 * time.Second)
		w.server.SetRevisionLag(5 * time.Second)
		w.arguments = []string{"--aws-sd-service-cleanup"}
		w.Provider = w.open()
		for _, step := range []*dns.RecordSet{set("a", "A", "192.0.2.1"), set("a", "A", "192.0.2.2"), set("a", "CNAME", "lb.example.net"), set("a", "A", "192.0.2.2")} {
			w.settle(step)
		}
		w.settle()
		w.expect()
	})
}

// A listing asks only for the instances of services that have changed.
func TestRevisions(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.Provider = w.open()
		var wanted []*dns.RecordSet
		for i := range 120 {
			wanted = append(wanted, set(fmt.Sprint("n", i), "A", "192.0.2.1"))
		}
		w.publish(wanted...)
		time.Sleep(lag)
		w.publish(wanted...)
		requests := w.publish(wanted...)
		if requests["ListServices"] != 2 || requests["DiscoverInstancesRevision"] != 120 || requests["ListInstances"] != 0 || writes(requests) != 0 {
			t.Errorf("an idle listing has %v", requests)
		}
		w.server.Put(cloudmaptest.Service{Namespace: "ns-1", Name: "n7", Description: mine, Config: addresses(), Instances: address("203.0.113.1")})
		requests = w.publish(wanted...)
		if requests["ListInstances"] != 2 || requests["RegisterInstance"] != 1 {
			t.Errorf("after a change by hand: %v", requests)
		}
		w.server.Deny("DiscoverInstancesRevision", "")
		requests = w.publish(wanted...)
		if requests["ListInstances"] != 120 || requests["DiscoverInstancesRevision"] > maxReaders {
			t.Errorf("without the right to ask for revisions: %v", requests)
		}
	})
}

// A right that is missing is named, and a wrong key is one request.
func TestRights(t *testing.T) {
	for _, action := range []string{"ListServices", "CreateService", "RegisterInstance"} {
		withFixture(t, func(w *fixture) {
			w.server.Deny(action, "")
			if _, err := w.Run(set("a", "A", "192.0.2.1")); err == nil || !strings.Contains(err.Error(), "allow the action servicediscovery:"+action) {
				t.Errorf("%s: %v", action, err)
			}
			w.server.Permit(action, "")
			w.settle(set("a", "A", "192.0.2.1"))
		})
	}
	// What became of an operation also shows in the service.
	withFixture(t, func(w *fixture) {
		w.server.Deny("GetOperation", "")
		w.settle(set("a", "A", "192.0.2.1"))
		w.expect("a MULTIVALUE A=300 [192.0.2.1 IPV4=192.0.2.1] MINE")
	})
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAOTHER")
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		p := w.open()
		if _, err := p.Zones(w.T.Context()); !errors.Is(err, provider.ErrCredentials) || strings.Contains(err.Error(), "secret") || len(w.server.Calls()) > 0 {
			t.Errorf("%v", err)
		}
	})
}

// In a dry run, the transport refuses what Apply would change.
func TestDryRun(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.DryRun = true
		p := w.open()
		zones, err := p.Zones(w.T.Context())
		if err != nil || len(zones) == 0 {
			t.Fatalf("zones %v, %v", zones, err)
		}
		w.server.Calls()
		if err := p.Apply(w.T.Context(), zones[0], []dns.Change{{New: set("a", "A", "192.0.2.1")}}); !errors.Is(err, provider.ErrDryRun) {
			t.Errorf("Apply: %v", err)
		}
		w.expect()
	})
}

// A dry run changes nothing; and the other policies.
func TestPolicies(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.DryRun = true
		w.settle(set("a", "A", "192.0.2.1"))
		w.expect()
		w.DryRun = false
		w.settle(set("a", "A", "192.0.2.1"), set("b", "A", "192.0.2.1"))
		w.Policy = plan.UpsertOnly
		w.settle(set("a", "A", "192.0.2.2"))
		w.Policy = plan.CreateOnly
		w.settle(set("a", "A", "192.0.2.3"), set("c", "A", "192.0.2.1"))
		w.expect("a MULTIVALUE A=300 [192.0.2.2 IPV4=192.0.2.2] MINE", "b MULTIVALUE A=300 [192.0.2.1 IPV4=192.0.2.1] MINE", "c MULTIVALUE A=300 [192.0.2.1 IPV4=192.0.2.1] MINE")
	})
}

// One name that is refused keeps no other waiting, and a namespace that is full says so.
func TestQuota(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.settle(set("a", "A", "192.0.2.1"), set("b", "A", "192.0.2.3"))
		w.server.SetQuota(4)
		_, err := w.Run(set("a", "A", "192.0.2.1"), set("b", "A", "192.0.2.3"), set("c", "A", "192.0.2.4,192.0.2.5,192.0.2.6,192.0.2.7"))
		if err == nil || !strings.Contains(err.Error(), "quota") {
			t.Errorf("%v", err)
		}
		w.expect("a MULTIVALUE A=300 [192.0.2.1 IPV4=192.0.2.1] MINE", "b MULTIVALUE A=300 [192.0.2.3 IPV4=192.0.2.3] MINE")
		// In a namespace that is full, the old instance goes before the new one comes.
		w.server.SetQuota(2)
		w.settle(set("a", "A", "192.0.2.1"), set("b", "A", "192.0.2.4"))
		w.expect("a MULTIVALUE A=300 [192.0.2.1 IPV4=192.0.2.1] MINE", "b MULTIVALUE A=300 [192.0.2.4 IPV4=192.0.2.4] MINE")
	})
}

// Without an owner, what has a description may be changed, and services get one.
func TestNoop(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.owner.OwnerID = ""
		w.server.Put(cloudmaptest.Service{Namespace: "ns-1", Name: "b", Description: "anything", Config: addresses(), Instances: address("203.0.113.1")})
		w.settle(set("a", "A", "192.0.2.1"), set("b", "A", "192.0.2.1"))
		text := unownedDescription + ",external-dns/resource=service/default/web"
		w.expect("a MULTIVALUE A=300 [192.0.2.1 IPV4=192.0.2.1] "+text, "b MULTIVALUE A=300 [192.0.2.1 IPV4=192.0.2.1] "+text)
		w.settle()
		w.expect("a MULTIVALUE A=300 "+text, "b MULTIVALUE A=300 "+text)
	})
}

// Services get the tags of the flag when they are created.
func TestTags(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.arguments = []string{"--aws-sd-create-tag=team=web", "--aws-sd-create-tag=env="}
		w.settle(set("a", "A", "192.0.2.1"))
		if tags := w.server.Services("ns-1")["a"].Tags; len(tags) != 2 || tags["team"] != "web" {
			t.Errorf("tags %v", tags)
		}
	})
}

// A namespace that is deleted while it is used is missed at once.
func TestNamespaceDeleted(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.CheckZoneDeleted(set("a", "A", "192.0.2.1"), func() { w.server.DeleteNamespace("ns-1") })
	})
}

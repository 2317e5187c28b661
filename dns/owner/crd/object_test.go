package crd

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/api/externaldns"
	"github.com/signpostd/signpost/dns"
)

func TestObjectName(t *testing.T) {
	long := strings.Repeat("a.", 126) + "a"
	for _, c := range []struct {
		name string
		key  dns.Key
		want string // without the hash
	}{
		{"case 94: dots become hyphens", dns.Key{Name: "sub.example.io", Type: "A"}, "sub-example-io"},
		{"case 94: another name, the same base", dns.Key{Name: "sub-example.io", Type: "A"}, "sub-example-io"},
		{"case 94: another type", dns.Key{Name: "sub.example.io", Type: "AAAA"}, "sub-example-io"},
		{"case 94: another set identifier", dns.Key{Name: "sub.example.io", Type: "A", SetIdentifier: "s1"}, "sub-example-io"},
		{"a wildcard", dns.Key{Name: "*.example.io", Type: "A"}, "example-io"},
		{"runs are one hyphen", dns.Key{Name: "_a._b.example.io", Type: "SRV"}, "a-b-example-io"},
		{"case 94: no valid characters", dns.Key{Name: "*._", Type: "A"}, "record"},
		{"a long name", dns.Key{Name: long, Type: "A"}, strings.ReplaceAll(long, ".", "-")[:244]},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ObjectName(c.key)
			if base := got[:len(got)-9]; base != c.want || got[len(got)-9] != '-' {
				t.Errorf("ObjectName = %s, want %s-XXXXXXXX", got, c.want)
			}
			if problems := validation.IsDNS1123Subdomain(got); problems != nil {
				t.Errorf("%s is not a name: %v", got, problems)
			}
			if again := ObjectName(c.key); again != got {
				t.Errorf("%s and then %s", got, again)
			}
		})
	}
	seen := map[string]dns.Key{}
	for _, key := range []dns.Key{
		{Name: "sub.example.io", Type: "A"},
		{Name: "sub-example.io", Type: "A"},
		{Name: "sub.example.io", Type: "AAAA"},
		{Name: "sub.example.io", Type: "A", SetIdentifier: "s1"},
		{Name: "sub.example.io", Type: "A", SetIdentifier: "s2"},
	} {
		name := ObjectName(key)
		if other, twice := seen[name]; twice {
			t.Errorf("%s is for %v and for %v", name, other, key)
		}
		seen[name] = key
	}
	// The first bytes of: printf sub.example.io/A/ | sha256sum
	if got, want := ObjectName(dns.Key{Name: "sub.example.io", Type: "A"}), "sub-example-io-0df74740"; got != want {
		t.Errorf("ObjectName = %s, want %s", got, want)
	}
}

func TestNewRefusesOwners(t *testing.T) {
	for _, c := range []struct{ id, old, want string }{
		{"", "", "is empty"},
		{"my owner", "", `--txt-owner-id "my owner": --registry=crd keeps it as the value of a label`},
		{strings.Repeat("a", 64), "", "--txt-owner-id"},
		{"me", "the/old", `--migrate-from-txt-owner "the/old": --registry=crd`},
	} {
		_, err := New(Options{Config: &rest.Config{}, ID: c.id, OldOwner: c.old})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("New with owners %q, %q: %v, want an error with %q", c.id, c.old, err, c.want)
		}
	}
}

// All that an object can say about a listed record.
func TestOwns(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	listed := &dns.RecordSet{Name: "a.example.com", Type: "A", Targets: []string{"192.0.2.1"}, TTL: 300}
	other := &dns.RecordSet{Name: "a.example.com", Type: "A", Targets: []string{"192.0.2.2"}, TTL: 300}
	object := func(owned metav1.ConditionStatus, reason string) *externaldns.DNSRecord {
		object := newObject(&dns.RecordSet{Name: "a.example.com", Type: "A", Targets: []string{"192.0.2.1"}}, "me")
		setConditions(object, finding{owned: owned, reason: reason}, now)
		return object
	}
	theirs := object(metav1.ConditionTrue, externaldns.ReasonAccepted)
	theirs.Status.Conditions = theirs.Status.Conditions[:1]
	for _, c := range []struct {
		name                     string
		object                   *externaldns.DNSRecord
		equal, different, anHour bool
		voidInAnHour             bool
	}{
		{name: "programmed", object: object(metav1.ConditionTrue, externaldns.ReasonProgrammed), equal: true, different: true, anHour: true},
		{name: "an update under way", object: object(metav1.ConditionTrue, externaldns.ReasonAccepted), equal: true, different: true, anHour: true},
		{name: "an update failed", object: object(metav1.ConditionTrue, externaldns.ReasonFailed), equal: true, different: true, anHour: true},
		{name: "a creation under way", object: object(metav1.ConditionUnknown, externaldns.ReasonAccepted), equal: true, voidInAnHour: true},
		{name: "a creation failed", object: object(metav1.ConditionFalse, externaldns.ReasonFailed), voidInAnHour: true},
		{name: "case 95: accepted, by ExternalDNS", object: theirs},
		{name: "no conditions", object: newObject(listed, "me")},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEntry(c.object)
			if got := e.owns(listed, now); got != c.equal {
				t.Errorf("owns what was written: %t, want %t", got, c.equal)
			}
			if got := e.owns(other, now); got != c.different {
				t.Errorf("owns something else: %t, want %t", got, c.different)
			}
			later := now.Add(abandonedAfter)
			if got := e.owns(listed, later); got != c.anHour {
				t.Errorf("owns what was written an hour ago: %t, want %t", got, c.anHour)
			}
			if e.abandoned(now) || e.abandoned(later) != c.voidInAnHour {
				t.Errorf("void: %t, later %t, want false, later %t", e.abandoned(now), e.abandoned(later), c.voidInAnHour)
			}
		})
	}
}

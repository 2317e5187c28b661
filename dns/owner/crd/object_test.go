package crd

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/api/externaldns"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner/claims"
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

// All that an object can say about its record.
func TestClaims(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := &dns.RecordSet{Name: "a.example.com", Type: "A", Targets: []string{"192.0.2.1"}, TTL: 300, Properties: []dns.Property{{Name: "alias", Value: "true"}}}
	labels := map[string]string{dns.LabelOwner: "me", dns.LabelResource: "service/default/a"}
	base := claims.Claim{Key: r.Key(), Set: r, Labels: labels, Handle: handle{name: "a"}}
	with := func(change func(c *claims.Claim)) claims.Claim {
		c := base
		change(&c)
		return c
	}
	for name, c := range map[string]claims.Claim{
		"confirmed":          with(func(c *claims.Claim) { c.State, c.Progress, c.Seen = claims.Confirmed, claims.Done, claims.PrintOf(r) }),
		"an update underway": with(func(c *claims.Claim) { c.State = claims.Confirmed }),
		"an update failed":   with(func(c *claims.Claim) { c.State, c.Progress, c.Problem = claims.Confirmed, claims.Failed, "no" }),
		"intended":           with(func(c *claims.Claim) { c.Prints = []claims.Print{"aa", "bb"} }),
		"nothing is ours":    with(func(c *claims.Claim) { c.Progress, c.Problem = claims.Failed, "no" }),
		"refuted":            with(func(c *claims.Claim) { c.State, c.Progress, c.Problem = claims.Refuted, claims.Failed, "no" }),
	} {
		t.Run(name, func(t *testing.T) {
			object := &externaldns.DNSRecord{}
			object.Name = "a"
			if !fill(object, &c) || !setReady(object, &c, now) {
				t.Error("the object of a claim is that of nothing")
			}
			if fill(object, &c) || setReady(object, &c, now) {
				t.Error("the same claim changes its object")
			}
			if diff := cmp.Diff(&c, claimOf(object), cmp.AllowUnexported(handle{}), cmpopts.IgnoreUnexported(claims.Claim{}), cmpopts.IgnoreUnexported(dns.RecordSet{})); diff != "" {
				t.Errorf("claim of the object (-want +got):\n%s", diff)
			}
		})
	}
	// case 95: what ExternalDNS has accepted, or has failed to make, isn't there.
	theirs := &externaldns.DNSRecord{}
	fill(theirs, &base)
	delete(theirs.Annotations, AnnotationClaim)
	for _, progress := range []claims.Progress{claims.Underway, claims.Failed} {
		setReady(theirs, &claims.Claim{Progress: progress}, now)
		if c := claimOf(theirs); c.State != claims.Refuted {
			t.Errorf("progress %d of ExternalDNS: state %d, want that it claims nothing", progress, c.State)
		}
	}
}

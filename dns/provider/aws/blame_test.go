package aws

import (
	"errors"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// Messages of Route 53 blame the names in them, for what they say of each.
func TestBlame(t *testing.T) {
	z := &hostedZone{mapping: mapping{Zone: dns.Zone{ID: "/hostedzone/Z1", Name: zoneName}}}
	ownership := set("a-www.shop.test", "TXT", `"heritage=external-dns"`)
	ownership.Labels = map[string]string{dns.LabelOwnedRecord: "www.shop.test"}
	changes := []dns.Change{
		{New: set("www.shop.test", "A", "192.0.2.1")},
		{New: ownership},
		{New: set("*.shop.test", "A", "192.0.2.1")},
		{New: set("alias.shop.test", "A", "target.shop.test", "alias=true")},
		{New: set("target.shop.test", "AAAA", "2001:db8::1")},
		{New: set("good.shop.test", "A", "192.0.2.1")},
	}
	for name, test := range map[string]struct {
		messages []string
		stale    string
		rejected string
	}{
		"exists":                      {[]string{"[Tried to create resource record set [name='www.shop.test.', type='A'] but it already exists]"}, "www.shop.test", ""},
		"the ownership record exists": {[]string{"[Tried to create resource record set [name='a-www.shop.test.', type='TXT'] but it already exists]"}, "www.shop.test", ""},
		"gone":                        {[]string{`[Tried to delete resource record set [name='\052.shop.test.', type='A', set identifier='x'] but it was not found]`}, "*.shop.test", ""},
		"several in a list":           {[]string{"[Tried to delete resource record set [name='www.shop.test.', type='A'] but the values provided do not match the current values, RRSet of type CNAME with DNS name good.shop.test. is not permitted as it conflicts with other records with the same DNS name in zone shop.test.]"}, "www.shop.test", "good.shop.test"},
		"several messages":            {[]string{"Tried to create resource record set [name='www.shop.test.', type='A'] but it already exists", "RRSet with DNS name \\052.shop.test. is not permitted in zone shop.test."}, "www.shop.test", "*.shop.test"},
		"target of an alias":          {[]string{"[Tried to create an alias that targets target.shop.test., type A in zone Z1, but that target was not found]"}, "", "alias.shop.test"},
		"duplicate":                   {[]string{"[The request contains an invalid set of changes for a resource record set 'A www.shop.test.']"}, "", "www.shop.test"},
		"nobody":                      {[]string{"[Invalid Resource Record: 'FATAL problem: ARRDATAIllegalIPv4Address (Value is not a valid IPv4 address) encountered with '192.0.2.1'']"}, "", ""},
		"a name that isn't one":       {[]string{"[Tried to create resource record set [name='www.shop.test.evil.', type='A'] but it already exists]"}, "", ""},
		"nothing":                     {nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			all := z.Units(z.mapping, changes, otherPolicies(nil), func(string) error { return nil })
			for _, u := range all {
				if u.Err != nil {
					t.Fatal(u.Err)
				}
			}
			rest := blame(all, &invalidBatch{messages: test.messages})
			var stale, rejected []string
			for _, u := range all {
				switch {
				case errors.Is(u.Err, provider.ErrStale):
					stale = append(stale, u.Subject)
				case errors.Is(u.Err, provider.ErrRejected):
					rejected = append(rejected, u.Subject)
				}
			}
			if strings.Join(stale, " ") != test.stale || strings.Join(rejected, " ") != test.rejected || len(rest)+len(stale)+len(rejected) != len(all) {
				t.Errorf("stale %v, rejected %v, %d others; want %s and %s", stale, rejected, len(rest), test.stale, test.rejected)
			}
		})
	}
}

func FuzzBlame(f *testing.F) {
	f.Add("[Tried to create resource record set [name='www.shop.test.', type='A'] but it already exists, RRSet with DNS name x. is]")
	z := &hostedZone{mapping: mapping{Zone: dns.Zone{ID: "Z1", Name: zoneName}}}
	f.Fuzz(func(t *testing.T, message string) {
		all := z.Units(z.mapping, []dns.Change{{New: set("www.shop.test", "A", "192.0.2.1")}}, otherPolicies(nil), func(string) error { return nil })
		blame(all, &invalidBatch{messages: []string{message}})
	})
}

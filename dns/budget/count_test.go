package budget

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
)

// changesOf reads changes: "-www A 192.0.2.1" deletes, "+www A 192.0.2.1" creates, and
// "www A 192.0.2.1 > 192.0.2.2" updates.
func changesOf(t *testing.T, lines ...string) []dns.Change {
	t.Helper()
	var changes []dns.Change
	for _, line := range lines {
		switch before, after, _ := strings.Cut(line, " > "); line[0] {
		case '-':
			changes = append(changes, dns.Change{Old: parse(t, line[1:])})
		case '+':
			changes = append(changes, dns.Change{New: parse(t, line[1:])})
		default:
			old := parse(t, before)
			new := old.Clone()
			new.Targets = strings.Split(after, ",")
			changes = append(changes, dns.Change{Old: old, New: new})
		}
	}
	return changes
}

// A record set is replaced only by one with its set identifier (D9).
func TestLosses(t *testing.T) {
	for name, test := range map[string]struct {
		changes []string
		lost    []string // "type/identifier"
	}{
		"nothing":                             {},
		"a creation":                          {changes: []string{"+a A 192.0.2.1"}},
		"a deletion":                          {[]string{"-a A 192.0.2.1"}, []string{"A/"}},
		"two types":                           {[]string{"-a A 192.0.2.1", "-a AAAA 2001:db8::1"}, []string{"A/", "AAAA/"}},
		"another type":                        {changes: []string{"-a A 192.0.2.1", "+a CNAME b.shop.test"}},
		"one type for two":                    {changes: []string{"-a A 192.0.2.1", "-a AAAA 2001:db8::1", "+a CNAME b.shop.test"}},
		"another type with the identifier":    {changes: []string{"-a A/x 192.0.2.1", "+a CNAME/x b.shop.test"}},
		"another identifier":                  {[]string{"-a A/x 192.0.2.1", "+a A/y 192.0.2.1"}, []string{"A/x"}},
		"three of which one is replaced":      {[]string{"-a A/x 192.0.2.1", "-a A/y 192.0.2.2", "-a A/z 192.0.2.3", "+a CNAME/y b.shop.test"}, []string{"A/x", "A/z"}},
		"plain gets an identifier":            {changes: []string{"-a A 192.0.2.1", "+a A/x 192.0.2.1", "+a A/y 192.0.2.2"}},
		"an identifier goes":                  {changes: []string{"-a A/x 192.0.2.1", "-a AAAA/x 2001:db8::1", "+a CNAME b.shop.test"}},
		"one plain for three identified":      {[]string{"-a A/x 192.0.2.1", "-a A/y 192.0.2.2", "-a A/z 192.0.2.3", "+a A 192.0.2.1"}, []string{"A/y", "A/z"}},
		"a plain one that had its own before": {[]string{"-a A 192.0.2.1", "-a A/x 192.0.2.1", "+a CNAME b.shop.test"}, []string{"A/x"}},
		"an update is none":                   {changes: []string{"a A 192.0.2.1 > 192.0.2.2"}},
	} {
		t.Run(name, func(t *testing.T) {
			var lost []string
			for _, c := range Losses(changesOf(t, test.changes...)) {
				lost = append(lost, c.Old.Type+"/"+c.Old.SetIdentifier)
			}
			if !slices.Equal(lost, test.lost) {
				t.Errorf("lost %q, want %q", lost, test.lost)
			}
		})
	}
}

// Changes that can't be made while a deletion waits are left out.
func TestWithout(t *testing.T) {
	for name, test := range map[string]struct {
		changes []string
		waiting string
		want    []string
	}{
		"another type":                 {[]string{"-a A 192.0.2.1", "+a AAAA 2001:db8::1"}, "-a A 192.0.2.1", []string{"+a AAAA 2001:db8::1"}},
		"a CNAME":                      {changes: []string{"-a A/x 192.0.2.1", "-a A/y 192.0.2.2", "+a CNAME/x b.shop.test"}, waiting: "-a A/y 192.0.2.2"},
		"one without an identifier":    {changes: []string{"-a A/x 192.0.2.1", "-a A/y 192.0.2.2", "+a A 192.0.2.1"}, waiting: "-a A/y 192.0.2.2"},
		"one with another identifier":  {[]string{"-a A/x 192.0.2.1", "-a A/y 192.0.2.2", "+a A/z 192.0.2.1"}, "-a A/y 192.0.2.2", []string{"-a A/x 192.0.2.1", "+a A/z 192.0.2.1"}},
		"an address beside a CNAME":    {changes: []string{"-a CNAME/x b.shop.test", "-a CNAME/y c.shop.test", "+a A/x 192.0.2.1"}, waiting: "-a CNAME/y c.shop.test"},
		"an update beside a new CNAME": {[]string{"-a A/x 192.0.2.1", "a TXT/x b > c", "+a CNAME/x b.shop.test"}, "-a A/x 192.0.2.1", []string{"a TXT/x b > c"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Without(changesOf(t, test.changes...), changesOf(t, test.waiting))
			if want := changesOf(t, test.want...); !reflect.DeepEqual(got, want) {
				t.Errorf("%v are left, want %v", got, want)
			}
		})
	}
}

func TestRemovesTargets(t *testing.T) {
	for change, want := range map[string]bool{
		"a A 192.0.2.1 > 192.0.2.2":                  true,
		"a A 192.0.2.1,192.0.2.2 > 192.0.2.2":        true,
		"a A 192.0.2.1 > 192.0.2.2,192.0.2.1":        false,
		"a A 192.0.2.1 > 192.0.2.1":                  false,
		"a AAAA 2001:db8::1 > 2001:DB8:0::1":         false,
		"a AAAA 2001:db8::1 > 2001:db8::2,2001::db8": true,
		"a CNAME b.Shop.test > B.shop.test":          false,
		"+a A 192.0.2.1":                             false,
		"-a A 192.0.2.1":                             false,
	} {
		if got := removesTargets(changesOf(t, change)[0]); got != want {
			t.Errorf("%s: %v, want %v", change, got, want)
		}
	}
	old := parse(t, "a A 192.0.2.1")
	new := old.Clone()
	new.TTL, new.Properties = 60, []dns.Property{{Name: "weight", Value: "0"}}
	if removesTargets(dns.Change{Old: old, New: new}) {
		t.Error("another TTL or property counts")
	}
}

// The digest of a change doesn't depend on the order of targets, and differs from those of other
// changes.
func TestDigest(t *testing.T) {
	same := changesOf(t, "a A 192.0.2.8,192.0.2.9 > 192.0.2.1,192.0.2.2", "A A 192.0.2.9,192.0.2.8 > 192.0.2.2,192.0.2.1")
	if digestOf(same[0]) != digestOf(same[1]) {
		t.Errorf("%q and %q differ", line(same[0]), line(same[1]))
	}
	seen := map[digest]string{}
	for _, c := range changesOf(t, "a A 192.0.2.9 > 192.0.2.1", "a A/x 192.0.2.9 > 192.0.2.1", "b A 192.0.2.9 > 192.0.2.1", "a A 192.0.2.9 > 192.0.2.2", "a A 192.0.2.8 > 192.0.2.1",
		"-a A 192.0.2.1", "-a A 192.0.2.2", "-a AAAA 192.0.2.1", "-a A/x 192.0.2.1", "-b A 192.0.2.1") {
		if other, known := seen[digestOf(c)]; known {
			t.Errorf("%q is taken for %q", line(c), other)
		}
		seen[digestOf(c)] = line(c)
	}
}

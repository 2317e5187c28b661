package dns_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
)

func TestTargetFilter(t *testing.T) {
	tests := map[string]struct {
		include, exclude []string
		yes, no          string
		// problems are the flags with a bad value.
		problems []string
	}{
		"none": {yes: "10.1.2.3 lb.example.org"},
		"case 117: include": {
			include: []string{"10.0.0.0/8"}, yes: "10.1.2.3 ::ffff:10.1.2.3", no: "1.2.3.4 lb.example.org ::1",
		},
		"case 117: exclude": {exclude: []string{"10.0.0.0/8"}, yes: "1.2.3.4 lb.example.org ::1", no: "10.1.2.3"},
		"case 117: IPv6":    {include: []string{"2001::/16"}, yes: "2001:db8::1", no: "fe80::1 10.0.0.1"},
		"case 117: no network": {
			include: []string{"10.0.0.0/80", "10.0.0.0/8"}, exclude: []string{"x"}, yes: "10.1.2.3", no: "1.2.3.4",
			problems: []string{"--target-net-filter 10.0.0.0/80", "--exclude-target-net x"},
		},
		"case 117: only that":   {include: []string{"x"}, yes: "1.2.3.4", problems: []string{"--target-net-filter x"}},
		"both":                  {include: []string{"10.0.0.0/8"}, exclude: []string{"10.9.0.0/16"}, yes: "10.1.2.3", no: "10.9.0.1 lb.example.org"},
		"one address":           {include: []string{"10.20.30.4", "fe80::1%eth0"}, yes: "10.20.30.4 fe80::1", no: "10.20.30.5"},
		"IPv4 written as IPv6":  {include: []string{"::ffff:10.0.0.0/104", "::ffff:1.2.3.4"}, yes: "10.1.2.3 1.2.3.4", no: "1.2.3.5"},
		"bits after the prefix": {include: []string{"10.1.2.3/8"}, yes: "10.200.0.1", no: "11.1.2.3"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f, problems := dns.NewTargetFilter(test.include, test.exclude)
			var got []string
			for _, p := range problems {
				if !strings.Contains(p.Reason, "not a network") {
					t.Errorf("the reason is %q", p.Reason)
				}
				got = append(got, p.Subject+" "+p.Value)
			}
			if !slices.Equal(got, test.problems) {
				t.Errorf("the problems are %q, want %q", got, test.problems)
			}
			yes, no := strings.Fields(test.yes), strings.Fields(test.no)
			if f.Configured() != (len(no) > 0) {
				t.Errorf("Configured is %v", f.Configured())
			}
			all := slices.Concat(yes, no)
			if kept := f.Keep(slices.Clone(all)); !slices.Equal(kept, yes) {
				t.Errorf("keeps %q of %q, want %q", kept, all, yes)
			}
		})
	}
	var none *dns.TargetFilter
	if !none.Match("x") || none.Configured() {
		t.Error("a nil filter filters")
	}
}

package traefikproxy

import (
	"slices"
	"strings"
	"testing"
)

func TestHostsOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		rule  string
		want  string
		fault string
	}{
		{"", "", ""},
		{"Host(`a.example.org`)", "a.example.org", ""},
		{"Host(`a.example.org`, `b.example.org`)", "a.example.org b.example.org", ""},
		{"Host ( `a.example.org` , `b.example.org` , )", "a.example.org b.example.org", ""},
		{"Host(`a.example.org`) && PathPrefix(`/x`) || Host(`b.example.org`)", "a.example.org b.example.org", ""},
		{"(Host(`a.example.org`) || Host(`b.example.org`)) && (Method(`GET`) && Headers(`X`, `c.example.org`))", "a.example.org b.example.org", ""},
		{"HostSNI(`a.example.org`)", "a.example.org", ""},
		{"HostHeader(`a.example.org`)", "a.example.org", ""},
		{"host(`a.example.org`) || HOST(`b.example.org`) || hostsni(`c.example.org`)", "a.example.org b.example.org c.example.org", ""},
		{`Host("a.example.org") || Host("b\x2eexample.org")`, "a.example.org b.example.org", ""},
		{"HostSNI(`*`)", "", ""},
		{"Host(`*.example.org`) || Host(`**.example.net`)", "*.example.org *.example.net", ""},
		{"HostRegexp(`^a\\.example\\.org$`) || HostSNIRegexp(`.*`) || Path(`/Host(a)`) || ClientIP(`192.0.2.1`)", "", ""},
		{"Path(`Host(\"no.example.org\")`) && Host(`a.example.org`)", "a.example.org", ""},
		{"!Host(`a.example.org`)", "", ""},
		{"! Host(`a.example.org`) && Host(`b.example.org`)", "b.example.org", ""},
		{"!!Host(`a.example.org`)", "a.example.org", ""},
		{"!(Host(`a.example.org`) || Host(`b.example.org`)) && Host(`c.example.org`)", "c.example.org", ""},
		{"!(Host(`a.example.org`) && !Host(`b.example.org`))", "b.example.org", ""},
		{"Host(`a.example.org`)\n\t&& !Path(`/x`)\n\t&& Host(`b.example.org`)", "a.example.org b.example.org", ""},
		{"Host(` a.example.org `) || Host(``)", "a.example.org", ""},
		{"Host(`a.example.org`", "a.example.org", "isn't closed"},
		{"Host(`a.example.org`))", "a.example.org", "isn't open"},
		{"Host(`a.example.org`) && Host(`b.example.org)", "a.example.org", "a quotation mark isn't closed"},
		{`Host("a.example.org`, "", "a quotation mark isn't closed"},
		{`Host("\q") && Host("a.example.org")`, "", "escape"},
		{"Host('a.example.org') || Host(`b.example.org`)", "b.example.org", "outside of quotes"},
		{"Host(a.example.org)", "", "outside of quotes"},
		{"Host:a.example.org", "", "outside of quotes"},
		{"Hóst(`a.example.org`)", "", "outside of quotes"},
		{"Host(`a.example.org`)" + strings.Repeat(" ", ruleLimit), "", "longer than 65536 bytes"},
	}
	for _, test := range tests {
		hosts, fault := hostsOf(test.rule)
		if got := strings.Join(hosts, " "); got != test.want || (fault == "") != (test.fault == "") || !strings.Contains(fault, test.fault) {
			t.Errorf("%.80q: hosts %q, fault %q; want %q and %q", test.rule, got, fault, test.want, test.fault)
		}
	}
}

// TestLongestRules shows that each step of the scanner reads at least one byte of the rule, and none twice.
func TestLongestRules(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]string{
		"parentheses": strings.Repeat("(", ruleLimit),
		"exclamation": strings.Repeat("!", ruleLimit),
		"letters":     strings.Repeat("a", ruleLimit),
		"digits":      "a" + strings.Repeat("0", ruleLimit-1),
		"quotes":      strings.Repeat("`", ruleLimit),
		"values":      "Host(" + strings.Repeat("`a`,", (ruleLimit-5)/4),
		"backslashes": `Host("` + strings.Repeat(`\`, ruleLimit-6),
		"other bytes": strings.Repeat("\xff", ruleLimit),
	} {
		s := scanner{rest: rule}
		for s.rest != "" {
			before := len(s.rest)
			more := s.next()
			if more && len(s.rest) >= before || len(s.open) > len(rule)-len(s.rest) {
				t.Fatalf("%s: after a step %d bytes are left of %d, and %d parentheses are open", name, len(s.rest), before, len(s.open))
			}
			if !more {
				break
			}
		}
	}
}

func FuzzHostsOf(f *testing.F) {
	for _, rule := range []string{
		"Host(`a.example.org`) && !(PathPrefix(`/x`) || Host(`b`))", `HostSNI("a\"b", "c")`, "!(Host(`a`", "host(`*`)||host(`**.a`)", "Host(\"\\", "`", "Host\xc3(`a`)",
	} {
		f.Add(rule)
	}
	f.Fuzz(func(t *testing.T, rule string) {
		hosts, fault := hostsOf(rule)
		if slices.Contains(hosts, "") || slices.Contains(hosts, "*") {
			t.Errorf("%q: hosts %q", rule, hosts)
		}
		again, faultAgain := hostsOf(rule)
		if !slices.Equal(hosts, again) || fault != faultAgain {
			t.Errorf("%q: read twice, it gives %q and %q", rule, hosts, again)
		}
		if fault != "" || len(rule) > ruleLimit/4 {
			return
		}
		// A rule without a fault may be an operand. Its negation matches the names that it excludes, and its
		// double negation the same names.
		if part, _ := hostsOf("(" + rule + ") && Path(`/`)"); !slices.Equal(hosts, part) {
			t.Errorf("%q: as a part it gives %q, alone %q", rule, part, hosts)
		}
		if twice, _ := hostsOf("!(!(" + rule + "))"); !slices.Equal(hosts, twice) {
			t.Errorf("%q: negated twice it gives %q, alone %q", rule, twice, hosts)
		}
		negated, _ := hostsOf("!(" + rule + ")")
		if both := len(negated) + len(hosts); both > strings.Count(rule, "`")+strings.Count(rule, `"`) {
			t.Errorf("%q: %d names of so few values", rule, both)
		}
	})
}

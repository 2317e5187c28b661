package process

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/signpostd/signpost/internal/golden"
)

// TestScenarios plays all scenarios without an API server.
func TestScenarios(t *testing.T) {
	for _, s := range readScenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			happened := s.play(t)
			if golden.Update() {
				s.rewrite(t, happened)
			}
			s.compare(t, happened)
		})
	}
}

// elsewhere has the cases that no scenario has, and where they are tested. They are acceptance
// cases of spec/destination.md §9.1 to §9.6, and quirks of §12 about Get and GetProfile in one
// cluster.
var elsewhere = map[string]string{
	"G11": "TestClustersOnAPIServers; package destination's TestRemoteEndpoints",
	"Q8":  "package catalog's TestResolveAddresses",
	"E20": "the race detector, in all tests; package destination's TestModel",
}

// TestScenariosCoverTheSpec compares the cases that scenarios name at the beginning of their
// comments with those of the spec.
func TestScenariosCoverTheSpec(t *testing.T) {
	named := map[string]bool{}
	id := regexp.MustCompile(`\b[GCEWSPQ][0-9]+\b`)
	for _, s := range readScenarios(t) {
		title, _, _ := strings.Cut(string(s.archive.Comment), "  ")
		cases := id.FindAllString(title, -1)
		if strings.Join(cases, " ") != title || len(cases) == 0 {
			t.Errorf("%s: the comment begins with %q, want the names of cases and two spaces", s.name, title)
		}
		for _, c := range cases {
			named[c] = true
		}
	}
	var all []string
	for _, section := range []struct {
		letter string
		ids    []int
	}{{"G", upTo(16)}, {"C", upTo(3)}, {"E", upTo(22)}, {"W", upTo(17)}, {"S", upTo(16)}, {"P", upTo(25)}, {"Q", []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 22, 23, 24, 28, 33, 35, 36}}} {
		for _, n := range section.ids {
			all = append(all, fmt.Sprint(section.letter, n))
		}
	}
	for _, c := range all {
		if where := elsewhere[c]; named[c] == (where != "") {
			t.Errorf("case %s: in a scenario is %v, elsewhere is %q; want one of the two", c, named[c], where)
		}
	}
	for c := range named {
		if !slices.Contains(all, c) {
			t.Errorf("case %s, named in a scenario, is not in the spec", c)
		}
	}
}

func upTo(n int) []int {
	var all []int
	for i := 1; i <= n; i++ {
		all = append(all, i)
	}
	return all
}

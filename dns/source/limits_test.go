package source_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
)

// TestFindings shows that findings are limited in number and in bytes, and that a copy is independent.
func TestFindings(t *testing.T) {
	var kept source.Findings
	for i := range 7 {
		kept.Problem("field", fmt.Sprint(i), "wrong")
	}
	first, second := kept.Copy(), kept.Copy()
	for _, f := range []*source.Findings{first, second} {
		for range 100 {
			f.Problem("field", strings.Repeat("é", 100), "long")
			f.Skip(source.SkipNoTarget, strings.Repeat("a", 1000), "none")
		}
	}
	second.Problem("other", "", "more")
	for name, test := range map[string]struct {
		findings                *source.Findings
		problems, skips, length int
	}{"kept": {&kept, 7, 0, 1}, "copy": {first, 9, 9, 67}} {
		var result source.Result
		test.findings.Into(&result, dns.Object{Name: "shop"})
		if len(result.Problems) != test.problems || len(result.Skipped) != test.skips {
			t.Errorf("%s: %d problems and %d skips, want %d and %d", name, len(result.Problems), len(result.Skipped), test.problems, test.skips)
		}
		for _, p := range result.Problems {
			if p.Object.Name != "shop" || len(p.Value) > test.length {
				t.Errorf("%s: problem %+v", name, p)
			}
		}
	}
	if cut := source.Cut(&source.Findings{}, []int{1, 2, 3}, 2, "list"); len(cut) != 2 {
		t.Errorf("cut to %v", cut)
	}
	var short source.Findings
	source.Cut(&short, []int{1, 2}, 2, "list")
	var result source.Result
	short.Into(&result, dns.Object{})
	if len(result.Problems) != 0 {
		t.Errorf("a list that isn't too long is a problem: %+v", result.Problems)
	}
}

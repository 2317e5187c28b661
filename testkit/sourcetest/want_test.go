package sourcetest_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

// What a result has too much, too little or otherwise is a failure.
func TestWant(t *testing.T) {
	t.Parallel()
	skip := source.Skip{Reason: source.SkipNoTarget, Message: "wait for an address"}
	remark := source.Skip{Reason: source.SkipUnknownAnnotation, Message: "nothing reads it"}
	record := []*dns.RecordSet{{Name: "a.example.org"}}
	problem := []dns.Problem{{Subject: "spec", Reason: "too long"}}
	waits := func(t testing.TB, r source.Result) { sourcetest.WantSkip(t, r, source.SkipNoTarget, "address") }
	wrong := func(t testing.TB, r source.Result) { sourcetest.WantProblem(t, r, 1, "spec: too long") }
	tests := []struct {
		name string
		got  source.Result
		want func(testing.TB, source.Result)
		ok   bool
	}{
		{"the skip", source.Result{Skipped: []source.Skip{skip}}, waits, true},
		{"no skip", source.Result{}, waits, false},
		{"a remark more", source.Result{Skipped: []source.Skip{skip, remark}}, waits, false},
		{"another skip", source.Result{Skipped: []source.Skip{remark}}, waits, false},
		{"another message", source.Result{Skipped: []source.Skip{{Reason: source.SkipNoTarget, Message: "no"}}}, waits, false},
		{"a record beside", source.Result{Skipped: []source.Skip{skip}, Records: record}, waits, false},
		{"an error beside", source.Result{Skipped: []source.Skip{skip}, Err: errors.New("x")}, waits, false},
		{"the problem", source.Result{Records: record, Problems: problem}, wrong, true},
		{"no problem", source.Result{Records: record}, wrong, false},
		{"no record", source.Result{Problems: problem}, wrong, false},
		{"a long problem", source.Result{Records: record, Problems: append(problem, dns.Problem{Reason: strings.Repeat("x", 3000)})}, wrong, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			v := &verdict{TB: t}
			if test.want(v, test.got); (len(v.errs) == 0) != test.ok {
				t.Errorf("errors %q, want some: %t", v.errs, !test.ok)
			}
		})
	}
}

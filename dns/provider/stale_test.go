package provider

import (
	"errors"
	"slices"
	"testing"

	"github.com/signpostd/signpost/dns"
)

func TestApplyUnchanged(t *testing.T) {
	set := func(name, recordType string, targets ...string) *dns.RecordSet {
		return &dns.RecordSet{Name: name, Type: recordType, Targets: targets}
	}
	ownership := func(name, text string) *dns.RecordSet {
		r := set("a-"+name, "TXT", text)
		r.Labels = map[string]string{dns.LabelOwnedRecord: name}
		return r
	}
	lost := errors.New("connection lost")
	now := []*dns.RecordSet{
		set("www.test", "A", "192.0.2.1", "192.0.2.2"), set("note.test", "TXT", `"Note"`), set("hers.test", "A", "203.0.113.1"),
	}
	hers := []dns.Change{{New: set("hers.test", "A", "192.0.2.1")}, {New: ownership("hers.test", `"x"`)}}
	fine := dns.Change{New: set("new.test", "A", "192.0.2.1")}
	for name, tt := range map[string]struct {
		changes []dns.Change
		// answer is what apply returns, for sent changes.
		answer error
		sent   int
		stale  []bool
		want   error
	}{
		"as listed, in another order and case": {
			changes: []dns.Change{{Old: set("WWW.test.", "A", "192.0.2.2", "192.0.2.1")}, {Old: set("note.test", "TXT", `"Note"`)}, fine}, sent: 3,
		},
		"texts are compared by letters":            {changes: []dns.Change{{Old: set("note.test", "TXT", `"note"`)}, fine}, sent: 1, stale: []bool{true, false}},
		"an ownership record goes with its record": {changes: append(slices.Clone(hers), fine), sent: 1, stale: []bool{true, true, false}},
		"nothing is left":                          {changes: hers, stale: []bool{true, true}},
		"the rest fails":                           {changes: append(slices.Clone(hers), fine), answer: lost, sent: 1, want: lost},
		"each of the rest has an error":            {changes: append(slices.Clone(hers), fine), answer: &ApplyError{Errs: []error{ErrRejected}}, sent: 1, stale: []bool{true, true, false}, want: ErrRejected},
		"the rest has too many outcomes":           {changes: append(slices.Clone(hers), fine), answer: &ApplyError{Errs: []error{ErrRejected, nil, nil}}, sent: 1, want: errOutcomes},
		"another set identifier is another": {
			changes: []dns.Change{{Old: &dns.RecordSet{Name: "www.test", Type: "A", SetIdentifier: "b", Targets: []string{"192.0.2.1"}}}}, stale: []bool{true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			sent := 0
			err := ApplyUnchanged(tt.changes, now, func(rest []dns.Change) error {
				sent = len(rest)
				return tt.answer
			})
			if sent != tt.sent {
				t.Errorf("%d changes were made, want %d", sent, tt.sent)
			}
			if tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			var each *ApplyError
			if !errors.As(err, &each) {
				if tt.stale != nil || tt.want == nil && err != nil {
					t.Errorf("error %v", err)
				}
				return
			}
			var stale []bool
			for _, e := range each.Errs {
				stale = append(stale, errors.Is(e, ErrStale))
			}
			if !slices.Equal(stale, tt.stale) {
				t.Errorf("stale: %v, want %v: %v", stale, tt.stale, err)
			}
		})
	}
}

package owner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
)

// "case 88": without ownership nothing is changed in listings and changes.
func TestNone(t *testing.T) {
	var o None
	w := newZoneRecords(t, "www.z.org A 1.1.1.1", "a-www.z.org TXT @owner")
	if o.ID() != "" {
		t.Errorf("the owner is %q", o.ID())
	}
	if diff := cmp.Diff([]string{"a-www.z.org TXT", "www.z.org A"}, labelled(o, w)); diff != "" {
		t.Errorf("record sets (-want +got):\n%s", diff)
	}
	changes := []dns.Change{change(t, "- www.z.org A 1.1.1.1"), change(t, "+ v.z.org A 1.1.1.1"), change(t, "~ a-www.z.org TXT @owner => a-www.z.org TXT random")}
	apply, refused, err := o.Before(t.Context(), w.lookup, changes)
	if err != nil || len(refused) > 0 || !cmp.Equal(apply, changes) {
		t.Errorf("got %v, refused %v, error %v", apply, refused, err)
	}
	if o.Load(t.Context()) != nil || o.After(t.Context(), apply) != nil {
		t.Error("got an error of what does nothing")
	}
}

func TestLabelsOnly(t *testing.T) {
	for line, want := range map[string]bool{
		"+ a.z.org A 1.1.1.1": false,
		"- a.z.org A 1.1.1.1": false,
		"~ a.z.org A 1.1.1.1|2.2.2.2 ttl=60 => A.z.org A 2.2.2.2|1.1.1.1":    true,
		"~ a.z.org A 1.1.1.1 ttl=60 => a.z.org A 1.1.1.1 ttl=61":             false,
		"~ a.z.org A 1.1.1.1 => a.z.org A 1.1.1.2":                           false,
		"~ a.z.org A 1.1.1.1 w=1 v=2 => a.z.org A 1.1.1.1 v=2 w=1 res=other": true,
		"~ a.z.org A 1.1.1.1 w=1 => a.z.org A 1.1.1.1":                       false,
	} {
		if got := LabelsOnly(change(t, line)); got != want {
			t.Errorf("%s: got %v", line, got)
		}
	}
}

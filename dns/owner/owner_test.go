package owner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
)

// "case 88": without ownership everything is as it was.
func TestNone(t *testing.T) {
	var o None
	w := newWorld(t, "www.z.org A 1.1.1.1", "a-www.z.org TXT @owner")
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

// "case 92": ownership in descriptions.
func TestCloudMap(t *testing.T) {
	if _, err := NewCloudMap(""); err == nil {
		t.Error("without an owner: got no error")
	}
	o, err := NewCloudMap("me")
	if err != nil {
		t.Fatal(err)
	}
	described := func(name, text string) *dns.RecordSet {
		return &dns.RecordSet{Name: name, Type: dns.TypeA, Targets: []string{"1.1.1.1"}, Labels: map[string]string{LabelDescription: text}}
	}
	ours := described("a.z.org", "heritage=external-dns,external-dns/owner=me,external-dns/resource=svc")
	w := world{}
	for _, r := range []*dns.RecordSet{ours, described("b.z.org", "my own service"), described("c.z.org", `"heritage=external-dns,external-dns/owner=owner"`)} {
		w.put(r)
	}
	if diff := cmp.Diff([]string{"a.z.org A @me/svc", "b.z.org A", "c.z.org A @owner"}, labelled(o, w)); diff != "" {
		t.Errorf("record sets (-want +got):\n%s", diff)
	}
	wanted := record(t, "a.z.org A 2.2.2.2 res=new")
	apply, refused, err := o.Before(t.Context(), w.lookup, []dns.Change{
		{Old: ours, New: wanted}, {New: record(t, "d.z.org A 1.1.1.1")}, {Old: w["b.z.org"][0]}, {Old: w["c.z.org"][0], New: record(t, "c.z.org A 2.2.2.2")}, {Old: ours},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"~ a.z.org A 2.2.2.2", "+ d.z.org A 1.1.1.1", "- a.z.org A 1.1.1.1"}, showChanges(apply)); diff != "" {
		t.Errorf("applied (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"- b.z.org A 1.1.1.1", "~ c.z.org A 2.2.2.2"}, showChanges(refused)); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	if got, want := apply[0].New.Labels[LabelDescription], "heritage=external-dns,external-dns/owner=me,external-dns/resource=new"; got != want {
		t.Errorf("the description is %s, want %s", got, want)
	}
	if _, there := wanted.Labels[LabelDescription]; there {
		t.Error("what was asked for has been changed")
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

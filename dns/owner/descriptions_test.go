package owner_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
)

func described(name, recordType, target, text string) *dns.RecordSet {
	r := &dns.RecordSet{Name: name, Type: recordType, Targets: []string{target}, TTL: 300}
	if text != "" {
		r.Labels = map[string]string{dns.LabelDescription: text}
	}
	return r
}

const ourText = "heritage=external-dns,external-dns/owner=me,external-dns/resource=service/default/web"

func descriptions(t *testing.T, o owner.DescriptionOptions) *owner.Descriptions {
	t.Helper()
	d, err := owner.NewDescriptions(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Case 92 of spec/dns.md §14: the labels are those of the description, without quotes; of a
// description that is no ownership text there are none. Changes are given the text.
func TestDescriptions(t *testing.T) {
	d := descriptions(t, owner.DescriptionOptions{OwnerID: "me"})
	for text, want := range map[string]string{
		ourText: "me", "heritage=external-dns,external-dns/owner=you": "you", "heritage=external-dns": "", "heritage=other,external-dns/owner=me": "", "by hand": "", "": "",
	} {
		if labels, rewrite := d.Labels(nil, described("a.test", "A", "192.0.2.1", text)); labels[dns.LabelOwner] != want || rewrite {
			t.Errorf("%q: labels %v, rewrite %t", text, labels, rewrite)
		}
	}
	wanted := described("a.test", "A", "192.0.2.1", "")
	wanted.Labels = map[string]string{dns.LabelResource: "service/default/web"}
	apply, refused, err := d.Before(t.Context(), func(string) []*dns.RecordSet { return nil }, []dns.Change{{New: wanted}})
	if err != nil || len(refused) > 0 || len(apply) != 1 || apply[0].New.Labels[dns.LabelDescription] != ourText || apply[0].New.Labels[dns.LabelOwner] != "me" {
		t.Errorf("to be applied %v, refused %v, %v", apply, refused, err)
	}
	if wanted.Labels[dns.LabelDescription] != "" {
		t.Error("the argument was changed")
	}
}

// All record sets of a name have one owner and one text. What stays as it is gets the new text,
// too, and what belongs to somebody else keeps all of its name.
func TestDescriptionsShare(t *testing.T) {
	old := strings.Replace(ourText, "web", "old", 1)
	four, six := described("a.test", "A", "192.0.2.1", old), described("a.test", "AAAA", "2001:db8::1", old)
	there := func(string) []*dns.RecordSet { return []*dns.RecordSet{four, six} }
	d := descriptions(t, owner.DescriptionOptions{OwnerID: "me"})
	next := described("a.test", "A", "192.0.2.2", "")
	next.Labels = map[string]string{dns.LabelResource: "service/default/web"}
	apply, refused, err := d.Before(t.Context(), there, []dns.Change{{Old: four, New: next}})
	if err != nil || len(refused) > 0 || len(apply) != 2 || apply[0].New.Labels[dns.LabelDescription] != ourText || apply[1].New.Labels[dns.LabelDescription] != ourText || !owner.LabelsOnly(apply[1]) {
		t.Errorf("to be applied %v, refused %v, %v", apply, refused, err)
	}
	// The text names the object of the first type, also if another type changes.
	other := described("a.test", "AAAA", "2001:db8::2", "")
	other.Labels = map[string]string{dns.LabelResource: "service/default/web"}
	if apply, _, _ := d.Before(t.Context(), there, []dns.Change{{Old: six, New: other}}); len(apply) != 1 || apply[0].New.Labels[dns.LabelDescription] != old {
		t.Errorf("to be applied %v", apply)
	}
	// A deletion leaves the text of what stays as it is, and a change of nothing isn't made.
	same := four.Clone()
	same.Labels = map[string]string{dns.LabelResource: "service/default/old"}
	for _, c := range []dns.Change{{Old: six}, {Old: four, New: same}} {
		apply, refused, err := d.Before(t.Context(), there, []dns.Change{c})
		if err != nil || len(refused) > 0 || slices.ContainsFunc(apply, func(a dns.Change) bool { return a.New != nil }) {
			t.Errorf("to be applied %v, refused %v, %v", apply, refused, err)
		}
	}
	for text, reason := range map[string]string{"": "no description", "by hand": "no owner", "heritage=external-dns,external-dns/owner=you": `owner "you"`} {
		var said []string
		d := descriptions(t, owner.DescriptionOptions{OwnerID: "me", Problems: func(p dns.Problem) { said = append(said, p.Reason) }})
		unowned := described("a.test", "AAAA", "2001:db8::1", text)
		lookup := func(string) []*dns.RecordSet { return []*dns.RecordSet{unowned} }
		for _, c := range []dns.Change{{New: next}, {Old: unowned}, {Old: unowned, New: unowned}} {
			if apply, refused, _ := d.Before(t.Context(), lookup, []dns.Change{c}); len(apply) > 0 || len(refused) != 1 {
				t.Errorf("%q: to be applied %v, refused %v", text, apply, refused)
			}
		}
		if len(said) != 3 || !strings.Contains(said[0], reason) {
			t.Errorf("%q: %q", text, said)
		}
	}
}

// Without an owner, what has no description is hidden from the plan, and everything else is ours.
func TestDescriptionsWithoutOwner(t *testing.T) {
	d := descriptions(t, owner.DescriptionOptions{})
	for text, want := range map[string]bool{"": true, "by hand": false, ourText: false} {
		if _, hidden := d.OwnershipRecord(described("a.test", "A", "192.0.2.1", text)); hidden != want {
			t.Errorf("%q: hidden %t", text, hidden)
		}
	}
	if _, hidden := descriptions(t, owner.DescriptionOptions{OwnerID: "me"}).OwnershipRecord(described("a.test", "A", "192.0.2.1", "")); hidden {
		t.Error("a record set of somebody else is hidden, so that it isn't in the way")
	}
	apply, _, _ := d.Before(t.Context(), func(string) []*dns.RecordSet { return nil }, []dns.Change{{New: described("a.test", "A", "192.0.2.1", "")}})
	if len(apply) != 1 || apply[0].New.Labels[dns.LabelDescription] != "heritage=external-dns" {
		t.Errorf("to be applied %v", apply)
	}
}

// A description has 1,024 characters, of which the owner gets its part first.
func TestDescriptionsLimit(t *testing.T) {
	d := descriptions(t, owner.DescriptionOptions{OwnerID: "me"})
	long := described("a.test", "A", "192.0.2.1", "")
	long.Labels = map[string]string{dns.LabelResource: strings.Repeat("x", 1024), "short": "kept"}
	apply, _, _ := d.Before(t.Context(), func(string) []*dns.RecordSet { return nil }, []dns.Change{{New: long}})
	if len(apply) != 1 || apply[0].New.Labels[dns.LabelDescription] != "heritage=external-dns,external-dns/owner=me,external-dns/short=kept" {
		t.Errorf("to be applied %v", apply)
	}
	for _, id := range []string{strings.Repeat("x", 1024), "a,b"} {
		if _, err := owner.NewDescriptions(owner.DescriptionOptions{OwnerID: id}); err == nil {
			t.Errorf("the owner %.10s… is accepted", id)
		}
	}
}

package preview

import (
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/publisher"
)

// Records that stay because a source can't be read are one line, and not among those that objects ask for.
func TestRecordsThatStay(t *testing.T) {
	const unread = "source service has not been read yet"
	p := &Plan{}
	p.add("", []publisher.ZonePlan{{Zone: dns.Zone{Name: "example.org"}, Waiting: []publisher.State{
		{Name: "a.example.org", Reason: publisher.ReasonSource, Message: unread},
		{Name: "b.example.org", Reason: publisher.ReasonSource, Message: unread},
		{Name: "c.example.org", Reason: publisher.ReasonConflict, Message: "it belongs to another owner"},
	}}}, nil, nil)
	var text strings.Builder
	if err := p.WriteTable(&text); err != nil {
		t.Fatal(err)
	}
	const want = `Records that objects ask for and that are not published:
  c.example.org: it belongs to another owner

Names whose records stay, because unread objects may ask for them: 2, such as a.example.org: source service has not been read yet

This plan is not complete, because something could not be read: the errors say what.
`
	if text.String() != want {
		t.Errorf("the plan is\n%s\nwant\n%s", text.String(), want)
	}
}

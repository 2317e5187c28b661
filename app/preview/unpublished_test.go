package preview

import (
	"fmt"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/dns/source"
)

// TestExplainBounded: an object with very many reasons has few lines, equal reasons are one, and
// the text says how many objects there are beside those shown.
func TestExplainBounded(t *testing.T) {
	e := publisher.Explanation{Object: dns.Object{Kind: "Service", Namespace: "shop", Name: "web"}}
	for i := range 1000 {
		e.Skipped = append(e.Skipped, source.Skip{Reason: source.SkipNoTarget, Subject: fmt.Sprintf("n%d.example.org", i), Message: "no address"})
		e.Dropped = append(e.Dropped, desired.Drop{Name: "a.example.org", Type: fmt.Sprintf("T%d", i), Reason: desired.DropDomain, Message: "--domain-filter leaves it out"})
	}
	e.Dropped = append(e.Dropped, desired.Drop{Name: "b.example.org", Reason: desired.DropZone, Message: "no zone"})
	plan := &Plan{}
	plan.explain("", publisher.Explanations{List: []publisher.Explanation{e}, More: 7})
	if len(plan.Unpublished) != reasonLimit+1 || !strings.Contains(plan.Unpublished[reasonLimit].Message, "and 993 more reasons") {
		t.Errorf("there are %d reasons, the last one is %+v", len(plan.Unpublished), plan.Unpublished[len(plan.Unpublished)-1])
	}
	var text strings.Builder
	if err := plan.WriteTable(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  Service shop/web: NoTarget n0.example.org: no address\n", "  and 7 more objects\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
}

// TestExplainTargets: targets that are filtered are named, the first ones of many.
func TestExplainTargets(t *testing.T) {
	targets := strings.Fields(strings.Repeat("192.0.2.1 ", 100))
	e := publisher.Explanation{Object: dns.Object{Kind: "Service", Name: "web"}, Dropped: []desired.Drop{
		{Name: "a.example.org", Type: "A", Targets: targets, Reason: desired.DropTarget, Message: "--target-net-filter has no network of the target"},
	}}
	list := reasonsOf("", e)
	if want := "Service web: TargetFiltered a.example.org 192.0.2.1 192.0.2.1 192.0.2.1 192.0.2.1 …: --target-net-filter has no network of the target"; len(list) != 1 || list[0].String() != want {
		t.Errorf("the reasons are %v, want %s", list, want)
	}
}

// TestExplainNothing: after --verbose, the text does not refer to it for an object whose reasons
// are all among the problems.
func TestExplainNothing(t *testing.T) {
	explained := publisher.Explanations{List: []publisher.Explanation{
		{Dropped: []desired.Drop{{Name: "a.example.org", Reason: desired.DropInvalid, Message: "no IP address"}}},
	}}
	for verbose, want := range map[bool]bool{false: true, true: false} {
		plan := &Plan{}
		if verbose {
			plan.explain("", explained)
		}
		plan.warn("", explained)
		var text strings.Builder
		if err := plan.WriteTable(&text); err != nil || strings.Contains(text.String(), "--verbose says why") != want {
			t.Errorf("--verbose=%v: the text is %q, %v", verbose, text.String(), err)
		}
	}
}

package fanout_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/fanout"
)

// growing is a provider whose zones can be replaced.
type growing struct {
	provider.Provider
	zones []dns.Zone
}

func (g *growing) Zones(context.Context) ([]dns.Zone, error) { return g.zones, nil }

func (g *growing) set(ids ...string) {
	g.zones = nil
	for _, id := range ids {
		name, _, private := strings.Cut(id, "/")
		g.zones = append(g.zones, dns.Zone{ID: id, Name: name, Private: private})
	}
}

// A provider has two zones of one name. That stops neither the other zones, nor a zone that was used before the
// second one came. Names of an unusable zone aren't published in the zone above.
func TestTwins(t *testing.T) {
	a, b := &growing{}, &growing{}
	b.set("a.test", "eu.a.test", "b.test")
	zones := func(p *fanout.Provider) string {
		t.Helper()
		list, err := p.Zones(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, z := range list {
			names = append(names, z.Name)
		}
		return fmt.Sprint(names)
	}
	long := fanout.New([]provider.Provider{a, b})
	a.set("a.test", "eu.a.test", "b.test")
	if got := zones(long); got != "[a.test b.test eu.a.test]" || long.Unlisted() != nil {
		t.Fatalf("zones %s, %v", got, long.Unlisted())
	}
	a.set("a.test", "eu.a.test", "eu.a.test/private", "b.test")
	if got := zones(long); got != "[a.test b.test eu.a.test]" || long.Unlisted() != nil {
		t.Errorf("a zone that was used before: zones %s, %v", got, long.Unlisted())
	}
	a.set("a.test", "eu.a.test", "eu.a.test/private", "b.test", "only.test", "only.test/private")
	started := fanout.New([]provider.Provider{a, b})
	if got := zones(started); got != "[a.test b.test]" {
		t.Errorf("after a start: zones %s", got)
	}
	if err := started.Unlisted(); err == nil || !strings.Contains(err.Error(), "2 zones named eu.a.test") || strings.Contains(err.Error(), "only.test") {
		t.Errorf("the unusable zone isn't reported: %v", err)
	}
	for name, want := range map[string]bool{"www.a.test": true, "www.eu.a.test": false, "www.b.test": true, "www.else.test": true} {
		if got := started.DomainFilter(t.Context()).Match(name); got != want {
			t.Errorf("%s is selected: %v, want %v", name, got, want)
		}
	}
	a.set("a.test", "eu.a.test", "b.test")
	if got := zones(started); got != "[a.test b.test eu.a.test]" || started.Unlisted() != nil || !started.DomainFilter(t.Context()).Match("www.eu.a.test") {
		t.Errorf("without the second one: zones %s, %v", got, started.Unlisted())
	}
}

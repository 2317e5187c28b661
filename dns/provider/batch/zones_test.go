package batch

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// kept is what the provider of these tests keeps of a zone.
type kept struct{ created int }

func sameKept(a, b *kept) bool { return a.created == b.created }

// known returns zones of which some are managed, public or private. The values are made anew by each listing.
func known(listings *int) *KnownZones[kept] {
	found := func(zone dns.Zone, managed bool) Found[kept] {
		return Found[kept]{Zone: zone, Of: &kept{}, Managed: managed}
	}
	return &KnownZones[kept]{Service: "the service", Same: sameKept, List: func(context.Context) (all []Found[kept], unlisted, err error) {
		*listings++
		return []Found[kept]{
			found(dns.Zone{ID: "inner", Name: "a.example.org", Private: true}, true),
			found(dns.Zone{ID: "public", Name: "example.org"}, true),
			found(dns.Zone{ID: "private", Name: "example.org", Private: true}, true),
			found(dns.Zone{ID: "other", Name: "other.example.org"}, false),
		}, nil, nil
	}}
}

func mustList(t *testing.T, z *KnownZones[kept]) *List[kept] {
	t.Helper()
	if _, err := z.Zones(t.Context()); err != nil {
		t.Fatal(err)
	}
	return z.Last()
}

// A name belongs to the closest zone, managed or not. Private zones have their own clients.
func TestOutside(t *testing.T) {
	list := mustList(t, known(new(int)))
	for _, tt := range []struct {
		zone             dns.Zone
		name             string
		outside, closest bool
	}{
		{list.Managed[1], "www.example.org", false, false},
		{list.Managed[1], "www.other.example.org", true, true},
		{list.Managed[1], "www.example.com", true, true},
		{list.Managed[2], "www.other.example.org", false, false},
		{list.Managed[2], "www.a.example.org", false, true},
		{list.Managed[0], "www.a.example.org", false, false},
	} {
		if err := list.Outside(tt.zone, tt.name); errors.Is(err, provider.ErrRejected) != tt.outside {
			t.Errorf("Outside(%s, %s) = %v", tt.zone.ID, tt.name, err)
		}
		if err := list.OutsideClosest(tt.zone, tt.name); errors.Is(err, provider.ErrRejected) != tt.closest {
			t.Errorf("OutsideClosest(%s, %s) = %v", tt.zone.ID, tt.name, err)
		}
	}
	for name, want := range map[string]bool{"example.org": true, "www.example.org": true, "www.example.com": false} {
		if got := list.Filter().Match(name); got != want {
			t.Errorf("Match(%s) = %v", name, got)
		}
	}
	if none := (*List[kept])(nil); none.Filter().Match("example.org") || none.Get("public") != nil {
		t.Error("no list has a zone")
	}
}

// Managed zones are sorted, public ones first, and keep their value until they are others.
func TestReplace(t *testing.T) {
	zones := known(new(int))
	first := mustList(t, zones)
	var order []string
	for _, z := range first.Managed {
		order = append(order, z.ID)
	}
	if len(order) != 3 || order[0] != "inner" || order[1] != "public" || order[2] != "private" {
		t.Errorf("the order is %v", order)
	}
	if again := mustList(t, zones); again.Get("public") != first.Get("public") || again.Get("other") != nil {
		t.Error("the value of a managed zone has changed, or an unmanaged zone has one")
	}
	zones.List = func(context.Context) (all []Found[kept], unlisted, err error) {
		return []Found[kept]{{Zone: first.Managed[1], Of: &kept{created: 1}, Managed: true}}, errors.New("not listed"), nil
	}
	next := mustList(t, zones)
	if next.Get("public") == first.Get("public") || next.Get("private") != nil || zones.Unlisted() == nil {
		t.Error("another zone with the ID kept its value, or a zone that is gone is known")
	}
}

// Zones are listed again once they are too old or outdated, and a zone that isn't managed is refused.
func TestKnown(t *testing.T) {
	listings := 0
	zones := known(&listings)
	zones.MaxAge = time.Hour
	find := func(id string) error {
		_, _, err := zones.Find(t.Context(), dns.Zone{ID: id, Name: "example.org"})
		return err
	}
	if zones.Last() != nil || zones.DomainFilter(t.Context()).Match("example.org") {
		t.Error("a list before the first listing")
	}
	if err := errors.Join(find("public"), find("private")); err != nil || listings != 1 {
		t.Errorf("%d listings, %v", listings, err)
	}
	if err := find("other"); !errors.Is(err, provider.ErrRejected) {
		t.Errorf("an unmanaged zone: %v", err)
	}
	if mustList(t, zones); listings != 1 {
		t.Errorf("%d listings within an hour", listings)
	}
	zones.Outdate()
	if find("public") != nil || listings != 2 {
		t.Errorf("%d listings", listings)
	}
	zones.Outdate()
	if mustList(t, zones); listings != 3 {
		t.Errorf("%d listings", listings)
	}
	zones.MaxAge = 0
	if mustList(t, zones); listings != 4 {
		t.Errorf("%d listings", listings)
	}
	failed := errors.New("failed")
	zones.List = func(context.Context) (all []Found[kept], unlisted, err error) { return nil, nil, failed }
	zones.Outdate()
	if _, err := zones.Known(t.Context()); !errors.Is(err, failed) || zones.Last() == nil {
		t.Errorf("a failed listing: %v, or the last list is lost", err)
	}
}

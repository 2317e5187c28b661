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

// listOfTests returns a list with managed and unmanaged, public and private zones.
func listOfTests(z *KnownZones[kept]) *List[kept] {
	found := func(zone dns.Zone, managed bool) Found[kept] {
		return Found[kept]{Zone: zone, Of: &kept{}, Managed: managed}
	}
	return z.Replace([]Found[kept]{
		found(dns.Zone{ID: "inner", Name: "a.example.org", Private: true}, true),
		found(dns.Zone{ID: "public", Name: "example.org"}, true),
		found(dns.Zone{ID: "private", Name: "example.org", Private: true}, true),
		found(dns.Zone{ID: "other", Name: "other.example.org"}, false),
	}, nil, sameKept)
}

// A name belongs to the closest zone, managed or not. Private zones have their own clients.
func TestOutside(t *testing.T) {
	list := listOfTests(new(KnownZones[kept]))
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
	var zones KnownZones[kept]
	first := listOfTests(&zones)
	var order []string
	for _, z := range first.Managed {
		order = append(order, z.ID)
	}
	if len(order) != 3 || order[0] != "inner" || order[1] != "public" || order[2] != "private" {
		t.Errorf("the order is %v", order)
	}
	if again := listOfTests(&zones); again.Get("public") != first.Get("public") || again.Get("other") != nil {
		t.Error("the value of a managed zone has changed, or an unmanaged zone has one")
	}
	next := zones.Replace([]Found[kept]{{Zone: first.Managed[1], Of: &kept{created: 1}, Managed: true}}, errors.New("not listed"), sameKept)
	if next.Get("public") == first.Get("public") || next.Get("private") != nil || zones.Unlisted() == nil {
		t.Error("another zone with the ID kept its value, or a zone that is gone is known")
	}
}

// Zones are listed again once they are outdated, and a zone that isn't managed is refused.
func TestKnown(t *testing.T) {
	var zones KnownZones[kept]
	listings := 0
	list := func(context.Context) (*List[kept], error) {
		listings++
		return listOfTests(&zones), nil
	}
	find := func(id string) error {
		_, _, err := zones.Find(t.Context(), "the service", dns.Zone{ID: id, Name: "example.org"}, list)
		return err
	}
	if zones.Fresh(time.Hour) != nil || zones.DomainFilter(t.Context()).Match("example.org") {
		t.Error("a list before the first listing")
	}
	if err := errors.Join(find("public"), find("private")); err != nil || listings != 1 {
		t.Errorf("%d listings, %v", listings, err)
	}
	if err := find("other"); !errors.Is(err, provider.ErrRejected) {
		t.Errorf("an unmanaged zone: %v", err)
	}
	zones.Outdate()
	if zones.Fresh(time.Hour) != nil || find("public") != nil || listings != 2 || zones.Fresh(time.Hour) == nil {
		t.Errorf("%d listings", listings)
	}
	failed := errors.New("failed")
	zones.Outdate()
	if _, err := zones.Known(t.Context(), func(context.Context) (*List[kept], error) { return nil, failed }); !errors.Is(err, failed) || zones.Last() == nil {
		t.Errorf("a failed listing: %v, or the last list is lost", err)
	}
}

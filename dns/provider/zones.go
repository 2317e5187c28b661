package provider

import (
	"log/slog"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/internal/sanitize"
)

// The visibilities of zones, as values of flags.
const (
	Public  = "public"
	Private = "private"
)

// ZoneFilter selects the zones to publish to.
type ZoneFilter struct {
	Domains dns.Filter
	IDs     dns.ZoneIDFilter
	Names   *dns.DomainFilter
	// Visibility is [Public], [Private], or empty for both.
	Visibility string
}

// ZoneFilter returns a filter with the settings of the input, and a visibility.
func (in Input) ZoneFilter(visibility string) ZoneFilter {
	return ZoneFilter{Domains: in.Domains, IDs: in.ZoneIDs, Names: dns.NewZoneNameFilter(in.ZoneNames), Visibility: visibility}
}

// Admits reports whether a zone passes all filters.
func (f ZoneFilter) Admits(z dns.Zone) bool {
	if f.Visibility != "" && (f.Visibility == Private) != z.Private {
		return false
	}
	return f.IDs.Match(z.ID) && f.Names.Match(z.Name) && f.Domains.Match(z.Name)
}

// maxZoneID limits the ID of a zone in bytes. Those of Azure are paths with the names of a resource
// group and of the zone.
const maxZoneID = 1024

// ZoneNames filters out zones with impossible names or IDs. The others are safe to log and show. It
// may be used from any goroutine.
type ZoneNames struct {
	mu sync.Mutex
	// reported is the number of filtered zones that was last logged.
	reported int
}

// Usable returns the elements of a list with usable zones. When the number of unusable ones
// changes, it logs that number and one of them.
func Usable[T any](n *ZoneNames, log *slog.Logger, list []T, zone func(T) dns.Zone) []T {
	usable := make([]T, 0, len(list))
	var first dns.Zone
	odd := 0
	for _, one := range list {
		z := zone(one)
		if proper(z) {
			usable = append(usable, one)
			continue
		}
		if odd++; odd == 1 {
			first = z
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if odd > 0 && odd != n.reported {
		log.Warn("Ignored zones with a name or an ID that no zone can have", "zones", odd, "zone", sanitize.Name(first.Name), "id", sanitize.Name(first.ID))
	}
	n.reported = odd
	return usable
}

// proper reports whether the name and the ID of a zone have a valid length and valid characters.
func proper(z dns.Zone) bool {
	return len(z.Name) <= dns.MaxName && len(z.ID) <= maxZoneID && printable(z.Name) && printable(z.ID)
}

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
}

package google

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	dnsapi "google.golang.org/api/dns/v1"
	"google.golang.org/api/googleapi"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// entity finds what a message is about: a record set of a change, by its name or by its place.
var entity = regexp.MustCompile(`entity\.change\.(additions|deletions)\[([^\[\]]+)\]`)

// blame sets the errors of the units that an answer names, and returns the others.
func blame(units []*unit, c *dnsapi.Change, answer *apiError) []*unit {
	byName := map[string][]*unit{}
	for _, u := range units {
		for _, s := range u.Swaps {
			byName[s.Key.Name] = append(byName[s.Key.Name], u)
		}
	}
	for _, item := range answer.items {
		for _, found := range entity.FindAllStringSubmatch(item.Message, -1) {
			batch.FailAll(byName[nameIn(c, found[1], found[2])], itemError(item))
		}
	}
	return batch.Pending(units)
}

// nameIn returns the name of a record set in a change, which is given, or is at a place.
func nameIn(c *dnsapi.Change, list, which string) string {
	place, err := strconv.Atoi(which)
	if err != nil {
		return dns.Canonical(which)
	}
	sets := c.Additions
	if list == "deletions" {
		sets = c.Deletions
	}
	if place < 0 || place >= len(sets) {
		return ""
	}
	return dns.Canonical(sets[place].Name)
}

// itemError returns the error that an item of an answer stands for.
func itemError(item googleapi.ErrorItem) error {
	class := provider.ErrRejected
	if slices.Contains(stale, item.Reason) {
		class = provider.ErrStale
	}
	return fmt.Errorf("%w: Cloud DNS said %s %q", class, shorten(item.Reason), shorten(item.Message))
}

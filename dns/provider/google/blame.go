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

// changeRef matches the reference of a message to a record set of the change, by name or index.
var changeRef = regexp.MustCompile(`entity\.change\.(additions|deletions)\[([^\[\]]+)\]`)

// blame sets the errors of the units that a response names, and returns the others.
func blame(units []*unit, c *dnsapi.Change, response *apiError) []*unit {
	byName := map[string][]*unit{}
	for _, u := range units {
		for _, s := range u.Swaps {
			byName[s.Key.Name] = append(byName[s.Key.Name], u)
		}
	}
	for _, item := range response.items {
		for _, found := range changeRef.FindAllStringSubmatch(item.Message, -1) {
			batch.FailAll(byName[nameIn(c, found[1], found[2])], itemError(item))
		}
	}
	return batch.Pending(units)
}

// nameIn returns the name of a record set in a change, for a name or an index.
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

// itemError returns the error for an item of a response.
func itemError(item googleapi.ErrorItem) error {
	class := provider.ErrRejected
	if slices.Contains(staleReasons, item.Reason) {
		class = provider.ErrStale
	}
	return fmt.Errorf("%w: Cloud DNS said %s %q", class, shorten(item.Reason), shorten(item.Message))
}

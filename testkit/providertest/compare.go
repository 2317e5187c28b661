package providertest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dns"
)

const lookupTimeout = 10 * time.Second

// difference returns how two record sets of one key differ for a plan. It is empty if a plan would change
// nothing.
func difference(got, want *dns.RecordSet) string {
	switch {
	case !got.SameTargets(want):
		return fmt.Sprintf("the targets are %q, not %q", got.Targets, want.Targets)
	case want.TTL > 0 && got.TTL != want.TTL:
		return fmt.Sprintf("the TTL is %d, not %d", got.TTL, want.TTL)
	case !slices.Equal(byName(got.Properties), byName(want.Properties)):
		return fmt.Sprintf("the properties are %v, not %v", got.Properties, want.Properties)
	}
	return ""
}

// otherTTL reports that a TTL isn't the one that Adjust has announced. A plan ignores the TTL if none is
// wanted, but a provider may need it in Old (D19).
func otherTTL(got, announced *dns.RecordSet) string {
	if got.TTL == announced.TTL {
		return ""
	}
	return fmt.Sprintf("the TTL is %d, and Adjust has announced %d", got.TTL, announced.TTL)
}

func byName(properties []dns.Property) []dns.Property {
	return slices.SortedFunc(slices.Values(properties), func(a, b dns.Property) int {
		return cmp.Compare(a.Name, b.Name)
	})
}

func show(r *dns.RecordSet) string {
	if r == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s %d %s %q", r.Name, r.TTL, r.Type, r.Targets)
}

func showChanges(changes []dns.Change) string {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "\n\t%s => %s", show(c.Old), show(c.New))
	}
	return b.String() + "\n"
}

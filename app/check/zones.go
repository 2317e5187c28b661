package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/sanitize"
)

const (
	// maxZones limits the zones of a provider that are read, because requests may be metered.
	maxZones = 20
	// maxOwners limits the owners that are listed for one zone.
	maxOwners = 5
)

// zones returns a check of a publisher's provider: whether it can be reached, accepts the
// credentials, and has the wanted zones.
func (s Input) zones(p *configure.Options) func(context.Context) []Result {
	if why := s.NoSecret[p.Name]; why != nil {
		return func(context.Context) []Result {
			return []Result{{
				State: Unknown, Text: fmt.Sprintf("%s: was not asked, because a secret is missing: %v", strings.Join(p.Providers, ", "), why),
				Hint: "make it available here, or check in a running pod: kubectl exec POD -- signpost check --config FILE",
			}}
		}
	}
	return func(ctx context.Context) []Result {
		// Without a setting, DNSRecords are in the namespace of Signpost, not in that of this
		// process.
		options := *p
		options.Registry.CRDNamespace = cmp.Or(p.Registry.CRDNamespace, s.Account.Namespace)
		survey, err := options.Survey(ctx, configure.Input{REST: s.Rights, Log: s.Log}, maxZones)
		if err != nil {
			return []Result{providerFailure(ctx, strings.Join(p.Providers, ", "), err)}
		}
		var results []Result
		for _, filter := range survey.Missing {
			results = append(results, Result{State: Failed, Text: fmt.Sprintf("the provider has no zone for %s", filter), Hint: "create the zone there, or check the filter and the permissions of these credentials"})
		}
		if len(survey.Zones) == 0 && len(results) == 0 {
			results = append(results, Result{State: Failed, Text: "the provider has no zones that these settings admit", Hint: "create a zone there, or check --zone-id-filter and the permissions of these credentials"})
		}
		if survey.OwnersErr != nil {
			results = append(results, Result{State: Unknown, Text: "the owners of these zones' records are unknown: " + reason(survey.OwnersErr), Hint: "--registry says where ownership is kept"})
		}
		for _, z := range survey.Zones {
			results = append(results, zoneResults(ctx, survey.OwnerID, z)...)
		}
		if survey.More > 0 {
			results = append(results, Result{State: Note, Text: fmt.Sprintf("%d more zones were not read", survey.More)})
		}
		return results
	}
}

// providerFailure returns a provider's error as Failed or Unknown.
func providerFailure(ctx context.Context, what string, err error) Result {
	result := Result{State: Unknown, Text: fmt.Sprintf("%s: %s", what, reason(err))}
	switch {
	case errors.Is(err, provider.ErrCredentials), errors.Is(err, provider.ErrRejected):
		result.State = Failed
	case ctx.Err() != nil:
		result.Hint = "it may be slow or down: try again, with a longer --timeout"
	default:
		result.Hint = "check its address, and the network and firewalls on the way"
	}
	return result
}

func zoneResults(ctx context.Context, owner string, z configure.ZoneSurvey) []Result {
	name := "the zone " + sanitize.Name(z.Name)
	if z.Name == "" {
		name = "the only zone"
	}
	if z.Err != nil {
		return []Result{providerFailure(ctx, name, z.Err)}
	}
	var results []Result
	switch {
	case !z.Read:
		results = append(results, Result{State: OK, Text: name + " is there"}, Result{
			State: Note, Text: "the content of " + name + " is unknown, so nothing is deleted or taken over",
			Hint: "have it transferred: --rfc2136-axfr",
		})
	case owner == "":
		results = append(results, Result{State: OK, Text: fmt.Sprintf("%s can be read: %d record sets", name, z.Records)})
	default:
		results = append(results, Result{State: OK, Text: fmt.Sprintf("%s can be read: %d record sets, %d of which %s owns", name, z.Records, z.Owners[owner], sanitize.Quote(owner))})
	}
	if others := otherOwners(z, owner); others != "" {
		results = append(results, Result{State: Note, Text: fmt.Sprintf("%s has records of other owners: %s", name, others), Hint: "they stay unchanged; to take over those of one owner, see --migrate-from-txt-owner"})
	}
	if own := z.Owners[owner]; own > 0 {
		results = append(results, Result{
			State: Note, Text: fmt.Sprintf("%d record sets of %s have the owner %s already", own, name, sanitize.Quote(owner)),
			Hint: "if another program than the one that Signpost replaces publishes under this name, give each its own --txt-owner-id",
		})
	}
	if len(z.Instances) > 1 {
		results = append(results, Result{
			State: Failed, Text: fmt.Sprintf("%s has records of the owner %s by %d instances: %s: several processes or clusters have one owner ID", name, sanitize.Quote(owner), len(z.Instances), counted(z.Instances)),
			Hint: "give each its own --txt-owner-id; if one replaced the other, start it with the --instance of that one",
		})
	}
	if z.ApexOwnershipRecord != "" {
		results = append(results, Result{
			State: Note, Text: fmt.Sprintf("records at %s itself would be refused, because their ownership record %s is outside of the zone", sanitize.Name(z.Name), sanitize.Name(z.ApexOwnershipRecord)),
			Hint: "if objects ask for the apex, use a --txt-prefix that ends with a dot, such as %{record_type}-.",
		})
	}
	return results
}

// otherOwners lists the owners of records of a zone, without our own.
func otherOwners(z configure.ZoneSurvey, own string) string {
	others := maps.Clone(z.Owners)
	delete(others, own)
	return counted(others)
}

// counted lists names with their counts.
func counted(numbers map[string]int) string {
	return sanitize.List(slices.Sorted(maps.Keys(numbers)), maxOwners, func(id string) string { return fmt.Sprintf("%s (%d)", sanitize.Quote(id), numbers[id]) })
}

package aws

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/awsaccess"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
)

const (
	// setsPage is the page size of record sets, and tagsPage limits the zones of one request for tags.
	setsPage = 300
	tagsPage = 10
	// maxTags is above the 50 tags that a zone may have.
	maxTags = 1000
	// maxResponse limits the memory of a decoded response in bytes. A page of 300 record sets usually needs
	// less than 1 MiB.
	maxResponse = 16 << 20
	// defaultRate is the rate of requests per second. Route 53 allows five per account (Developer Guide,
	// DNSLimitations), and other programs need some of them.
	defaultRate = 4.5
	// defaultRegion is in the partition of AWS with the most accounts.
	defaultRegion = "us-east-1"
)

// account sends the requests of one profile.
type account struct {
	awsaccess.Account
	client   *route53.Client
	pace     *provider.Shared[*awsaccess.Pace]
	attempts int
	budget   *listlimit.Budget
}

// openAccount returns an account. It doesn't contact AWS.
func openAccount(ctx context.Context, access awsaccess.Access, in provider.Input, rate float64) (*account, error) {
	access.Wrap, access.DefaultRegion, access.Log = in.Wrap, defaultRegion, in.Log
	cfg, err := access.Load(ctx)
	if err != nil {
		return nil, err
	}
	a := &account{
		Account: awsaccess.Account{Service: route53Service, Label: "the usual profile", Credentials: cfg.Credentials},
		pace:    awsaccess.SharedPace(in.Accounts, "route53", rate), attempts: access.Attempts, budget: in.Budget,
	}
	if access.Profile != "" {
		a.Label = "the profile " + access.Profile
	}
	a.client = route53.NewFromConfig(cfg, func(o *route53.Options) {
		o.HTTPClient = awsaccess.Client(awsaccess.LimitedTransport{
			Next: awsaccess.Transport(o.HTTPClient), Pace: func(*http.Request) *awsaccess.Pace { return a.pace.Get() },
			Reads: reads, DryRun: in.DryRun, Limit: maxResponse,
		})
	})
	return a, nil
}

// reads reports whether a request changes nothing. The tags of several zones are read with a
// POST.
func reads(r *http.Request) bool {
	return r.Method == http.MethodGet || strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/"), "/tags/hostedzone")
}

// call makes a request of an action for a resource.
func call[In, Out any](ctx context.Context, a *account, action, resource string,
	send func(context.Context, *In, ...func(*route53.Options)) (*Out, error), in *In, options ...func(*route53.Options),
) (out *Out, err error) {
	err = a.Call(ctx, a.pace, action, resource, func() (err error) {
		out, err = send(ctx, in, options...)
		return err
	})
	return out, err
}

func (a *account) zones(ctx context.Context) (zones []types.HostedZone, err error) {
	l := a.budget.Zones(a.Label)
	defer func() { l.End(err) }()
	in := &route53.ListHostedZonesInput{}
	return listlimit.Pages(l, zoneSize, func(string) (zones []types.HostedZone, next string, err error) {
		page, err := call(ctx, a, "ListHostedZones", "all zones", a.client.ListHostedZones, in)
		if err != nil {
			return nil, "", err
		}
		if page.HostedZones == nil {
			return nil, "", incomplete("ListHostedZones", "list of zones")
		}
		if page.IsTruncated {
			// A truncated list without a marker isn't complete.
			in.Marker, next = page.NextMarker, "after "+aws.ToString(page.NextMarker)
		}
		return page.HostedZones, next, nil
	})
}

// tags returns the tags of zones by bare ID.
func (a *account) tags(ctx context.Context, ids []string) (map[string]map[string]string, error) {
	all := make(map[string]map[string]string, len(ids))
	for some := range slices.Chunk(ids, tagsPage) {
		in := &route53.ListTagsForResourcesInput{ResourceIds: some, ResourceType: types.TagResourceTypeHostedzone}
		response, err := call(ctx, a, "ListTagsForResources", "all zones", a.client.ListTagsForResources, in)
		if err != nil {
			return nil, err
		}
		for _, set := range response.ResourceTagSets {
			id := aws.ToString(set.ResourceId)
			if !slices.Contains(some, id) || len(set.Tags) > maxTags {
				return nil, fmt.Errorf("the response to ListTagsForResources has a zone %q that was not asked for, or it has %d tags", shorten(id), len(set.Tags))
			}
			tags := make(map[string]string, len(set.Tags))
			for _, t := range set.Tags {
				tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
			}
			all[id] = tags
		}
	}
	return all, nil
}

// sets lists the record sets of a zone.
func (a *account) sets(ctx context.Context, zone dns.Zone) (sets []*rawSet, err error) {
	l := a.budget.Zone(zone)
	defer func() { l.End(err) }()
	zoneID := zone.ID
	in := &route53.ListResourceRecordSetsInput{HostedZoneId: &zoneID, MaxItems: aws.Int32(setsPage)}
	return listlimit.Pages(l, setSize, func(string) (sets []*rawSet, next string, err error) {
		page, err := call(ctx, a, "ListResourceRecordSets", arn(zoneID), a.client.ListResourceRecordSets, in)
		if err != nil {
			return nil, "", err
		}
		if page.ResourceRecordSets == nil {
			return nil, "", incomplete("ListResourceRecordSets", "list of record sets")
		}
		for i := range page.ResourceRecordSets {
			sets = append(sets, &page.ResourceRecordSets[i])
		}
		if page.IsTruncated {
			in.StartRecordName, in.StartRecordType, in.StartRecordIdentifier = page.NextRecordName, page.NextRecordType, page.NextRecordIdentifier
			next = startOf(in)
		}
		return sets, next, nil
	})
}

func (a *account) getRecordSet(ctx context.Context, zoneID string, key dns.Key) (*types.ResourceRecordSet, error) {
	in := &route53.ListResourceRecordSetsInput{
		HostedZoneId: &zoneID, MaxItems: aws.Int32(1), StartRecordName: aws.String(wireName(key.Name)), StartRecordType: types.RRType(key.Type),
		StartRecordIdentifier: optional(key.SetIdentifier),
	}
	page, err := call(ctx, a, "ListResourceRecordSets", arn(zoneID), a.client.ListResourceRecordSets, in)
	if err != nil {
		return nil, err
	}
	if page.ResourceRecordSets == nil {
		return nil, incomplete("ListResourceRecordSets", "list of record sets")
	}
	for i := range page.ResourceRecordSets {
		if keyOf(&page.ResourceRecordSets[i]) == key {
			return &page.ResourceRecordSets[i], nil
		}
	}
	return nil, nil
}

// zoneSize returns the memory of a zone in bytes.
func zoneSize(z types.HostedZone) int {
	return listlimit.ZoneSize + len(aws.ToString(z.Id)) + 2*len(aws.ToString(z.Name)) + len(aws.ToString(z.CallerReference))
}

// setSize returns the memory of a record set in bytes, with its listed form.
func setSize(raw *types.ResourceRecordSet) int {
	const own, each = 256, 48
	n := own + listlimit.EmptySetSize(aws.ToString(raw.Name))
	for _, r := range raw.ResourceRecords {
		n += each + listlimit.TargetSize(aws.ToString(r.Value))
	}
	return n
}

// startOf returns where a page of record sets starts.
func startOf(in *route53.ListResourceRecordSetsInput) string {
	return strings.Join([]string{aws.ToString(in.StartRecordName), string(in.StartRecordType), aws.ToString(in.StartRecordIdentifier)}, " ")
}

// change makes changes in a zone, all or none. It returns the ID of the request.
func (a *account) change(ctx context.Context, zoneID string, changes []types.Change) (id string, err error) {
	in := &route53.ChangeResourceRecordSetsInput{HostedZoneId: &zoneID, ChangeBatch: &types.ChangeBatch{Changes: changes}}
	out, err := call(ctx, a, "ChangeResourceRecordSets", arn(zoneID), a.client.ChangeResourceRecordSets, in,
		func(o *route53.Options) { o.Retryer = awsaccess.RetryThrottled(a.attempts) })
	switch {
	case err != nil:
		return "", batchError(err)
	case out.ChangeInfo == nil || aws.ToString(out.ChangeInfo.Id) == "":
		return "", incomplete("ChangeResourceRecordSets", "ID of the change")
	}
	return *out.ChangeInfo.Id, nil
}

// incomplete returns the error for a successful response to an action that lacks a required part.
func incomplete(action, part string) error {
	return httpapi.Incomplete("the response to "+action, part, "Route 53")
}

// inSync reports whether all name servers have the changes of a request.
func (a *account) inSync(ctx context.Context, id string) (bool, error) {
	resource := "arn:aws:route53:::change/" + id[strings.LastIndex(id, "/")+1:]
	response, err := call(ctx, a, "GetChange", resource, a.client.GetChange, &route53.GetChangeInput{Id: &id})
	return err == nil && response.ChangeInfo != nil && response.ChangeInfo.Status == types.ChangeStatusInsync, err
}

func arn(zoneID string) string { return "arn:aws:route53:::hostedzone/" + bareID(zoneID) }

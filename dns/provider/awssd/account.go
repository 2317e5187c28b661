package awssd

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	"github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/awsaccess"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
	"github.com/signpostd/signpost/internal/sanitize"
)

const (
	// page is the page size (API Reference, MaxResults).
	page = 100
	// maxResponse limits the memory of a decoded response in bytes.
	maxResponse = 16 << 20
	// defaultRate limits the management requests per second. Their quota isn't published; half of the
	// observed one is used. defaultDataRate limits the requests for revisions, of which 3,000 are allowed
	// (cloud-map-limits).
	defaultRate     = 25
	defaultDataRate = 200
	// target begins the header X-Amz-Target, before the action.
	target = "Route53AutoNaming_v20170314."
)

// account sends requests to Cloud Map.
type account struct {
	awsaccess.Account
	client       *servicediscovery.Client
	manage, data *provider.Shared[*awsaccess.Pace]
	attempts     int
	poll         time.Duration
	budget       *listlimit.Budget
}

// openAccount returns an account. It doesn't contact AWS.
func openAccount(ctx context.Context, access awsaccess.Access, in provider.Input, c *Config) (*account, error) {
	access.Wrap, access.Log = in.Wrap, in.Log
	cfg, err := access.Load(ctx)
	if err != nil {
		return nil, err
	}
	if cfg.Region == "" {
		return nil, errors.New("there is no region, and Cloud Map has namespaces in each: set the variable AWS_REGION, or a region in the profile")
	}
	a := &account{
		Account:  awsaccess.Account{Service: cloudMapService, Label: "AWS", Credentials: cfg.Credentials},
		attempts: access.Attempts, poll: c.poll, budget: in.Budget,
	}
	// The quotas are those of a region.
	a.manage = awsaccess.SharedPace(in.Accounts, "servicediscovery "+cfg.Region, c.rate)
	a.data = awsaccess.SharedPace(in.Accounts, "data-servicediscovery "+cfg.Region, c.dataRate)
	a.client = servicediscovery.NewFromConfig(cfg, func(o *servicediscovery.Options) {
		o.HTTPClient = awsaccess.Client(awsaccess.LimitedTransport{
			Next: awsaccess.Transport(o.HTTPClient), Pace: a.paceOf, Reads: reads, DryRun: in.DryRun, Limit: maxResponse,
		})
		if o.BaseEndpoint != nil || os.Getenv("AWS_ENDPOINT_URL") != "" || os.Getenv("AWS_ENDPOINT_URL_SERVICEDISCOVERY") != "" {
			o.APIOptions = append(o.APIOptions, keepHost)
		}
	})
	return a, nil
}

// keepHost prevents the SDK from prefixing the host of a user's endpoint with "data-", because such a host
// may not exist.
func keepHost(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("WholeHost",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			return next.HandleInitialize(smithyhttp.DisableEndpointHostPrefix(ctx, true), in)
		}), middleware.Before)
}

func actionOf(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("X-Amz-Target"), target)
}

// reads reports whether a request changes nothing.
func reads(r *http.Request) bool {
	action := actionOf(r)
	return strings.HasPrefix(action, "List") || strings.HasPrefix(action, "Get") || strings.HasPrefix(action, "Discover")
}

func (a *account) paceOf(r *http.Request) *awsaccess.Pace {
	if strings.HasPrefix(actionOf(r), "Discover") {
		return a.data.Get()
	}
	return a.manage.Get()
}

// call makes a request of an action.
func call[In, Out any](ctx context.Context, a *account, action string,
	send func(context.Context, *In, ...func(*servicediscovery.Options)) (*Out, error), in *In,
) (out *Out, err error) {
	pace := a.manage
	if action == actionRevision {
		pace = a.data
	}
	err = a.Call(ctx, pace, action, "all resources", func() (err error) {
		out, err = send(ctx, in, func(o *servicediscovery.Options) {
			if !strings.HasPrefix(action, "List") && !strings.HasPrefix(action, "Get") {
				o.Retryer = awsaccess.RetryThrottled(a.attempts)
			}
		})
		return err
	})
	return out, err
}

// incomplete returns the error for a successful response to an action that lacks a required part.
func incomplete(action, part string) error {
	return httpapi.Incomplete("the response to "+action, part, "Cloud Map")
}

// namespaces lists the namespaces of the account; an empty kind selects all types.
func (a *account) namespaces(ctx context.Context, kind types.NamespaceType) ([]types.NamespaceSummary, error) {
	in := &servicediscovery.ListNamespacesInput{MaxResults: aws.Int32(page)}
	if kind != "" {
		in.Filters = []types.NamespaceFilter{{Name: types.NamespaceFilterNameType, Values: []string{string(kind)}, Condition: types.FilterConditionEq}}
	}
	l := a.budget.Zones("Cloud Map")
	defer l.End(nil)
	return listlimit.Pages(l, namespaceSize, func(string) ([]types.NamespaceSummary, string, error) {
		out, err := call(ctx, a, "ListNamespaces", a.client.ListNamespaces, in)
		if err != nil {
			return nil, "", err
		}
		if out.Namespaces == nil && awsaccess.Unidentified(out.ResultMetadata) {
			return nil, "", incomplete("ListNamespaces", "list of namespaces")
		}
		in.NextToken = out.NextToken
		return out.Namespaces, aws.ToString(out.NextToken), nil
	})
}

func namespaceSize(n types.NamespaceSummary) int {
	return 2*listlimit.ZoneSize + len(aws.ToString(n.Id)) + len(aws.ToString(n.Name)) + len(aws.ToString(n.Arn)) + len(aws.ToString(n.Description))
}

// entrySize is the memory of a service or instance in bytes without its texts, with its listed form.
const entrySize = 512

func (a *account) services(ctx context.Context, zone dns.Zone, l *listlimit.Listing) ([]*service, error) {
	in := &servicediscovery.ListServicesInput{
		MaxResults: aws.Int32(page),
		Filters:    []types.ServiceFilter{{Name: types.ServiceFilterNameNamespaceId, Values: []string{zone.ID}, Condition: types.FilterConditionEq}},
	}
	return listlimit.Pages(l, (*service).size, func(string) (all []*service, next string, err error) {
		out, err := call(ctx, a, "ListServices", a.client.ListServices, in)
		if err != nil {
			return nil, "", err
		}
		if out.Services == nil && awsaccess.Unidentified(out.ResultMetadata) {
			return nil, "", incomplete("ListServices", "list of services")
		}
		for _, s := range out.Services {
			all = append(all, &service{
				id: aws.ToString(s.Id), label: aws.ToString(s.Name), description: aws.ToString(s.Description), config: s.DnsConfig, health: s.HealthCheckConfig,
				empty: s.InstanceCount != nil && *s.InstanceCount == 0,
			})
		}
		in.NextToken = out.NextToken
		return all, aws.ToString(out.NextToken), nil
	})
}

func (s *service) size() int { return entrySize + len(s.id) + len(s.label) + len(s.description) }

func (a *account) service(ctx context.Context, id string) (*service, error) {
	out, err := call(ctx, a, "GetService", a.client.GetService, &servicediscovery.GetServiceInput{Id: &id})
	switch {
	case errors.Is(err, errNoService):
		return nil, nil
	case err != nil:
		return nil, err
	case out.Service == nil:
		return nil, incomplete("GetService", "service")
	}
	s := out.Service
	return &service{id: id, label: aws.ToString(s.Name), description: aws.ToString(s.Description), config: s.DnsConfig, health: s.HealthCheckConfig}, nil
}

// instances lists the instances of a service. zone counts their bytes, too; it may be nil.
func (a *account) instances(ctx context.Context, id string, zone *listlimit.Listing) ([]instance, error) {
	l := a.budget.Part("service " + sanitize.Name(id))
	defer l.End(nil)
	in := &servicediscovery.ListInstancesInput{ServiceId: &id, MaxResults: aws.Int32(page)}
	return listlimit.Pages(l, instance.size, func(string) (all []instance, next string, err error) {
		out, err := call(ctx, a, "ListInstances", a.client.ListInstances, in)
		if err != nil {
			return nil, "", err
		}
		if out.Instances == nil && awsaccess.Unidentified(out.ResultMetadata) {
			return nil, "", incomplete("ListInstances", "list of instances")
		}
		for _, listed := range out.Instances {
			i := instance{id: aws.ToString(listed.Id), attributes: listed.Attributes}
			if zone != nil {
				if err := zone.Add(0, i.size()); err != nil {
					return nil, "", err
				}
			}
			all = append(all, i)
		}
		in.NextToken = out.NextToken
		return all, aws.ToString(out.NextToken), nil
	})
}

// actionRevision is the action for the revision of a service's instances.
const actionRevision = "DiscoverInstancesRevision"

// revision returns a number that rises with each change of a service's instances.
func (a *account) revision(ctx context.Context, namespace, name string) (int64, error) {
	in := &servicediscovery.DiscoverInstancesRevisionInput{NamespaceName: &namespace, ServiceName: &name}
	out, err := call(ctx, a, actionRevision, a.client.DiscoverInstancesRevision, in)
	if err != nil {
		return 0, err
	}
	if out.InstancesRevision == nil {
		return 0, incomplete(actionRevision, "revision")
	}
	return *out.InstancesRevision, nil
}

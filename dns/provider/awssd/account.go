package awssd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	manage, data *awsaccess.Pace
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
		Account: awsaccess.Account{Service: cloudMapService, Label: "AWS", Credentials: cfg.Credentials},
		manage:  awsaccess.NewPace(c.rate), data: awsaccess.NewPace(c.dataRate), attempts: access.Attempts, poll: c.poll, budget: in.Budget,
	}
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

// actionOf returns the name of the action of a request.
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
		return a.data
	}
	return a.manage
}

// call makes a request of an action.
func (a *account) call(ctx context.Context, action string, send func(o func(*servicediscovery.Options)) error) error {
	pace := a.manage
	if action == actionRevision {
		pace = a.data
	}
	return a.Call(ctx, pace, action, "all resources", func() error {
		return send(func(o *servicediscovery.Options) {
			if !strings.HasPrefix(action, "List") && !strings.HasPrefix(action, "Get") {
				o.Retryer = awsaccess.RetryThrottled(a.attempts)
			}
		})
	})
}

// next requests the page for a token. It returns the sizes of its entries and the token of the next page.
type next func(token *string, o func(*servicediscovery.Options)) (sizes []int, token2 *string, err error)

// pages reads all pages of a list. The first listing counts pages and entries, and the others the bytes of
// the entries.
func (a *account) pages(ctx context.Context, action string, next next, list *listlimit.Listing, others ...*listlimit.Listing) error {
	var token *string
	for {
		var more *string
		var sizes []int
		err := a.call(ctx, action, func(o func(*servicediscovery.Options)) (err error) {
			sizes, more, err = next(token, o)
			return err
		})
		if err != nil {
			return err
		}
		for _, size := range sizes {
			err := list.Add(1, size)
			for _, other := range others {
				err = cmp.Or(err, other.Add(0, size))
			}
			if err != nil {
				return fmt.Errorf("%s of Cloud Map: %w", action, err)
			}
		}
		if aws.ToString(more) == "" {
			return nil
		}
		if err := list.Page(aws.ToString(more)); err != nil {
			return fmt.Errorf("%s of Cloud Map: %w", action, err)
		}
		token = more
	}
}

// namespaces lists the namespaces of the account; an empty kind selects all types.
func (a *account) namespaces(ctx context.Context, kind types.NamespaceType) ([]types.NamespaceSummary, error) {
	in := &servicediscovery.ListNamespacesInput{MaxResults: aws.Int32(page)}
	if kind != "" {
		in.Filters = []types.NamespaceFilter{{Name: types.NamespaceFilterNameType, Values: []string{string(kind)}, Condition: types.FilterConditionEq}}
	}
	l := a.budget.Zones("Cloud Map")
	defer l.End(nil)
	var all []types.NamespaceSummary
	err := a.pages(ctx, "ListNamespaces", func(token *string, o func(*servicediscovery.Options)) (sizes []int, more *string, err error) {
		in.NextToken = token
		out, err := a.client.ListNamespaces(ctx, in, o)
		if err != nil {
			return nil, nil, err
		}
		for _, n := range out.Namespaces {
			sizes = append(sizes, 2*listlimit.ZoneSize+len(aws.ToString(n.Id))+len(aws.ToString(n.Name))+len(aws.ToString(n.Arn))+len(aws.ToString(n.Description)))
		}
		all = append(all, out.Namespaces...)
		return sizes, out.NextToken, nil
	}, l)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// entrySize is the memory of a service or instance in bytes without its texts, with its listed form.
const entrySize = 512

// services lists the services of a namespace.
func (a *account) services(ctx context.Context, zone dns.Zone, l *listlimit.Listing) ([]*service, error) {
	in := &servicediscovery.ListServicesInput{
		MaxResults: aws.Int32(page),
		Filters:    []types.ServiceFilter{{Name: types.ServiceFilterNameNamespaceId, Values: []string{zone.ID}, Condition: types.FilterConditionEq}},
	}
	var all []*service
	err := a.pages(ctx, "ListServices", func(token *string, o func(*servicediscovery.Options)) (sizes []int, more *string, err error) {
		in.NextToken = token
		out, err := a.client.ListServices(ctx, in, o)
		if err != nil {
			return nil, nil, err
		}
		for _, s := range out.Services {
			all = append(all, &service{
				id: aws.ToString(s.Id), label: aws.ToString(s.Name), description: aws.ToString(s.Description), config: s.DnsConfig, health: s.HealthCheckConfig,
				empty: s.InstanceCount != nil && *s.InstanceCount == 0,
			})
			sizes = append(sizes, entrySize+len(aws.ToString(s.Id))+len(aws.ToString(s.Name))+len(aws.ToString(s.Description)))
		}
		return sizes, out.NextToken, nil
	}, l)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// service returns the service with an ID, or nil.
func (a *account) service(ctx context.Context, id string) (*service, error) {
	var out *servicediscovery.GetServiceOutput
	err := a.call(ctx, "GetService", func(o func(*servicediscovery.Options)) (err error) {
		out, err = a.client.GetService(ctx, &servicediscovery.GetServiceInput{Id: &id}, o)
		return err
	})
	switch {
	case errors.Is(err, errNoService):
		return nil, nil
	case err != nil:
		return nil, err
	case out.Service == nil:
		return nil, errors.New("GetService of Cloud Map: the response has no service")
	}
	s := out.Service
	return &service{id: id, label: aws.ToString(s.Name), description: aws.ToString(s.Description), config: s.DnsConfig, health: s.HealthCheckConfig}, nil
}

// instances lists the instances of a service. Other listings count their bytes, too.
func (a *account) instances(ctx context.Context, id string, others ...*listlimit.Listing) ([]instance, error) {
	l := a.budget.Part("service " + sanitize.Name(id))
	defer l.End(nil)
	in := &servicediscovery.ListInstancesInput{ServiceId: &id, MaxResults: aws.Int32(page)}
	var all []instance
	err := a.pages(ctx, "ListInstances", func(token *string, o func(*servicediscovery.Options)) (sizes []int, more *string, err error) {
		in.NextToken = token
		out, err := a.client.ListInstances(ctx, in, o)
		if err != nil {
			return nil, nil, err
		}
		for _, i := range out.Instances {
			one := instance{id: aws.ToString(i.Id), attributes: i.Attributes}
			all, sizes = append(all, one), append(sizes, one.size())
		}
		return sizes, out.NextToken, nil
	}, l, others...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// actionRevision is the action for the revision of a service's instances.
const actionRevision = "DiscoverInstancesRevision"

// revision returns a number that rises with each change of a service's instances.
func (a *account) revision(ctx context.Context, namespace, name string) (int64, error) {
	var out *servicediscovery.DiscoverInstancesRevisionOutput
	err := a.call(ctx, actionRevision, func(o func(*servicediscovery.Options)) (err error) {
		out, err = a.client.DiscoverInstancesRevision(ctx, &servicediscovery.DiscoverInstancesRevisionInput{NamespaceName: &namespace, ServiceName: &name}, o)
		return err
	})
	if err != nil {
		return 0, err
	}
	if out.InstancesRevision == nil {
		return 0, errors.New("DiscoverInstancesRevision of Cloud Map: the response has no revision")
	}
	return *out.InstancesRevision, nil
}

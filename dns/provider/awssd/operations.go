package awssd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	"github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
	"github.com/signpostd/signpost/internal/pause"
)

// Pauses between status requests of an operation, which double.
const (
	firstPoll   = time.Second
	longestPoll = 10 * time.Second
)

// maxLostReplies limits the status requests in a row that fail.
const maxLostReplies = 5

// await returns when an operation has ended, with its error. delay is the first pause; zero means that the
// operation has probably ended.
func (a *account) await(ctx context.Context, id string, delay time.Duration) error {
	for failures := 0; ; delay = min(max(2*delay, a.poll), longestPoll) {
		if err := pause.For(ctx, delay); err != nil {
			return fmt.Errorf("wait for an operation of Cloud Map: %w", err)
		}
		op, err := a.operation(ctx, id)
		switch {
		case err != nil:
			if failures++; failures >= maxLostReplies || errors.Is(err, provider.ErrCredentials) {
				return unknownOutcome{fmt.Errorf("ask about an operation of Cloud Map: %w", err)}
			}
		case op.Status == types.OperationStatusSuccess:
			return nil
		case op.Status == types.OperationStatusFail:
			return newOperationError(aws.ToString(op.ErrorCode), aws.ToString(op.ErrorMessage))
		default:
			failures = 0
		}
	}
}

func (a *account) operation(ctx context.Context, id string) (*types.Operation, error) {
	out, err := call(ctx, a, "GetOperation", a.client.GetOperation, &servicediscovery.GetOperationInput{OperationId: &id})
	if err == nil && out.Operation == nil {
		err = incomplete("GetOperation", "operation")
	}
	if err != nil {
		return nil, err
	}
	return out.Operation, nil
}

// unknownOutcome is the error of a status request. It hides its class, which says nothing about the
// operation.
type unknownOutcome struct{ error }

// awaitAll waits for operations, and returns the errors of failed ones. If the outcome of one is unknown,
// awaitAll returns only that error.
func (a *account) awaitAll(ctx context.Context, operations []string) error {
	var errs []error
	delay := a.poll
	for _, id := range operations {
		err := a.await(ctx, id, delay)
		delay = 0
		if err != nil && !isCertain(err) {
			return err
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// operationOf returns the operation of a response, also if the response says that it is already running.
func operationOf[Out any](out *Out, err error, id func(*Out) *string) (string, error) {
	if running, ok := errors.AsType[*types.DuplicateRequest](err); ok && aws.ToString(running.DuplicateOperationId) != "" {
		return *running.DuplicateOperationId, nil
	}
	if err != nil {
		return "", err
	}
	if aws.ToString(id(out)) == "" {
		return "", httpapi.Incomplete("the response", "ID of an operation", "Cloud Map")
	}
	return *id(out), nil
}

// create creates a service, and returns its ID.
func (a *account) create(ctx context.Context, zone dns.Zone, name, description, request string, b *blueprint, tags []types.Tag) (string, error) {
	in := &servicediscovery.CreateServiceInput{
		Name: &name, NamespaceId: &zone.ID, Description: &description, CreatorRequestId: &request, Tags: tags,
		DnsConfig: &types.DnsConfig{DnsRecords: b.records, RoutingPolicy: b.routing},
	}
	out, err := call(ctx, a, "CreateService", a.client.CreateService, in)
	switch {
	case err != nil:
		return "", err
	case out.Service == nil || aws.ToString(out.Service.Id) == "":
		return "", incomplete("CreateService", "ID of the service")
	}
	return *out.Service.Id, nil
}

// update changes the TTLs and the description of a service, and waits for the end. Omitted fields other than
// the description would be deleted.
func (a *account) update(ctx context.Context, s *service, description string, records []types.DnsRecord) error {
	in := &servicediscovery.UpdateServiceInput{
		Id:      &s.id,
		Service: &types.ServiceChange{Description: &description, DnsConfig: &types.DnsConfigChange{DnsRecords: records}, HealthCheckConfig: s.health},
	}
	out, err := call(ctx, a, "UpdateService", a.client.UpdateService, in)
	operation, err := operationOf(out, err, func(out *servicediscovery.UpdateServiceOutput) *string { return out.OperationId })
	if err != nil {
		return err
	}
	return a.await(ctx, operation, a.poll)
}

// register starts the registration of an instance, and returns the operation.
func (a *account) register(ctx context.Context, serviceID string, i instance) (string, error) {
	in := &servicediscovery.RegisterInstanceInput{ServiceId: &serviceID, InstanceId: &i.id, Attributes: i.attributes}
	out, err := call(ctx, a, "RegisterInstance", a.client.RegisterInstance, in)
	return operationOf(out, err, func(out *servicediscovery.RegisterInstanceOutput) *string { return out.OperationId })
}

// deregister starts the deregistration of an instance, and returns the operation, or "" if the instance is
// gone.
func (a *account) deregister(ctx context.Context, serviceID, id string) (string, error) {
	in := &servicediscovery.DeregisterInstanceInput{ServiceId: &serviceID, InstanceId: &id}
	out, err := call(ctx, a, "DeregisterInstance", a.client.DeregisterInstance, in)
	if errors.Is(err, errNoInstance) || errors.Is(err, errNoService) {
		return "", nil
	}
	return operationOf(out, err, func(out *servicediscovery.DeregisterInstanceOutput) *string { return out.OperationId })
}

// remove deletes a service without instances. A missing one is no error.
func (a *account) remove(ctx context.Context, id string) error {
	_, err := call(ctx, a, "DeleteService", a.client.DeleteService, &servicediscovery.DeleteServiceInput{Id: &id})
	if errors.Is(err, errNoService) {
		return nil
	}
	return err
}

package dynamodb

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/signpostd/signpost/dns/awsaccess"
	"github.com/signpostd/signpost/dns/provider/httpapi"
)

// Open returns a client for DynamoDB; the region of access is --dynamodb-region. It doesn't contact
// AWS. The error says which setting is wrong.
func Open(ctx context.Context, access awsaccess.Access) (*dynamodb.Client, error) {
	cfg, err := access.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("the DynamoDB registry: %w", err)
	}
	if cfg.Region == "" {
		return nil, errors.New("the DynamoDB registry: no region: give --dynamodb-region, or set AWS_REGION")
	}
	return dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		// A page of a scan has at most 1 MiB (API Reference, Scan).
		o.HTTPClient = awsaccess.Client(awsaccess.LimitedTransport{Next: awsaccess.Transport(o.HTTPClient), Limit: httpapi.DefaultDecoded})
	}), nil
}

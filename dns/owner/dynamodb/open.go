package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"net/http"

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
		o.HTTPClient = awsaccess.Client(limited{awsaccess.Transport(o.HTTPClient)})
	}), nil
}

// limited is a transport that limits the memory of decoded responses. A page of a scan has at most
// 1 MiB (API Reference, Scan).
type limited struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(r)
	if err == nil {
		resp.Body = httpapi.LimitDecoded(resp.Body, httpapi.DefaultDecoded)
	}
	return resp, err
}

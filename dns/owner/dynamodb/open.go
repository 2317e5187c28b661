package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// Access says how to reach AWS. Everything else comes from the environment and the files that
// all programs for AWS read.
type Access struct {
	// Region is --dynamodb-region; Profile is one name of --aws-profile.
	Region, Profile string
	// AssumeRole and ExternalID are --aws-assume-role and --aws-assume-role-external-id.
	AssumeRole, ExternalID string
	// Retries is --aws-api-retries: how often a request is sent again. Zero or less stands for
	// the default of the SDK.
	Retries int
	// Wrap wraps the transport of requests. It may be nil.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// Open returns a client for DynamoDB. It doesn't contact AWS. The error says which setting is
// wrong.
func Open(ctx context.Context, access Access) (*dynamodb.Client, error) {
	options := []func(*config.LoadOptions) error{config.WithRegion(access.Region), config.WithSharedConfigProfile(access.Profile)}
	if access.Retries > 0 {
		options = append(options, config.WithRetryMaxAttempts(access.Retries+1))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("configure AWS for the DynamoDB registry: %w", err)
	}
	if cfg.Region == "" {
		return nil, errors.New("configure AWS for the DynamoDB registry: no region: give --dynamodb-region, or set AWS_REGION")
	}
	if access.Wrap != nil {
		// The settings of AWS may have made a client with certificates of its own.
		if cfg.HTTPClient == nil {
			cfg.HTTPClient = awshttp.NewBuildableClient()
		}
		cfg.HTTPClient = sender{next: access.Wrap(transport{client: cfg.HTTPClient})}
	}
	if access.AssumeRole != "" {
		role := stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), access.AssumeRole, func(o *stscreds.AssumeRoleOptions) {
			if access.ExternalID != "" {
				o.ExternalID = aws.String(access.ExternalID)
			}
		})
		cfg.Credentials = aws.NewCredentialsCache(role)
	}
	return dynamodb.NewFromConfig(cfg), nil
}

// transport sends requests through an HTTP client of the SDK.
type transport struct{ client aws.HTTPClient }

// RoundTrip implements [http.RoundTripper].
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t.client.Do(r) }

// sender is an HTTP client for the SDK that sends requests through a RoundTripper.
type sender struct{ next http.RoundTripper }

// Do implements [aws.HTTPClient].
func (s sender) Do(r *http.Request) (*http.Response, error) { return s.next.RoundTrip(r) }

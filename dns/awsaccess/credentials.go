package awsaccess

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	sdkcredentials "github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/signpostd/signpost/dns/provider"
)

// credentials are those that the SDK finds in the environment and in the shared files of AWS, as they are now.
// The SDK reads the files once.
type credentials struct {
	provider.FromFiles[aws.CredentialsProvider]
}

// credentials returns the credentials of a configuration that was loaded with options.
func (a Access) credentials(ctx context.Context, loaded aws.Config, options []func(*config.LoadOptions) error) (*credentials, error) {
	hadKey := isKey(loaded.Credentials)
	c := &credentials{provider.FromFiles[aws.CredentialsProvider]{Paths: sharedFiles(), Log: a.Log}}
	c.Make = func() (aws.CredentialsProvider, error) {
		cfg, err := config.LoadDefaultConfig(ctx, options...)
		switch {
		case err != nil:
			return nil, fmt.Errorf("configure AWS: %w", err)
		case hadKey && !isKey(cfg.Credentials):
			// The SDK would use the account of the machine.
			return nil, errors.New("the shared files of AWS have no access key any more")
		}
		return cfg.Credentials, nil
	}
	_, err := c.Get()
	return c, err
}

// Retrieve implements [aws.CredentialsProvider].
func (c *credentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	current, err := c.Get()
	if err != nil {
		return aws.Credentials{}, err
	}
	return current.Retrieve(ctx)
}

// isKey reports whether credentials are an access key.
func isKey(c aws.CredentialsProvider) bool {
	return aws.IsCredentialsProvider(c, sdkcredentials.StaticCredentialsProvider{})
}

// sharedFiles returns the paths of the files that the SDK reads.
func sharedFiles() []string {
	return []string{
		cmp.Or(os.Getenv("AWS_SHARED_CREDENTIALS_FILE"), config.DefaultSharedCredentialsFilename()),
		cmp.Or(os.Getenv("AWS_CONFIG_FILE"), config.DefaultSharedConfigFilename()),
	}
}

package azure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/signpostd/signpost/dns/provider"
)

// placeholder is the value of aadClientId and aadClientSecret on clusters with a managed identity.
const placeholder = "msi"

// The kinds of credentials, by the keys that choose them.
const (
	clientSecret     = "aadClientId and aadClientSecret"
	workloadIdentity = "useWorkloadIdentityExtension"
	managedIdentity  = "useManagedIdentityExtension"
)

// credentials get tokens with the credential in the configuration file as it is now.
type credentials struct {
	provider.FromFiles[azcore.TokenCredential]
}

// credentials returns the credentials of the settings. It sends no request.
func (a *Access) credentials(e environment, options policy.ClientOptions, log *slog.Logger) (*credentials, error) {
	c := &credentials{provider.FromFiles[azcore.TokenCredential]{Paths: []string{a.File}, Log: log}}
	c.Make = func() (azcore.TokenCredential, error) {
		s, err := a.load()
		if err != nil {
			return nil, err
		}
		return s.credential(e, options)
	}
	_, err := c.Get()
	return c, err
}

// GetToken implements [azcore.TokenCredential].
func (c *credentials) GetToken(ctx context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	current, err := c.Get()
	if err != nil {
		return azcore.AccessToken{}, err
	}
	return current.GetToken(ctx, options)
}

// chosen returns the kind of credentials that the settings select (order: spec/clouds.md §4.1), or "".
func (s *settings) chosen() string {
	switch {
	case s.ClientID != "" && s.ClientSecret != "" && s.ClientID != placeholder && s.ClientSecret != placeholder:
		return clientSecret
	case s.UseWorkload:
		return workloadIdentity
	case s.UseManaged:
		return managedIdentity
	}
	return ""
}

// credential returns the selected credential. It sends no request.
func (s *settings) credential(e environment, options policy.ClientOptions) (c azcore.TokenCredential, err error) {
	options.Cloud = e.Configuration
	what := s.chosen()
	switch what {
	case clientSecret:
		c, err = azidentity.NewClientSecretCredential(s.Tenant, s.ClientID, s.ClientSecret,
			&azidentity.ClientSecretCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: e.own})
	case workloadIdentity:
		c, err = azidentity.NewWorkloadIdentityCredential(s.workload(e, options))
	case managedIdentity:
		c, err = azidentity.NewManagedIdentityCredential(s.managed(options))
	default:
		return nil, errors.New("--azure-config-file: it names no credentials: give " + clientSecret + ", " + workloadIdentity + ", or " + managedIdentity)
	}
	if err != nil {
		return nil, fmt.Errorf("%s in --azure-config-file: %w", what, err)
	}
	return c, nil
}

// workload returns the options of a workload identity. Values that the settings omit come from the
// environment of the pod.
func (s *settings) workload(e environment, options policy.ClientOptions) *azidentity.WorkloadIdentityCredentialOptions {
	if !e.own {
		options.Cloud.ActiveDirectoryAuthorityHost = cmp.Or(os.Getenv("AZURE_AUTHORITY_HOST"), e.ActiveDirectoryAuthorityHost)
	}
	o := &azidentity.WorkloadIdentityCredentialOptions{ClientOptions: options, TenantID: s.Tenant, DisableInstanceDiscovery: e.own}
	if s.ClientID != placeholder {
		o.ClientID = s.ClientID
	}
	return o
}

// managed returns the options of a managed identity: that of the machine, or one with a client ID or resource
// ID.
func (s *settings) managed(options policy.ClientOptions) *azidentity.ManagedIdentityCredentialOptions {
	o := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: options}
	if strings.HasPrefix(s.Identity, "/") {
		o.ID = azidentity.ResourceID(s.Identity)
	} else if s.Identity != "" {
		o.ID = azidentity.ClientID(s.Identity)
	}
	return o
}

package azure

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
)

// environment is a cloud of Microsoft, or the user's own.
type environment struct {
	cloud.Configuration
	// own is true for AzureStackCloud, which Microsoft's servers don't know.
	own bool
}

// environment returns the cloud that the settings name.
func (s *settings) environment() (environment, error) {
	switch strings.ToLower(s.Cloud) {
	case "", "azurecloud", "azurepubliccloud":
		return environment{Configuration: cloud.AzurePublic}, nil
	case "azureusgovernment", "azureusgovernmentcloud":
		return environment{Configuration: cloud.AzureGovernment}, nil
	case "azurechinacloud":
		return environment{Configuration: cloud.AzureChina}, nil
	case "azurestackcloud":
		return s.stack()
	}
	return environment{}, fmt.Errorf("cloud %q in --azure-config-file: give AzureCloud, AzureUSGovernment, AzureChinaCloud or AzureStackCloud", s.Cloud)
}

// stack returns the cloud AzureStackCloud with the addresses of the settings.
func (s *settings) stack() (environment, error) {
	for _, address := range []struct{ key, value string }{
		{"resourceManagerEndpoint", s.Endpoint}, {"activeDirectoryAuthorityHost", s.AuthorityHost},
	} {
		if address.value == "" && address.key != "resourceManagerEndpoint" && s.chosen() == managedIdentity {
			continue // It asks the machine.
		}
		u, err := url.Parse(address.value)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
			return environment{}, fmt.Errorf("%s in --azure-config-file: the cloud AzureStackCloud needs a URL such as https://management.local.azurestack.external", address.key)
		}
	}
	endpoint := strings.TrimSuffix(s.Endpoint, "/")
	return environment{own: true, Configuration: cloud.Configuration{
		ActiveDirectoryAuthorityHost: s.AuthorityHost,
		Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: endpoint, Audience: cmp.Or(s.Audience, endpoint)},
		},
	}}, nil
}

// endpoint returns the URL of the resource manager.
func (e environment) endpoint() string { return e.Services[cloud.ResourceManager].Endpoint }

// scope returns the scope of tokens.
func (e environment) scope() string {
	return e.Services[cloud.ResourceManager].Audience + "/.default"
}

package azure

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/signpostd/signpost/dns/provider"
)

// fileLimit limits the configuration file in bytes.
const fileLimit = 1 << 20

// settings has the used fields of the configuration file. Those for other programs are ignored.
type settings struct {
	Cloud         string `json:"cloud"`
	Tenant        string `json:"tenantId"`
	Subscription  string `json:"subscriptionId"`
	Group         string `json:"resourceGroup"`
	ClientID      string `json:"aadClientId"`
	ClientSecret  string `json:"aadClientSecret"`
	UseManaged    bool   `json:"useManagedIdentityExtension"`
	UseWorkload   bool   `json:"useWorkloadIdentityExtension"`
	Identity      string `json:"userAssignedIdentityID"`
	AuthorityHost string `json:"activeDirectoryAuthorityHost"`
	Audience      string `json:"resourceManagerAudience"`
	Endpoint      string `json:"resourceManagerEndpoint"`
}

// load reads the file, and overrides its values with the flags.
func (a *Access) load() (*settings, error) {
	s, err := readSettings(a.File)
	if err != nil {
		return nil, err
	}
	s.Subscription, s.Group, s.Identity = cmp.Or(a.Subscription, s.Subscription), cmp.Or(a.Group, s.Group), cmp.Or(a.Identity, s.Identity)
	for _, needed := range []struct{ value, flag, key string }{
		{s.Subscription, "--azure-subscription-id", "subscriptionId"}, {s.Group, "--azure-resource-group", "resourceGroup"},
	} {
		switch {
		case needed.value == "":
			return nil, fmt.Errorf("%s: empty: give it, or %s in --azure-config-file %s", needed.flag, needed.key, a.File)
		case strings.ContainsAny(needed.value, "/?#%"):
			return nil, fmt.Errorf("%s %q: give the bare ID or name, not a path", needed.flag, needed.value)
		}
	}
	return s, nil
}

// readSettings reads a configuration file. Errors don't show its content, because that has secrets.
func readSettings(path string) (*settings, error) {
	const flag = "--azure-config-file"
	if path == "" {
		return nil, fmt.Errorf("%s: empty: give the file with the settings of Azure", flag)
	}
	text, err := provider.ReadFile(path, fileLimit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	var s settings
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("%s %s: not the settings of Azure in JSON: %w", flag, path, err)
	}
	return &s, nil
}

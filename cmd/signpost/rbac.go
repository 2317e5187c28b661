package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/signpostd/signpost/app/rbac"
	"github.com/signpostd/signpost/app/settings"
)

// rbacCommand holds the values of the flags of `signpost rbac`.
type rbacCommand struct {
	*settings.DNSFlags
	account    types.NamespacedName
	configFile string
}

const rbacHelp = `Print the roles that signpost dns needs in the cluster with the same flags, and their
bindings to its service account. Nothing is read from the cluster or changed there.

What a source may read is what it declares that it reads. With --namespace there is a
role in each of the namespaces, and a cluster role only for what is in none, such as
Nodes; some sources need all namespaces in any case. DNSRecords may be written in the
namespace of --registry=crd only, and the Lease of --leader-elect in its own.

With --config the roles are those for the publishers of a config file.`

func newRBACCommand(s streams) *cobra.Command {
	c := &rbacCommand{DNSFlags: settings.NewDNSFlags(), account: types.NamespacedName{Namespace: "kube-system", Name: "signpost-dns"}}
	cmd := &cobra.Command{
		Use:         "rbac",
		Short:       "Print the rights that signpost dns needs",
		Long:        rbacHelp,
		Example:     "  signpost rbac --source=service --provider=cloudflare --policy=sync | kubectl apply -f -",
		Annotations: map[string]string{negations: ""},
		Args:        noArguments,
		RunE:        func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Flags(), s.out) },
	}
	flags := cmd.Flags()
	c.AddFlags(flags)
	hideUnusedFlags(flags, "kubeconfig", "server", "log-level", "log-format", "timeout")
	for _, shown := range []string{"leader-elect", "leader-elect-resource-name", "leader-elect-resource-namespace", "dry-run"} {
		flags.Lookup(shown).Hidden = false
	}
	flags.StringVar(&c.configFile, "config", "", "`path` of a config file with the publishers; no flag of a publisher may be given then")
	flags.Var(accountValue{&c.account}, "service-account", "`namespace/name` of the service account of signpost dns")
	return cmd
}

func (c *rbacCommand) run(flags *pflag.FlagSet, out io.Writer) error {
	config, err := c.effectiveConfig(flags)
	if err != nil {
		return err
	}
	for _, p := range config.DNS.Publishers {
		if err := p.CheckSources(); err != nil {
			return settings.AsUsage(err)
		}
	}
	text := "# signpost dns needs no rights.\n"
	if roles := rbac.DNS(config, c.account); len(roles) > 0 {
		text = rbac.Manifest(roles) + "---\n" + rbac.Bindings(roles, c.account)
	}
	if _, err := io.WriteString(out, text); err != nil {
		return fmt.Errorf("write the roles: %w", err)
	}
	return nil
}

// effectiveConfig returns the config of the flags, or of the config file that they name.
func (c *rbacCommand) effectiveConfig(flags *pflag.FlagSet) (settings.Config, error) {
	if c.configFile != "" {
		return readPublishers(c.configFile, flags, []string{"config", "service-account"}, withoutSecrets)
	}
	err := c.Settle(flags)
	return c.Config, err
}

// hideUnusedFlags hides flags of signpost dns that another command accepts but ignores.
func hideUnusedFlags(flags *pflag.FlagSet, more ...string) {
	for _, name := range append(
		more,
		"metrics-address", "inspect-addr", "inspect-trust-loopback", "enable-pprof", "shutdown-grace", "kube-api-request-timeout", "request-timeout", "kube-api-qps", "kube-api-burst",
		"version", "leader-elect", "leader-elect-lease-duration", "leader-elect-renew-deadline", "leader-elect-retry-period",
		"leader-elect-resource-name", "leader-elect-resource-namespace", "once", "dry-run", "webhook-server", "history-bytes", "trace-collector",
	) {
		flags.Lookup(name).Hidden = true
	}
}

// accountValue is the value of --service-account.
type accountValue struct{ target *types.NamespacedName }

// String implements pflag.Value, as do Type and Set.
func (v accountValue) String() string {
	if v.target == nil {
		return ""
	}
	return v.target.String()
}

func (v accountValue) Type() string { return "string" }

func (v accountValue) Set(text string) error {
	namespace, name, _ := strings.Cut(text, "/")
	if len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return fmt.Errorf("must be the namespace and the name of a service account, such as kube-system/signpost-dns")
	}
	*v.target = types.NamespacedName{Namespace: namespace, Name: name}
	return nil
}

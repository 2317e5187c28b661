// Package kubectlflags adds kubectl's connection flags to a command: kubeconfig, context, namespace
// and user. Names, meanings and defaults are those of kubectl.
//
// A command creates [Flags] with [New], adds them with [Flags.Add] and, after parsing, calls
// [Flags.RESTConfig] and [Flags.Namespace].
//
// # Concurrency
//
// Flags belong to the goroutine of the command.
package kubectlflags

import (
	"cmp"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/signpostd/signpost/internal/version"
	"github.com/signpostd/signpost/kube"
)

// Flags are the values of the flags.
type Flags struct {
	source   kube.ConfigSource
	fallback string
	// added is the set that they were added to.
	added *pflag.FlagSet
}

// New returns unset flags.
func New() *Flags { return &Flags{} }

// Add adds --kubeconfig, --context, --cluster, --user, --as, --as-uid, --as-group and --namespace
// (-n), except those whose name the command already uses for another flag. Of these it only uses
// --kubeconfig.
func (f *Flags) Add(flags *pflag.FlagSet) {
	f.added = flags
	own := pflag.NewFlagSet("kubectl", pflag.ContinueOnError)
	own.StringVar(&f.source.Path, "kubeconfig", "", "`path` of a kubeconfig file; empty for $KUBECONFIG, ~/.kube/config, then the service account of the pod")
	clientcmd.BindOverrideFlags(&f.source.Overrides, own, clientcmd.ConfigOverrideFlags{
		AuthOverrideFlags: clientcmd.AuthOverrideFlags{
			Impersonate:       clientcmd.FlagInfo{LongName: clientcmd.FlagImpersonate, Description: "`user` to act as, such as system:serviceaccount:NAMESPACE:NAME"},
			ImpersonateUID:    clientcmd.FlagInfo{LongName: clientcmd.FlagImpersonateUID, Description: "`UID` to act as"},
			ImpersonateGroups: clientcmd.FlagInfo{LongName: clientcmd.FlagImpersonateGroup, Description: "`group` to act as a member of; may be repeated"},
		},
		ContextOverrideFlags: clientcmd.ContextOverrideFlags{
			ClusterName:  clientcmd.FlagInfo{LongName: clientcmd.FlagClusterName, Description: "`name` of the cluster of the kubeconfig to use"},
			AuthInfoName: clientcmd.FlagInfo{LongName: clientcmd.FlagAuthInfoName, Description: "`name` of the user of the kubeconfig to use"},
			Namespace:    clientcmd.FlagInfo{LongName: clientcmd.FlagNamespace, ShortName: "n", Description: "`namespace` to look in; empty for that of the context"},
		},
		CurrentContext: clientcmd.FlagInfo{LongName: clientcmd.FlagContext, Description: "`name` of the context of the kubeconfig to use"},
	})
	own.VisitAll(func(flag *pflag.Flag) {
		if flags.Lookup(flag.Name) == nil {
			flags.AddFlag(flag)
		}
	})
}

// Default sets the kubeconfig that is used if no flag names one. An empty path is ignored.
func (f *Flags) Default(path string) { f.fallback = path }

// Source returns the configuration source of the flags.
func (f *Flags) Source() kube.ConfigSource {
	source := f.source
	if flag := f.added.Lookup("kubeconfig"); flag != nil {
		source.Path = cmp.Or(flag.Value.String(), f.fallback)
	}
	return source
}

// RESTConfig returns the connection to the API server, with the command in the User-Agent. The
// error names the kubeconfig that is missing or invalid.
func (f *Flags) RESTConfig(command string) (*rest.Config, error) {
	return f.Source().Load(version.UserAgent(command))
}

// OwnConfig is like [Flags.RESTConfig], with the identity of the kubeconfig instead of that of --as.
func (f *Flags) OwnConfig(command string) (*rest.Config, error) {
	source := f.Source()
	user := &source.Overrides.AuthInfo
	user.Impersonate, user.ImpersonateUID, user.ImpersonateGroups = "", "", nil
	return source.Load(version.UserAgent(command))
}

// Namespace returns the namespace of the flag, else of the context or of the pod, else "default".
func (f *Flags) Namespace() (string, error) { return f.Source().Namespace() }

// GivenNamespace returns the namespace of the flag; empty if it isn't given.
func (f *Flags) GivenNamespace() string { return f.source.Overrides.Context.Namespace }

// As returns the impersonated user; empty for that of the kubeconfig.
func (f *Flags) As() string { return f.source.Overrides.AuthInfo.Impersonate }

// ServiceAccount returns the impersonated service account. ok is false if --as names another user,
// or none.
func (f *Flags) ServiceAccount() (namespace, name string, ok bool) {
	account, ok := strings.CutPrefix(f.As(), "system:serviceaccount:")
	if !ok {
		return "", "", false
	}
	namespace, name, ok = strings.Cut(account, ":")
	return namespace, name, ok && namespace != "" && name != ""
}

package main

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/signpostd/signpost/app/inspectclient"
	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/controllers"
	"github.com/signpostd/signpost/internal/logging"
)

const (
	// completionTime limits a shell completion.
	completionTime = 2 * time.Second
	// mostCompletions limits the offered values.
	mostCompletions = 500
)

type completer = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

func complete(cmd *cobra.Command, flag string, values ...string) {
	completeBy(cmd, flag, func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return beginning(begun, slices.Clone(values)), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeBy offers the results of a function. Flags that the command doesn't have are ignored.
func completeBy(cmd *cobra.Command, flag string, f completer) {
	if cmd.Flags().Lookup(flag) != nil {
		// If the flag has a function already, that one stays.
		_ = cmd.RegisterFlagCompletionFunc(flag, f)
	}
}

// completeCluster offers the contexts, clusters and users of the kubeconfig, and the namespaces of
// the cluster.
func (c *client) completeCluster(cmd *cobra.Command) {
	named := func(names func(*clientcmdapi.Config) []string) completer {
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			rules := clientcmd.NewDefaultClientConfigLoadingRules()
			rules.ExplicitPath, rules.WarnIfAllMissing = c.kubectl.Source().Path, false
			loaded, err := rules.Load()
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return names(loaded), cobra.ShellCompDirectiveNoFileComp
		}
	}
	completeBy(cmd, "context", named(func(c *clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.Contexts)) }))
	completeBy(cmd, "cluster", named(func(c *clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.Clusters)) }))
	completeBy(cmd, "user", named(func(c *clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.AuthInfos)) }))
	completeBy(cmd, "namespace", c.completeNamespaces)
	completeBy(cmd, "signpost-namespace", c.completeNamespaces)
}

// completeFromAPI offers values from the API server, if it responds in time.
func (c *client) completeFromAPI(cmd *cobra.Command, begun string, f func(context.Context, *corev1client.CoreV1Client, metav1.ListOptions) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	cfg, err := c.kubectl.RESTConfig("completion")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	api, err := corev1client.NewForConfig(cfg)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, err := f(ctx, api, metav1.ListOptions{Limit: mostCompletions})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return beginning(begun, names), cobra.ShellCompDirectiveNoFileComp
}

func (c *client) completeNamespaces(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	return c.completeFromAPI(cmd, begun, func(ctx context.Context, api *corev1client.CoreV1Client, options metav1.ListOptions) (names []string, err error) {
		list, err := api.Namespaces().List(ctx, options)
		if err != nil {
			return nil, err
		}
		for _, n := range list.Items {
			names = append(names, n.Name)
		}
		return names, nil
	})
}

// completeServices offers the Services of the namespace as svc/NAME.
func (c *client) completeServices(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	namespace, err := c.kubectl.Namespace()
	if len(args) > 0 || err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c.completeFromAPI(cmd, begun, func(ctx context.Context, api *corev1client.CoreV1Client, options metav1.ListOptions) (names []string, err error) {
		list, err := api.Services(namespace).List(ctx, options)
		if err != nil {
			return nil, err
		}
		for _, s := range list.Items {
			names = append(names, "svc/"+s.Name)
		}
		return names, nil
	})
}

func beginning(begun string, all []string) []string {
	return slices.DeleteFunc(all, func(name string) bool { return !strings.HasPrefix(name, begun) })
}

// completeZones offers the zones of publishers, and completeHashes the held plans.
func (c *client) completeZones(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	return c.completeFrom(cmd, args, begun, func(ctx context.Context, l *inspectclient.Client) ([]string, error) { return l.ZoneNames(ctx) })
}

func (c *client) completeHashes(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	return c.completeFrom(cmd, args, begun, func(ctx context.Context, l *inspectclient.Client) ([]string, error) {
		a, err := l.Plans(ctx, "")
		var hashes []string
		for _, name := range a.Names {
			hashes = append(hashes, strings.TrimPrefix(name, "plan/"))
		}
		return hashes, err
	})
}

// completeFrom offers values from the processes, if they respond in time.
func (c *client) completeFrom(cmd *cobra.Command, args []string, begun string, f func(context.Context, *inspectclient.Client) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	c.timeout = completionTime
	found, err := c.found(ctx, "completion")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer found.Close()
	names, err := f(ctx, inspectclient.New(found, completionTime, io.Discard))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for i := range names {
		names[i] = output.Clean(names[i]) // untrusted text must not reach a shell
	}
	return beginning(begun, names[:min(len(names), mostCompletions)]), cobra.ShellCompDirectiveNoFileComp
}

// completeFlags offers the values of flags with a fixed list: sources, providers, levels and so on.
// For flags that name a file, files are offered.
func completeFlags(cmd *cobra.Command) {
	complete(cmd, "log-level", logging.Levels()...)
	complete(cmd, "compatibility", "mate", "molecule", "kops-dns-controller")
	complete(cmd, "service-type-filter", "ClusterIP", "NodePort", "LoadBalancer", "ExternalName")
	var names []string
	for _, n := range controllers.Names() {
		names = append(names, string(n), "-"+string(n))
	}
	complete(cmd, "controllers", append(names, "*")...)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		choices := settings.Choices(f.Name)
		if name, _ := pflag.UnquoteUsage(f); choices != nil || name != "path" && f.Value.Type() != "bool" {
			complete(cmd, f.Name, choices...) // without a function, files are offered
		}
	})
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
}

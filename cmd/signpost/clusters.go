package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/signpostd/signpost/internal/ask"
	"github.com/signpostd/signpost/internal/settings"
)

func newClustersCommand(s streams) *cobra.Command {
	o := ask.ClustersOptions{Output: settings.OutputTable}
	cmd := &cobra.Command{
		Use:   "clusters",
		Short: "Show the clusters that a running signpost is linked with",
		Long: `Show the clusters that a running signpost is linked with, and the Secrets that
should link one but can't be used. The admin server of a process with the
destination role says what that process knows. From outside of the cluster, forward
the port first:

  kubectl port-forward --namespace linkerd deploy/linkerd-destination 9996 &

A cluster is connecting until everything has been read once, then synced. While it
can't be read it is stale, and signpost serves what it knew last.`,
		Example: `  signpost clusters
  signpost clusters --addr 10.42.0.7:9996 -o json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return ask.Clusters(cmd.Context(), o, s.out) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Addr, "addr", "127.0.0.1:9996", "`address` of the admin server")
	flags.VarP(settings.Choice(&o.Output, settings.OutputTable, settings.OutputJSON), "output", "o", "`format`: table or json")
	flags.DurationVar(&o.Timeout, "timeout", 5*time.Second, "how long to wait for the answer")
	return cmd
}

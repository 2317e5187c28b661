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
were meant to link one and can't be used. The admin server of its destination role
answers, so that what is shown is what that process knows; from outside of the
cluster, forward the port first:

  kubectl port-forward --namespace linkerd deploy/linkerd-destination 9996 &

A cluster is connecting until everything has been read once, then synced, and stale
while it can't be read: what was known last is served then.`,
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

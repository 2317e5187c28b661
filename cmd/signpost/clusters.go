package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/signpostd/signpost/app/inspectclient"
	"github.com/signpostd/signpost/app/output"
)

func newClustersCommand(s streams) *cobra.Command {
	c := newAdminClient()
	cmd := &cobra.Command{
		Use:   "clusters",
		Short: "Show the clusters that a running signpost is linked with",
		Long: `Show the clusters that a running signpost is linked with, and the Secrets that
should link one but can't be used. Each process with the destination role says what it
knows.

A cluster is connecting until everything has been read once, then synced. While it
can't be read it is stale, and signpost serves what it knew last.`,
		Example: `  signpost clusters
  signpost clusters --addr 127.0.0.1:9996 -o json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.query(cmd, s, func(ctx context.Context, l *inspectclient.Client) (output.Result, error) { return l.Clusters(ctx) })
		},
	}
	c.flags(cmd)
	return cmd
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/signpostd/signpost/app/inspectclient"
)

func newClustersCommand(s streams) *cobra.Command {
	return inspection(s, &cobra.Command{
		Use:   "clusters",
		Short: "Show the clusters that a running signpost is linked with",
		Long: `Show the clusters that a running signpost is linked with, and the Secrets that
should link one but can't be used. Each process with the destination role says what it
knows.

A cluster is connecting until everything has been read once, then synced. While it
can't be read it is stale, and signpost serves what it knew last.`,
		Example: `  signpost clusters
  signpost clusters --addr 127.0.0.1:9996 -o json`,
	}, (*inspectclient.Client).Clusters)
}

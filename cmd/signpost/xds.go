package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/xds/bootstrap"
)

func newXDSCommand(s streams) *cobra.Command {
	c := settings.Default()
	c.RunsXDS = true
	cmd := &cobra.Command{
		Use:   "xds",
		Short: "Serve xDS to gRPC clients and Envoy",
		Long: `Serve xDS to gRPC clients that resolve xds:///SERVICE.NAMESPACE:PORT, and to Envoy.
Nothing is written. Each replica serves.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runFlags(cmd.Context(), c, s) },
	}
	settings.AddFlags(cmd.Flags(), c.Settings())
	cmd.AddCommand(newXDSBootstrapCommand(s))
	return cmd
}

func newXDSBootstrapCommand(s streams) *cobra.Command {
	o := bootstrap.Options{Server: "dns:///signpost-xds.signpost.svc:8087"}
	cmd := &cobra.Command{
		Use:   "bootstrap",
		Short: "Print a bootstrap file for gRPC clients",
		Long: `Print a bootstrap file for gRPC clients, which find it by the environment variable
GRPC_XDS_BOOTSTRAP. One file is enough for all pods: Signpost knows the node and the
namespace of a pod by its address.`,
		Example: `  signpost xds bootstrap --server dns:///signpost-xds.signpost.svc:8087 > bootstrap.json`,
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			file, err := o.File()
			if err != nil {
				return settings.AsUsage(err)
			}
			text, err := json.MarshalIndent(file, "", "  ")
			if err != nil {
				return fmt.Errorf("make the bootstrap: %w", err)
			}
			_, err = fmt.Fprintf(s.out, "%s\n", text)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Server, "server", o.Server, "`URI` of Signpost for the clients")
	flags.StringVar(&o.Fallback, "fallback", "", "`URI` of another server, for when the first one is unreachable")
	flags.StringSliceVar(&o.Authorities, "authority", nil, "`authority` of xdstp:// names; repeat it for several")
	return cmd
}

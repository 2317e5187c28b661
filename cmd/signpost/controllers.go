package main

import (
	"github.com/spf13/cobra"

	"github.com/signpostd/signpost/app/settings"
)

func newControllersCommand(s streams) *cobra.Command {
	c := settings.Default()
	c.RunsControllers = true
	cmd := &cobra.Command{
		Use:   "controllers",
		Short: "Write Endpoints and EndpointSlices, in place of the Kubernetes controllers",
		Long: `Write Endpoints and EndpointSlices, in place of controllers of the Kubernetes
controller manager and of Linkerd. Flags that the controller manager also has are
named as there. Switch these controllers off in the controller manager:

  --controllers=*,-endpoints-controller,-endpointslice-controller,-endpointslice-mirroring-controller

The controllers are

  endpoints          Endpoints of Services that select pods
  endpointslices     EndpointSlices of Services that select pods
  mirroring          EndpointSlices of Endpoints that somebody wrote by hand
  externalworkloads  EndpointSlices of Services that select ExternalWorkloads

and the names that the controller manager has for them are accepted too.`,
		Example: "  signpost controllers --controllers=endpoints,endpointslices",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runFlags(cmd.Context(), c, cmd.Flags(), s)
		},
	}
	settings.AddFlags(cmd.Flags(), c.Settings())
	return cmd
}

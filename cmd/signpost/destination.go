package main

import (
	"github.com/spf13/cobra"

	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/app/settings"
)

func newDestinationCommand(s streams) *cobra.Command {
	c := settings.Default()
	c.RunsDestination = true
	var printOnly bool
	cmd := &cobra.Command{
		Use:   "destination",
		Short: "Serve the Destination API, in place of Linkerd's destination controller",
		Long: `Serve the Linkerd Destination API, in place of Linkerd's destination controller.
The flags are those of that program, with one dash or two; a few flags are added.`,
		Example:     "  signpost destination --controller-namespace linkerd --cluster-domain cluster.local",
		Args:        noArguments,
		Annotations: map[string]string{dropIn: "linkerd destination"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if printOnly {
				return printVersion(s.out, output.Format{})
			}
			return runFlags(cmd.Context(), c, cmd.Flags(), s)
		},
	}
	settings.AddFlags(cmd.Flags(), c.Settings())
	cmd.Flags().BoolVar(&printOnly, "version", false, "print the version and exit")
	return cmd
}

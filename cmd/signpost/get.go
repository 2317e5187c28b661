package main

import (
	"github.com/spf13/cobra"

	"github.com/signpostd/signpost/internal/ask"
)

func newGetCommand(s streams) *cobra.Command {
	var o ask.Options
	cmd := &cobra.Command{
		Use:   "get AUTHORITY",
		Short: "Show the endpoints that a Destination server answers with",
		Long: `Show the endpoints that a Destination server, Signpost or Linkerd's, answers with.
AUTHORITY is what a proxy asks for: NAME.NAMESPACE.svc.DOMAIN[:PORT].

Without --watch it prints the first answer. With --watch it prints a line for each
change as it arrives (+ added, - removed, ~ changed), and connects again when the
stream ends.`,
		Example: `  signpost get web.emojivoto.svc.cluster.local:80
  signpost get web.emojivoto.svc.cluster.local:80 --watch --token '{"nodeName":"node-1"}'`,
		Args: ask.OneAuthority,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Authority = args[0]
			return ask.Get(cmd.Context(), o, s.out, s.err)
		},
	}
	o.AddFlags(cmd.Flags())
	return cmd
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/signpostd/signpost/app/destclient"
)

func newProfileCommand(s streams) *cobra.Command {
	q := destinationQuery{notes: s.err}
	cmd := &cobra.Command{
		Use:   "profile AUTHORITY",
		Short: "Show the profile that a Destination server answers with",
		Long: `Show the profile that a Destination server, Signpost or Linkerd's, answers with. It
says what proxies do with traffic to a service or to one address. AUTHORITY is what a
proxy asks for: NAME.NAMESPACE.svc.DOMAIN[:PORT], in short NAME.NAMESPACE[:PORT] or
svc/NAME[:PORT], a cluster IP with its port, or the IP and port of a pod; IPv6 addresses
go in brackets.

Without --watch it prints the first profile. With --watch it prints each profile as it
arrives, after the time and what has changed (+ added, - removed, ~ changed), and
connects again when the stream ends, to another pod if its own is gone.`,
		Example: `  signpost profile web.emojivoto:80
  signpost profile 10.42.0.17:8080 --watch
  signpost profile svc/web -n emojivoto --token '{"ns":"emojivoto"}' -o json`,
		Args: oneAuthority,
		RunE: func(cmd *cobra.Command, args []string) error {
			return q.query(cmd, args[0], func(o destclient.Options) error { return destclient.Profile(cmd.Context(), o, s.out, s.err) })
		},
	}
	q.flags(cmd)
	return cmd
}

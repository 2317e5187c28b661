package main

import (
	"context"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"github.com/spf13/cobra"
)

func newGetCommand(s streams) *cobra.Command {
	var o askOptions
	cmd := &cobra.Command{
		Use:   "get AUTHORITY",
		Short: "Show the endpoints that a Destination server answers with",
		Long: `Show the endpoints that a Destination server answers with, be it Signpost or
Linkerd's. AUTHORITY is what a proxy asks for: NAME.NAMESPACE.svc.DOMAIN[:PORT].

Without --watch it prints the first answer. With --watch it prints a line for each
change as it arrives (+ added, - removed, ~ changed), and connects again when the
stream ends.`,
		Example: `  signpost get web.emojivoto.svc.cluster.local:80
  signpost get web.emojivoto.svc.cluster.local:80 --watch --token '{"nodeName":"node-1"}'`,
		Args: oneAuthority,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Authority = args[0]
			return runGet(cmd.Context(), o, s)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func runGet(ctx context.Context, o askOptions, s streams) error {
	conn, err := o.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	a := &asker[pb.Update]{
		askOptions: o,
		command:    "get",
		call:       pb.NewDestinationClient(conn).Get,
		printer:    newGetPrinter(o, s.out, time.Now),
		err:        s.err,
		quiet:      100 * time.Millisecond,
		backoff:    reconnectDelay,
	}
	return a.run(ctx)
}

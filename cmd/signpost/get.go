package main

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signpostd/signpost/app/destclient"
	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/inspectclient"
	"github.com/signpostd/signpost/app/portforward"
	"github.com/signpostd/signpost/app/settings"
)

func newGetCommand(s streams) *cobra.Command {
	q := destinationQuery{notes: s.err}
	cmd := &cobra.Command{
		Use:   "get AUTHORITY",
		Short: "Show the endpoints that a Destination server answers with",
		Long: `Show the endpoints that a Destination server, Signpost or Linkerd's, answers with.
AUTHORITY is what a proxy asks for, NAME.NAMESPACE.svc.DOMAIN[:PORT], or in short
NAME.NAMESPACE[:PORT] or svc/NAME[:PORT]. A pod of signpost that is ready is asked, unless
--addr names a server.

Without --watch it prints the first answer. With --watch it prints a line for each
change as it arrives (+ added, - removed, ~ changed), and connects again when the
stream ends, to another pod if its own is gone.`,
		Example: `  signpost get web.emojivoto:80
  signpost get svc/web -n emojivoto --watch --token '{"nodeName":"node-1"}'
  signpost get web.emojivoto.svc.cluster.local:80 --addr 127.0.0.1:8086`,
		Args: oneAuthority,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, ok := inspect.ParseAddress(strings.TrimSpace(args[0])); ok {
				return settings.Usagef("%q is an address: get takes the name of a Service; use signpost profile for an address", args[0])
			}
			return q.query(cmd, args[0], func(o destclient.Options) error { return destclient.Get(cmd.Context(), o, s.out, s.err) })
		},
	}
	q.flags(cmd)
	return cmd
}

// destinationQuery holds the flags of a command that queries a Destination server.
type destinationQuery struct {
	*client
	domain  string
	options destclient.Options
	notes   io.Writer
}

func (q *destinationQuery) flags(cmd *cobra.Command) {
	q.client = newClient(portforward.Destination, 8086, 5*time.Second)
	q.target.First = portforward.One
	flags := cmd.Flags()
	flags.StringVar(&q.options.Token, "token", "", "context token to send, such as `JSON` with ns, nodeName and pod")
	flags.BoolVarP(&q.options.Watch, "watch", "w", false, "print changes until interrupted")
	flags.StringVar(&q.domain, "cluster-domain", "cluster.local", "`domain` of the cluster, for names that are given in short")
	q.client.flags(cmd, destclient.OutputProto)
	flags.Lookup("timeout").Usage = "how long it may take to find a pod and, without --watch, to get the first answer"
	cmd.ValidArgsFunction = q.completeServices
}

// query finds a server and queries the authority.
func (q *destinationQuery) query(cmd *cobra.Command, authority string, f func(destclient.Options) error) error {
	o := q.options
	var err error
	if o.Authority, err = inspectclient.Authority(authority, q.domain, q.namespace()); err != nil {
		return err
	}
	find := func(ctx context.Context) (*portforward.Found, error) { return q.found(ctx, cmd.Name()) }
	found, err := find(cmd.Context())
	if err != nil {
		return err
	}
	server := found.Processes[0]
	d := &redialer{find: find, notes: q.notes, server: server, stop: found.Close}
	defer d.close()
	o.Addr, o.Timeout, o.Output, o.Waiting, o.Dial = server.Addr, q.timeout, q.format, q.waiting(server), d.dial
	return f(o)
}

// oneAuthority accepts exactly one argument, an authority.
func oneAuthority(cmd *cobra.Command, args []string) error {
	const example = "such as web.emojivoto:80"
	switch {
	case len(args) == 0:
		return settings.Usagef("no authority given: name one, %s", example)
	case len(args) > 1:
		if err := kindAndName(args); err != nil {
			return err
		}
		return tooMany(cmd, args, "authority")
	case strings.TrimSpace(args[0]) == "":
		return settings.Usagef("the authority is empty: name one, %s", example)
	}
	return nil
}

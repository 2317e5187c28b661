package main

import (
	"context"
	"io"
	"math"
	"strings"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// getOptions are the arguments and flags of `signpost get`.
type getOptions struct {
	Authority, Addr, Token, Output string
	Watch                          bool
	Timeout                        time.Duration
}

func newGetCommand(s streams) *cobra.Command {
	o := getOptions{Output: outputTable}
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
	flags := cmd.Flags()
	flags.StringVar(&o.Addr, "addr", "127.0.0.1:8086", "`address` of the server")
	flags.StringVar(&o.Token, "token", "", "context token to send, such as `JSON` with ns, nodeName and pod")
	flags.BoolVarP(&o.Watch, "watch", "w", false, "print changes until interrupted")
	flags.VarP(&choiceValue{target: &o.Output, allowed: []string{outputTable, outputJSON}}, "output", "o", "`format`: table or json (a line for each message)")
	flags.DurationVar(&o.Timeout, "timeout", 5*time.Second, "how long to wait for the first answer, without --watch")
	return cmd
}

func oneAuthority(_ *cobra.Command, args []string) error {
	const example = "such as web.emojivoto.svc.cluster.local:80"
	switch {
	case len(args) == 0:
		return usagef("no authority given: name one, %s", example)
	case len(args) > 1:
		return usagef("unexpected argument %q: get takes one authority", args[1])
	case strings.TrimSpace(args[0]) == "":
		return usagef("the authority is empty: name one, %s", example)
	}
	return nil
}

func runGet(ctx context.Context, o getOptions, s streams) error {
	if o.Timeout <= 0 {
		return usagef("--timeout=%v: must be more than 0s", o.Timeout)
	}
	// The server is asked directly, as proxies do, and answers of any size are taken.
	conn, err := grpc.NewClient(o.Addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)))
	if err != nil {
		return usagef("--addr=%s: %w", o.Addr, err)
	}
	defer conn.Close()
	g := &getter{
		getOptions: o,
		client:     pb.NewDestinationClient(conn),
		printer:    newPrinter(o, s.out, time.Now),
		err:        s.err,
		quiet:      100 * time.Millisecond,
		backoff:    reconnectDelay,
	}
	return g.run(ctx)
}

// getter asks for one authority.
type getter struct {
	getOptions
	client  pb.DestinationClient
	printer printer
	err     io.Writer
	// quiet is how long nothing may have come for the first answer to be whole: a server
	// may send it in several messages.
	quiet time.Duration
	// backoff is how long to wait before connecting again, after so many failures in a row.
	backoff func(failures int) time.Duration
}

func (g *getter) run(ctx context.Context) error {
	if g.Watch {
		return g.watch(ctx)
	}
	return g.once(ctx)
}

// reconnectDelay grows from half a second to ten.
func reconnectDelay(failures int) time.Duration {
	return min(500*time.Millisecond<<min(failures, 5), 10*time.Second)
}

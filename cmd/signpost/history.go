package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/inspectclient"
	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/app/settings"
)

func newHistoryCommand(s streams) *cobra.Command {
	c := newAdminClient()
	var q inspectclient.HistoryQuery
	cmd := &cobra.Command{
		Use:   "history [SUBJECT]",
		Short: "Show what changed in the last hour: endpoints, records, slices, and why",
		Long: `Show what changed in the last hour, in all processes of signpost, the oldest change
first. SUBJECT is a Service, a DNS name, an object or an address, as for signpost
explain; without one, all changes are shown.

  told N streams  endpoints that clients of the Destination API and xDS were sent
  ZONE            a record set that was created, updated or deleted, with its old and new
                  targets, or could not be changed
  write           Endpoints or an EndpointSlice that was written, or that another writer
                  changed

WHY names the object that asks for a record, another writer, or the error of a change
that failed. Each process keeps its changes in memory, at most --history-bytes of them; a
process that was restarted has none from before.`,
		Example: "  signpost history svc/web -n shop --since 10m\n  signpost history www.example.org\n  signpost history 10.42.0.17\n  signpost history --since 2m -o json",
		Args:    oneAtMost("subject"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if q.Since < time.Second || q.Since > time.Hour {
				return settings.Usagef("--since=%v: must be from 1s to 1h, because changes are kept for an hour", q.Since)
			}
			if q.Limit < 1 || q.Limit > inspect.PageSize {
				return settings.Usagef("--limit=%d: must be from 1 to %d", q.Limit, inspect.PageSize)
			}
			if len(args) > 0 {
				var err error
				if q.Subject, err = inspectclient.Subject(args[0], c.namespace); err != nil {
					return err
				}
			}
			return c.ask(cmd, s, func(ctx context.Context, l *inspectclient.Client) (output.Answer, error) { return l.History(ctx, q) })
		},
	}
	cmd.Flags().DurationVar(&q.Since, "since", time.Hour, "how far to look back, such as 10m")
	cmd.Flags().IntVar(&q.Limit, "limit", 200, "`number` of changes to show: the newest ones")
	c.flags(cmd)
	cmd.ValidArgsFunction = c.completeServices
	return cmd
}

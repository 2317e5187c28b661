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
first: endpoints that clients were told, record sets, and Endpoints and EndpointSlices
that were written, with the cause if it is known. SUBJECT is as for signpost explain.`,
		Example: "  signpost history svc/web -n shop --since 10m\n  signpost history www.example.org",
		Args:    oneSubject("subject"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if q.Since < time.Second || q.Since > time.Hour {
				return settings.Usagef("--since=%v: must be from 1s to 1h, because changes are kept for an hour", q.Since)
			}
			if q.Limit < 1 || q.Limit > inspect.PageSize {
				return settings.Usagef("--limit=%d: must be from 1 to %d", q.Limit, inspect.PageSize)
			}
			if len(args) > 0 {
				var err error
				if q.Subject, err = inspectclient.Subject(args[0], c.namespace()); err != nil {
					return err
				}
			}
			return c.query(cmd, s, func(ctx context.Context, l *inspectclient.Client) (output.Result, error) { return l.History(ctx, q) })
		},
	}
	cmd.Flags().DurationVar(&q.Since, "since", time.Hour, "how far to look back, such as 10m")
	cmd.Flags().IntVar(&q.Limit, "limit", 200, "`number` of changes to show: the newest ones")
	c.flags(cmd)
	cmd.ValidArgsFunction = c.completeServices
	return cmd
}

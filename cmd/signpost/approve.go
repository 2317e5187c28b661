package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/inspectclient"
	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/app/portforward"
	"github.com/signpostd/signpost/app/settings"
)

func newApproveCommand(s streams) *cobra.Command {
	c := newClient(portforward.Admin, portforward.DNSAdminPort, adminTimeout)
	var except []string
	var show bool
	var publisher string
	cmd := &cobra.Command{
		Use:   "approve [HASH]",
		Short: "Approve held DNS changes",
		Long: `Approve held DNS changes: deletions, or updates by new settings, that are more than the
budget of a zone allows. HASH is that of the plan, in the log and in the Event. Without
it, the plans that are held are shown, and with --show the changes of one. The process
that leads is found among all pods.

The approval is for the changes that this plan has shown, with their old and new targets.
Further names that join are held under another hash. If a record of the plan is to be
changed in another way by now, nothing is approved: look at what is held now, or leave
that name out with --except. A hash that several plans have is refused: name the
publisher with --publisher.

You need the right to create serviceaccounts/token in the namespace of the pod: the
approval is sent with a token of its service account that is good for nothing else. In
the pod, no token is needed: kubectl exec POD -- signpost approve HASH.`,
		Example: `  signpost approve
  signpost approve 8491bad890624cf1 --show
  signpost approve 8491bad890624cf1
  signpost approve 8491bad890624cf1 --except www.example.org --except mail.example.org`,
		Args: oneHash,
		RunE: func(cmd *cobra.Command, args []string) error {
			var hash string
			if len(args) > 0 {
				hash = strings.TrimSpace(args[0])
			}
			if err := checkApproval(hash, except, show); err != nil {
				return err
			}
			return c.query(cmd, s, func(ctx context.Context, l *inspectclient.Client) (output.Result, error) {
				switch {
				case hash == "":
					return l.Plans(ctx, publisher)
				case show:
					return l.Plan(ctx, hash, publisher)
				default:
					return l.Approve(ctx, hash, publisher, except)
				}
			})
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&except, "except", nil, "`name` of the plan to leave out; may be repeated")
	flags.BoolVar(&show, "show", false, "show the changes of the plan, and approve nothing")
	flags.StringVar(&publisher, "publisher", "", "`name` of the publisher in the config file; without it, the plans of all")
	c.flags(cmd)
	cmd.ValidArgsFunction = c.completeHashes
	return cmd
}

func checkApproval(hash string, except []string, show bool) error {
	switch {
	case hash == "" && (len(except) > 0 || show):
		return settings.Usagef("no hash given: name the plan by its hash, which `signpost approve` shows, the log and the Event")
	case hash != "" && !inspect.ValidHash(hash):
		return settings.Usagef("%.40q is no hash of a plan: it has 16 digits or letters from a to f, and `signpost approve` shows those that are held", hash)
	case len(except) > inspect.MaxExcept:
		return settings.Usagef("--except is given %d times: at most %d names can be left out; give the rest of the plan an object that asks for it", len(except), inspect.MaxExcept)
	}
	return nil
}

// oneHash accepts at most one argument, a hash.
func oneHash(cmd *cobra.Command, args []string) error {
	if len(args) == 1 && strings.TrimSpace(args[0]) == "" {
		return settings.Usagef("the hash is empty: name one, or leave it out")
	}
	if len(args) > 1 {
		return settings.Usagef("unexpected argument %q: %s takes one hash; give names to leave out with --except", args[1], cmd.Name())
	}
	return nil
}

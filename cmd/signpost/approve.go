package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/signpostd/signpost/internal/ask"
	"github.com/signpostd/signpost/internal/settings"
)

func newApproveCommand(s streams) *cobra.Command {
	var o ask.ApproveOptions
	cmd := &cobra.Command{
		Use:   "approve HASH",
		Short: "Have a running signpost make the DNS changes that it holds",
		Long: `Have a running signpost make the DNS changes that it holds: deletions, or updates by
new settings, that are more than the budget of a zone allows. HASH is that of the plan,
in the log and in the Event. The approval is for the names that this plan has shown, with
what was to happen to each. It stays good when further names join, which are held under
another hash, and ends for a name that is asked for again.

Ask the process that leads, from its own host or pod. From outside of the cluster,
forward the port first:

  kubectl port-forward --namespace kube-system POD 7979 &
  curl http://localhost:7979/api/v1alpha1/plan/HASH

The second command shows what the plan has.`,
		Example: `  signpost approve 8491bad890624cf1
  signpost approve 8491bad890624cf1 --except www.example.org --except mail.example.org`,
		Args: oneHash,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Hash = strings.TrimSpace(args[0])
			return ask.Approve(cmd.Context(), o, s.out)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Addr, "addr", "127.0.0.1:7979", "`address` of the admin server")
	flags.StringArrayVar(&o.Except, "except", nil, "`name` of the plan to leave out; may be repeated")
	flags.DurationVar(&o.Timeout, "timeout", 20*time.Second, "how long to wait for the answer")
	return cmd
}

// oneHash refuses all arguments but a single hash.
func oneHash(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return settings.Usagef("no hash given: name the plan by its hash, which is in the log and in the Event")
	case len(args) > 1:
		return settings.Usagef("unexpected argument %q: %s takes one hash; give names to leave out with --except", args[1], cmd.Name())
	}
	return nil
}

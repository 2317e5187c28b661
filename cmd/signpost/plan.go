package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signpostd/signpost/internal/preview"
	"github.com/signpostd/signpost/internal/process"
	"github.com/signpostd/signpost/internal/settings"
)

// exitDiffers is the status of `signpost plan` when something would be changed. Its errors
// of usage have that of other errors, so that scripts can tell them from a difference.
const exitDiffers = 2

// errDiffers says that a plan isn't empty, which was printed.
var errDiffers = errors.New("something would be changed")

// usageFails marks a command whose errors of usage have the status of a failure.
const usageFails = "signpost.dev/usage-fails"

// planCommand is the flags of `signpost plan`.
type planCommand struct {
	*settings.DNSFlags
	inputs preview.Inputs
	output string
}

const planHelp = `Show what signpost dns would change with the same flags, and change nothing: no
record, no Event, no status of an object.

Objects are read from the cluster or, with -f, from manifests: files, directories
(their *.yaml, *.yml and *.json), or - for standard input. Records are read from the
provider or, with --zone-file, from master files (RFC 1035), such as stored zone
transfers; --provider may then be left out.

The exit status is 0 when nothing would be changed, 2 when something would be, and 1
after an error. What can't be had, because somebody else owns a name or an object is
invalid, is shown with the reason, and doesn't count as a change.

With -o json the output is one object:

  differs   true when the exit status is 2, unless there are errors
  zones     list of
    zone, id  name, and the provider's own name for it
    changes   list of {action, name, type, setIdentifier, old, new, objects}: action is
              create, update or delete; old and new have {targets, ttl, properties,
              owner, resource}; objects are {kind, namespace, name, source}
    held      deletions that the budget doesn't allow, if there are any: {hash,
              deletions}; signpost dns --approve-plan=HASH makes them
  problems  list of {zone, name, reason, objects}: records that objects ask for and
            that can't be had, or that wait, and why
  errors    list of texts: what could not be read or checked

Fields are added, but not renamed nor removed. Ownership records are not shown.`

func newPlanCommand(s streams) *cobra.Command {
	c := &planCommand{DNSFlags: settings.NewDNSFlags(), output: settings.OutputTable}
	// What is wrong is shown in the plan; the log is for finding out more.
	c.Config.Process.LogLevel = "fatal"
	cmd := &cobra.Command{
		Use:         "plan",
		Short:       "Show what signpost dns would change",
		Long:        planHelp,
		Example:     "  signpost plan --source=service --provider=rfc2136 --policy=sync …\n  signpost plan --source=service --policy=sync -f manifests/ --zone-file=example.org.zone",
		Annotations: map[string]string{usageFails: "", negations: ""},
		Args:        noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.inputs.Stdin = cmd.InOrStdin()
			return c.run(cmd, s)
		},
	}
	flags := cmd.Flags()
	c.Add(flags)
	c.AddProcess(flags)
	// So that the flags of signpost dns can be given as they are.
	for _, name := range []string{
		"metrics-address", "enable-pprof", "shutdown-grace", "kube-api-request-timeout", "request-timeout", "kube-api-qps", "kube-api-burst",
		"version", "leader-elect", "leader-elect-lease-duration", "leader-elect-renew-deadline", "leader-elect-retry-period",
		"leader-elect-resource-name", "leader-elect-resource-namespace", "once", "dry-run", "webhook-server",
	} {
		flags.Lookup(name).Hidden = true
	}
	flags.StringArrayVarP(&c.inputs.Manifests, "filename", "f", nil, "`path` of manifests, in the place of a cluster; - is standard input; may be repeated")
	flags.StringArrayVar(&c.inputs.ZoneFiles, "zone-file", nil, "`path` of a master file of a zone, in the place of the provider; may be repeated")
	flags.VarP(settings.Choice(&c.output, settings.OutputTable, settings.OutputJSON), "output", "o", "`format`: table or json")
	return cmd
}

func (c *planCommand) run(cmd *cobra.Command, s streams) error {
	if len(c.inputs.ZoneFiles) > 0 && len(c.Publisher.Providers) == 0 {
		c.Publisher.Providers = []string{"inmemory"}
	}
	if err := c.Settle(cmd.Flags()); err != nil {
		return err
	}
	if err := c.inputs.Check(c.Publisher); err != nil {
		return err
	}
	log, err := process.StartLog(c.Config.Process, s.err)
	if err != nil {
		return fmt.Errorf("start the log: %w", err)
	}
	p, err := preview.Make(cmd.Context(), c.DNSFlags, c.inputs, log)
	if err != nil {
		return err
	}
	if c.output == settings.OutputJSON {
		err = p.WriteJSON(s.out)
	} else {
		err = p.WriteTable(s.out)
	}
	switch {
	case err != nil:
		return fmt.Errorf("write the plan: %w", err)
	case len(p.Errors) > 0:
		return errors.New(strings.Join(p.Errors, "\n"))
	case p.Differs:
		return errDiffers
	}
	return nil
}

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

// exitDiffers is the exit code of `signpost plan` when something would be changed.
const exitDiffers = 2

// errDiffers says that the plan, which was printed, has changes.
var errDiffers = errors.New("something would be changed")

// usageFails marks a command for whose usage errors the exit code is exitFailure, so that
// scripts can tell them from exitDiffers.
const usageFails = "signpost.dev/usage-fails"

// planCommand holds the values of the flags of `signpost plan`.
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

The exit code is 0 when nothing would be changed, 2 when something would be, and 1
after an error. A record that can't be published, because somebody else owns its name
or its object is invalid, is shown with the reason. It doesn't count as a change.

With -o json the output is one object:

  differs   whether something would be changed
  zones     list of
    zone, id  name, and the provider's own name for it
    changes   list of {action, name, type, setIdentifier, old, new, objects}: action is
              create, update or delete; old and new have {targets, ttl, properties,
              owner, resource}; objects are {kind, namespace, name, source}
    held      deletions that the budget doesn't allow, if there are any: {hash,
              deletions}; signpost dns --approve-plan=HASH makes them
  problems  list of {zone, name, reason, objects}: records that objects ask for and
            that are not published, or not yet, and why
  errors    list of texts: what could not be read or checked

Later versions may add fields, but never rename or remove any. Ownership records are
not shown.`

func newPlanCommand(s streams) *cobra.Command {
	c := &planCommand{DNSFlags: settings.NewDNSFlags(), output: settings.OutputTable}
	// The plan itself shows what is wrong; the log is for finding out more.
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
	c.AddFlags(flags)
	// They do nothing here, but a command line of signpost dns may have them.
	for _, name := range []string{
		"metrics-address", "enable-pprof", "shutdown-grace", "kube-api-request-timeout", "request-timeout", "kube-api-qps", "kube-api-burst",
		"version", "leader-elect", "leader-elect-lease-duration", "leader-elect-renew-deadline", "leader-elect-retry-period",
		"leader-elect-resource-name", "leader-elect-resource-namespace", "once", "dry-run", "webhook-server",
	} {
		flags.Lookup(name).Hidden = true
	}
	flags.StringArrayVarP(&c.inputs.Manifests, "filename", "f", nil, "`path` of manifests to read instead of a cluster; - is standard input; may be repeated")
	flags.StringArrayVar(&c.inputs.ZoneFiles, "zone-file", nil, "`path` of the master file of a zone to read instead of the provider's; may be repeated")
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
		return err
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

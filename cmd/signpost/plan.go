package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/app/preview"
	"github.com/signpostd/signpost/app/process"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/internal/flaggroup"
)

// exitDiffers is the exit code of `signpost plan` if something would be changed.
const exitDiffers = 2

// errDiffers means that the printed plan has changes.
var errDiffers = errors.New("something would be changed")

// usageFails marks a command whose usage errors have the exit code exitFailure, so that scripts can
// distinguish them from exitDiffers.
const usageFails = "signpost.dev/usage-fails"

// planCommand holds the values of the flags of `signpost plan`.
type planCommand struct {
	*settings.DNSFlags
	inputs preview.Inputs
	format output.Format
	// verbose adds why objects have no record.
	verbose bool
	// configFile is the path of a config file that replaces the flags of a publisher.
	configFile string
}

const planHelp = `Show what signpost dns would change with the same flags, and change nothing: no
record, no Event, no status of an object.

Objects are read from the cluster or, with -f, from manifests: files, directories
(their *.yaml, *.yml and *.json), or - for standard input. Records are read from the
provider or, with --zone-file, from master files (RFC 1035), such as stored zone
transfers; --provider may then be left out. A zone file needs its SOA record.

Manifests have no addresses that only a cluster knows. Names of such objects are shown with
"address not known yet"; if the zone has the name already, it is shown as kept. After the
changes, lines say which annotations are probably misspelled, how many objects give no
record, and which kinds no source reads.

With --config the publishers of a config file are shown, instead of one that flags
describe.

The exit code is 0 when nothing would be changed, 2 when something would be, and 1
after an error: also when something could not be read within --timeout. A record that
can't be published, because somebody else owns its name or its object is invalid, is
shown with the reason. It doesn't count as a change.

With --verbose each object that gives no record, or not all that it could, is shown with
the reason: first those that look like a mistake, then objects that nothing names or that
the settings leave out. There are at most 200 objects of each publisher.

With -o json the output is one object:

  differs   whether something would be changed
  complete  whether everything could be read
  zones     list of
    publisher its name in the config file, with --config
    zone, id  name, and the provider's own name for it
    changes   list of {action, name, type, setIdentifier, old, new, objects}: action is
              create, update or delete; old and new have {targets, ttl, properties,
              owner, resource, addressUnknown}; objects are {kind, namespace, name, source}
    awaited   with -f, list of {name, type, targets}: what the zone has under names of
              objects whose address isn't known yet
    held      changes that the budget doesn't allow, if there are any: {hash, deletions,
              updates}; signpost dns --approve-plan=HASH makes them
    notOurs   list of texts: wanted records that the zone has under another owner
  problems  list of {publisher, zone, name, reason, objects}: records that objects ask
            for and that are not published, or not yet, and why
  warnings  with -f, list as in unpublished: annotations that are probably misspelled
  lacking   with -f, how many objects give no record, or not all
  unread    with -f, list of {kind, group, count, sources}: objects that no source reads,
            and the sources that could
  errors    list of texts: what could not be read or checked
  unpublished      with --verbose, list of {publisher, object, reason, subject, message}:
                   objects that give no record, or not all
  moreUnpublished  how many other objects there are like these

Later versions may add fields, but never rename or remove any. Ownership records are
not shown.`

func newPlanCommand(s streams) *cobra.Command {
	c := &planCommand{DNSFlags: settings.NewDNSFlags()}
	// The plan itself shows what is wrong; the log is for details.
	c.Config.Process.LogLevel = "fatal"
	cmd := &cobra.Command{
		Use:         "plan",
		Short:       "Show what signpost dns would change",
		Long:        planHelp,
		Example:     "  signpost plan --source=service --provider=cloudflare --policy=sync\n  signpost plan --config signpost.yaml\n  signpost plan --source=service --policy=sync -f manifests/ --zone-file=example.org.zone",
		Annotations: map[string]string{usageFails: "", negations: ""},
		Args:        noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.inputs.Stdin = cmd.InOrStdin()
			return c.run(cmd, s)
		},
	}
	flags := cmd.Flags()
	c.AddFlags(flags)
	hideUnusedFlags(flags)
	flags.StringVar(&c.configFile, "config", "", "`path` of a config file whose publishers to show; no flag of a publisher may be given then")
	flags.StringArrayVarP(&c.inputs.Manifests, "filename", "f", nil, "`path` of manifests to read instead of a cluster; - is standard input; may be repeated")
	flags.StringArrayVar(&c.inputs.ZoneFiles, "zone-file", nil, "`path` of the master file of a zone to read instead of the provider's; may be repeated")
	flags.BoolVar(&c.verbose, "verbose", false, "show which objects give no record, or not all, and why")
	c.format.AddFlag(cmd)
	flaggroup.Set(flags, "Main", "config", "filename", "zone-file", "output", "timeout", "verbose")
	return cmd
}

func (c *planCommand) run(cmd *cobra.Command, s streams) error {
	config, err := c.effectiveConfig(cmd.Flags())
	if err != nil {
		return err
	}
	for _, publisher := range config.DNS.Publishers {
		if err := c.inputs.Check(publisher); err != nil {
			return err
		}
	}
	warn(s, config.Remarks)
	log, err := process.StartLog(config.Process, s.err)
	if err != nil {
		return err
	}
	p, err := preview.Make(cmd.Context(), preview.Options{Config: config, Inputs: c.inputs, Verbose: c.verbose, Limit: c.Timeout, Log: log})
	if err != nil {
		return err
	}
	if c.format.IsTable() {
		err = p.WriteTable(s.out)
	} else {
		err = output.Print(s.out, c.format, planResult(p))
	}
	switch {
	case err != nil:
		return fmt.Errorf("write the plan: %w", err)
	case len(p.Errors) > 0:
		lines := make([]string, len(p.Errors))
		for i, text := range p.Errors {
			lines[i] = output.Clean(text)
		}
		return errors.New(strings.Join(lines, "\n"))
	case p.Differs:
		return errDiffers
	}
	return nil
}

// warn writes remarks about settings, which a process would log.
func warn(s streams, remarks []settings.Remark) {
	for _, r := range remarks {
		fmt.Fprintln(s.err, "signpost: warning:", r)
	}
}

// planResult returns a plan for formats other than a table. Its items are the changes.
func planResult(p *preview.Plan) output.Result {
	a := output.Result{Value: p, Items: []any{}}
	for _, z := range p.Zones {
		for _, c := range z.Changes {
			a.Items = append(a.Items, c)
			a.Names = append(a.Names, "record/"+z.Zone+"/"+c.Name+"/"+c.Type)
		}
	}
	return a
}

// effectiveConfig returns the config of the flags, or of the config file that they name.
func (c *planCommand) effectiveConfig(flags *pflag.FlagSet) (settings.Config, error) {
	if c.configFile != "" {
		return c.fromFile(flags)
	}
	if len(c.inputs.ZoneFiles) > 0 && len(c.Publisher.Providers) == 0 {
		c.Publisher.Providers = []string{"inmemory"}
	}
	err := c.Settle(flags)
	if err != nil && len(c.Publisher.Providers) == 0 {
		err = settings.AsUsage(errors.Join(err, errors.New("--zone-file: in place of a provider, a plan can be made of the master file of a zone")))
	}
	return c.Config, err
}

// besideConfig are the flags that may be given with --config.
var besideConfig = []string{"config", "filename", "zone-file", "output", "verbose", "timeout", "log-level", "log-format", "kubeconfig"}

// fromFile returns the config of a file with the dns role only.
func (c *planCommand) fromFile(flags *pflag.FlagSet) (settings.Config, error) {
	if err := settings.CheckTimeout(c.Timeout); err != nil {
		return settings.Config{}, err
	}
	config, err := readPublishers(c.configFile, flags, besideConfig, readConfig)
	if err != nil {
		return settings.Config{}, err
	}
	config.RunsDestination, config.RunsControllers, config.RunsXDS, config.DNS.Leader.Elect = false, false, false, false
	config.Process.LogLevel, config.Process.LogFormat = c.Config.Process.LogLevel, c.Config.Process.LogFormat
	if flags.Changed("kubeconfig") {
		config.Process.Kubeconfig = c.Config.Process.Kubeconfig
	}
	return config, nil
}

// readPublishers returns the config of a file with publishers. Only the flags in beside may be
// given with --config.
func readPublishers(path string, flags *pflag.FlagSet, beside []string, read func(file string) (settings.Config, error)) (settings.Config, error) {
	var others []string
	flags.Visit(func(f *pflag.Flag) {
		if !slices.Contains(beside, f.Name) {
			others = append(others, "--"+f.Name)
		}
	})
	if len(others) > 0 {
		return settings.Config{}, settings.Usagef("--config, %s: with a config file its fields count: leave out the other flags, or --config", strings.Join(others, ", "))
	}
	config, err := read(path)
	if err != nil {
		return settings.Config{}, err
	}
	if !config.RunsDNS {
		return settings.Config{}, settings.Usagef("%s:1: no section %s: it has the publishers", path, settings.DNSSection)
	}
	return config, nil
}

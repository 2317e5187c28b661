package main

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/app/check"
	"github.com/signpostd/signpost/app/installation"
	"github.com/signpostd/signpost/app/kubectlflags"
	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/app/process"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/internal/pause"
)

const checkHelp = `Check whether Signpost can run: before it is installed, and afterwards. Nothing is
changed.

Name a config file, manifests with -f, or a role with its flags. Manifests are those of
an installation, such as the output of helm template; - reads standard input. Without any
of these, the installation of the cluster is checked: the Deployment with the label
app.kubernetes.io/name=signpost, in the namespace of --namespace or else in all.

The checks are those that the roles need: the API server, each right, the kinds of
objects, who else writes endpoints or leads, the DNS provider with its zones, and the pods
of Signpost. Secrets that only the pod has are read from the cluster; if you may not read
one, the zones of its publisher are unknown.

Rights are those of the service account of the installation that was found, and otherwise
those of the user of the kubeconfig. To check those that Signpost will have, name its
service account:

  --as system:serviceaccount:NAMESPACE:NAME

Everything else is checked as the user of the kubeconfig.

The exit code is 0 when all is fit, 1 when something is wrong, which is named, also a
flag or a field of the config file, and 2 when something couldn't be found out, such as
when the API server or the provider doesn't answer.`

// checkCommand holds the common flags of `signpost check` and its subcommands.
type checkCommand struct {
	configFile string
	// manifests is the path of manifests, - for standard input.
	manifests string
	kube      *kubectlflags.Flags
	// found is the installation; account is the user name of its service account if the rights
	// are those of that account.
	found   installation.Installation
	account string
	wait    time.Duration
	timeout time.Duration
	output  string
	streams streams
}

// errUnfit and errUnknown mean that the printed report has failed or unknown results.
var (
	errUnfit   = errors.New("something is wrong")
	errUnknown = errors.New("something couldn't be found out")
)

// exitUnknown is the exit code of `signpost check` and `signpost explain` if something is unknown.
const exitUnknown = 2

const (
	// checkTimeout is the default time limit of a check.
	checkTimeout = 15 * time.Second
	// waitBetween is the time between two runs of the checks with --wait.
	waitBetween = 2 * time.Second
)

func newCheckCommand(s streams) *cobra.Command {
	c := newCheck(s)
	cmd := &cobra.Command{
		Use:   "check [--config FILE | -f MANIFESTS | destination | controllers | dns | xds]",
		Short: "Check whether Signpost can run, before and after it is installed",
		Long:  checkHelp,
		Example: `  helm template signpost CHART --namespace signpost --values values.yaml | signpost check -f -
  signpost check
  signpost check --config signpost.yaml
  signpost check --config signpost.yaml --as system:serviceaccount:signpost:signpost
  signpost check dns --source=service --provider=cloudflare --policy=sync
  signpost check controllers --wait 2m`,
		Annotations: map[string]string{usageFails: ""},
		Args:        noArguments,
		RunE:        func(cmd *cobra.Command, _ []string) error { return c.runFile(cmd.Context()) },
	}
	cmd.Flags().StringVarP(&c.manifests, "filename", "f", "", "`path` of manifests with the installation to check; - for standard input")
	cmd.Flags().StringVar(&c.configFile, "config", "", "`path` of the config file whose roles to check")
	c.addFlags(cmd.Flags())
	cmd.AddCommand(newCheckRole(s, settings.DestinationSection), newCheckRole(s, settings.ControllersSection), newCheckDNS(s), newCheckRole(s, settings.XDSSection))
	return cmd
}

func newCheck(s streams) *checkCommand {
	return &checkCommand{kube: kubectlflags.New(), timeout: checkTimeout, output: check.FormatTable, streams: s}
}

func (c *checkCommand) addFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&c.wait, "wait", 0, "how long to repeat the checks until all is fit")
	if flags.Lookup("timeout") == nil {
		flags.DurationVar(&c.timeout, "timeout", c.timeout, "how long each check may take; a check that takes longer is unknown")
	}
	flags.VarP(settings.Choice(&c.output, check.FormatTable, check.FormatShort, check.FormatJSON, check.FormatYAML), "output", "o", "`format`: table, short (without what is ok), json or yaml")
	c.kube.Add(flags)
}

// checkRoleHelp returns the help of a subcommand. The help of signpost check has the rest.
func checkRoleHelp(section string) string {
	return "Check what signpost " + section + " needs, with the same flags, and change nothing. The checks, the\nrights and the exit codes are those of signpost check (see signpost check --help)."
}

// newCheckRole returns the command that checks the destination, the controllers or the xds role.
func newCheckRole(s streams, section string) *cobra.Command {
	c, config := newCheck(s), settings.Default()
	config.RunsDestination, config.RunsControllers = section == settings.DestinationSection, section == settings.ControllersSection
	config.RunsXDS = section == settings.XDSSection
	cmd := &cobra.Command{
		Use:         section,
		Short:       "Check what signpost " + section + " needs, with the same flags",
		Long:        checkRoleHelp(section),
		Example:     "  signpost check " + section + " -o short",
		Annotations: map[string]string{usageFails: ""},
		Args:        noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if config.Remarks, err = settings.CheckFlags(config.Sections()...); err != nil {
				return err
			}
			return c.run(cmd.Context(), config)
		},
	}
	if config.RunsDestination {
		cmd.Annotations[dropIn] = ""
	}
	settings.AddFlags(cmd.Flags(), config.Settings())
	hideProcessFlags(cmd.Flags())
	c.addFlags(cmd.Flags())
	return cmd
}

// hideProcessFlags hides flags that are accepted but have no effect on check.
func hideProcessFlags(flags *pflag.FlagSet) {
	for _, name := range []string{"log-level", "log-format", "metrics-addr", "inspect-addr", "inspect-trust-loopback", "enable-pprof", "shutdown-grace"} {
		flags.Lookup(name).Hidden = true
	}
}

func newCheckDNS(s streams) *cobra.Command {
	c, own := newCheck(s), settings.NewDNSFlags()
	cmd := &cobra.Command{
		Use:         settings.DNSSection,
		Short:       "Check what signpost dns needs, with the same flags",
		Long:        checkRoleHelp(settings.DNSSection) + "\n\n--namespace, --kubeconfig and --server are the flags of signpost dns.",
		Example:     "  signpost check dns --source=service --provider=cloudflare --policy=sync -o short",
		Annotations: map[string]string{usageFails: "", negations: ""},
		Args:        noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := own.Settle(cmd.Flags()); err != nil {
				return err
			}
			if cmd.Flags().Changed("timeout") {
				c.timeout = own.Timeout
			}
			return c.run(cmd.Context(), own.Config)
		},
	}
	flags := cmd.Flags()
	own.AddFlags(flags)
	hideUnusedFlags(flags, "log-level", "log-format")
	for _, shown := range []string{"leader-elect", "leader-elect-resource-name", "leader-elect-resource-namespace"} {
		flags.Lookup(shown).Hidden = false
	}
	timeout := flags.Lookup("timeout")
	timeout.Usage, timeout.DefValue = "how long each check may take; a check that takes longer is unknown", checkTimeout.String()
	c.addFlags(flags)
	return cmd
}

func (c *checkCommand) run(ctx context.Context, config settings.Config) error {
	return c.report(ctx, c.input(config))
}

// report runs the checks until none fails, or once without --wait, and prints the report.
func (c *checkCommand) report(ctx context.Context, in check.Input) error {
	warn(c.streams, in.Config.Remarks)
	if err := settings.CheckTimeout(c.timeout); err != nil {
		return err
	}
	if c.wait < 0 {
		return settings.Usagef("--wait=%v: must not be negative", c.wait)
	}
	quiet := settings.Default().Process
	quiet.LogLevel = "fatal" // the results have the causes
	log, err := process.StartLog(quiet, c.streams.err)
	if err != nil {
		return err
	}
	in.Log = log
	report := c.runUntilOK(ctx, in)
	if ctx.Err() != nil {
		return errors.New("interrupted before everything was checked")
	}
	// The report escapes untrusted text itself, and has colors that must not be escaped.
	out := output.Raw(c.streams.out)
	if err := report.Write(out, c.output, colorsOf(out)); err != nil {
		return err
	}
	switch report.ExitCode() {
	case exitOK:
		return nil
	case exitFailure:
		return errUnfit
	default:
		return errUnknown
	}
}

// runUntilOK repeats the checks until all are OK, or the time of --wait is over.
func (c *checkCommand) runUntilOK(ctx context.Context, s check.Input) check.Report {
	deadline := time.Now().Add(c.wait)
	for {
		report := check.Run(ctx, check.Checks(s), c.timeout)
		if report.ExitCode() == exitOK || time.Until(deadline) <= 0 {
			return report
		}
		if pause.For(ctx, min(waitBetween, time.Until(deadline))) != nil {
			return report
		}
	}
}

// input returns the config to check, and the connections for it.
func (c *checkCommand) input(config settings.Config) check.Input {
	s := check.Input{Config: config, As: "the user of the kubeconfig", Account: types.NamespacedName{Namespace: "default", Name: "signpost"}}
	if as := c.kube.As(); as != "" {
		s.As = as
	}
	if namespace, err := c.kube.Namespace(); err == nil {
		s.Account.Namespace = namespace
	}
	if namespace, name, ok := c.kube.ServiceAccount(); ok {
		s.Account = types.NamespacedName{Namespace: namespace, Name: name}
	}
	if s.Rights, s.Unreachable = c.kube.RESTConfig("check"); s.Unreachable != nil {
		return s
	}
	if s.Own, s.Unreachable = c.kube.OwnConfig("check"); s.Unreachable != nil {
		return s
	}
	if server := config.Server(); server != "" {
		s.Rights.Host, s.Own.Host = server, server
	}
	c.asInstalled(&s)
	return s
}

// colorsOf returns the colors of an output: none if it isn't a terminal or NO_COLOR is set
// (https://no-color.org).
func colorsOf(w io.Writer) check.Colors {
	file, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(file.Fd())) {
		return check.NoColors
	}
	return check.ANSIColors
}

// noRole returns the error for a config file without roles.
func noRole(file string) error {
	return settings.Usagef("%s:1: no role to run: add the section %s, %s, %s or %s", file,
		settings.DestinationSection, settings.ControllersSection, settings.DNSSection, settings.XDSSection)
}

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/flaggroup"
	"github.com/signpostd/signpost/internal/flagreason"
	"github.com/signpostd/signpost/internal/nearest"
	"github.com/signpostd/signpost/internal/version"
)

const rootHelp = `Signpost watches a Kubernetes cluster once and publishes where each Service runs: to
Linkerd proxies and xDS clients, into Endpoints and EndpointSlices, and into DNS.

In the cluster, start it with a config file, or with the flags of the program
that it replaces:

  signpost run --config signpost.yaml
  signpost destination --cluster-domain=cluster.local
  signpost controllers --controllers=endpoints,endpointslices
  signpost dns --source=service --provider=cloudflare --policy=sync
  signpost xds

From anywhere, ask those that run. Their pods are found with your kubeconfig:

  signpost now
  signpost explain svc/web -n shop
  signpost get web.shop:80 --watch

See what would be changed in DNS, and have held deletions made:

  signpost plan --source=service --provider=cloudflare --policy=sync
  signpost approve

As kubectl-signpost in the PATH it is also "kubectl signpost".`

func newRootCommand(s streams) *cobra.Command {
	var printVersion bool
	root := &cobra.Command{
		Use:           "signpost",
		Short:         "One endpoint control plane for Kubernetes",
		Long:          rootHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          knownCommand,
		// Only commands have flags.
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if printVersion {
				_, err := fmt.Fprintln(s.out, version.Current())
				return err
			}
			return noCommand(cmd, s)
		},
	}
	// The flag that cobra would add prints with a template, which keeps methods in the program that
	// nobody calls (docs/performance.md).
	root.Flags().BoolVarP(&printVersion, "version", "v", false, "print the version")
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(explainFlagError)
	root.SetUsageFunc(usage)
	root.AddGroup(commandGroups()...)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			// pflag would print deprecations to the output of the command.
			if _, logged := c.Flags().Output().(*notices); !logged {
				c.Flags().SetOutput(s.err)
			}
			flaggroup.Set(c.Flags(), "Process", "version")
			alias(c.Flags(), "metrics-addr", "metrics-address")
			addHelpAll(c)
			completeFlags(c)
			root.AddCommand(c)
		}
	}
	add(groupRoles, newRunCommand(s), newDestinationCommand(s), newControllersCommand(s), newDNSCommand(s), newXDSCommand(s))
	add(groupLook, newNowCommand(s), newStatusCommand(s), newExplainCommand(s), newHistoryCommand(s), newStreamsCommand(s), newServicesCommand(s), newProblemsCommand(s), newClustersCommand(s), newGetCommand(s), newProfileCommand(s))
	add(groupDNS, newRecordsCommand(s), newPlanCommand(s), newApproveCommand(s))
	add(groupSetup, newCheckCommand(s), newConfigCommand(s), newBundleCommand(s), newRBACCommand(s), newVersionCommand(s))
	root.SetHelpCommandGroupID(groupSetup)
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			c.Short, c.Args = "Show the help of a command", knownTopic
		}
	}
	root.SetCompletionCommandGroupID(groupSetup)
	return root
}

// onlyCommands marks a command that does nothing without a subcommand.
const onlyCommands = "signpost.dev/only-commands"

// commandsOnly makes a command refuse everything but its subcommands.
func commandsOnly(cmd *cobra.Command, s streams) {
	cmd.Annotations = map[string]string{onlyCommands: ""}
	cmd.Args = knownCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return noCommand(cmd, s) }
}

// initCompletion adds the command completion, which cobra would add without a check of arguments.
func initCompletion(root *cobra.Command, s streams) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			commandsOnly(c, s)
		}
	}
}

// noCommand shows the help of a command as an error, because a subcommand is missing.
func noCommand(cmd *cobra.Command, s streams) error {
	cmd.SetOut(s.err)
	if err := cmd.Help(); err != nil {
		return err
	}
	return settings.Usagef("no command given: use one of those above")
}

// alias makes each of two names of a flag work. --help shows the name that the command's flag set
// has.
func alias(flags *pflag.FlagSet, one, other string) {
	if flags.Lookup(one) == nil {
		one, other = other, one
	}
	f := flags.Lookup(one)
	if f == nil || flags.Lookup(other) != nil {
		return
	}
	same := *f
	same.Name, same.Hidden = other, true
	flags.AddFlag(&same)
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// knownTopic refuses arguments of help that are no command.
func knownTopic(cmd *cobra.Command, args []string) error {
	found, rest, err := cmd.Root().Find(args)
	if err != nil || !found.HasSubCommands() {
		return err
	}
	return knownCommand(found, rest)
}

// knownCommand refuses the arguments of a command with subcommands: these are unknown commands.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	names := commandNames(cmd)
	if near, ok := nearest.Of(args[0], names); ok {
		return settings.Usagef("unknown command %q: did you mean %q?", args[0], near)
	}
	return settings.Usagef("unknown command %q: use one of %s", args[0], strings.Join(names, ", "))
}

// noArguments refuses arguments that are not flags.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return settings.Usagef("unexpected argument %q: %s", args[0], instead(cmd, args[0]))
}

// instead returns what to write instead of an argument that the command doesn't take.
func instead(cmd *cobra.Command, argument string) string {
	if near, ok := nearest.Of(argument, commandNames(cmd)); ok {
		return fmt.Sprintf("did you mean %q?", cmd.CommandPath()+" "+near)
	}
	flagsOnly := fmt.Sprintf("%q takes flags only", cmd.CommandPath())
	if _, err := strconv.ParseBool(argument); err == nil {
		return flagsOnly + "; give a boolean flag its value with an equals sign, as in --flag=false"
	}
	var ways []string
	for _, way := range []struct{ flag, text string }{{"filename", "manifests with --filename"}, {"config", "a config file with --config"}} {
		if f := cmd.Flags().Lookup(way.flag); f != nil && !f.Changed {
			ways = append(ways, way.text)
		}
	}
	if len(ways) > 0 && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(argument)) {
		return flagsOnly + ": name " + strings.Join(ways, ", or ")
	}
	return fmt.Sprintf("%s: see %q", flagsOnly, cmd.CommandPath()+" --help")
}

// explainFlagError returns the error with the wrong flag and an advice.
func explainFlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		return unknownFlag(cmd, unknown)
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		if provider.IsSecret(invalid.GetFlag()) {
			return settings.Usagef("--%s: %w", invalid.GetFlag().Name, flagreason.Of(invalid))
		}
		return settings.Usagef("--%s=%s: %w", invalid.GetFlag().Name, invalid.GetValue(), flagreason.Of(invalid))
	}
	var missing *pflag.ValueRequiredError
	if errors.As(err, &missing) {
		_, usage := pflag.UnquoteUsage(missing.GetFlag())
		return settings.Usagef("--%s: a value is missing: %s", missing.GetFlag().Name, usage)
	}
	return settings.AsUsage(err)
}

func unknownFlag(cmd *cobra.Command, err *pflag.NotExistError) error {
	if letters := err.GetSpecifiedShortnames(); letters != "" {
		if name, _, _ := strings.Cut(letters, "="); len(name) > 1 && cmd.Flags().Lookup(name) != nil {
			return settings.Usagef("unknown flag -%s: did you mean --%[1]s?", letters)
		}
		return settings.Usagef("unknown flag -%s: see %q", letters, cmd.CommandPath()+" --help")
	}
	if _, dns := cmd.Annotations[negations]; dns {
		if hint := configure.FormerFlag(err.GetSpecifiedName()); hint != "" {
			return settings.Usagef("unknown flag --%s: %s", err.GetSpecifiedName(), hint)
		}
		if name, negated := strings.CutPrefix(err.GetSpecifiedName(), "no-"); negated && cmd.Flags().Lookup(name) != nil {
			return settings.Usagef("unknown flag --no-%s: did you mean --%[1]s?", name)
		}
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near, ok := nearest.Of(err.GetSpecifiedName(), names); ok {
		return settings.Usagef("unknown flag --%s: did you mean --%s?", err.GetSpecifiedName(), near)
	}
	return settings.Usagef("unknown flag --%s: see %q", err.GetSpecifiedName(), cmd.CommandPath()+" --help")
}

// dropIn marks a command that replaces a program with Go's flag package, with one dash or two.
// negations marks a command that replaces ExternalDNS, which has a flag --no-NAME for every boolean
// flag.
const (
	dropIn    = "signpost.dev/drop-in"
	negations = "signpost.dev/negations"
)

// dropInArgs returns the arguments of the process, with the flags of a marked command in pflag's
// form.
func dropInArgs(root *cobra.Command, args []string) []string {
	if len(args) == 0 {
		return args
	}
	for _, c := range root.Commands() {
		if c.Name() != args[0] {
			continue
		}
		if c.HasSubCommands() {
			return slices.Concat(args[:1], dropInArgs(c, args[1:]))
		}
		if _, ok := c.Annotations[negations]; ok {
			return slices.Concat(args[:1], configure.Negations(c.Flags(), args[1:]))
		}
		if _, ok := c.Annotations[dropIn]; !ok {
			continue
		}
		return slices.Concat(args[:1], settings.TwoDashes(args[1:], c.Flags()))
	}
	return args
}

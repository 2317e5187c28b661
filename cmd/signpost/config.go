package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns/configure"
)

// openTime limits opening a provider while a config file is validated. No server is contacted, but
// some providers search for credentials.
const openTime = 5 * time.Second

func newConfigCommand(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check, print and describe config files",
		Long: `Check, print and describe the config file of signpost run, also for signpost plan,
rbac and check. No cluster and no DNS provider is asked.`,
	}
	commandsOnly(cmd, s)
	cmd.AddCommand(newConfigPrint(s), newConfigValidate(s), newConfigSchema(s))
	return cmd
}

func newConfigPrint(s streams) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "print --config FILE",
		Short: "Print a config file with all defaults that count",
		Long: `Print a config file as Signpost reads it: with the values of environment variables,
and with all defaults that count. Secrets are replaced by stars.`,
		Example: "  signpost config print --config signpost.yaml",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			if file == "" {
				return settings.Usagef("--config: none given: name a config file")
			}
			c, err := readConfig(file)
			if err != nil {
				return err
			}
			text, err := settings.Print(c)
			if err != nil {
				return err
			}
			return write(s.out, text)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "`path` of the config file")
	return cmd
}

func newConfigValidate(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE…",
		Short: "Say everything that is wrong with config files",
		Long: `Say everything that is wrong with config files: the file, the line, the field and what
to do. Environment variables and files with secrets (fields that end in -file) have to be
there. Other files, such as that of xds.tls.cert, are only read when a process starts.

The exit code is 0 if nothing is wrong, and otherwise 2.`,
		Example: "  signpost config validate signpost.yaml",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return settings.Usagef("no file given: name the config files to validate")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			var errs []error
			for _, file := range files {
				errs = append(errs, validate(cmd.Context(), file))
			}
			if err := errors.Join(errs...); err != nil {
				return settings.AsUsage(err)
			}
			return write(s.out, "ok\n")
		},
	}
}

// validate returns all faults of a config file.
func validate(ctx context.Context, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the config file: %w", err)
	}
	c, err := settings.Check(file, text, func(o *configure.Options) error { return checkPublisher(ctx, o) })
	if err == nil && len(c.Roles()) == 0 {
		return noRole(file)
	}
	return err
}

// aboutFlag matches an error about a setting. Others are about this host, such as credentials that
// only a pod has.
var aboutFlag = regexp.MustCompile(`(^|[ :])--[a-z]`)

// checkPublisher returns the faults of the settings of a publisher's sources and provider.
func checkPublisher(ctx context.Context, o *configure.Options) error {
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	dry := *o
	dry.DryRun = true
	outcome := make(chan error, 1)
	go func() {
		_, err := dry.OpenProvider(ctx, configure.Input{Log: slog.New(slog.DiscardHandler)})
		outcome <- err
	}()
	found := joinedErrors(o.CheckSources())
	select {
	case err := <-outcome:
		for _, e := range joinedErrors(err) {
			if aboutFlag.MatchString(e.Error()) {
				found = append(found, e)
			}
		}
	case <-ctx.Done():
	}
	return errors.Join(found...)
}

// joinedErrors returns the errors that are joined in err, even if the joined error was wrapped.
func joinedErrors(err error) []error {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if leaves := settings.Leaves(e); len(leaves) > 1 {
			return leaves
		}
	}
	return settings.Leaves(err)
}

func newConfigSchema(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of config files",
		Long: `Print the JSON Schema (draft 2020-12) of the config file. Editors that know YAML
schemas complete the fields with it and underline what is wrong: name it in the first
line of a config file, as in

  # yaml-language-server: $schema=signpost.schema.json`,
		Example: "  signpost config schema > signpost.schema.json",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			text, err := settings.Schema()
			if err != nil {
				return err
			}
			return write(s.out, string(text))
		},
	}
}

func write(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

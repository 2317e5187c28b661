package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/app/bundle"
	"github.com/signpostd/signpost/app/inspectclient"
	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/app/portforward"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/provider"
)

// bundleName is the time layout of a bundle's name.
const bundleName = "signpost-bundle-20060102-150405.tar.gz"

func newBundleCommand(s streams) *cobra.Command {
	c := newAdminClient()
	var file string
	cmd := &cobra.Command{
		Use:   "bundle",
		Short: "Collect a support bundle",
		Long: `Collect a support bundle, as a file: what all processes say about themselves, streams,
Services, records, problems and held plans, their settings and metrics, and their pods
with logs, Leases and the last Events.

Secrets are left out: those of settings, and of arguments and variables of the pods, and
what looks like a key, a token or a password. It has the names of your Services, pods,
zones and records: look at it before you pass it on.`,
		Example: "  signpost bundle\n  signpost bundle --file - | tar tz",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.bundle(cmd, file, s)
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "`path` of the file to write; - is standard output (default "+bundleName+" with the time)")
	c.flags(cmd)
	return cmd
}

func (c *client) bundle(cmd *cobra.Command, file string, s streams) error {
	found, err := c.found(cmd.Context(), cmd.Name())
	if err != nil {
		return err
	}
	defer found.Close()
	now := time.Now()
	source := bundle.Source{Client: inspectclient.New(found, c.timeout, s.err), Secrets: secretFlags(), Now: now}
	if err := c.clusterOf(&source, found); err != nil {
		return err
	}
	file = cmp.Or(file, now.Format(bundleName))
	out := output.Raw(s.out) // a compressed file is no text
	if file != "-" {
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		switch {
		case errors.Is(err, os.ErrExist):
			return settings.Usagef("--file=%s: exists already: name a new file", file)
		case err != nil:
			return settings.Usagef("--file: %w", err)
		}
		out = f
	}
	summary, err := bundle.Write(cmd.Context(), out, source)
	if f, ok := out.(*os.File); ok && file != "-" {
		if err = errors.Join(err, f.Close()); err != nil {
			_ = os.Remove(file) // a part of a bundle can't be unpacked; the error says what failed
		}
	}
	if err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	if file == "-" {
		return nil
	}
	return c.printBundle(s.out, file, summary)
}

func (c *client) printBundle(out io.Writer, file string, summary bundle.Summary) error {
	text := fmt.Sprintf("%s has %d files. Look at it before you pass it on.\n", file, len(summary.Files))
	if n := len(summary.Errors); n > 0 {
		text += fmt.Sprintf("%d could not be had, or not all of it: errors.txt in it says why.\n", n)
	}
	return output.Print(out, c.format, output.Result{Value: struct {
		File string `json:"file"`
		bundle.Summary
	}{file, summary}, Names: []string{file}, Text: text})
}

// clusterOf adds a client of the API server, if pods were found there.
func (c *client) clusterOf(source *bundle.Source, found *portforward.Found) error {
	var pods []*corev1.Pod
	for _, p := range found.Processes {
		if p.Pod != nil {
			pods = append(pods, p.Pod)
		}
	}
	if len(pods) == 0 {
		return nil
	}
	cfg, err := c.kubectl.RESTConfig("bundle")
	if err != nil {
		return err
	}
	cfg.Timeout = c.timeout
	source.Pods = pods
	source.API, err = kubernetes.NewForConfig(cfg)
	return err
}

func secretFlags() []string {
	flags := pflag.NewFlagSet("dns", pflag.ContinueOnError)
	configure.New().Flags(flags)
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if provider.IsSecret(f) {
			names = append(names, f.Name)
		}
	})
	return names
}

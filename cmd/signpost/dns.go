package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/configure"
)

// dnsCommand is what the flags of `signpost dns` and `signpost plan` set.
type dnsCommand struct {
	config    config
	publisher *configure.Options
	printOnly bool
	// server is the address of the API server, in the place of that of the kubeconfig.
	server string
	// requestTimeout, qps and burst have no effect: every kind of object is read by one
	// request that doesn't end.
	requestTimeout, oldTimeout time.Duration
	qps, burst                 int
}

func newDNSFlags() *dnsCommand {
	c := &dnsCommand{
		config: defaultConfig(), publisher: configure.New(), requestTimeout: 30 * time.Second, oldTimeout: 30 * time.Second, qps: 5, burst: 10,
	}
	c.config.RunsDNS = true
	c.config.DNS.Publishers = []*configure.Options{c.publisher}
	c.config.DNS.Leader.Elect = false
	c.config.Process.MetricsAddr, c.config.MetricsFlag = ":7979", "metrics-address"
	return c
}

func (c *dnsCommand) add(flags *pflag.FlagSet) {
	c.publisher.Flags(flags)
	p := &c.config.Process
	flags.StringVar(&p.Kubeconfig, "kubeconfig", p.Kubeconfig, "`path` of a kubeconfig file; empty for $KUBECONFIG, ~/.kube/config, then the service account of the pod")
	flags.StringVar(&c.server, "server", "", "`URL` of the API server, in the place of that of the kubeconfig")
	flags.StringVar(&p.LogLevel, "log-level", p.LogLevel, "least `level` to log: panic, fatal, error, warning, info, debug or trace")
	flags.Var(textFormat{&p.LogFormat}, "log-format", "`format` of the log: text or json")
}

// addProcess adds the flags of a process that goes on.
func (c *dnsCommand) addProcess(flags *pflag.FlagSet) {
	p := &c.config.Process
	flags.StringVar(&p.MetricsAddr, "metrics-address", p.MetricsAddr, "`address` to serve /metrics, /healthz, /ready and /ping on")
	flags.BoolVar(&p.EnablePProf, "enable-pprof", p.EnablePProf, "serve profiles under /debug/pprof/ on that address")
	flags.DurationVar(&p.ShutdownGrace, "shutdown-grace", p.ShutdownGrace, "how long changes that are under way may take to end after SIGTERM")
	flags.DurationVar(&c.requestTimeout, "kube-api-request-timeout", c.requestTimeout, "accepted for compatibility, without effect: watches don't end")
	flags.DurationVar(&c.oldTimeout, "request-timeout", c.oldTimeout, "accepted for compatibility, without effect")
	flags.IntVar(&c.qps, "kube-api-qps", c.qps, "accepted for compatibility, without effect: each kind of object is read by one request")
	flags.IntVar(&c.burst, "kube-api-burst", c.burst, "accepted for compatibility, without effect")
	flags.BoolVar(&c.printOnly, "version", false, "print the version and exit")
	addFlags(flags, c.config.DNS.Leader.settings(dnsSection, "`namespace` of the Lease"))
}

// settle takes the environment into account and checks everything.
func (c *dnsCommand) settle(flags *pflag.FlagSet) error {
	if err := configure.FromEnvironment(flags, os.LookupEnv); err != nil {
		return &usageError{err}
	}
	c.config.Server = c.server
	if c.qps <= 0 || c.burst <= 0 {
		return usagef("--kube-api-qps, --kube-api-burst: must be more than 0")
	}
	if err := c.publisher.Validate(); err != nil {
		return &usageError{err}
	}
	if c.publisher.Once && c.config.DNS.Leader.Elect {
		return usagef("--once, --leader-elect: a process that does its work once doesn't wait for a Lease: leave one of them out")
	}
	for _, p := range append(c.config.Process.Validate(), c.config.DNS.Leader.validate()...) {
		if p.severity == refused {
			return usagef("--%s: %s", p.flags[0], p.describe(func(flag string) string { return "--" + flag }))
		}
	}
	return nil
}

func newDNSCommand(s streams) *cobra.Command {
	c := newDNSFlags()
	cmd := &cobra.Command{
		Use:   "dns",
		Short: "Publish DNS records, in the place of ExternalDNS",
		Long: `Publish DNS records of Services, Ingresses and other objects, in the place of
ExternalDNS. The flags, environment variables (EXTERNAL_DNS_…), annotations and
ownership records are those of that program, and there are a few more flags.

Before the first start, look at what would be changed:

  signpost plan --source=service --provider=rfc2136 --policy=sync …`,
		Annotations: map[string]string{negations: ""},
		Args:        noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.printOnly {
				return printVersion(s.out, outputText)
			}
			if err := c.settle(cmd.Flags()); err != nil {
				return err
			}
			return c.run(cmd, s)
		},
	}
	c.add(cmd.Flags())
	c.addProcess(cmd.Flags())
	return cmd
}

func (c *dnsCommand) run(cmd *cobra.Command, s streams) error {
	log, err := startLog(c.config.Process, s.err)
	if err != nil {
		return fmt.Errorf("start the log: %w", err)
	}
	log.Info("Settings that differ from the defaults", configure.Shown(cmd.Flags())...)
	if c.publisher.WebhookServer {
		return c.serveWebhook(cmd.Context(), cmd.Flags(), log)
	}
	if !c.publisher.Once {
		return serveRoles(cmd.Context(), c.config, log)
	}
	plans, err := runOnce(cmd.Context(), c.config, log)
	for _, p := range plans {
		log.Info("Zone is done", "zone", p.Zone.Name, "waiting", len(p.Waiting))
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

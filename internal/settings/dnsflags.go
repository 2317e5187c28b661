package settings

import (
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/configure"
)

// DNSFlags are what the flags of `signpost dns` and `signpost plan` set.
type DNSFlags struct {
	// Config has the publisher that the flags describe, and the process.
	Config    Config
	Publisher *configure.Options
	// PrintOnly is true when only the version is asked for.
	PrintOnly bool
	// server is the address of the API server, in the place of that of the kubeconfig.
	server string
	// requestTimeout, qps and burst have no effect: every kind of object is read by one
	// request that doesn't end.
	requestTimeout, oldTimeout time.Duration
	qps, burst                 int
}

// NewDNSFlags returns the defaults.
func NewDNSFlags() *DNSFlags {
	c := &DNSFlags{
		Config: Default(), Publisher: configure.New(), requestTimeout: 30 * time.Second, oldTimeout: 30 * time.Second, qps: 5, burst: 10,
	}
	c.Config.RunsDNS = true
	c.Config.DNS.Publishers = []*configure.Options{c.Publisher}
	c.Config.DNS.Leader.Elect = false
	c.Config.Process.MetricsAddr, c.Config.MetricsFlag = ":7979", "metrics-address"
	return c
}

// Add adds the flags that both commands have.
func (c *DNSFlags) Add(flags *pflag.FlagSet) {
	c.Publisher.Flags(flags)
	p := &c.Config.Process
	flags.StringVar(&p.Kubeconfig, "kubeconfig", p.Kubeconfig, "`path` of a kubeconfig file; empty for $KUBECONFIG, ~/.kube/config, then the service account of the pod")
	flags.StringVar(&c.server, "server", "", "`URL` of the API server, in the place of that of the kubeconfig")
	flags.StringVar(&p.LogLevel, "log-level", p.LogLevel, "least `level` to log: panic, fatal, error, warning, info, debug or trace")
	flags.Var(textFormat{&p.LogFormat}, "log-format", "`format` of the log: text or json")
}

// AddProcess adds the flags of a process that goes on.
func (c *DNSFlags) AddProcess(flags *pflag.FlagSet) {
	p := &c.Config.Process
	flags.StringVar(&p.MetricsAddr, "metrics-address", p.MetricsAddr, "`address` to serve /metrics, /healthz, /ready and /ping on")
	flags.BoolVar(&p.EnablePProf, "enable-pprof", p.EnablePProf, "serve profiles under /debug/pprof/ on that address")
	flags.DurationVar(&p.ShutdownGrace, "shutdown-grace", p.ShutdownGrace, "how long changes that are under way may take to end after SIGTERM")
	flags.DurationVar(&c.requestTimeout, "kube-api-request-timeout", c.requestTimeout, "accepted for compatibility, without effect: watches don't end")
	flags.DurationVar(&c.oldTimeout, "request-timeout", c.oldTimeout, "accepted for compatibility, without effect")
	flags.IntVar(&c.qps, "kube-api-qps", c.qps, "accepted for compatibility, without effect: each kind of object is read by one request")
	flags.IntVar(&c.burst, "kube-api-burst", c.burst, "accepted for compatibility, without effect")
	flags.BoolVar(&c.PrintOnly, "version", false, "print the version and exit")
	AddFlags(flags, c.Config.DNS.Leader.Settings(DNSSection, "`namespace` of the Lease"))
}

// Settle takes the environment into account and checks everything.
func (c *DNSFlags) Settle(flags *pflag.FlagSet) error {
	if err := configure.FromEnvironment(flags, os.LookupEnv); err != nil {
		return &UsageError{err}
	}
	c.Config.Server = c.server
	if c.qps <= 0 || c.burst <= 0 {
		return Usagef("--kube-api-qps, --kube-api-burst: must be more than 0")
	}
	if err := c.Publisher.Validate(); err != nil {
		return &UsageError{err}
	}
	if c.Publisher.Once && c.Config.DNS.Leader.Elect {
		return Usagef("--once, --leader-elect: a process that does its work once doesn't wait for a Lease: leave one of them out")
	}
	for _, p := range append(c.Config.Process.Validate(), c.Config.DNS.Leader.validate()...) {
		if p.severity == refused {
			return Usagef("--%s: %s", p.flags[0], p.describe(func(flag string) string { return "--" + flag }))
		}
	}
	return nil
}

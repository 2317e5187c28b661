package settings

import (
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/internal/flaggroup"
)

// DNSFlags holds the values of the flags of `signpost dns` and `signpost plan`.
type DNSFlags struct {
	// Config is the config from the flags. Its only publisher is Publisher.
	Config    Config
	Publisher *configure.Options
	// Timeout limits --once and `signpost plan`.
	Timeout time.Duration
	// Deprecations are pflag's messages about deprecated flags, to be logged.
	Deprecations []string
	// PrintVersion prints the version only.
	PrintVersion bool
	// These have no effect, because one request reads all objects of a kind, and doesn't end.
	requestTimeout, oldTimeout time.Duration
	qps, burst                 int
	// variables has the flags that environment variables have set.
	variables map[string]bool
}

// NewDNSFlags returns the flags with their defaults.
func NewDNSFlags() *DNSFlags {
	c := &DNSFlags{
		Config: Default(), Publisher: configure.New(), Timeout: 2 * time.Minute, requestTimeout: 30 * time.Second, oldTimeout: 30 * time.Second, qps: 5, burst: 10,
	}
	c.Config.RunsDNS = true
	c.Config.DNS.Publishers = []*configure.Options{c.Publisher}
	c.Config.DNS.Leader.Elect = false
	c.Config.Process.MetricsAddr = ":7979"
	return c
}

// AddFlags adds the flags to those of a command.
func (c *DNSFlags) AddFlags(flags *pflag.FlagSet) {
	c.Publisher.Flags(flags)
	flaggroup.Add(flags, headingProcess, c.processFlags)
	flaggroup.Add(flags, headingLeader, func(flags *pflag.FlagSet) {
		AddFlags(flags, c.Config.DNS.Leader.settings(DNSSection, "`namespace` of the Lease", namespacePattern))
	})
}

func (c *DNSFlags) processFlags(flags *pflag.FlagSet) {
	p := &c.Config.Process
	flags.StringVar(&p.Kubeconfig, "kubeconfig", p.Kubeconfig, "`path` of a kubeconfig file; empty for $KUBECONFIG, ~/.kube/config, then the service account of the pod")
	flags.StringVar(&c.Config.server, "server", "", "`URL` of the API server; overrides that of the kubeconfig")
	flags.StringVar(&p.LogLevel, "log-level", p.LogLevel, "lowest `level` to log: panic, fatal, error, warning, info, debug or trace")
	flags.Var(textFormat{&p.LogFormat}, "log-format", "`format` of the log: text or json")
	flags.StringVar(&p.MetricsAddr, "metrics-address", p.MetricsAddr, "`address` to serve /metrics, /healthz, /ready and /ping on")
	flags.BoolVar(&p.EnablePProf, "enable-pprof", p.EnablePProf, "serve profiles under /debug/pprof/ on the metrics address")
	flags.StringVar(&p.InspectAddr, "inspect-addr", p.InspectAddr, inspectUsage)
	flags.BoolVar(&p.TrustLoopback, "inspect-trust-loopback", p.TrustLoopback, trustUsage)
	flags.DurationVar(&p.ShutdownGrace, "shutdown-grace", p.ShutdownGrace, "how long changes that are under way may take to end after SIGTERM")
	flags.IntVar(&p.HistoryBytes, "history-bytes", p.HistoryBytes, historyUsage)
	flags.StringVar(&p.TraceCollector, "trace-collector", "", traceUsage)
	flags.DurationVar(&c.Timeout, "timeout", c.Timeout, "how long --once, or signpost plan, may take; what was not read or written by then is an error")
	flags.DurationVar(&c.requestTimeout, "kube-api-request-timeout", c.requestTimeout, "accepted for compatibility, without effect: watches have no timeout")
	flags.DurationVar(&c.oldTimeout, "request-timeout", c.oldTimeout, "accepted for compatibility, without effect")
	flags.IntVar(&c.qps, "kube-api-qps", c.qps, "accepted for compatibility, without effect: one request reads all objects of a kind")
	flags.IntVar(&c.burst, "kube-api-burst", c.burst, "accepted for compatibility, without effect")
	flags.BoolVar(&c.PrintVersion, "version", false, "print the version and exit")
}

// CheckTimeout refuses a value of --timeout that leaves no time.
func CheckTimeout(d time.Duration) error {
	if d <= 0 {
		return Usagef("--timeout=%v: must be more than 0s", d)
	}
	return nil
}

func checkPositive(flag string, n int) error {
	if n <= 0 {
		return Usagef("--%s=%d: must be more than 0", flag, n)
	}
	return nil
}

// Settle sets the flags that were not given from the environment, and checks all values.
func (c *DNSFlags) Settle(flags *pflag.FlagSet) error {
	var err error
	if c.variables, err = configure.FromEnvironment(flags, os.LookupEnv); err != nil {
		return &UsageError{err}
	}
	c.Config.SetOrigins(flags, c.variables)
	if err := configure.ReadSecretFiles(flags); err != nil {
		return &UsageError{err}
	}
	for _, err := range []error{CheckTimeout(c.Timeout), checkPositive("kube-api-qps", c.qps), checkPositive("kube-api-burst", c.burst)} {
		if err != nil {
			return err
		}
	}
	if err := c.Publisher.Validate(); err != nil {
		return &UsageError{err}
	}
	for _, r := range c.Publisher.Remarks() {
		c.Config.Remarks = append(c.Config.Remarks, Remark{setting: flagName(r.Flag), value: r.Value, reason: r.Reason, instead: r.Instead})
	}
	if c.Publisher.Once && c.Config.DNS.Leader.Elect {
		return Usagef("--once, --leader-elect: a process that publishes once doesn't take part in elections: leave one of them out")
	}
	_, err = checkSections([]Section{&c.Config.Process, &c.Config.DNS}, remarked, func(s Setting) string { return c.Config.Origin(s.Path) })
	return err
}

// Origin returns how the user gave a flag: its name, or the environment variable.
func (c *DNSFlags) Origin(flag string) string { return originOfFlag(flag, c.variables) }

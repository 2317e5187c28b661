package leader

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
)

// The default times of a [Config].
const (
	DefaultLeaseDuration = 20 * time.Second
	DefaultRenewDeadline = 10 * time.Second
	DefaultRetryPeriod   = 2 * time.Second
)

// margin is how much longer than the renew deadline the lease must last. Candidates see the renew times of a
// lease in whole seconds: of several renewals in one second they count from the first, up to a second before
// the last.
const margin = time.Second

// Config configures an [Elector] and names its Lease.
type Config struct {
	// Client reads and writes the Lease. It must not go through the [Fence], which is closed until the lease
	// is acquired, and should not share a rate limiter with other work. Each request may take half of
	// RenewDeadline.
	Client coordinationv1.LeasesGetter
	// Namespace and Name are those of the Lease, which is created if it doesn't exist.
	Namespace, Name string
	// Identity must be unique to this process, because two processes with the same identity would both lead.
	// The default is the host name with a random suffix.
	Identity string
	// LeadsFor describes what this process leads for, in a form that the caller defines. The holder writes it
	// into an annotation of the Lease ([LeadsFor]), unless it is empty.
	LeadsFor string
	// LeaseDuration is how long other processes wait after the last renewal that they saw. A Lease stores it
	// in whole seconds.
	LeaseDuration time.Duration
	// RenewDeadline is how long this process leads after it sent its last successful renewal.
	RenewDeadline time.Duration
	// RetryPeriod is the time between two renewals. Between two attempts to acquire the lease it is up to 2.2
	// times as long.
	RetryPeriod time.Duration
	// Log logs each change; nil discards. Registerer registers the metrics; nil means none.
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Validate returns an error if c is invalid. Zero fields count as their defaults.
func (c Config) Validate() error {
	if err := c.withDefaults().check(); err != nil {
		return fmt.Errorf("configure leader election: %w", err)
	}
	return nil
}

// withDefaults returns c with all optional fields set, except for the Identity.
func (c Config) withDefaults() Config {
	c.LeaseDuration = cmp.Or(c.LeaseDuration, DefaultLeaseDuration)
	c.RenewDeadline = cmp.Or(c.RenewDeadline, DefaultRenewDeadline)
	c.RetryPeriod = cmp.Or(c.RetryPeriod, DefaultRetryPeriod)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Registerer == nil {
		c.Registerer = prometheus.NewRegistry()
	}
	return c
}

func (c Config) check() error {
	switch {
	case c.Client == nil:
		return fmt.Errorf("no client: give one for Leases")
	case c.Namespace == "" || c.Name == "":
		return fmt.Errorf("the lease %q has no namespace or no name: give both", c.lease())
	case c.LeaseDuration < 0 || c.RenewDeadline < 0 || c.RetryPeriod < 0:
		return fmt.Errorf("lease duration %v, renew deadline %v, retry period %v: none may be negative", c.LeaseDuration, c.RenewDeadline, c.RetryPeriod)
	case c.LeaseDuration%time.Second != 0:
		return fmt.Errorf("lease duration %v: a Lease counts in whole seconds", c.LeaseDuration)
	case c.LeaseDuration < c.RenewDeadline+margin:
		return fmt.Errorf("lease duration %v: must be longer than the renew deadline (%v), by %v or more", c.LeaseDuration, c.RenewDeadline, margin)
	case float64(c.RenewDeadline) <= leaderelection.JitterFactor*float64(c.RetryPeriod):
		return fmt.Errorf("renew deadline %v: must be longer than %v times the retry period (%v)", c.RenewDeadline, leaderelection.JitterFactor, c.RetryPeriod)
	}
	return nil
}

// lease names the Lease in errors and logs.
func (c Config) lease() string { return c.Namespace + "/" + c.Name }

// requestTimeout leaves time for a second attempt before the renew deadline.
func (c Config) requestTimeout() time.Duration { return c.RenewDeadline / 2 }

// grace is how long the work may take to end after its context has ended. No other process can acquire the
// lease in that time.
func (c Config) grace() time.Duration { return c.LeaseDuration - c.RenewDeadline }

func uniqueIdentity() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("make an identity for leader election: %w: configure one", err)
	}
	return host + "_" + rand.Text(), nil
}

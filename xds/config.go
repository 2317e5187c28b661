package xds

import (
	"cmp"
	"crypto/tls"
	"time"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/clientlimits"
	"github.com/signpostd/signpost/internal/history"
	"github.com/signpostd/signpost/xds/auth"
	"github.com/signpostd/signpost/xds/resource"
)

// Config configures a Server. A zero field has its default.
type Config struct {
	// Namer has the domains of names, the trust domain of identities (§3.4), and the authorities of
	// xdstp names that are served.
	resource.Namer
	// EnableIPv6 allows IPv6 addresses.
	EnableIPv6 bool
	// EgressBudget limits the bytes a second for the changes of one resource (§6.10).
	EgressBudget int
	// MaxConnectionAge spreads clients over the replicas again (§6.12).
	MaxConnectionAge time.Duration
	// TLS is nil for a server without TLS.
	TLS *tls.Config
	// Authenticate is nil if the node of a request is trusted (§7.3).
	Authenticate auth.Authenticator
	// Rejected is called with the reason, once for each version of a resource of a Service that a
	// kind of client rejects. Rejected must not block, and may be nil.
	Rejected func(of catalog.ServiceKey, message string)
	// Outdated returns why the catalog may lack a Service, such as an interrupted watch; "" if it has all. It
	// may be nil.
	Outdated func() string
	Limits   clientlimits.Limits
	// History records the changes that streams were sent; nil records nothing.
	History *history.Log
}

// The defaults of a Config.
const (
	DefaultEgressBudget     = 64 << 20
	DefaultMaxConnectionAge = 30 * time.Minute
)

// DefaultLimits returns the default limits. A request may name 20,000 resources, so messages may
// have 1 MiB.
func DefaultLimits() clientlimits.Limits {
	l := clientlimits.DefaultLimits()
	l.MaxRecvMsgSize = 1 << 20
	return l
}

func (c Config) withDefaults() Config {
	c.ClusterDomain = cmp.Or(c.ClusterDomain, "cluster.local")
	c.EgressBudget = cmp.Or(c.EgressBudget, DefaultEgressBudget)
	c.MaxConnectionAge = cmp.Or(c.MaxConnectionAge, DefaultMaxConnectionAge)
	c.Limits.MaxRecvMsgSize = cmp.Or(c.Limits.MaxRecvMsgSize, DefaultLimits().MaxRecvMsgSize)
	c.Limits = c.Limits.WithDefaults()
	return c
}

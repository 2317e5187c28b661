package xds

import (
	"cmp"
	"crypto/tls"
	"time"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/clientlimits"
	"github.com/signpostd/signpost/internal/history"
	"github.com/signpostd/signpost/xds/auth"
)

// Config is what the answers depend on, besides the state of the cluster. A field that is zero has its default.
type Config struct {
	// ClusterDomain is the suffix of Service names, such as cluster.local.
	ClusterDomain string
	// TrustDomain is that of the identities of pods (§3.4), such as cluster.local.
	TrustDomain string
	// EnableIPv6 allows IPv6 addresses.
	EnableIPv6 bool
	// Authorities are those of xdstp names that are answered, beside the empty one.
	Authorities []string
	// EgressBudget is how many bytes a second the changes of one resource may cost before they are
	// delayed (§6.10).
	EgressBudget int
	// MaxConnectionAge is how long a connection is kept, so that clients spread over replicas again.
	MaxConnectionAge time.Duration
	// TLS is the TLS configuration of the server; nil for none.
	TLS *tls.Config
	// Authenticate returns who a client is. If it is nil, clients are believed what they say (§7.3).
	Authenticate auth.Authenticator
	// Rejected is told of each version of a resource of a Service that a kind of client rejects, once,
	// with the reason. It must not block. It may be nil.
	Rejected func(of catalog.ServiceKey, message string)
	// Limits bound what clients can make the server hold.
	Limits clientlimits.Limits
	// History keeps what streams were sent; nil keeps nothing.
	History *history.Log
}

// The defaults of a Config.
const (
	DefaultEgressBudget     = 64 << 20
	DefaultMaxConnectionAge = 30 * time.Minute
	defaultClusterDomain    = "cluster.local"
)

// DefaultLimits returns the limits of a server that is told no others. A request names up to 20,000 resources.
func DefaultLimits() clientlimits.Limits {
	l := clientlimits.DefaultLimits()
	l.MaxRecvMsgSize = 1 << 20
	return l
}

func (c Config) withDefaults() Config {
	c.ClusterDomain = cmp.Or(c.ClusterDomain, defaultClusterDomain)
	c.EgressBudget = cmp.Or(c.EgressBudget, DefaultEgressBudget)
	c.MaxConnectionAge = cmp.Or(c.MaxConnectionAge, DefaultMaxConnectionAge)
	c.Limits.MaxRecvMsgSize = cmp.Or(c.Limits.MaxRecvMsgSize, DefaultLimits().MaxRecvMsgSize)
	c.Limits = c.Limits.WithDefaults()
	return c
}

// Package network is the network of the lab: proxies that stand between all parts, which break connections on request,
// and which record what a replica writes.
//
//   - A [Link] passes the bytes of TCP connections. It can be slow, cut or half-open.
//   - An [API] stands between one replica and the API server. It records each request that changes something, and can
//     answer some of them itself, or lose their answers. An [APIPath] is an API between two Links, with the kubeconfig
//     for the replica: replica → Front → API → Back → API server.
//   - A [DNS] stands between one replica and a name server. It records each UPDATE, and can lose messages.
//
// A fault begins with a call, which returns a function that ends it, and holds for connections that are open
// and for new ones. Faults add up: delays follow each other, and the lowest speed counts. Heal ends all.
//
// Read it in this order: faults.go, gate.go, passage.go, link.go, pair.go; request.go, body.go, failure.go, upstream.go,
// api.go, exchange.go, kubeconfig.go, apipath.go; dns.go, dnsudp.go, dnstcp.go.
//
// # Concurrency
//
// All methods may be called from any goroutine, and Close more than once. After Close nothing of a proxy is left.
package network

import (
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
)

// Recorder takes what is seen; a [history.Recorder] is one. It may be called from many goroutines at once, until the
// proxy is closed.
type Recorder interface {
	Record(entry history.Entry)
	// Now is the time of the run.
	Now() time.Duration
}

// Package network is the network of the lab: proxies between all parts, which break connections on request
// and record the writes of replicas.
//
//   - A [Link] forwards the bytes of TCP connections. It can be slow, cut or half-open.
//   - An [API] is between one replica and the API server. It records each write, and can respond to requests
//     itself or drop responses. An [APIPath] is an API between two Links, with the kubeconfig for the
//     replica: replica → Front → API → Back → API server.
//   - A [DNS] is a Link between one replica and a name server. It records each UPDATE, and can drop messages.
//
// A fault begins with a call, which returns a function that ends the fault. A fault affects open and new
// connections. Faults add up: delays are added, and the lowest speed counts. Heal ends all.
//
// # Concurrency
//
// All methods may be called from any goroutine. Close may be called more than once, and releases everything.
package network

import (
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
)

// Recorder records writes, like [history.Recorder]. It may be called from any goroutine until the proxy is
// closed.
type Recorder interface {
	Record(entry history.Entry)
	// Now returns the time since the start of the run.
	Now() time.Duration
}

package destination

import "github.com/signpostd/signpost/internal/clientlimits"

// What a request may contain. No name of Kubernetes and no token of a proxy is longer.
const (
	// maxPath bounds a path. The longest name of DNS and a port are half of it.
	maxPath = 512
	// maxToken bounds a context token. That of a proxy has some 100 bytes.
	maxToken = 8 << 10
	// maxNamespace, maxNode and maxPod bound the names in a token.
	maxNamespace, maxNode, maxPod = 63, 253, 253
)

// The reasons for which this package refuses something, beside those of package clientlimits.
const (
	refusedPath           clientlimits.Refusal = "path_length"
	refusedToken          clientlimits.Refusal = "context_token"
	refusedUndeclaredPort clientlimits.Refusal = "undeclared_ports"
)

// refusals returns all reasons.
func refusals() []clientlimits.Refusal {
	return append(clientlimits.Refusals(), refusedPath, refusedToken, refusedUndeclaredPort)
}

package destination

import "github.com/signpostd/signpost/internal/clientlimits"

// The limits of a request. Names in Kubernetes and tokens of proxies are shorter.
const (
	// maxPath bounds a path, in bytes: twice the longest DNS name with a port.
	maxPath = 512
	// maxToken bounds a context token, in bytes. A proxy sends about 100 bytes.
	maxToken = 8 << 10
	// maxNamespace, maxNode and maxPod bound the names in a token, in bytes.
	maxNamespace, maxNode, maxPod = 63, 253, 253
)

// The reasons of refusals, in addition to those of package clientlimits.
const (
	refusedPath           clientlimits.Refusal = "path_length"
	refusedToken          clientlimits.Refusal = "context_token"
	refusedUndeclaredPort clientlimits.Refusal = "undeclared_ports"
)

package gateway

// Limits of an object in addition to those of package source (docs/decisions/0020). The definitions of
// the kinds have lower limits, but a cluster may have other definitions.
const (
	// listenersLimit limits the listeners of a Gateway or ListenerSet; the definition has 64.
	listenersLimit = 64
	// kindsLimit limits the kinds of a listener; the definition has 8.
	kindsLimit = 64
	// requirementsLimit and valuesLimit limit a selector.
	requirementsLimit = 64
	valuesLimit       = 1024
	// reasonLimit limits the reason of a condition, in bytes.
	reasonLimit = 64
)

package slices

// MaxPorts bounds the ports of a Service, counted once for each set of port numbers that its pods or
// ExternalWorkloads have, because each set needs slices of its own.
const MaxPorts = 250_000

// TooManyPorts is the reason of Events about a Service whose ports are more than [MaxPorts]. Members whose sets
// don't fit are in no slice.
const TooManyPorts = "TooManyPorts"

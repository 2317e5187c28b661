// Package configure creates publishers from the user's settings: the flags of ExternalDNS
// (spec/dns.md §12), their environment variables, or a section of a configuration file with the
// same names. Packages process and preview open each publisher with it.
//
// [Options] are the settings of one publisher. Flags of one kind of source or provider come from
// its plugin. [Options.Open] creates the sources, the registry, the provider and the
// [publisher.Publisher].
//
// # Concurrency
//
// All functions are called at the start, from one goroutine. Only Once may run for several publishers at
// the same time.
package configure

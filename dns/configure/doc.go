// Package configure makes publishers of what a user says: of the flags of ExternalDNS
// (spec/dns.md §12), of its environment variables, or of a section of a config file that
// has the same names.
//
// [Options] are the settings of one publisher. Those that only one kind of source or
// provider has are added by its plugin. [Options.Open] checks them and puts together
// sources, owner, provider and [publisher.Publisher].
//
// Package main of the command calls it, once for each publisher.
//
// # Concurrency
//
// Everything here is called at the start, from one goroutine.
package configure

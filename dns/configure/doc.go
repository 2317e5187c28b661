// Package configure makes publishers from what a user configures: the flags of ExternalDNS
// (spec/dns.md §12), their environment variables, or a section of a configuration file with
// the same names.
//
// [Options] are the settings of one publisher; flags that only one kind of source or provider
// has come from its plugin. [Options.Open] puts together the sources, the owner, the provider
// and the [publisher.Publisher]. Package main calls it once for each publisher.
//
// Read it in this order: options.go, env.go, secretfiles.go, validate.go, rivals.go,
// unsupported.go, open.go, once.go, owners.go, resources.go, survey.go, shown.go, httpmetrics.go.
//
// # Concurrency
//
// Everything here is called at the start, from one goroutine.
package configure

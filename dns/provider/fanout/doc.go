// Package fanout is a provider that hands each change to several other providers, which should
// all have the same records: two independent DNS servers, or a server and a log. It is made of
// providers that are open already, and has no flags.
//
// A zone exists if every provider has it, or has a zone around it; a provider without zones
// has them all. A record set is listed if every provider has it with the same targets. If only
// some have it, or with other targets, it isn't listed, so that creating it makes it complete.
// Nothing that wasn't listed is overwritten: if a provider has something else under a key, the
// change is refused.
//
// A change that one provider has made and another one hasn't is unfinished. Until the process
// ends, such a record set is listed with the property [Unfinished], whatever the providers
// have, so that a plan finds something to do until all have it or none does. After a restart
// in that state, what only some providers have stays there. To handle each provider
// separately, run a publisher for each instead.
//
// # Concurrency
//
// All methods may be called from any goroutine if that holds for the providers. A call uses
// all providers at the same time.
package fanout

// Package fanout is a provider that passes each change to several other providers, which should all
// have the same records: two independent DNS servers, or a server and a log. Package configure
// creates it from open providers; it has no flags.
//
// A zone is listed if every provider has it, or has a zone around it. A provider without zones has
// all. A zone of which a provider has several of the same name is reported and left out, unless one of them was used
// before. A record set is listed if every provider has it with the same targets. Otherwise it isn't
// listed, so that the next plan creates it everywhere. If a provider has other targets than those
// listed or wanted, a change is refused, so that nothing unseen is overwritten.
//
// A change that only some providers have made is unfinished. Until the process ends, its record set
// is listed with the property [Unfinished], so that the publisher plans it again until all have it
// or none does. After a restart in that state, records of single providers stay. To handle each
// provider separately, run a publisher for each instead.
//
// # Concurrency
//
// All methods may be called from any goroutine if that holds for the providers. A call uses all
// providers in parallel.
package fanout

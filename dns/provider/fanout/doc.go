// Package fanout is a provider that hands each change to several others, which are all to
// hold the same records: two DNS servers that don't know each other, or a server and a
// log. The host makes it of providers that are open already; it has no flags.
//
// A zone is there when every provider has it, or has one around it; a provider without
// zones has them all. A record set counts as present when every provider has it with the
// same targets; one that some have, or have otherwise, isn't listed, so that creating
// it completes it. Nothing that was not listed is overwritten, though: where a provider
// has something else under a key, the change is refused there.
//
// A change that one provider has made and another has not is unfinished. As long as the
// process lives such a record set is listed with the property [Unfinished], whatever
// is there, so that a plan finds something to do until it is everywhere or nowhere. After
// a restart in that state, what only some providers have is theirs to keep. Who wants
// each provider to be looked after by itself runs a publisher for each instead.
//
// # Concurrency
//
// All methods may be called from any goroutine if that holds for the providers. Those
// of a call work at the same time.
package fanout

// Package claims keeps ownership outside of the zones: a claim for each record set that is ours
// (decisions/0026). [Owner] is the [owner.Owner] of every registry of this kind. Where it keeps
// the claims is a [Store]; the packages crd and dynamodb have one each.
//
// A claim is intended before the provider is called, and confirmed after it has made the record
// set. If the provider certainly didn't make it, the claim is refuted: it is again what it was
// before, which may be nothing. If nobody knows, it stays intended, and the next listing
// decides: a record set with the targets that were intended is ours, and any other isn't. A
// claim without its record set in two listings in a row is collected.
//
// Read it in this order: claim.go, which has the life of one claim as pure functions; store.go;
// owner.go, before.go, after.go, listed.go; zones.go.
//
// # Concurrency
//
// All methods of Owner may be called from any goroutine. Those that talk to the store wait for
// one another. Labels, Mark and Changed never wait for the store. Claims are never changed, only
// replaced.
package claims

// Package claims keeps ownership outside of the zones: a claim for each record set that is ours
// (decisions/0026). [Owner] implements [owner.Owner] for every registry of this kind. A [Store]
// keeps the claims; the packages crd and dynamodb implement it. Package publisher calls an Owner.
//
// The life of a claim:
//
//  1. Before the provider is called, it is intended.
//  2. After the provider has written the record set, it is confirmed. If the provider certainly
//     hasn't, the claim is refuted: it becomes what it was before, which may be nothing.
//  3. If the outcome is unknown, it stays intended, and the next listing decides: a record set with
//     the intended targets is ours, any other isn't. If the provider writes by target, one with some
//     of the intended targets is ours too.
//  4. If two listings in a row miss the record set, the claim is removed.
//
// # Concurrency
//
// All methods of Owner may be called from any goroutine. Those that call the store wait for one
// another. Labels, OwnershipRecord and Changed never wait for the store. Claims are never changed,
// only replaced.
package claims

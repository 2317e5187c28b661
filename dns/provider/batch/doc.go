// Package batch makes changes at servers of DNS that take many at once, all or none, and refuse those that
// don't fit what they have. Providers of such servers use it, such as aws and google.
//
// The changes of a name, with those of its ownership records, are a [Unit]. [Units] makes them, [Divide]
// puts them into batches within the limits of the server, and [Applying] sends the batches: what the server
// refuses is taken out, and a batch that is refused without a name is halved. [Recent] has the changes that
// a listing may not show yet.
//
// # Concurrency
//
// Units, batches and an Applying belong to one call of Apply. A Recent is guarded by its owner.
package batch

// Package batch applies changes for providers whose API takes several changes in one request.
//
// The changes of a name, with those of its ownership records, are a [Group]: they succeed or fail
// together. [BySubject] makes the groups, and [Outcome] the error of Apply. The providers aws,
// awssd, azure, cloudflare, google and libdns use them. [KnownZones] keeps the last [List] of
// zones; pdns uses it, too.
//
// APIs that make all changes of a request or none also use the following:
//   - [Applying] sends batches. It takes out the groups that the API refuses by name, and halves a
//     batch that is refused without a name (aws, cloudflare, google).
//   - [ZoneCache.Units] and [Divide] make batches of record sets within the limits of the API (aws, google).
//   - [Recent] corrects listings that are older than the last changes: record by record
//     (cloudflare), or as a part of [ZoneCache] (aws, google).
//
// # Concurrency
//
// Groups, units and an Applying belong to one call of Apply. A ZoneCache may be used from any goroutine.
// A Recent is a map, which its user guards.
package batch

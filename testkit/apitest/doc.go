// Package apitest has what the fake cloud APIs of the test kits have in common: [Control] notes
// calls, makes them fail and takes away rights, [Rate] limits calls, and [History] keeps older
// versions of a zone for listings that lag.
//
// The kits azuretest, clouddnstest, cloudflaretest, cloudmaptest and route53test embed these types
// in their servers.
//
// # Concurrency
//
// A Control and a Rate may be used from any goroutine. A History is guarded by its owner.
package apitest

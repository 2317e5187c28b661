// Package coredns is the provider for CoreDNS and SkyDNS, which read records from etcd
// (spec/dns.md §8.8).
//
// Each target has a key, made of the labels of its name in reverse and one more, and a JSON
// value:
//
//	/skydns/test/example/www/3f31b771  {"host":"192.0.2.1","ttl":60,"targetstrip":1}
//
// A PTR record has the key of its name alone. What further label a target has is worked out
// from the target, where ExternalDNS draws lots: making a record once more makes the same
// keys. Text has entries of its own, because CoreDNS doesn't answer with a CNAME that has
// text beside it; where others have put both into one entry, a change takes them apart.
//
// etcd holds all state: a change begins with a look at what is there under its name, so that
// every entry of a record goes with it, and ends in a transaction that fails when something
// has changed since. The changes of a name, and of its ownership records, are one transaction
// unless they are more than etcd takes. With --coredns-strictly-owned, entries without our
// owner are not seen, and are not written over.
//
// dns/plugins lists the [Plugin]; the publisher calls the provider. In a dry run a wrapper of
// the etcd client refuses to write.
//
// # Concurrency
//
// The provider may be called from any goroutine. It makes the changes of several names at
// once.
package coredns

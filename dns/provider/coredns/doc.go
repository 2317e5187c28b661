// Package coredns is the provider for CoreDNS and SkyDNS, which read records from etcd (spec/dns.md
// §8.8). Package publisher calls it.
//
// Each target has a key, made of the labels of its name in reverse order and one more label, and a
// JSON value:
//
//	/skydns/test/example/www/3f31b771  {"host":"192.0.2.1","ttl":60,"targetstrip":1}
//
// A PTR record has the key of its name without a further label. The further label is a hash of the
// target, where ExternalDNS uses a random one, so that writing a record again writes the same keys.
// Texts have entries of their own, because CoreDNS doesn't return a CNAME whose entry has a text.
// If another writer has put both into one entry, a change separates them.
//
// All state is in etcd. A change reads the entries under its name, and ends with a transaction that
// fails if they have changed since. If they differ from the listing, the change is stale. The
// changes of a name and of its ownership records are one transaction, unless they exceed etcd's
// limit. In a dry run a wrapper of the etcd client refuses to write.
//
// # Concurrency
//
// The provider may be called from any goroutine. It changes several names in parallel.
package coredns

// Package coredns is the provider for CoreDNS and SkyDNS, which read records from etcd
// (spec/dns.md §8.8).
//
// Each target has a key, made of the labels of its name in reverse order and one more label,
// and a JSON value:
//
//	/skydns/test/example/www/3f31b771  {"host":"192.0.2.1","ttl":60,"targetstrip":1}
//
// A PTR record has the key of its name without a further label. The further label is computed
// from the target, where ExternalDNS uses a random one: writing a record again writes the same
// keys. Texts have entries of their own, because CoreDNS doesn't answer with a CNAME whose
// entry has a text. If others have put both into one entry, a change separates them.
//
// etcd holds all state. A change begins with reading what is there under its name, and ends in
// a transaction that fails if something has changed since. If what was read isn't what was listed, the change is stale. The changes of a name and of its
// ownership records are one transaction, unless they are more than etcd accepts. In a dry run
// a wrapper of the etcd client refuses to write.
//
// Read it in this order: config.go, provider.go, layout.go, entries.go, apply.go, store.go.
//
// # Concurrency
//
// The provider may be called from any goroutine. It changes several names at once.
package coredns

// Package plugins lists all sources and providers of the binary. A new one is a package below
// dns/source or dns/provider, and one line here. Test kits are not listed.
//
// Package configure declares flags from the lists and opens the plugins that the user names. The
// reference in docs is generated from them.
//
// # Concurrency
//
// Each call returns a new list, which belongs to the caller.
package plugins

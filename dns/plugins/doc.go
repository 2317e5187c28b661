// Package plugins lists all kinds of sources and providers of the binary. A new kind is a
// package below dns/source or dns/provider, and one line here.
//
// Package dns/configure makes flags from the lists and opens the plugins that the user names.
// The reference in docs is generated from them. Test kits are not listed.
//
// # Concurrency
//
// Each call makes a new list, which belongs to the caller.
package plugins

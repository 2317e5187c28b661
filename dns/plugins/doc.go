// Package plugins has the lists of all kinds of source and of provider that the binary
// knows: a new kind is a package below dns/source or dns/provider, and one line here.
//
// Package dns/configure makes the flags of them and opens those that the user names; the
// reference in docs is generated from them. Test kits are no part of it.
//
// # Concurrency
//
// The lists are made anew each time and belong to who asked.
package plugins

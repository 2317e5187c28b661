// Package sharedflags shares settings between plugins, such as the access to one cloud between two providers
// and a registry. Their flags exist once, and all plugins have the same values.
//
// Shared settings are a type of their own with a method Flags. The config of a plugin that shares them
// implements [Taker]: it replaces its own value with the one in the [Set]. The code that opens plugins, such
// as dns/configure, has one Set for all of them, and adds the Set's flags besides theirs.
//
// # Concurrency
//
// A Set is used at start, by one goroutine.
package sharedflags

import "github.com/spf13/pflag"

// Settings are shared settings with their defaults.
type Settings interface {
	// Flags adds a flag for each setting.
	Flags(flags *pflag.FlagSet)
}

// Taker is the config of a plugin that shares settings with others.
type Taker interface {
	// Take gets the shared settings with [Of]. It is called before Flags, which must leave these settings
	// out.
	Take(from *Set)
}

// Set has one value for each type of shared settings. The zero value is empty.
type Set struct{ values []Settings }

// Of returns the settings of type T in a set. If there are none, it adds and returns fresh.
func Of[T Settings](s *Set, fresh T) T {
	for _, v := range s.values {
		if there, ok := v.(T); ok {
			return there
		}
	}
	s.values = append(s.values, fresh)
	return fresh
}

// Give calls Take of a config that shares settings.
func (s *Set) Give(config Settings) {
	if taker, ok := config.(Taker); ok {
		taker.Take(s)
	}
}

// Flags adds the flags of all settings in the set.
func (s *Set) Flags(flags *pflag.FlagSet) {
	for _, v := range s.values {
		v.Flags(flags)
	}
}

// Package sharedflags is for settings that several plugins have in common, such as the access to
// one cloud by two providers and a registry: their flags are there once, and all plugins see the
// same values.
//
// The settings are a type of their own with a method Flags. A plugin's config that has them
// implements [Taker]: it exchanges its own value for the one in the [Set]. Whoever opens plugins,
// as dns/configure does, has one Set for all of them, and adds its flags beside theirs.
//
// # Concurrency
//
// A Set is used at the start, by one goroutine.
package sharedflags

import "github.com/spf13/pflag"

// Settings are some settings with their defaults.
type Settings interface {
	// Flags adds a flag for each of them.
	Flags(flags *pflag.FlagSet)
}

// Taker is the config of a plugin that shares settings with others.
type Taker interface {
	// Take gets the shared settings with [Of]. It is called before Flags, which leaves them out.
	Take(from *Set)
}

// Set has one value for each type of shared settings. The zero value has none yet.
type Set struct{ values []Settings }

// Of returns the settings in a set that have the type of a new value; that value itself if
// there are none yet.
func Of[T Settings](s *Set, fresh T) T {
	for _, v := range s.values {
		if there, ok := v.(T); ok {
			return there
		}
	}
	s.values = append(s.values, fresh)
	return fresh
}

// Give has a config take its shared settings, if it has any.
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

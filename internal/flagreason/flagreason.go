// Package flagreason says what is wrong with the value of a flag, in words for users. Command lines,
// environment variables and config files share these words.
//
// # Concurrency
//
// The package has no state.
package flagreason

import (
	"errors"

	"github.com/spf13/pflag"
)

// wanted describes the valid values of flags, by pflag's type name.
var wanted = map[string]string{
	"bool":     "must be true or false",
	"int":      "must be a whole number",
	"int64":    "must be a whole number",
	"float64":  "must be a number",
	"float":    "must be a number",
	"duration": "must be a duration with its unit, such as 10s or 1m30s",
}

// Wanted describes the valid values of a type of pflag. It returns "" for other types.
func Wanted(flagType string) string { return wanted[flagType] }

// Of returns what is wrong with the value of a flag.
func Of(invalid *pflag.InvalidValueError) error {
	if reason := Wanted(invalid.GetFlag().Value.Type()); reason != "" {
		return errors.New(reason)
	}
	return errors.Unwrap(invalid)
}

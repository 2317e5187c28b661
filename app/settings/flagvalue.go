package settings

import (
	"cmp"
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

func wantedOf(f *pflag.Flag) string {
	if _, list := f.Value.(pflag.SliceValue); list {
		return "must be a string or a list of strings"
	}
	return cmp.Or(wanted[f.Value.Type()], "must be a string")
}

// ReasonOf returns what is wrong with the value of a flag.
func ReasonOf(invalid *pflag.InvalidValueError) error {
	if reason, ok := wanted[invalid.GetFlag().Value.Type()]; ok {
		return errors.New(reason)
	}
	return errors.Unwrap(invalid)
}

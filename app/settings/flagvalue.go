package settings

import (
	"cmp"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/internal/flagreason"
)

func wantedOf(f *pflag.Flag) string {
	if _, list := f.Value.(pflag.SliceValue); list {
		return "must be a string or a list of strings"
	}
	return cmp.Or(flagreason.Wanted(f.Value.Type()), "must be a string")
}

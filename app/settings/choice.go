package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Choice returns the value of a flag with a fixed list of values.
func Choice(target *string, allowed ...string) pflag.Value { return &choiceValue{target, allowed} }

// choiceValue is a flag value that can't be in a config file.
type choiceValue struct {
	target  *string
	allowed []string
}

func (v *choiceValue) String() string { return *v.target }
func (v *choiceValue) Type() string   { return "string" }

func (v *choiceValue) Set(s string) error {
	if !slices.Contains(v.allowed, s) {
		named := slices.DeleteFunc(slices.Clone(v.allowed), func(name string) bool { return name == "" })
		return fmt.Errorf("must be one of %s", strings.Join(named, ", "))
	}
	*v.target = s
	return nil
}

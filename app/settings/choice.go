package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// The output formats of commands.
const (
	OutputText  = "text"
	OutputTable = "table"
	OutputJSON  = "json"
)

// Choice returns the value of a flag that has to be one of the allowed strings.
func Choice(target *string, allowed ...string) pflag.Value { return &choiceValue{target, allowed} }

// choiceValue is a value of a flag that has no place in a config file.
type choiceValue struct {
	target  *string
	allowed []string
}

func (v *choiceValue) String() string { return *v.target }
func (v *choiceValue) Type() string   { return "string" }

func (v *choiceValue) Set(s string) error {
	if !slices.Contains(v.allowed, s) {
		return fmt.Errorf("must be one of %s", strings.Join(v.allowed, ", "))
	}
	*v.target = s
	return nil
}

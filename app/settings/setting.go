package settings

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/signpostd/signpost/internal/flaggroup"
)

// Setting is one setting, as a flag and as a field of the config file.
type Setting struct {
	// Flag is the name of the flag, without dashes. Path is that of the field in the config file. A
	// setting without a Flag is for config files only.
	Flag, Path string
	// Value stores the setting.
	Value settingValue
	// Usage describes the setting. As in the usage of a flag, a word in backquotes names the value.
	Usage string
	// bounds are those of a whole number; nil means any.
	bounds *bounds
	// pattern matches the valid values of a text; empty means any.
	pattern string
}

// Section is the settings of the process, or of one role.
type Section interface {
	// Settings returns all settings of the section, in the order of the reference.
	Settings() []Setting
	// validate returns the faults of the values.
	validate() []problem
}

// settingValue is a value that a flag or a node of a config file can set. Its String has the form
// of the flag.
type settingValue interface {
	pflag.Value
	// decode sets the value from a YAML node, which must have the type of the value.
	decode(n *yaml.Node) error
}

// Headings of flags of several roles in --help.
const (
	headingProcess = "Process"
	headingLeader  = "Leader election"
)

// heading returns the heading of a flag in --help: the part of the config file with its field.
func heading(path string) string {
	parts := strings.Split(path, ".")
	switch {
	case slices.Contains(parts, "leaderElection"):
		return headingLeader
	case slices.Contains(parts, "limits"):
		return "Limit"
	case len(parts) > 2 && parts[0] == ControllersSection:
		return "Controller"
	case len(parts) > 1 && slices.Contains([]string{DestinationSection, ControllersSection, XDSSection}, parts[0]):
		return "Main"
	}
	return headingProcess
}

// AddFlags defines a flag for each setting, with its current value as the default.
func AddFlags(flags *pflag.FlagSet, settings []Setting) {
	for _, s := range settings {
		f := flags.VarPF(s.Value, s.Flag, "", s.Usage)
		if s.Value.Type() == "bool" {
			f.NoOptDefVal = "true"
		}
		flaggroup.Set(flags, heading(s.Path), s.Flag)
	}
}

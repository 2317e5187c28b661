package settings

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/signpostd/signpost/internal/flaggroup"
)

// Setting is one thing that can be set, by a flag and in the config file.
type Setting struct {
	// Flag is the name of the flag, without dashes, and Path that of the field in the config
	// file. A setting without a Flag is for config files only.
	Flag, Path string
	// Value is where the setting is kept.
	Value settingValue
	// Usage says what the setting is for. As in the usage of a flag, a word in backquotes
	// names the value.
	Usage string
}

// Section is the settings of the process, or of one role.
type Section interface {
	// Settings returns all settings of the section, in the order of the reference.
	Settings() []Setting
	// validate returns what is wrong with the values.
	validate() []problem
}

// settingValue is a value that a flag or a node of a config file can set. Its String is
// what the flag would be given.
type settingValue interface {
	pflag.Value
	// decode sets the value from a YAML node. The node has to have the type of the value.
	decode(n *yaml.Node) error
}

// The headings of flags in --help that several roles have.
const (
	headingProcess = "Process"
	headingLeader  = "Leader election"
)

// heading returns what a flag is listed under in --help: the part of the config file that its field
// is in.
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

// AddFlags defines a flag for each setting. Its default is what is set now.
func AddFlags(flags *pflag.FlagSet, settings []Setting) {
	for _, s := range settings {
		f := flags.VarPF(s.Value, s.Flag, "", s.Usage)
		if s.Value.Type() == "bool" {
			f.NoOptDefVal = "true"
		}
		flaggroup.Set(flags, heading(s.Path), s.Flag)
	}
}

package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/signpostd/signpost/dns/configure"
)

// dropIn marks a command that takes the place of a program whose flags follow Go's
// flag package: one dash or two. negations marks one that takes the place of ExternalDNS,
// which has --no-flag for each flag that is on or off.
const (
	dropIn    = "signpost.dev/drop-in"
	negations = "signpost.dev/negations"
)

// dropInArgs returns the arguments of the process, with those of a drop-in command as
// the flag library here wants them.
func dropInArgs(root *cobra.Command, args []string) []string {
	if len(args) == 0 {
		return args
	}
	for _, c := range root.Commands() {
		if c.Name() != args[0] {
			continue
		}
		if _, ok := c.Annotations[negations]; ok {
			return slices.Concat(args[:1], configure.Negations(c.Flags(), args[1:]))
		}
		if _, ok := c.Annotations[dropIn]; !ok {
			continue
		}
		takesValue := func(name string) bool {
			f := c.Flags().Lookup(name)
			return f != nil && f.NoOptDefVal == ""
		}
		return slices.Concat(args[:1], normaliseArgs(args[1:], takesValue))
	}
	return args
}

// normaliseArgs gives every flag two dashes. takesValue reports whether the flag of that
// name is followed by a value when it has no equals sign: the value is left as it is,
// even when it starts with a dash.
func normaliseArgs(args []string, takesValue func(name string) bool) []string {
	normal := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		name, isFlag := strings.CutPrefix(args[i], "-")
		name = strings.TrimPrefix(name, "-")
		if args[i] == "--" {
			return append(normal, args[i:]...)
		}
		if !isFlag || name == "" {
			normal = append(normal, args[i])
			continue
		}
		if name == "h" {
			name = "help"
		}
		normal = append(normal, "--"+name)
		if !strings.Contains(name, "=") && takesValue(name) && i+1 < len(args) {
			i++
			normal = append(normal, args[i])
		}
	}
	return normal
}

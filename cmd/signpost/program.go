package main

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// program is the name that the binary was called by.
type program string

// Names with a special meaning.
const (
	signpostProgram program = "signpost"
	// kubectlProgram is called by kubectl for `kubectl signpost`. It has the commands for users.
	kubectlProgram program = "kubectl-signpost"
	// externalDNSProgram is the program that `signpost dns` replaces: an image in its place is called
	// by its name and with its flags.
	externalDNSProgram program = "external-dns"
)

// programOf returns the program in the first argument of a process.
func programOf(argument string) program {
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(argument)), ".exe")
	switch p := program(strings.ReplaceAll(name, "_", "-")); p {
	case kubectlProgram, externalDNSProgram:
		return p
	}
	return signpostProgram
}

// arguments returns the equivalent arguments of signpost.
func (p program) arguments(args []string) []string {
	if p == externalDNSProgram {
		return append([]string{"dns"}, args...)
	}
	return args
}

// adapt adapts the commands to the program: with kubectl there are no roles, and the command is
// "kubectl signpost".
func (p program) adapt(root *cobra.Command) {
	if p != kubectlProgram {
		return
	}
	const typed = "kubectl signpost"
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: typed}
	root.Use, root.Long = string(p), kubectlHelp
	for _, c := range root.Commands() {
		if c.GroupID == groupRoles {
			root.RemoveCommand(c)
			continue
		}
		lines := strings.Split(c.Example, "\n")
		for i, line := range lines {
			if rest, ok := strings.CutPrefix(line, "  signpost "); ok {
				lines[i] = "  " + typed + " " + rest
			}
		}
		c.Example = strings.Join(lines, "\n")
	}
}

const kubectlHelp = `Look into Signpost, which tells callers in the cluster where services live, over the
Destination API, in EndpointSlices and in DNS. The pods of signpost are found in the
cluster that kubectl uses, and all of them are asked.`

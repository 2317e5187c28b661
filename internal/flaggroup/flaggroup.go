// Package flaggroup groups the flags of a command under headings, and prints them for --help, wrapped to the
// width of the terminal. Packages that add flags call [Add] or [Set]; the help of commands calls [Usages].
//
// # Concurrency
//
// Flags belong to the goroutine that sets up a command.
package flaggroup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// annotation holds the heading of a flag.
const annotation = "signpost.dev/group"

// Other is the heading of flags without a heading, if other flags have one.
const Other = "Other"

// Add adds flags under a heading. Flags that have a heading keep it.
func Add(flags *pflag.FlagSet, heading string, add func(*pflag.FlagSet)) {
	own := pflag.NewFlagSet(heading, pflag.ContinueOnError)
	add(own)
	own.VisitAll(func(f *pflag.Flag) { put(f, heading) })
	flags.AddFlagSet(own)
}

// Set moves flags under a heading. Unknown names are ignored.
func Set(flags *pflag.FlagSet, heading string, names ...string) {
	for _, name := range names {
		if f := flags.Lookup(name); f != nil {
			delete(f.Annotations, annotation)
			put(f, heading)
		}
	}
}

func put(f *pflag.Flag, heading string) {
	if len(f.Annotations[annotation]) > 0 {
		return
	}
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[annotation] = []string{heading}
}

// Of returns the heading of a flag; "" if it has none.
func Of(f *pflag.Flag) string {
	if of := f.Annotations[annotation]; len(of) > 0 {
		return of[0]
	}
	return ""
}

// Group is the flags under a heading.
type Group struct {
	Heading string
	Flags   *pflag.FlagSet
}

// Len returns the number of flags.
func (g Group) Len() int {
	n := 0
	g.Flags.VisitAll(func(*pflag.Flag) { n++ })
	return n
}

// Groups returns the flags that --help shows, by heading: first the headings in order, then the others
// alphabetically, then flags without a heading.
func Groups(flags *pflag.FlagSet, order ...string) []Group {
	byHeading := map[string]*pflag.FlagSet{}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		heading := Of(f)
		if byHeading[heading] == nil {
			byHeading[heading] = pflag.NewFlagSet(heading, pflag.ContinueOnError)
		}
		byHeading[heading].AddFlag(f)
	})
	var groups []Group
	take := func(heading string) {
		if set := byHeading[heading]; set != nil {
			delete(byHeading, heading)
			groups = append(groups, Group{heading, set})
		}
	}
	for _, heading := range order {
		take(heading)
	}
	var rest []string
	for heading := range byHeading {
		if heading != "" {
			rest = append(rest, heading)
		}
	}
	slices.Sort(rest)
	for _, heading := range rest {
		take(heading)
	}
	take("")
	return groups
}

// Usages returns the help of all groups, wrapped to a width.
func Usages(groups []Group, width int) string {
	var text strings.Builder
	for i, g := range groups {
		heading := "Flags"
		switch {
		case g.Heading != "":
			heading = g.Heading + " flags"
		case len(groups) > 1:
			heading = Other + " flags"
		}
		if i > 0 {
			text.WriteString("\n")
		}
		fmt.Fprintf(&text, "%s:\n%s", heading, trimmed(g.Flags.FlagUsagesWrapped(width)))
	}
	return text.String()
}

// trimmed removes trailing spaces from each line.
func trimmed(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

package run

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strconv"
	"strings"
)

// mostStacks is the size in bytes of what [Where] returns, at most.
const mostStacks = 16 << 10

// Named calls f. By the name, [Where] finds its goroutine and those that are started in it. They have the name in
// goroutine profiles, too, as a label.
func Named(ctx context.Context, name string, f func(context.Context)) {
	pprof.Do(ctx, pprof.Labels(name, "running"), f)
}

// Where returns the stacks of the goroutines of a name, for an error that says that they don't end: nobody can look at them
// when the process has ended. It has a line for each function, the innermost first, and an empty line after each stack;
// equal stacks are there once. The text is empty when none runs.
func Where(name string) string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return err.Error()
	}
	label := strconv.Quote(name) + ":"
	var text strings.Builder
	for stack := range strings.SplitSeq(profile.String(), "\n\n") {
		if labels, found := labelsOf(stack); !found || !strings.Contains(labels, label) {
			continue
		}
		for line := range strings.Lines(stack) {
			// # <tab> address <tab> function+offset <tabs> file:line
			if fields := strings.Fields(line); len(fields) == 4 && fields[0] == "#" {
				function, _, _ := strings.Cut(fields[2], "+0x")
				text.WriteString("\n\t" + function + " " + fields[3])
			}
		}
		text.WriteString("\n")
		if text.Len() > mostStacks {
			return text.String()[:mostStacks] + "…"
		}
	}
	return text.String()
}

func labelsOf(stack string) (labels string, found bool) {
	_, after, found := strings.Cut(stack, "\n# labels: ")
	labels, _, _ = strings.Cut(after, "\n")
	return labels, found
}

package run

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strconv"
	"strings"
)

// mostStacks bounds the result of [Where], in bytes.
const mostStacks = 16 << 10

// Named calls f with a pprof label, by which [Where] finds its goroutine and those started in it. Goroutine
// profiles show the label, too.
func Named(ctx context.Context, name string, f func(context.Context)) {
	pprof.Do(ctx, pprof.Labels(name, "running"), f)
}

// Where returns the stacks of the goroutines of a name, for an error about goroutines that don't end, because
// nobody can inspect them after the process has ended. It has a line for each function, the innermost first,
// and an empty line after each stack. Equal stacks appear once. Without such goroutines it is empty.
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

package check

import (
	"fmt"
	"io"
	"strings"

	"github.com/signpostd/signpost/app/output"
)

// Formats of a report.
const (
	// FormatTable shows all results, with headings.
	FormatTable = output.Table
	// FormatShort shows only results that aren't OK.
	FormatShort = "short"
	FormatJSON  = output.JSON
	FormatYAML  = output.YAML
)

// Colors says whether a report is colored.
type Colors int

// The colors of a report: none, or ANSI escape codes for the states.
const (
	NoColors Colors = iota
	ANSIColors
)

// Write writes a report in a format. Text of others is escaped, because colors must not be.
func (r *Report) Write(w io.Writer, format string, colors Colors) error {
	if format == FormatJSON || format == FormatYAML {
		w = output.NewTerminal(w)
	}
	return output.Print(w, output.Format{Kind: format}, output.Result{Value: r.document(), Text: r.table(format, colors)})
}

// document is a report in JSON and YAML. Later versions may add fields, but never rename or remove
// any.
type document struct {
	// Result is "fit", "failed" or "unknown", like the exit code.
	Result string  `json:"result"`
	Groups []Group `json:"groups"`
}

func (r *Report) document() document {
	return document{Result: []string{"fit", "failed", "unknown"}[r.ExitCode()], Groups: append([]Group{}, r.Groups...)}
}

// ansiCodes are the ANSI colors of states.
var ansiCodes = map[State]string{OK: "32", Note: "36", Warning: "33", Unknown: "35", Failed: "31"}

func (c Colors) paint(state State, text string) string {
	if c == NoColors {
		return text
	}
	return "\x1b[" + ansiCodes[state] + "m" + text + "\x1b[0m"
}

// table returns a report for users.
func (r *Report) table(format string, colors Colors) string {
	var b strings.Builder
	for _, g := range r.Groups {
		begun := false
		for i, result := range g.Results {
			if format == FormatShort && result.State == OK {
				continue
			}
			if !begun {
				begun = true
				fmt.Fprintln(&b, output.Clean(g.Name))
			}
			fmt.Fprintf(&b, "  %s  %s\n", colors.paint(result.State, fmt.Sprintf("%-7s", result.State)), output.Escape(result.Text))
			// A hint for several results is printed once, after them.
			if last := i+1 == len(g.Results); result.Hint != "" && (last || g.Results[i+1].Hint != result.Hint) {
				fmt.Fprintf(&b, "           %s\n", output.Escape(result.Hint))
			}
		}
		if begun {
			fmt.Fprintln(&b)
		}
	}
	fmt.Fprintln(&b, r.summary(colors))
	return b.String()
}

// summary is the last line of a table.
func (r *Report) summary(colors Colors) string {
	var counts []string
	for _, state := range []State{Failed, Unknown, Warning, Note, OK} {
		if n := r.Count(state); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, state))
		}
	}
	verdict := map[int]string{
		0: colors.paint(OK, "Everything that Signpost needs is there"),
		1: colors.paint(Failed, "Something is wrong"),
		2: colors.paint(Unknown, "Something couldn't be found out"),
	}[r.ExitCode()]
	return verdict + ": " + strings.Join(counts, ", ")
}

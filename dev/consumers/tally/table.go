package tally

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dev/clienttest"
)

// Result is what one side did in a scene.
type Result struct {
	Tried  int
	Failed int
	Kinds  map[string]int // failures by kind
	Times  []Time
}

// Time is a row of times, of which the table shows the median and the longest.
type Time struct {
	What  string
	Took  []time.Duration
	Never int // how many never came
}

// Count adds outcomes.
func (r *Result) Count(o Outcomes) {
	if r.Kinds == nil {
		r.Kinds = map[string]int{}
	}
	r.Tried += len(o)
	r.Failed += o.Failed()
	for _, a := range o {
		if a.Failure != "" {
			r.Kinds[a.Failure]++
		}
	}
}

// Took adds a time to the row of its name.
func (r *Result) Took(what string, took time.Duration) {
	row := r.row(what)
	row.Took = append(row.Took, took)
}

// Never adds to the row of its name that what was waited for never came.
func (r *Result) Never(what string) { r.row(what).Never++ }

// row returns the row of a name, which is the last one if it is new.
func (r *Result) row(what string) *Time {
	i := slices.IndexFunc(r.Times, func(t Time) bool { return t.What == what })
	if i < 0 {
		i = len(r.Times)
		r.Times = append(r.Times, Time{What: what})
	}
	return &r.Times[i]
}

// Scene is what both sides did in a scene.
type Scene struct {
	Title  string
	Counts string // what is counted, such as "failed connections"
	// Chance is by how many failures the sides may differ by chance.
	Chance               int
	Signpost, Kubernetes Result
	Errors               []error // why the scene ended early
}

// Worse returns whether Signpost had more failures than Kubernetes, by more than chance.
func (s Scene) Worse() bool { return s.Signpost.Failed > s.Kubernetes.Failed+s.Chance }

// Passed returns whether the scene was played to its end, and Signpost wasn't worse.
func (s Scene) Passed() bool { return len(s.Errors) == 0 && !s.Worse() }

// Print writes the scenes as a table in Markdown, and what didn't pass below it.
func Print(w io.Writer, scenes []Scene) {
	rows := [][]string{{"Scene", "Measured", "Signpost", "Kubernetes"}}
	for _, s := range scenes {
		rows = append(rows, []string{s.Title, s.Counts, s.Signpost.failures(), s.Kubernetes.failures()})
		for i, t := range s.Signpost.Times {
			other := Time{}
			if i < len(s.Kubernetes.Times) {
				other = s.Kubernetes.Times[i]
			}
			rows = append(rows, []string{"", t.What, t.String(), other.String()})
		}
	}
	clienttest.PrintTable(w, rows)
	for _, s := range scenes {
		for _, err := range s.Errors {
			fmt.Fprintf(w, "\n%s: not finished: %v\n", s.Title, err)
		}
		if s.Worse() {
			fmt.Fprintf(w, "\n%s: Signpost has %d more %s than Kubernetes; chance explains %d\n",
				s.Title, s.Signpost.Failed-s.Kubernetes.Failed, s.Counts, s.Chance)
		}
	}
}

// failures is a cell such as "3 of 1,200 (refused 2, timeout 1)".
func (r Result) failures() string {
	cell := fmt.Sprintf("%s of %s", clienttest.Thousands(r.Failed), clienttest.Thousands(r.Tried))
	if r.Failed == 0 {
		return cell
	}
	kinds := slices.SortedFunc(maps.Keys(r.Kinds), func(a, b string) int {
		return cmp.Or(r.Kinds[b]-r.Kinds[a], strings.Compare(a, b))
	})
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%s %s", kind, clienttest.Thousands(r.Kinds[kind]))
	}
	return cell + " (" + strings.Join(kinds, ", ") + ")"
}

// String is a cell such as "0.31 s, longest 1.10 s".
func (t Time) String() string {
	if len(t.Took) == 0 {
		if t.Never > 0 {
			return "never"
		}
		return "–"
	}
	sorted := slices.Sorted(slices.Values(t.Took))
	cell := seconds(sorted[len(sorted)/2])
	if len(sorted) > 1 {
		cell += ", longest " + seconds(sorted[len(sorted)-1])
	}
	if t.Never > 0 {
		cell += fmt.Sprintf(", %d never", t.Never)
	}
	return cell
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

package measure

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// Quantile returns a quantile of sorted durations in milliseconds.
func Quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[int(q*float64(len(sorted)-1))].Microseconds()) / 1000
}

// Ms returns a duration in milliseconds.
func Ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Rounds is how often each server is measured, in turns, so that what else the
// machine does meets both; the figures are medians.
const Rounds = 3

// Median returns the median of a figure of each value.
func Median[T any](list []T, of func(T) float64) float64 {
	values := make([]float64, len(list))
	for i, f := range list {
		values[i] = of(f)
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// Itself is for the median of plain figures.
func Itself(v float64) float64 { return v }

// Report prints figures as they come.
type Report struct {
	Out    io.Writer
	Missed int
}

// Title is the title of figures that stand beside those of the floor.
func (r *Report) Title(format string, args ...any) { r.TitleBeside("floor", format, args...) }

// TitleBeside is the title of figures that stand beside those of base.
func (r *Report) TitleBeside(base, format string, args ...any) {
	fmt.Fprintf(r.Out, "\n"+format+"\n", args...)
	fmt.Fprintf(r.Out, "  %-52s %14s %14s %9s %12s\n", "", base, "signpost", "ratio", "must reach")
}

// Note prints a line without a limit.
func (r *Report) Note(format string, args ...any) { fmt.Fprintf(r.Out, "  "+format+"\n", args...) }

// Ratio reports a figure beside that of the base, which it may exceed by limit
// at most; a figure with a limit of 0 has none.
func (r *Report) Ratio(name, unit string, f Figures) {
	var j judgement
	if f.Limit > 0 {
		j = judgement{fmt.Sprintf("≤ %.2f", f.Limit), r.verdict(f.Signpost/f.Base, math.Inf(-1), f.Limit)}
	}
	r.beside(name, unit, f, j)
}

// AtMostBeside reports a figure that has a limit of its own beside that of the base.
func (r *Report) AtMostBeside(name, unit string, f Figures) {
	r.beside(name, unit, f, judgement{fmt.Sprintf("≤ %g %s", f.Limit, unit), r.verdict(f.Signpost, math.Inf(-1), f.Limit)})
}

// beside reports both figures, their ratio, and a judgement.
func (r *Report) beside(name, unit string, f Figures, j judgement) {
	fmt.Fprintf(r.Out, "  %-52s %11.2f %-2s %11.2f %-2s %9.2f %12s %s\n", name, f.Base, unit, f.Signpost, unit, f.Signpost/f.Base, j.must, j.verdict)
}

type judgement struct{ must, verdict string }

// Figures are a figure of the base and of Signpost, and the limit of their ratio.
type Figures struct{ Base, Signpost, Limit float64 }

// AtMost reports a figure that has a limit of its own.
func (r *Report) AtMost(name, unit string, value, limit float64) {
	fmt.Fprintf(r.Out, "  %-52s %14s %11.2f %-2s %9s %12s %s\n", name, "", value, unit, "", fmt.Sprintf("≤ %g %s", limit, unit), r.verdict(value, math.Inf(-1), limit))
}

// None reports something that must not have happened, and how often it did.
func (r *Report) None(name string, times int, detail string) {
	r.Check(name, float64(times), 0, 0, detail)
}

// Check reports a value that must be between least and most; detail is printed.
func (r *Report) Check(name string, value, least, most float64, detail string) {
	fmt.Fprintf(r.Out, "  %-52s %-52s %s\n", name, detail, r.verdict(value, least, most))
}

// verdict counts a value that is not between least and most.
func (r *Report) verdict(value, least, most float64) string {
	if least <= value && value <= most {
		return "ok"
	}
	r.Missed++
	return "MISSED"
}

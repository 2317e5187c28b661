// Package clienttest has what programs share that start a local cluster and other programs:
// [Programs], requests to their admin servers, waiting for a condition, and the tables in Markdown
// that they print.
//
// They are dev/consumers, with kube-proxy and CoreDNS behind the slices, dev/xds, with xDS clients,
// dev/differential, with the controllers of Kubernetes, dev/demo, dev/lab and dev/bench.
//
// # Concurrency
//
// The functions may be called from any goroutine. One goroutine at a time starts and ends [Programs].
package clienttest

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/signpostd/signpost/internal/pause"
)

// poll is the time between two calls of a condition.
const poll = 20 * time.Millisecond

// Pause waits, unless the context ends first. The error is the cause of that.
func Pause(ctx context.Context, d time.Duration) error {
	if pause.For(ctx, d) != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Until waits until a condition holds, for at most within, with a pause of every between two tries.
// The error has that of the last try.
func Until(ctx context.Context, what string, within, every time.Duration, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("waited %s in vain for %s", within, what))
	defer cancel()
	for {
		ok, err := holds()
		if ok {
			return nil
		}
		if ended := Pause(ctx, every); ended != nil && err != nil {
			return fmt.Errorf("%w: %w", ended, err)
		} else if ended != nil {
			return ended
		}
	}
}

// Await waits until a condition holds, for at most within. The error begins with what.
func Await(ctx context.Context, within time.Duration, what string, holds func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("%s: not within %s", what, within))
	defer cancel()
	for !holds() {
		if err := Pause(ctx, poll); err != nil {
			return err
		}
	}
	return nil
}

// PrintTable writes rows as a table in Markdown with columns of equal width. The first row is the head.
func PrintTable(w io.Writer, rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	for n, row := range rows {
		for i, cell := range row {
			fmt.Fprintf(w, "| %-*s ", width[i], cell)
		}
		fmt.Fprintln(w, "|")
		if n == 0 {
			for i := range row {
				fmt.Fprintf(w, "| %s ", strings.Repeat("-", width[i]))
			}
			fmt.Fprintln(w, "|")
		}
	}
}

// Thousands writes a number with a comma between groups of three digits.
func Thousands(n int) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

package logging

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

const (
	// standardEvery and standardBurst bound how many lines of the standard logger are shown: a foreign server can
	// cause one with each connection.
	standardEvery = 10 * time.Second
	standardBurst = 5
	// standardLimit is how many bytes of a line are shown.
	standardLimit = 300
)

// standardMessage is the message of entries that were lines of the standard logger.
const standardMessage = "Go library"

// standardWriter takes the lines of the standard logger, to which libraries write, net/http among them. What a line quotes
// comes from somebody else, such as a server that answers without a request. It is left out.
type standardWriter struct {
	log   *slog.Logger
	limit *rate.Limiter
	// left is how many lines have been left out since the last one that was shown.
	left atomic.Int64
}

func newStandardWriter(log *slog.Logger) *standardWriter {
	return &standardWriter{log: log, limit: rate.NewLimiter(rate.Every(standardEvery), standardBurst)}
}

// Write implements io.Writer. It is called with one line at a time, and never fails.
func (w *standardWriter) Write(line []byte) (int, error) {
	if !w.limit.Allow() {
		w.left.Add(1)
		return len(line), nil
	}
	attrs := []any{"text", shown(string(line))}
	if n := w.left.Swap(0); n > 0 {
		attrs = append(attrs, "left_out", n)
	}
	w.log.Warn(standardMessage, attrs...)
	return len(line), nil
}

// shown returns what is shown of a line: at most so many bytes, and nothing from its first quotation mark to its last, or
// to the end if there is one only. Quoted text may contain quotation marks, so nothing in between is certain to be the
// library's own.
func shown(line string) string {
	line = strings.TrimSpace(line)
	switch first, last := strings.IndexByte(line, '"'), strings.LastIndexByte(line, '"'); {
	case first < 0:
	case first == last:
		line = line[:first] + "…"
	default:
		line = line[:first] + "…" + line[last+1:]
	}
	if len(line) > standardLimit {
		line = line[:standardLimit] + "…"
	}
	return strings.ToValidUTF8(line, "…")
}

package logging

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

const (
	// standardEvery and standardBurst limit the lines of the standard logger, because an untrusted server can
	// cause one with each connection.
	standardEvery = 10 * time.Second
	standardBurst = 5
	// standardLimit is how many bytes of a line are logged.
	standardLimit = 300
)

// standardMessage is the message of entries from the standard logger.
const standardMessage = "Go library"

// standardWriter receives the lines of the standard logger, to which net/http and other libraries write. It
// removes quoted text, because that is untrusted, such as data from a server that responds without a request.
type standardWriter struct {
	log   *slog.Logger
	limit *rate.Limiter
	// omitted counts the lines that were omitted since the last logged one.
	omitted atomic.Int64
}

// Write implements io.Writer. It is called with one line at a time, and never fails.
func (w *standardWriter) Write(line []byte) (int, error) {
	if !w.limit.Allow() {
		w.omitted.Add(1)
		return len(line), nil
	}
	attrs := []any{"text", loggedPart(string(line))}
	if n := w.omitted.Swap(0); n > 0 {
		attrs = append(attrs, "left_out", n)
	}
	w.log.Warn(standardMessage, attrs...)
	return len(line), nil
}

// loggedPart returns the part of a line that is logged: at most standardLimit bytes, without the text from
// its first quotation mark to its last, or to the end if there is only one. Quoted text may contain quotation
// marks, so nothing in between is certain to be the library's own.
func loggedPart(line string) string {
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

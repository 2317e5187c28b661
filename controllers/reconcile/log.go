package reconcile

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/time/rate"
)

// The rate limit for log lines about failures of single Services: a burst, then one line per period.
const (
	linesAtOnce = 10
	lineEvery   = 10 * time.Second
)

// failureLog logs failures: a line when a breaker opens, one when it closes, and a limited number about
// Services that fail on their own. Omitted lines are counted in the next line, and logged at debug level. It
// is not safe for concurrent use.
type failureLog struct {
	log               *slog.Logger
	outages, services *rate.Limiter
	omitted           int
	// logged are the open breakers that a line was logged for.
	logged map[string]bool
}

func newFailureLog(log *slog.Logger) *failureLog {
	few := func() *rate.Limiter { return rate.NewLimiter(rate.Every(lineEvery), linesAtOnce) }
	return &failureLog{log: log, outages: few(), services: few(), logged: map[string]bool{}}
}

// opened logs that a breaker has opened, for all Services or for those of a namespace.
func (f *failureLog) opened(scope string, err error) {
	level := slog.LevelDebug
	if f.logged[scope] = f.outages.Allow(); f.logged[scope] {
		level = slog.LevelWarn
	}
	f.log.Log(context.Background(), level, "Writes fail; one Service at a time is retried until a write succeeds", "scope", scope, "err", err)
}

func (f *failureLog) closed(scope string, p outage) {
	level := slog.LevelDebug
	if f.logged[scope] {
		level = slog.LevelInfo
	}
	delete(f.logged, scope)
	f.log.Log(context.Background(), level, "Writes succeed again",
		"scope", scope, "lasted", p.last.Sub(p.since).Round(time.Millisecond), "failures", p.failures, "err", p.cause)
}

// failed logs that a Service has failed on its own, for the nth time in a row.
func (f *failureLog) failed(key Key, n int, err error) {
	level, message := slog.LevelDebug, "Sync of the Service failed and is retried"
	switch n {
	case 1:
		level = slog.LevelWarn
	case persistent:
		level, message = slog.LevelError, "Sync of the Service keeps failing and is retried after growing delays"
	}
	attrs := []slog.Attr{slog.String("service", key.String()), slog.Int("failures", n), slog.Any("err", err)}
	if level > slog.LevelDebug {
		if !f.services.Allow() {
			f.omitted++
			level = slog.LevelDebug
		} else if f.omitted > 0 {
			attrs = append(attrs, slog.Int("linesOmitted", f.omitted))
			f.omitted = 0
		}
	}
	f.log.LogAttrs(context.Background(), level, message, attrs...)
}

// synced logs the end of a sync. It may be called from any goroutine.
func (f *failureLog) synced(key Key, writes requests, took time.Duration, err error) {
	ctx := context.Background()
	if !f.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := []slog.Attr{
		slog.String("service", key.String()), slog.Int("created", writes.created), slog.Int("updated", writes.updated),
		slog.Int("deleted", writes.deleted), slog.Int("failed", writes.failed), slog.Duration("took", took),
	}
	if err != nil {
		attrs = append(attrs, slog.Any("err", err))
	}
	f.log.LogAttrs(ctx, slog.LevelDebug, "Service synced", attrs...)
}

// contested logs that another writer keeps changing the objects of a Service.
func (f *failureLog) contested(key Key) {
	f.log.Warn("Another writer keeps changing the objects of the Service, which are repaired after growing delays: find the writer, and stop one of the two",
		"service", key.String(), "repairs", contestedAfter)
}

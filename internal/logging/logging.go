// Package logging sets up the log of the process: a log/slog handler with a level and a format,
// which the libraries use too.
//
// [New] makes the logger from the values of --log-level and --log-format, or of the config file.
// It writes text or JSON, one line for each entry, with Linkerd's names of levels (trace to
// panic). [RouteLibraries] sends what klog (and so client-go) and grpc-go log to it, and what others,
// such as net/http, write to the standard logger: few lines of that, without what they quote. Messages are constant, and
// what varies is in keys and values, except where a library formats its text.
//
// The command calls both once, before it starts anything else.
//
// # Concurrency
//
// The logger may be used from any goroutine. RouteLibraries changes variables of the
// libraries and must be called before they are used.
package logging

import (
	"io"
	"log/slog"
	"slices"
)

// Format is how entries are written.
type Format string

// The formats, spelled as on the command line.
const (
	Plain Format = "plain"
	JSON  Format = "json"
)

// Known reports whether f is one of the formats. [New] takes any other for Plain.
func (f Format) Known() bool { return slices.Contains([]Format{Plain, JSON}, f) }

// Config says what a logger writes, how, and where to.
type Config struct {
	Level  slog.Level
	Format Format
	Output io.Writer
}

// New returns a logger that writes entries from c.Level up to c.Output.
func New(c Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.Level, ReplaceAttr: nameLevel}
	if c.Format == JSON {
		return slog.New(slog.NewJSONHandler(c.Output, options))
	}
	return slog.New(slog.NewTextHandler(c.Output, options))
}

func nameLevel(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 || a.Key != slog.LevelKey {
		return a
	}
	if l, ok := a.Value.Any().(slog.Level); ok {
		a.Value = slog.StringValue(levelName(l))
	}
	return a
}

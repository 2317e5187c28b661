// Package logging sets up the log of the process: a log/slog handler with a level and a format, for our
// packages and for libraries. Package process calls [New] and [RouteLibraries] once, before it starts anything
// else; other commands drop the logs of libraries with RouteLibraries.
//
// New makes the logger from --log-level and --log-format, or the config file. It writes text or JSON, one
// line per entry, with Linkerd's level names (trace to panic). RouteLibraries sends the logs of klog
// (client-go), grpc-go and the standard logger (net/http) to it. The standard logger is rate-limited, and
// text that it quotes is removed. Messages are constant and values are attributes, except where a library
// formats its text.
//
// # Concurrency
//
// The logger may be used from any goroutine. RouteLibraries changes global variables of libraries and must be
// called before they are used.
package logging

import (
	"io"
	"log/slog"
	"slices"
)

// Format is the format of log entries.
type Format string

// The formats, spelled as on the command line.
const (
	Plain Format = "plain"
	JSON  Format = "json"
)

// Known reports whether f is one of the formats. [New] treats any other as Plain.
func (f Format) Known() bool { return slices.Contains([]Format{Plain, JSON}, f) }

// Config configures a logger.
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

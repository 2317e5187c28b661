package logging

import (
	"fmt"
	"log/slog"
	"strings"
)

// Levels that slog doesn't name.
const (
	LevelTrace = slog.Level(-8)
	LevelFatal = slog.Level(12)
	LevelPanic = slog.Level(16)
)

// levels are the levels from the most to the least severe, with the names of Linkerd's controllers. Flags,
// config files and log lines use these names.
var levels = []struct {
	name  string
	level slog.Level
	// klog is the verbosity of klog for the level. At info, klog logs nothing, because its lines are about
	// libraries, such as "Caches populated". Above 4, at trace, it logs the state of feature gates, and the
	// requests to the API server with their headers, without credentials. Above 7 it would log the bodies,
	// too, which may be Secrets.
	klog int
}{
	{name: "panic", level: LevelPanic},
	{name: "fatal", level: LevelFatal},
	{name: "error", level: slog.LevelError},
	{name: "warn", level: slog.LevelWarn},
	{name: "info", level: slog.LevelInfo},
	{name: "debug", level: slog.LevelDebug, klog: 4},
	{name: "trace", level: LevelTrace, klog: mostKlog},
}

// mostKlog is the highest klog verbosity that is ever logged.
const mostKlog = 7

// ParseLevel returns the level with a name, in upper or lower case; "warning" is another name of "warn". The
// error lists the allowed names; the caller adds the name and where it comes from.
func ParseLevel(name string) (slog.Level, error) {
	lower := strings.ToLower(name)
	if lower == "warning" {
		lower = "warn"
	}
	var allowed []string
	for _, l := range levels {
		if l.name == lower {
			return l.level, nil
		}
		allowed = append(allowed, l.name)
	}
	return 0, fmt.Errorf("must be one of %s", strings.Join(allowed, ", "))
}

// Levels returns the names of the levels, the most severe first.
func Levels() []string {
	var names []string
	for _, l := range levels {
		names = append(names, l.name)
	}
	return names
}

// levelName returns the name of the most severe level that l reaches.
func levelName(l slog.Level) string {
	for _, known := range levels {
		if l >= known.level {
			return known.name
		}
	}
	return levels[len(levels)-1].name
}

// klogVerbosity returns the verbosity of klog for the most severe level that l reaches.
func klogVerbosity(l slog.Level) int {
	for _, known := range levels {
		if l >= known.level {
			return known.klog
		}
	}
	return levels[len(levels)-1].klog
}

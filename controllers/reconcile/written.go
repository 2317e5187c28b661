package reconcile

import (
	"context"
	"log/slog"
	"time"
)

// Written is a successful write of an object of a Service, for the log.
type Written struct {
	// Controller is the name of the controller, Kind the kind of the object.
	Controller, Kind string
	Service          Key
	// Name is the name of the object.
	Name string
	// Operation is as in [Loop.Wrote].
	Operation string
	// Ready and NotReady are how many addresses the object has, or had before it was deleted.
	Ready, NotReady int
	// Cause is the time of the change that led to the write; zero if unknown.
	Cause time.Time
}

// Log writes a line at debug level. Check that the level is enabled before counting addresses.
func (w Written) Log(log *slog.Logger) {
	attrs := append(
		make([]slog.Attr, 0, 8),
		slog.String("controller", w.Controller), slog.String("service", w.Service.String()), slog.String("kind", w.Kind), slog.String("name", w.Name),
		slog.String("action", w.Operation+"d"), slog.Int("ready", w.Ready), slog.Int("notReady", w.NotReady),
	)
	if !w.Cause.IsZero() {
		attrs = append(attrs, slog.Time("trigger", w.Cause))
	}
	log.LogAttrs(context.Background(), slog.LevelDebug, "Object of a Service written", attrs...)
}

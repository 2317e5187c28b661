package reconcile

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/signpostd/signpost/internal/history"
)

// Written is a successful write of an object of a Service, for the log and the history.
type Written struct {
	// Kind is the kind of the object, and Name its name.
	Kind, Name string
	Service    Key
	// Operation is as in [Loop.Wrote].
	Operation string
	// Before and After are the addresses of the object, true for those that are ready. Before is empty for a
	// new object, and After for a deleted one.
	Before, After map[string]bool
	// Cause is the time of the change that led to the write; zero if unknown.
	Cause time.Time
}

// WantsWritten reports whether the log or the history uses [Loop.Written]. If not, the caller need not
// collect addresses.
func (l *Loop) WantsWritten() bool {
	return l.o.History != nil || l.o.Logger.Enabled(context.Background(), slog.LevelDebug)
}

// Written logs a write at debug level, and adds it to the history.
func (l *Loop) Written(w Written) {
	w.log(l.o.Logger, l.o.Name)
	if l.o.History == nil {
		return
	}
	e := history.Entry{Kind: history.Written, Action: actions[w.Operation], Source: l.o.Name, Object: w.Kind + "/" + w.Name}
	e.Endpoints, e.NotReady = ready(w.After)
	e.Added, e.MoreAdded = missingFrom(w.After, w.Before)
	e.Removed, e.MoreRemoved = missingFrom(w.Before, w.After)
	l.add(w.Service, &e)
}

var actions = map[string]history.Action{"create": history.Created, "update": history.Updated, "delete": history.Deleted}

func (l *Loop) add(service Key, e *history.Entry) {
	l.o.History.Add(history.Key{Namespace: service.Namespace, Name: service.Name}, service.Namespace, e)
}

// rememberExternal adds another writer's change to the history.
func (l *Loop) rememberExternal(service Key, by string) {
	if l.o.History != nil {
		l.add(service, &history.Entry{Kind: history.Written, Action: history.External, Source: l.o.Name, By: by})
	}
}

// rememberFailed adds a failed write to the history, except conflicts, which are planned again.
func (l *Loop) rememberFailed(service Key, operation string, err error) {
	if l.o.History != nil && err != nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
		l.add(service, &history.Entry{Kind: history.Written, Action: history.Failed, Source: l.o.Name, Object: operation, Reason: err.Error()})
	}
}

// ready counts the ready addresses, and the others.
func ready(addresses map[string]bool) (ready, not int) {
	for _, is := range addresses {
		if is {
			ready++
		} else {
			not++
		}
	}
	return ready, not
}

// missingFrom returns the ready addresses of a version that aren't ready in the other one: the first ones,
// and the number of further ones.
func missingFrom(version, other map[string]bool) (list []netip.AddrPort, more int) {
	for text, is := range version {
		if !is || other[text] {
			continue
		}
		a, err := netip.ParseAddr(text)
		if err != nil || len(list) == history.MaxAddresses {
			more++
			continue
		}
		list = append(list, netip.AddrPortFrom(a, 0))
	}
	slices.SortFunc(list, netip.AddrPort.Compare)
	return list, more
}

// log writes a line at debug level.
func (w Written) log(log *slog.Logger, controller string) {
	ctx := context.Background()
	if !log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	addresses := w.After
	if w.Operation == "delete" {
		addresses = w.Before
	}
	n, not := ready(addresses)
	attrs := append(
		make([]slog.Attr, 0, 8),
		slog.String("controller", controller), slog.String("service", w.Service.String()), slog.String("kind", w.Kind), slog.String("name", w.Name),
		slog.String("action", w.Operation+"d"), slog.Int("ready", n), slog.Int("notReady", not),
	)
	if !w.Cause.IsZero() {
		attrs = append(attrs, slog.Time("trigger", w.Cause))
	}
	log.LogAttrs(ctx, slog.LevelDebug, "Object of a Service written", attrs...)
}

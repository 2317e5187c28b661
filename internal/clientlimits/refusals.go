package clientlimits

import (
	"log/slog"
	"sync"

	"golang.org/x/time/rate"
)

// RefusalLog logs which clients were refused. Clients determine how many refusals there are, so there is one
// line in [logInterval] for each reason. Make it with [NewRefusalLog]; its methods may be called concurrently.
type RefusalLog struct {
	log   *slog.Logger
	mu    sync.Mutex
	lines map[Refusal]*rate.Sometimes
}

// NewRefusalLog returns a log of refusals.
func NewRefusalLog(log *slog.Logger) *RefusalLog {
	return &RefusalLog{log: log, lines: map[Refusal]*rate.Sometimes{}}
}

// Refused logs that a client was refused.
func (l *RefusalLog) Refused(why Refusal, client ClientID) {
	l.mu.Lock()
	line := l.lines[why]
	if line == nil {
		line = &rate.Sometimes{First: 1, Interval: logInterval}
		l.lines[why] = line
	}
	l.mu.Unlock()
	line.Do(func() {
		who := client.String()
		if isOtherHost(client) {
			who = client.Addr().String()
		}
		l.log.Warn("Refused a client that sent or asked for more than a limit allows", "limit", string(why), "client", who)
	})
}

package process

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/controllers"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/internal/run"
	"github.com/signpostd/signpost/internal/sanitize"
)

const (
	// unledEvery is how often a standby compares its work with that of the leader.
	unledEvery = 2 * time.Second
	// unledAfter is how long the work must differ before that is reported, because it differs for
	// a short time during a rollout that changes the settings.
	unledAfter = 30 * time.Second
)

// reasonUnled is the reason of an Event about controllers that the leader doesn't run.
const reasonUnled = "ControllersUnled"

// unled detects work of a standby that the leader doesn't do, so that nobody does it.
type unled struct {
	leadership *leadership
	log        *slog.Logger
	// compare returns the names of the work of this process that a leader doesn't do, and of the
	// work that it does. leadsFor is from the Lease and untrusted.
	compare func(leadsFor string) (unled, led []string)
	// nobody begins the sentence, and otherwise says what the leader has. advice ends it.
	nobody, otherwise, advice string
	// begun and ended are log messages.
	begun, ended string
	// gauge is nil without a metric.
	gauge prometheus.Gauge
	// sendWarning sends an Event with a reason about this process; nil without a cluster.
	sendWarning sendWarning
	reason      string
}

// unledPublishers returns the comparison of publishers, with its metric registered.
func unledPublishers(in roleInput, l *leadership, publishers []*configure.Options) (*unled, error) {
	u := &unled{
		leadership: l, log: in.Log, reason: publisher.ReasonUnled,
		compare: func(leadsFor string) (unled, led []string) { return configure.Unled(publishers, leadsFor) },
		nobody:  "nothing is published for the publishers", otherwise: "leads for other publishers or settings",
		advice: "give each installation a Lease of its own (--leader-elect-resource-name, or dns.leaderElection.resourceName in a config file), or the same settings",
		begun:  "Nothing is published for some publishers of this process", ended: "All publishers of this process have a leader again",
		gauge: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "signpost_dns_publishers_unled", Help: "Publishers of this process that the leader does not have, or has with other settings: nothing is published for them.",
		}),
	}
	if in.Registerer == nil {
		return u, nil
	}
	if err := in.Registerer.Register(u.gauge); err != nil {
		return nil, fmt.Errorf("register the metric of publishers without a leader: %w", err)
	}
	return u, nil
}

// unledControllers returns the comparison of controllers.
func unledControllers(in roleInput, l *leadership, names []controllers.Name) *unled {
	return &unled{
		leadership: l, log: in.Log, reason: reasonUnled,
		compare: func(leadsFor string) (unled, led []string) {
			led = strings.SplitN(leadsFor, " ", maxNames+1)
			for _, name := range names {
				if !slices.Contains(led, string(name)) {
					unled = append(unled, string(name))
				}
			}
			return unled, led
		},
		nobody: "nobody runs the controllers", otherwise: "runs others",
		advice: "give each installation a Lease of its own (--leader-elect-resource-name, or controllers.leaderElection.resourceName in a config file), or the same list (--controllers)",
		begun:  "Nobody runs some controllers of this process", ended: "All controllers of this process have a leader again",
	}
}

// controllersLed returns the text of controllers for the Lease.
func controllersLed(names []controllers.Name) string {
	var texts []string
	for _, name := range names {
		texts = append(texts, string(name))
	}
	return strings.Join(texts, " ")
}

// names returns the work that the leader doesn't do, and a sentence with the cause and what to do.
func (u *unled) names() (names []string, sentence string) {
	if u.leadership.elector == nil {
		return nil, ""
	}
	leader, leadsFor, known := u.leadership.elector.LeaderLeadsFor()
	if !known {
		return nil, ""
	}
	names, led := u.compare(leadsFor)
	if len(names) == 0 {
		return nil, ""
	}
	return names, fmt.Sprintf("%s %s: %s has the Lease %s and %s (%s): %s", u.nobody, sanitize.List(names, maxNames, sanitize.Name),
		sanitize.Name(leader), u.leadership.lease, u.otherwise, sanitize.List(led, maxNames, sanitize.Name), u.advice)
}

// actors returns the comparison while the process runs; none without leader election.
func (u *unled) actors(name string) []run.Actor {
	if u.leadership.elector == nil {
		return nil
	}
	return []run.Actor{{Name: name + " standby", Run: u.run}}
}

// run updates the metric. It reports once when the leader lacks work of this process, and once when
// that has ended.
func (u *unled) run(ctx context.Context) error {
	tick := time.Tick(unledEvery)
	var since time.Time
	reported := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
		names, sentence := u.names()
		if u.gauge != nil {
			u.gauge.Set(float64(len(names)))
		}
		switch {
		case len(names) == 0:
			if reported {
				u.log.Info(u.ended)
			}
			since, reported = time.Time{}, false
		case since.IsZero():
			since = time.Now()
		case !reported && time.Since(since) >= unledAfter:
			reported = true
			u.log.Warn(u.begun, "names", names, "lease", u.leadership.lease, "err", sentence)
			if u.sendWarning != nil {
				u.sendWarning(u.reason, sentence)
			}
		}
	}
}

// leading returns the leader, and the work that the leader doesn't do, for the status.
func (u *unled) leading(roleName string) inspect.Leading {
	l := u.leadership.leading(roleName)
	l.Unled, _ = u.names()
	return l
}

// details returns lines for /ready. A standby stays ready even if the leader lacks its work:
// otherwise a rollout that adds some would wait for the standby, and the old leader for the
// rollout.
func (u *unled) details() []string {
	lines := u.leadership.details()
	if _, sentence := u.names(); sentence != "" {
		lines = append(lines, sentence)
	}
	return lines
}

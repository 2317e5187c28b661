package process

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/internal/sanitize"
)

const (
	// unledEvery is how often a standby compares its publishers with those of the leader.
	unledEvery = 2 * time.Second
	// unledAfter is how long the publishers must differ before that is reported, because they
	// differ for a short time during a rollout that changes the settings.
	unledAfter = 30 * time.Second
)

// unled detects publishers of a standby that the leader doesn't run, so that nothing is published
// for them.
type unled struct {
	publishers []*configure.Options
	leadership *leadership
	gauge      prometheus.Gauge
	// sendWarning sends an Event about this process; nil without a cluster.
	sendWarning sendWarning
}

// newUnled returns the comparison, with its metric registered.
func newUnled(in roleInput, l *leadership, publishers []*configure.Options) (*unled, error) {
	u := &unled{publishers: publishers, leadership: l, gauge: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "signpost_dns_publishers_unled", Help: "Publishers of this process that the leader does not have, or has with other settings: nothing is published for them.",
	})}
	if in.Registerer == nil {
		return u, nil
	}
	if err := in.Registerer.Register(u.gauge); err != nil {
		return nil, fmt.Errorf("register the metric of publishers without a leader: %w", err)
	}
	return u, nil
}

// names returns the publishers that the leader doesn't run, and a sentence with the cause and what
// to do.
func (u *unled) names() (names []string, sentence string) {
	if u.leadership.elector == nil {
		return nil, ""
	}
	leader, leadsFor, known := u.leadership.elector.LeaderLeadsFor()
	if !known {
		return nil, ""
	}
	names, led := configure.Unled(u.publishers, leadsFor)
	if len(names) == 0 {
		return nil, ""
	}
	return names, fmt.Sprintf("nothing is published for the publishers %s: %s has the Lease %s and leads for other publishers or settings (%s): give each installation a Lease of its own (--leader-elect-resource-name, or dns.leaderElection.resourceName in a config file), or the same settings",
		sanitize.List(names, maxNames, sanitize.Name), sanitize.Name(leader), u.leadership.lease, sanitize.List(led, maxNames, sanitize.Name))
}

// run updates the metric. It reports once when the leader lacks publishers, and once when that has
// ended.
func (u *unled) run(ctx context.Context, r *dnsRole) error {
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
		u.gauge.Set(float64(len(names)))
		switch {
		case len(names) == 0:
			if reported {
				r.log.Info("All publishers of this process have a leader again")
			}
			since, reported = time.Time{}, false
		case since.IsZero():
			since = time.Now()
		case !reported && time.Since(since) >= unledAfter:
			reported = true
			r.log.Warn("Nothing is published for some publishers of this process", "publishers", names, "lease", u.leadership.lease, "err", sentence)
			if u.sendWarning != nil {
				u.sendWarning(publisher.ReasonUnled, sentence)
			}
		}
	}
}

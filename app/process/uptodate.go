package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/signpostd/signpost/internal/leader"
	"github.com/signpostd/signpost/kube"
)

// slowCatchUp is the duration of a catch-up from which it is logged.
const slowCatchUp = 5 * time.Second

// upToDateLimit is the minimum of the time limit, for shorter Leases. After the limit this process
// stands down, so that another one can lead.
const upToDateLimit = 10 * time.Second

// containTimeout limits how long tables may take to contain the objects that the former leader had.
// Watches deliver them within milliseconds.
const containTimeout = 500 * time.Millisecond

// upToDate is work under a Lease that begins when the tables contain everything that the API server
// had when this process became the leader. Each kind has its own watch. So a process that was
// paused, or whose watches had broken, may see a write of the former leader before the cause of the
// write, and would undo it.
type upToDate struct {
	lead   func(context.Context) error
	tables []kube.AnyTable
	// limit is the maximum duration of the catch-up; zero means no limit.
	limit time.Duration
	log   *slog.Logger
	// handedOver returns the resource versions that the former leader stored when it stopped.
	// handOver stores those of this process for the next leader. Both may be nil.
	handedOver func() string
	handOver   func(string)
}

// run works for one term. If the tables aren't up to date in time, it returns a [leader.StandDown].
// If the resource version of the API server goes back, the work is restarted, because earlier reads
// and writes belong to a lost history.
func (u *upToDate) run(ctx context.Context) error {
	term := *u
	for {
		rewound, err := term.untilRewound(ctx, term.leadUpToDate)
		if !rewound {
			return err
		}
		term.handedOver = nil // The stored versions may be of the lost history.
	}
}

// runAtOnce is run without an election. The work starts before the catch-up, because there is no
// former leader.
func (u *upToDate) runAtOnce(ctx context.Context) error {
	if rewound, err := u.untilRewound(ctx, u.lead); !rewound {
		return err
	}
	return u.run(ctx)
}

// untilRewound works until the resource version of the API server goes back, and reports whether
// that was the end.
func (u *upToDate) untilRewound(ctx context.Context, work func(context.Context) error) (rewound bool, err error) {
	until, cancel := kube.UntilRewound(ctx, u.tables...)
	defer cancel()
	err = work(until)
	return isRewound(until), err
}

// isRewound reports whether a context of [kube.UntilRewound] has ended because of a rewind.
func isRewound(ctx context.Context) bool { return errors.Is(context.Cause(ctx), kube.ErrRewound) }

// leadUpToDate works when the tables are up to date.
func (u *upToDate) leadUpToDate(ctx context.Context) error {
	err := u.catchUp(ctx)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return &leader.StandDown{For: u.limit, Reason: fmt.Errorf("the tables were not up to date within %v: %w", u.limit, err)}
	}
	err = u.lead(ctx)
	if !isRewound(ctx) {
		u.storeVersions()
	}
	return err
}

// storeVersions stores the resource versions of the tables for the next leader. All writes of this
// process are based on them.
func (u *upToDate) storeVersions() {
	if u.handOver == nil {
		return
	}
	if text, err := json.Marshal(kube.Versions(u.tables...)); err == nil {
		u.handOver(string(text))
	}
}

// contains reports whether the tables contain everything that those of the former leader had when
// it stopped. Then this process undoes no write of the former leader. The last of these writes may
// still be unknown, but a write based on an older version of a slice is refused.
func (u *upToDate) contains(ctx context.Context) bool {
	if u.handedOver == nil {
		return false
	}
	var versions map[string]string
	if json.Unmarshal([]byte(u.handedOver()), &versions) != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, containTimeout)
	defer cancel()
	return kube.Contain(ctx, versions, u.tables...)
}

// catchUp returns when the tables are up to date.
func (u *upToDate) catchUp(ctx context.Context) error {
	if u.contains(ctx) {
		return nil
	}
	begun := time.Now()
	bounded, cancel := ctx, func() {}
	if u.limit > 0 {
		bounded, cancel = context.WithTimeout(ctx, u.limit)
	}
	defer cancel()
	err := kube.CatchUp(bounded, u.tables...)
	if took := time.Since(begun); err == nil && took > slowCatchUp {
		u.log.Info("The caches are up to date; the leader's work starts", "took", took)
	}
	return err
}
